//! A model reached through a runner: the endpoint's key stays on that runner.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::unfold;
use futures_util::{FutureExt, StreamExt};
use llm::Error;
use llm::transport::{Answer, Call, Transport};
use sandbox::{Choice, LlmRequest, RouteRequest, SandboxError, SandboxRouter, Target, User};

use crate::limits::RELAY_PIECE_BYTES;

/// The endpoint of one user's runner.
#[derive(Debug)]
pub(super) struct Relay {
    router: SandboxRouter,
    user: User,
    route_request: RouteRequest,
}

impl Relay {
    /// The endpoint of this runner, which must be in `registered`; requests never go to another runner.
    pub(super) fn new(router: SandboxRouter, user: User, runner: &str, registered: Vec<String>) -> Self {
        Self {
            router,
            user,
            route_request: RouteRequest { choice: Choice::Place(Target::named(runner)), registered },
        }
    }

    async fn ask(&self, call: Call) -> Result<Answer, Error> {
        let sandbox = self
            .router
            .for_user(&self.user, &self.route_request)
            .await
            .map_err(|error| Error::Relay(format!("the model's runner cannot be used: {error}")))?;
        let headers = call.headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        let content_type =
            (!call.body.is_empty()).then(|| ("content-type".to_owned(), "application/json".to_owned()));
        let headers = headers.chain(content_type).collect();
        let request = LlmRequest { path: call.path.to_owned(), headers };
        let mut stream = sandbox.llm(request).await.map_err(failed)?;
        for piece in call.body.iter().flat_map(|piece| piece.chunks(RELAY_PIECE_BYTES)) {
            stream.write(piece).await.map_err(failed)?;
        }
        let answer = stream.finish().await.map_err(failed)?;
        let retry_after = answer.headers().iter().find(|(name, _)| name == "retry-after");
        let retry_after_s = retry_after.and_then(|(_, value)| value.trim().parse().ok());
        let status = answer.status();
        let body = unfold(answer, async |mut answer| {
            let piece: Result<Bytes, Error> = answer.next().await?.map_err(failed);
            Some((piece, answer))
        });
        Ok(Answer { status, retry_after_s, body: body.boxed() })
    }
}

impl Transport for Relay {
    fn send(&self, call: Call) -> BoxFuture<'_, Result<Answer, Error>> {
        self.ask(call).boxed()
    }
}

/// Converts a failure of the transport: asking a model again is harmless, whatever happened to the first request.
fn failed(error: SandboxError) -> Error {
    let text = error.to_string();
    match error.kind() {
        "busy" => Error::RateLimited { message: text, retry_after: None },
        "lost" | "io" | "timeout" => Error::Network(text),
        "too_large" | "invalid_body" => Error::Refused(text),
        _ => Error::Relay(text),
    }
}
