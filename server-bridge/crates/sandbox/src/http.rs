//! HTTP requests that a runner sends from its own network.

use std::time::Duration;

use bytes::Bytes;
use proto::handshake::HTTP_CAPABILITY;
use proto::message::{HttpDone, HttpHeaders};
use proto::{ErrorKind, Message, request};

use crate::driver::{LinkHandle, OpenStream, Piece, StreamEvent};
use crate::error::SandboxError;
use crate::routing::{DOCKER, NONE};
use crate::upload::Upload;

/// A request to a host in a runner's network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// The method, such as `POST`.
    pub method: String,
    /// `http` or `https`, without a user name and without a fragment.
    pub url: String,
    /// Names and values, without those that concern the connection.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body, of at most 4 MiB.
    pub body: Bytes,
    /// The longest wait for the status and the headers of the response.
    pub timeout: Duration,
    /// The longest pause while the response's body arrives; no limit when absent.
    pub idle: Option<Duration>,
}

/// The response as it arrives. Dropping this before its end closes the runner's connection to the host.
///
/// Neither the runner nor its report of a host's response is trusted.
#[derive(Debug)]
pub struct HttpAnswer {
    stream: OpenStream,
    head: HttpHeaders,
    delivered_bytes: u64,
}

impl HttpAnswer {
    /// Sends a request, and waits for the status and headers of the response.
    pub(crate) async fn of(link: &LinkHandle, request: HttpRequest) -> Result<Self, SandboxError> {
        if !link.facts().capabilities.iter().any(|name| name == HTTP_CAPABILITY) {
            return Err(too_old(link));
        }
        let HttpRequest { method, url, headers, body, timeout, idle } = request;
        let (timeout_ms, idle_ms) = (Some(milliseconds(timeout)), idle.map(milliseconds));
        let mut upload = Upload::open(link, request::Http { method, url, headers, timeout_ms, idle_ms })?;
        let failed = |error| explained(link, error);
        upload.write(&body).await.map_err(failed)?;
        let mut stream = upload.end().await.map_err(failed)?;
        loop {
            match stream.next().await {
                Some(StreamEvent::Message(Message::HttpHeaders(head))) => {
                    return match head.status {
                        100..=599 => Ok(Self { stream, head, delivered_bytes: 0 }),
                        _ => Err(link.broken("an invalid HTTP status")),
                    };
                }
                Some(StreamEvent::Failed(error)) => return Err(failed(error)),
                Some(StreamEvent::Interrupted | StreamEvent::Resumed) => {}
                _ => return Err(link.broken("an HTTP answer without its beginning")),
            }
        }
    }

    /// The HTTP status; errors and redirects are returned like any other response.
    pub fn status(&self) -> u16 {
        self.head.status
    }

    /// Names and values, as the runner reports them.
    pub fn headers(&self) -> &[(String, Vec<u8>)] {
        &self.head.headers
    }

    /// The next piece of the body, of at most 64 KiB, as soon as it arrives; `None` after the last one, and after an error.
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
        let HttpDone { bytes } = link.expect(message)?;
        if bytes == self.delivered_bytes { Ok(()) } else { Err(link.broken("fewer bytes than it announced")) }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The error for a runner that does not support such requests: xbot's, or an older one.
fn too_old(link: &LinkHandle) -> SandboxError {
    let runner = link.place().to_owned();
    if link.facts().is_legacy() {
        return SandboxError::NoHttp {
            fix: format!(
                "it speaks xbot's dialect. Connect the machine with sandbridge-runner instead: `sandbridge runner rotate {runner}` prints the \
                 line to paste there"
            ),
            runner,
        };
    }
    let fix = match link.facts().can_update() {
        true => format!("it is too old. Update it: `sandbridge runner update {runner}`"),
        false => format!(
            "it is too old. Update it: `sandbridge runner rotate {runner}` prints a line to paste on its machine, which installs the newer \
             one"
        ),
    };
    SandboxError::NoHttp { runner, fix }
}

/// Explains a refusal of a runner that the server itself started: the options to change are the server's.
fn explained(link: &LinkHandle, error: SandboxError) -> SandboxError {
    let option = match link.place() {
        DOCKER => "--docker-http-allow",
        NONE => "--fetch-allow",
        _ => return error,
    };
    match error {
        SandboxError::Remote { kind: kind @ ErrorKind::SandboxDenied, .. } => SandboxError::Remote {
            kind,
            message: format!(
                "nothing was sent: requests from {} reach only the hosts that the server's administrator named with {option}, and never an address where clouds hand out credentials",
                if option == "--fetch-allow" { "the server itself" } else { "containers" }
            ),
        },
        error => error,
    }
}
