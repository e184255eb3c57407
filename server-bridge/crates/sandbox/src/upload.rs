//! Bytes on their way to a runner: the content of a file, or an archive.

use proto::limits::MAX_DATA_BYTES;
use proto::message::MessageType;
use proto::{DataBuf, Request};

use crate::driver::{LinkHandle, OpenStream, StreamEvent, StreamWriter};
use crate::error::SandboxError;

/// A stream that is written to and then answered.
#[derive(Debug)]
pub(crate) struct Upload {
    stream: OpenStream,
    writer: StreamWriter,
    /// Small writes are gathered here.
    piece: DataBuf,
}

impl Upload {
    pub(crate) fn open(link: &LinkHandle, request: impl Into<Request>) -> Result<Self, SandboxError> {
        let stream = link.open(request)?;
        let writer = stream.writer();
        Ok(Self { stream, writer, piece: DataBuf::with_capacity(0) })
    }

    /// Writes; waits while the runner's disk cannot keep up. Fails with an error that the runner has reported by now.
    pub(crate) async fn write(&mut self, mut bytes: &[u8]) -> Result<(), SandboxError> {
        while !bytes.is_empty() {
            let room = MAX_DATA_BYTES - self.piece.len();
            let (now, rest) = bytes.split_at(bytes.len().min(room));
            if self.piece.is_empty() {
                // Data that fits in one piece only takes up its own size.
                self.piece = DataBuf::with_capacity(if rest.is_empty() { now.len() } else { MAX_DATA_BYTES });
            }
            self.piece.extend_from_slice(now);
            bytes = rest;
            if self.piece.len() == MAX_DATA_BYTES {
                self.send_piece().await?;
            }
        }
        Ok(())
    }

    /// Ends the data; returns the answer.
    pub(crate) async fn finish<M: MessageType>(mut self) -> Result<M, SandboxError> {
        self.send_piece().await?;
        self.writer.end();
        self.answer().await
    }

    /// Ends the data; returns the stream, for an answer of more than one message.
    pub(crate) async fn end(mut self) -> Result<OpenStream, SandboxError> {
        self.send_piece().await?;
        self.writer.end();
        Ok(self.stream)
    }

    async fn send_piece(&mut self) -> Result<(), SandboxError> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let piece = std::mem::replace(&mut self.piece, DataBuf::with_capacity(0));
        if self.writer.write(piece).await.is_ok() {
            return Ok(());
        }
        while let Some(event) = self.stream.next().await {
            match event {
                StreamEvent::Answer(_) => break,
                StreamEvent::Failed(error) => return Err(error),
                StreamEvent::Data(..) | StreamEvent::Gap(..) | StreamEvent::Message(_) => {}
                StreamEvent::Interrupted | StreamEvent::Resumed => {}
            }
        }
        Err(self.stream.link().broken("an answer before all the data had been sent"))
    }

    async fn answer<M: MessageType>(&mut self) -> Result<M, SandboxError> {
        while let Some(event) = self.stream.next().await {
            match event {
                StreamEvent::Answer(message) => return self.stream.link().expect(message),
                StreamEvent::Failed(error) => return Err(error),
                StreamEvent::Data(..) | StreamEvent::Gap(..) | StreamEvent::Message(_) => {}
                StreamEvent::Interrupted | StreamEvent::Resumed => {}
            }
        }
        Err(SandboxError::InputClosed)
    }
}
