//! The relay to an LLM endpoint whose key only this runner holds.
//!
//! Only the configured host is reached, redirects are not followed, and neither the key nor the headers that contain it are sent back. The endpoint's
//! response is passed on at once, piece by piece; if the reader stops, reading from the endpoint stops too. The confined thread sends the request;
//! the key comes from an unconfined one, again for each request.

mod config;
mod endpoint;
mod request;

use std::rc::Rc;

use proto::message::LlmDone;
use proto::request::Llm;
use proto::{Channel, ErrorKind, WireError};
use tokio::sync::Semaphore;

pub use self::config::{KeyFile, LlmConfig, LlmOptions, Provider, base_url};
use self::endpoint::Answer;
use crate::limits::{LLM_BODY_BYTES, LLM_REQUESTS};
use crate::relay::{self, BodyBounds};
use crate::stream::StreamHandle;

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

    /// The endpoint's configuration, if there is an endpoint.
    pub(crate) fn config(&self) -> Option<&LlmConfig> {
        self.config.as_ref()
    }
}

/// Carries out an `Llm`.
pub(crate) async fn run(relay: Rc<Relay>, stream: StreamHandle, request: Llm) {
    let done = Box::pin(carry(&relay, &stream, &request)).await;
    stream.finish(done);
}

async fn carry(llm: &Relay, stream: &StreamHandle, request: &Llm) -> Result<LlmDone, WireError> {
    let Some(config) = &llm.config else {
        let text = "this runner was given no LLM endpoint; start it with --llm-url and --llm-key-file";
        return Err(WireError::new(ErrorKind::Unsupported, text));
    };
    let Ok(_slot) = llm.slots.try_acquire() else {
        let text = format!(
            "{LLM_REQUESTS} requests to the LLM endpoint are in progress; try again when one has ended"
        );
        return Err(WireError::new(ErrorKind::Busy, text));
    };
    let target = request::target(&config.base, &request.path)?;
    let headers = request::headers(&request.headers)?;
    let bounds = BodyBounds { whom: "the LLM endpoint", most_bytes: LLM_BODY_BYTES, idle_ms: config.idle_ms };
    let body = relay::body(stream, bounds).await?;
    let asked = Answer::to(config, target, headers, body);
    let (mut answer, head) = relay::unless_stopped(stream, asked).await?;
    stream.send(head);
    let mut bytes = 0;
    while let Some(piece) = relay::unless_stopped(stream, answer.next()).await? {
        bytes += piece.len() as u64;
        relay::pass_on(stream, &piece).await?;
    }
    stream.end(Channel::Main);
    Ok(LlmDone { bytes })
}
