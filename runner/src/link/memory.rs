//! A link within one process, for tests: frames travel through bounded channels.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::{Sink, Stream};
use tokio::sync::mpsc;
use tokio_util::sync::PollSender;

use super::LinkError;

/// Frames in flight in one direction before the sender has to wait.
const QUEUED_FRAMES: usize = 16;

/// One end of a link within this process.
#[derive(Debug)]
pub struct MemoryLink {
    incoming: mpsc::Receiver<Bytes>,
    outgoing: PollSender<Bytes>,
}

/// Both ends of a link; dropping one ends the other.
pub fn pair() -> (MemoryLink, MemoryLink) {
    let (left, from_left) = mpsc::channel(QUEUED_FRAMES);
    let (right, from_right) = mpsc::channel(QUEUED_FRAMES);
    let end = |outgoing, incoming| MemoryLink { incoming, outgoing: PollSender::new(outgoing) };
    (end(left, from_right), end(right, from_left))
}

impl Stream for MemoryLink {
    type Item = Result<Bytes, LinkError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.incoming.poll_recv(cx).map(|frame| frame.map(Ok))
    }
}

impl Sink<Bytes> for MemoryLink {
    type Error = LinkError;

    fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), LinkError>> {
        self.outgoing.poll_reserve(cx).map_err(|_| LinkError::Ended)
    }

    fn start_send(mut self: Pin<&mut Self>, frame: Bytes) -> Result<(), LinkError> {
        self.outgoing.send_item(frame).map_err(|_| LinkError::Ended)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), LinkError>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), LinkError>> {
        self.outgoing.close();
        Poll::Ready(Ok(()))
    }
}
