//! Links that break after some messages, at either end and in either direction.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::{Sink, Stream};
use sandbox::{LinkMessage, MemoryLink, memory_link};

use crate::clockwork::progress;

/// The message counts of a link that does not break by itself.
pub(crate) const WHOLE: [u64; 4] = [u64::MAX; 4];

/// One end of a link, with the number of messages that it still receives and sends. Messages in flight when the link breaks are lost.
#[derive(Debug)]
pub(crate) struct CutLink {
    inner: Option<MemoryLink>,
    /// A message that was put back, to be returned first.
    first: Option<LinkMessage>,
    receives: u64,
    sends: u64,
}

/// Creates a link whose ends break after these numbers of messages.
pub(crate) fn cut_link([receives, sends, other_receives, other_sends]: [u64; 4]) -> (CutLink, CutLink) {
    let (left, right) = memory_link();
    let end = |inner, receives, sends| CutLink { inner: Some(inner), first: None, receives, sends };
    (end(left, receives, sends), end(right, other_receives, other_sends))
}

impl CutLink {
    /// Puts a message back, to be returned before all others.
    pub(crate) fn put_back(&mut self, first: LinkMessage) {
        self.first = Some(first);
    }
}

impl Stream for CutLink {
    type Item = io::Result<LinkMessage>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        if self.receives == 0 {
            self.inner = None;
        }
        let Some(inner) = &mut self.inner else { return Poll::Ready(None) };
        let message = ready!(Pin::new(inner).poll_next(context));
        progress();
        self.receives -= 1;
        Poll::Ready(message)
    }
}

impl Sink<LinkMessage> for CutLink {
    type Error = io::Error;

    fn poll_ready(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.inner {
            Some(inner) => Pin::new(inner).poll_ready(context),
            None => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    fn start_send(mut self: Pin<&mut Self>, message: LinkMessage) -> io::Result<()> {
        progress();
        if self.sends == 0 {
            self.inner = None;
        }
        self.sends = self.sends.saturating_sub(1);
        match &mut self.inner {
            Some(inner) => Pin::new(inner).start_send(message),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner = None;
        Poll::Ready(Ok(()))
    }
}
