//! A link inside one process, for tests of everything above the socket.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::{Sink, Stream};
use tokio::sync::mpsc;
use tokio_util::sync::PollSender;

use crate::limits::MEMORY_LINK_MESSAGES;
use crate::link::LinkMessage;

/// One end of an in-memory link. Dropping it ends the other one.
#[derive(Debug)]
pub struct MemoryLink {
    sender: PollSender<LinkMessage>,
    receiver: mpsc::Receiver<LinkMessage>,
}

/// Two ends of a link; each queues at most 64 messages that the other has not read.
pub fn memory_link() -> (MemoryLink, MemoryLink) {
    let (to_right, from_left) = mpsc::channel(MEMORY_LINK_MESSAGES);
    let (to_left, from_right) = mpsc::channel(MEMORY_LINK_MESSAGES);
    let left = MemoryLink { sender: PollSender::new(to_right), receiver: from_right };
    let right = MemoryLink { sender: PollSender::new(to_left), receiver: from_left };
    (left, right)
}

fn gone<E>(_: E) -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}

impl Stream for MemoryLink {
    type Item = Result<LinkMessage, io::Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.receiver.poll_recv(cx).map(|message| message.map(Ok))
    }
}

impl Sink<LinkMessage> for MemoryLink {
    type Error = io::Error;

    fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.sender.poll_reserve(cx).map_err(gone)
    }

    fn start_send(mut self: Pin<&mut Self>, message: LinkMessage) -> io::Result<()> {
        self.sender.send_item(message).map_err(gone)
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.sender.close();
        Poll::Ready(Ok(()))
    }
}
