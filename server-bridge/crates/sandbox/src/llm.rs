//! Asking the LLM endpoint that is configured on a runner.

use bytes::Bytes;
use proto::message::{LlmDone, LlmHeaders};
use proto::{Message, request};

use crate::driver::{LinkHandle, OpenStream, Piece, StreamEvent};
use crate::error::SandboxError;
use crate::upload::Upload;

/// A request to the endpoint; its body is written to the [`LlmStream`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LlmRequest {
    /// The path, such as `/v1/chat/completions`; the runner appends it to its endpoint's base URL.
    pub path: String,
    /// Names and values; `accept`, `anthropic-beta`, `anthropic-version`, `content-type`, `idempotency-key` and
    /// `openai-beta` are let through.
    pub headers: Vec<(String, String)>,
}

/// A request whose body is being written. Dropping this before it is finished sends no request.
#[derive(Debug)]
pub struct LlmStream(Upload);

impl LlmStream {
    pub(crate) fn open(link: &LinkHandle, request: LlmRequest) -> Result<Self, SandboxError> {
        let LlmRequest { path, headers } = request;
        Ok(Self(Upload::open(link, request::Llm { path, headers })?))
    }

    /// Writes a part of the body; the whole body can have at most 16 MiB. Fails with an error that the runner has reported by now.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), SandboxError> {
        self.0.write(bytes).await
    }

    /// Ends the body, and waits for the endpoint's response. Without a body it is a GET, else a POST.
    pub async fn finish(self) -> Result<LlmAnswer, SandboxError> {
        let mut stream = self.0.end().await?;
        loop {
            match stream.next().await {
                Some(StreamEvent::Message(Message::LlmHeaders(head))) => {
                    return Ok(LlmAnswer { stream, head, delivered_bytes: 0 });
                }
                Some(StreamEvent::Failed(error)) => return Err(error),
                Some(StreamEvent::Interrupted | StreamEvent::Resumed) => {}
                _ => return Err(stream.link().broken("an LLM's answer without its beginning")),
            }
        }
    }
}

/// The endpoint's response as it arrives. Dropping this before its end closes the connection to the endpoint.
///
/// Neither the runner nor its report of the endpoint's response is trusted.
#[derive(Debug)]
pub struct LlmAnswer {
    stream: OpenStream,
    head: LlmHeaders,
    delivered_bytes: u64,
}

impl LlmAnswer {
    /// The HTTP status; errors and redirects are returned like any other response.
    pub fn status(&self) -> u16 {
        self.head.status
    }

    /// The headers, as names in lower case and values.
    pub fn headers(&self) -> &[(String, String)] {
        &self.head.headers
    }

    /// The next piece of the body, of 64 KiB at most, as soon as it arrives; `None` after the last one, and after an error.
    pub async fn next(&mut self) -> Option<Result<Bytes, SandboxError>> {
        match self.stream.next_piece().await? {
            Ok(Piece::Data(bytes)) => {
                self.delivered_bytes += bytes.len() as u64;
                Some(Ok(bytes))
            }
            Ok(Piece::Answer(message)) => self.end(message).err().map(Err),
            Err(error) => Some(Err(error)),
        }
    }

    fn end(&self, message: Message) -> Result<(), SandboxError> {
        let link = self.stream.link();
        let LlmDone { bytes } = link.expect(message)?;
        if bytes == self.delivered_bytes { Ok(()) } else { Err(link.broken("fewer bytes than it announced")) }
    }
}
