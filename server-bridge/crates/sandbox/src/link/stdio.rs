//! The link over a byte stream: [`proto::stdio`] envelopes, as a child process or a container speaks them.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use futures_util::{Sink, Stream};
use proto::stdio::{Payload, Reader, envelope};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::io::poll_read_buf;

use crate::limits::{STDIO_READ_BYTES, STDIO_WRITE_BUFFER_BYTES};
use crate::link::LinkMessage;

/// Messages over a reader and a writer of bytes. Closing it shuts the writer down.
#[derive(Debug)]
pub(crate) struct StdioLink<R, W> {
    input: R,
    output: W,
    reader: Reader,
    unsent: BytesMut,
}

impl<R, W> StdioLink<R, W> {
    pub(crate) fn new(input: R, output: W) -> Self {
        Self { input, output, reader: Reader::default(), unsent: BytesMut::new() }
    }
}

impl<R: AsyncRead + Unpin, W: Unpin> Stream for StdioLink<R, W> {
    type Item = io::Result<LinkMessage>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            match this.reader.next_payload() {
                Ok(Some(Payload::Text(text))) => return Poll::Ready(Some(Ok(LinkMessage::Text(text)))),
                Ok(Some(Payload::Binary(bytes))) => return Poll::Ready(Some(Ok(LinkMessage::Binary(bytes)))),
                Ok(None) => {}
                Err(error) => {
                    return Poll::Ready(Some(Err(io::Error::new(io::ErrorKind::InvalidData, error))));
                }
            }
            let buffer = this.reader.buffer();
            buffer.reserve(STDIO_READ_BYTES);
            if ready!(poll_read_buf(Pin::new(&mut this.input), cx, buffer))? == 0 {
                return Poll::Ready(None);
            }
        }
    }
}

impl<R: Unpin, W: AsyncWrite + Unpin> StdioLink<R, W> {
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.unsent.has_remaining() {
            match ready!(Pin::new(&mut self.output).poll_write(cx, &self.unsent))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.unsent.advance(written),
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<R: Unpin, W: AsyncWrite + Unpin> Sink<LinkMessage> for StdioLink<R, W> {
    type Error = io::Error;

    fn poll_ready(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.unsent.len() < STDIO_WRITE_BUFFER_BYTES { Poll::Ready(Ok(())) } else { this.poll_write(cx) }
    }

    fn start_send(self: Pin<&mut Self>, message: LinkMessage) -> io::Result<()> {
        let (payload, is_text) = match &message {
            LinkMessage::Text(text) => (text.as_bytes(), true),
            LinkMessage::Binary(bytes) => (&bytes[..], false),
            // A byte stream has no pings; its frames themselves show that the peer lives.
            LinkMessage::Ping | LinkMessage::Pong => return Ok(()),
        };
        let unsent = &mut self.get_mut().unsent;
        unsent.extend_from_slice(&envelope(payload, is_text));
        unsent.extend_from_slice(payload);
        Ok(())
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_write(cx))?;
        Pin::new(&mut this.output).poll_flush(cx)
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_write(cx))?;
        Pin::new(&mut this.output).poll_shutdown(cx)
    }
}
