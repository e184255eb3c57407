//! The link of a runner that its server started: envelopes on the standard streams.
//!
//! Nothing else may write there, so the link takes the streams for itself: from then on standard output is standard error
//! and standard input is empty. In a container the runner is process 1 and outlives its server; the next one that attaches may
//! meet the middle of an envelope, and asks for a new registration with `attach`.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Sink, SinkExt, Stream};
use proto::handshake::Handshake;
use proto::stdio::{ENVELOPE_BYTES, Payload, Reader, envelope};
use rustix::fs::OFlags;
use tokio::net::unix::pipe;
use tokio::time::Sleep;

use super::LinkError;
use super::register::TextLink;
use crate::error::Error;
use crate::limits::{STDIN_RETRY_MS, STDIO_QUEUED_ENVELOPES, STDIO_READ_BYTES};

/// Envelopes over a pair of pipes or a socket.
#[derive(Debug)]
pub struct StdioLink {
    input: pipe::Receiver,
    output: pipe::Sender,
    reader: Reader,
    queue: VecDeque<Envelope>,
    /// How much of the queue's first envelope has been written.
    written: usize,
    /// True if the end of the input is only a pause, as in a container.
    reopens: bool,
    retry: Option<Pin<Box<Sleep>>>,
}

#[derive(Debug)]
struct Envelope {
    head: [u8; ENVELOPE_BYTES],
    payload: Bytes,
}

impl StdioLink {
    /// Takes the process's standard streams; with `reopens` the end of the input is only a pause.
    ///
    /// # Errors
    /// The standard streams are not pipes or sockets, or the system refuses.
    pub fn take_standard_streams(reopens: bool) -> Result<Self, Error> {
        let take = || -> io::Result<Self> {
            let input = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
            let output = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
            rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
            rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
            Self::new(input.into(), output.into(), reopens)
        };
        take().map_err(Error::system("use the standard streams as a link (they must be pipes or sockets)"))
    }

    /// A link over two descriptors, which become non-blocking.
    ///
    /// # Errors
    /// The descriptors cannot be watched: they are files.
    pub fn new(input: File, output: File, reopens: bool) -> io::Result<Self> {
        for end in [&input, &output] {
            let flags = rustix::fs::fcntl_getfl(end)?;
            rustix::fs::fcntl_setfl(end, flags | OFlags::NONBLOCK)?;
        }
        Ok(Self {
            input: pipe::Receiver::from_owned_fd_unchecked(input.into())?,
            output: pipe::Sender::from_owned_fd_unchecked(output.into())?,
            reader: Reader::default(),
            queue: VecDeque::new(),
            written: 0,
            reopens,
            retry: None,
        })
    }

    /// Waits until a server attaches.
    ///
    /// # Errors
    /// The input ended and cannot come back, or is not an envelope.
    pub async fn attached(&mut self) -> Result<(), LinkError> {
        loop {
            let text = self.next_text().await?;
            if matches!(Handshake::from_text(&text), Ok(Handshake::Attach {})) {
                return Ok(());
            }
        }
    }

    /// Drops data for a server that has disconnected, except for the rest of an envelope that was half sent.
    pub fn forget_unsent(&mut self) {
        self.queue.truncate(usize::from(self.written > 0));
    }

    /// Drops unread data that was not understood, after an error of the envelopes.
    pub fn resynchronise(&mut self) {
        self.reader = Reader::default();
    }

    fn poll_payload(&mut self, cx: &mut Context<'_>) -> Poll<Result<Payload, LinkError>> {
        loop {
            if let Some(payload) = self.reader.next_payload()? {
                return Poll::Ready(Ok(payload));
            }
            if let Some(retry) = &mut self.retry {
                ready!(retry.as_mut().poll(cx));
                self.retry = None;
            } else {
                ready!(self.input.poll_read_ready(cx))?;
            }
            let buffer = self.reader.buffer();
            buffer.reserve(STDIO_READ_BYTES);
            match self.input.try_read_buf(buffer) {
                Ok(0) if self.reopens => {
                    self.retry = Some(Box::pin(tokio::time::sleep(Duration::from_millis(STDIN_RETRY_MS))));
                }
                Ok(0) => return Poll::Ready(Err(LinkError::Ended)),
                Ok(_) => {}
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }

    fn push(&mut self, payload: Bytes, is_text: bool) {
        self.queue.push_back(Envelope { head: envelope(&payload, is_text), payload });
    }

    /// Writes until at most `left` envelopes wait.
    fn poll_drain(&mut self, cx: &mut Context<'_>, left: usize) -> Poll<Result<(), LinkError>> {
        while self.queue.len() > left {
            let mut slices = Vec::with_capacity(2 * self.queue.len());
            for envelope in &self.queue {
                slices.push(IoSlice::new(&envelope.head));
                slices.push(IoSlice::new(&envelope.payload));
            }
            let mut rest = &mut slices[..];
            IoSlice::advance_slices(&mut rest, self.written);
            match self.output.try_write_vectored(rest) {
                Ok(length) => self.count_written(length),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    ready!(self.output.poll_write_ready(cx))?
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
        Poll::Ready(Ok(()))
    }

    fn count_written(&mut self, length: usize) {
        self.written += length;
        while let Some(first) = self.queue.front() {
            let whole = ENVELOPE_BYTES + first.payload.len();
            if self.written < whole {
                break;
            }
            self.written -= whole;
            self.queue.pop_front();
        }
    }
}

impl TextLink for StdioLink {
    async fn send_text(&mut self, text: String) -> Result<(), LinkError> {
        self.push(Bytes::from(text), true);
        pin!(self).flush().await
    }

    async fn next_text(&mut self) -> Result<String, LinkError> {
        loop {
            match std::future::poll_fn(|cx| self.poll_payload(cx)).await? {
                Payload::Text(text) => return Ok(text),
                // Meant for a session that is over.
                Payload::Binary(_) => {}
            }
        }
    }
}

impl Stream for StdioLink {
    type Item = Result<Bytes, LinkError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(Some(match ready!(self.poll_payload(cx)) {
            Ok(Payload::Binary(frame)) => Ok(frame),
            Ok(Payload::Text(text)) => match Handshake::from_text(&text) {
                Ok(Handshake::Attach {}) => Err(LinkError::Reattached),
                _ => Err(LinkError::NotAFrame),
            },
            Err(error) => Err(error),
        }))
    }
}

impl Sink<Bytes> for StdioLink {
    type Error = LinkError;

    fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), LinkError>> {
        self.poll_drain(cx, STDIO_QUEUED_ENVELOPES - 1)
    }

    fn start_send(mut self: Pin<&mut Self>, frame: Bytes) -> Result<(), LinkError> {
        self.push(frame, false);
        Ok(())
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), LinkError>> {
        self.poll_drain(cx, 0)
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), LinkError>> {
        self.poll_flush(cx)
    }
}
