//! A link that breaks after some messages, on either side and in either direction.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::{Sink, Stream};

use crate::{LinkMessage, MemoryLink, memory_link};

/// One end, and the number of messages it still receives and sends. Messages in flight when it breaks are lost.
#[derive(Debug)]
pub(super) struct CutLink {
    inner: Option<MemoryLink>,
    receives: u64,
    sends: u64,
}

/// Two ends, with the number of messages that each receives and sends.
pub(super) fn cut_link([receives, sends, other_receives, other_sends]: [u64; 4]) -> (CutLink, CutLink) {
    let (left, right) = memory_link();
    let left = CutLink { inner: Some(left), receives, sends };
    (left, CutLink { inner: Some(right), receives: other_receives, sends: other_sends })
}

impl Stream for CutLink {
    type Item = io::Result<LinkMessage>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.receives == 0 {
            self.inner = None;
        }
        let Some(inner) = &mut self.inner else { return Poll::Ready(None) };
        let message = std::task::ready!(Pin::new(inner).poll_next(cx));
        self.receives -= 1;
        Poll::Ready(message)
    }
}

impl Sink<LinkMessage> for CutLink {
    type Error = io::Error;

    fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.inner {
            Some(inner) => Pin::new(inner).poll_ready(cx),
            None => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    fn start_send(mut self: Pin<&mut Self>, message: LinkMessage) -> io::Result<()> {
        if self.sends == 0 {
            self.inner = None;
        }
        self.sends = self.sends.saturating_sub(1);
        match &mut self.inner {
            Some(inner) => Pin::new(inner).start_send(message),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner = None;
        Poll::Ready(Ok(()))
    }
}
