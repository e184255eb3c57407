//! The relay to an LLM endpoint whose key only this runner holds.
//!
//! Only the configured host is reached, redirects are not followed, and neither the key nor the headers that hold it go back. The endpoint's
//! answer is passed on at once, piece by piece; if the reader stops, reading from the endpoint stops too. The confined thread sends the request;
//! the key comes from an unconfined one, again for each request.

mod config;
mod endpoint;
mod request;

use std::rc::Rc;
use std::time::Duration;

use proto::limits::MAX_DATA_BYTES;
use proto::message::LlmDone;
use proto::request::Llm;
use proto::{Channel, DataBuf, ErrorKind, WireError};
use tokio::sync::Semaphore;

pub use self::config::{KeyFile, LlmConfig, LlmOptions, Provider, base_url};
use self::endpoint::Answer;
use crate::limits::{LLM_BODY_BYTES, LLM_REQUESTS};
use crate::stream::{Stopped, StreamHandle};

/// The endpoint, if there is one, and how many more requests it may get.
#[derive(Debug)]
pub(crate) struct Relay {
    config: Option<LlmConfig>,
    slots: Semaphore,
}

impl Relay {
    pub(crate) fn new(config: Option<LlmConfig>) -> Self {
        Self { config, slots: Semaphore::new(LLM_REQUESTS) }
    }

    /// The endpoint.
    pub(crate) fn config(&self) -> Option<&LlmConfig> {
        self.config.as_ref()
    }
}

/// Carries out an `Llm`.
pub(crate) async fn run(relay: Rc<Relay>, stream: StreamHandle, request: Llm) {
    let done = Box::pin(carry(&relay, &stream, &request)).await;
    stream.finish(done);
}

async fn carry(relay: &Relay, stream: &StreamHandle, request: &Llm) -> Result<LlmDone, WireError> {
    let Some(config) = &relay.config else {
        let text = "this runner was given no LLM endpoint; start it with --llm-url and --llm-key-file";
        return Err(WireError::new(ErrorKind::Unsupported, text));
    };
    let Ok(_slot) = relay.slots.try_acquire() else {
        let text = format!(
            "{LLM_REQUESTS} requests to the LLM endpoint are under way; try again when one has ended"
        );
        return Err(WireError::new(ErrorKind::Busy, text));
    };
    let target = request::target(&config.base, &request.path)?;
    let headers = request::headers(&request.headers)?;
    let body = body(stream, config.idle_ms).await?;
    let asked = Answer::to(config, target, headers, body);
    let (mut answer, head) = unless_stopped(stream, asked).await?;
    stream.send(head);
    let mut bytes = 0;
    while let Some(piece) = unless_stopped(stream, answer.next()).await? {
        bytes += piece.len() as u64;
        for part in piece.chunks(MAX_DATA_BYTES) {
            stream.send_data(Channel::Main, DataBuf::copy_from(part)).await?;
        }
    }
    stream.end(Channel::Main);
    Ok(LlmDone { bytes })
}

/// The whole body of a request: it is sent with its length.
async fn body(stream: &StreamHandle, idle_ms: u64) -> Result<Vec<u8>, WireError> {
    let mut body = Vec::new();
    loop {
        while let Some(piece) = stream.take_data() {
            if body.len() + piece.len() > LLM_BODY_BYTES {
                let text = format!("a request to the LLM endpoint may have {LLM_BODY_BYTES} bytes at most");
                return Err(WireError::new(ErrorKind::TooLarge, text));
            }
            body.extend_from_slice(&piece);
            stream.consumed(piece.len());
        }
        if stream.is_stopped() {
            return Err(Stopped.into());
        }
        if stream.data_ended() {
            return Ok(body);
        }
        let timeout = Duration::from_millis(idle_ms);
        if tokio::time::timeout(timeout, stream.changed()).await.is_err() {
            let text = format!(
                "the rest of the request did not arrive within {} s; nothing was asked",
                timeout.as_secs_f32()
            );
            return Err(WireError::new(ErrorKind::Io, text));
        }
    }
}

/// Gives up, and closes the connection, once the answer is not wanted any more.
async fn unless_stopped<T>(
    stream: &StreamHandle,
    work: impl Future<Output = Result<T, WireError>>,
) -> Result<T, WireError> {
    let stopped = async {
        while !stream.is_stopped() {
            stream.changed().await;
        }
    };
    tokio::select! {
        done = work => done,
        () = stopped => Err(Stopped.into()),
    }
}
