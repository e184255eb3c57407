//! One call of a tool by a program: the permitted tools, the place, and the client's progress.

use std::convert::Infallible;
use std::sync::Arc;

use accounts::KeyScope;
use agent::tool::{
    DelegationRequest, Failure, Host, Outcome, Program, Question, SampleRequest, Sampled, Tool, ToolCaller,
    ToolContext,
};
use futures_util::future::BoxFuture;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::{Peer, RoleServer};
use sandbox::Sandbox;
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::describe::{RUNNER, only_reads, takes_runner};
use crate::limits::{MCP_PROGRESS_BYTES, MCP_PROGRESS_INTERVAL};
use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::state::AppState;

/// A call of a tool.
pub(super) struct Call {
    pub(super) state: AppState,
    pub(super) caller: Caller,
    pub(super) tool: Arc<dyn Tool>,
    /// The tool's name for programs.
    pub(super) name: String,
    /// Cancelled when the client asks to stop the call.
    pub(super) cancelled: CancellationToken,
    /// Present if the client wants progress notifications.
    pub(super) progress: Option<Progress>,
}

/// The channel of progress notifications.
pub(super) struct Progress {
    pub(super) peer: Peer<RoleServer>,
    pub(super) token: ProgressToken,
}

/// The newest output of a command, and the total length of its output so far.
#[derive(Default)]
struct News {
    bytes: u64,
    text: String,
}

/// The server as a tool sees it in a program's call, which has no chat: nobody can be asked, and there are no sub-agents.
struct ProgramHost<'a> {
    state: &'a AppState,
    caller: &'a Caller,
    on: Option<&'a str>,
}

impl Call {
    /// Makes the call. Waits for commands and changes even if the call's session ends in the meantime, because they must be on record.
    pub(super) async fn make(self, mut arguments: Map<String, Value>) -> Result<Outcome, ApiError> {
        let Self { state, caller, tool, name, .. } = &self;
        let only_reads = only_reads(tool.as_ref());
        if !only_reads && caller.scope() == KeyScope::Read {
            let message = format!("this key is for reading only; {name} needs one with the scope exec");
            return Err(ApiError::new("forbidden", message));
        }
        let _counted = state.mcp.sessions.call(caller.user.id)?;
        let on = if takes_runner(tool.as_ref()) { runner(&mut arguments)? } else { None };
        let call = tool.understand(arguments).map_err(ApiError::invalid)?;
        // A stopping server waits until the call is on record.
        let _awaited = state.execs.token();
        let cancelled = state.shutdown.child_token();
        let host = ProgramHost { state, caller, on: on.as_deref() };
        let program = Program { on: on.as_deref(), is_trusted: caller.may_approve().is_some() };
        let context = ToolContext {
            host: &host,
            user: &caller.user,
            caller: ToolCaller::Program(program),
            cancelled: &cancelled,
            is_plan: false,
            approval: None,
            bound: agent::tool::Bound::default(),
        };
        let (news, heard) = watch::channel(News::default());
        let mut live = |text: &str| {
            if self.progress.is_some() && !text.is_empty() {
                news.send_modify(|news| news.add(text));
            }
        };
        let stop = async {
            tokio::select! {
                () = self.cancelled.cancelled() => {}
                () = caller.session_ended(state) => {}
            }
            cancelled.cancel();
            std::future::pending::<Infallible>().await
        };
        let done = tokio::select! {
            done = call.run(&context, &mut live) => done,
            // Notifications are sent in parallel to the call, because a client may be slow to read.
            never = tell(self.progress.as_ref(), heard) => match never {},
            never = stop => match never {},
            // The command's tool ends the command itself: it gets the same token.
            () = cancelled.cancelled(), if only_reads => {
                return Err(ApiError::new("cancelled", "it was cancelled"));
            }
        };
        done.map_err(|failure| match failure.kind() {
            "internal" => ApiError::internal(&failure),
            kind => ApiError::new(kind, failure.to_string()),
        })
    }
}

/// Removes the place from a call's arguments, because the tools have no such argument.
fn runner(arguments: &mut Map<String, Value>) -> Result<Option<String>, ApiError> {
    match arguments.remove(RUNNER) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(name)) => Ok(Some(name)),
        Some(_) => Err(ApiError::invalid("the arguments are invalid: runner must be a string")),
    }
}

impl Host for ProgramHost<'_> {
    fn sandbox(&self) -> BoxFuture<'_, Result<Sandbox, Failure>> {
        Box::pin(async {
            let found = self.state.ledger.sandbox(&self.caller.user, self.on).await;
            found.map_err(|error| match (error.kind(), error) {
                ("internal", error) => agent::PortError::Failed(error.to_string()).into(),
                (kind, error) => Failure::Refused { kind, text: error.to_string() },
            })
        })
    }

    fn hidden<'a>(
        &'a self,
        _base: &'a str,
        paths: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<bool>, Failure>> {
        // Rules apply to models in chats; a program's permissions are those of its key.
        Box::pin(async { Ok(vec![false; paths.len()]) })
    }

    fn ask<'a>(&'a self, _question: &'a Question) -> BoxFuture<'a, Result<Option<String>, Failure>> {
        Box::pin(async { Ok(None) })
    }

    fn sample(&self, _: SampleRequest) -> BoxFuture<'_, Result<Sampled, Failure>> {
        Box::pin(async { Err(Failure::Message("models answer only in chats".to_owned())) })
    }

    fn delegate<'a>(&'a self, _request: DelegationRequest<'a>) -> BoxFuture<'a, Result<Outcome, Failure>> {
        Box::pin(async { Err(Failure::Message("sub-agents are available only in chats".to_owned())) })
    }

    fn is_at_work(&self, _sub_agent: &chats::ChatId) -> bool {
        false
    }
}

impl News {
    fn add(&mut self, text: &str) {
        self.bytes += text.len() as u64;
        self.text.push_str(text);
        let surplus = self.text.len().saturating_sub(MCP_PROGRESS_BYTES);
        self.text.drain(..self.text.ceil_char_boundary(surplus));
    }
}

/// Sends the newest output, at most once per [`MCP_PROGRESS_INTERVAL`], for as long as this future is polled.
async fn tell(progress: Option<&Progress>, mut heard: watch::Receiver<News>) -> Infallible {
    if let Some(progress) = progress {
        while heard.changed().await.is_ok() {
            let (bytes, text) = {
                let news = heard.borrow_and_update();
                (news.bytes, news.text.clone())
            };
            progress.tell(bytes, text).await;
            sleep(MCP_PROGRESS_INTERVAL).await;
        }
    }
    std::future::pending().await
}

impl Progress {
    /// Sends a progress notification; a failure is only logged, because the client may have disconnected.
    async fn tell(&self, bytes: u64, text: String) {
        // A number without a total: exact up to 2^53 bytes.
        let told = ProgressNotificationParam::new(self.token.clone(), bytes as f64).with_message(text);
        if let Err(error) = self.peer.notify_progress(told).await {
            tracing::debug!(%error, "a client did not receive progress");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_output_is_told_in_whole_characters_and_all_of_it_is_counted() {
        let mut news = News::default();
        let text = "é".repeat(MCP_PROGRESS_BYTES);
        news.add("a");
        news.add(&text);
        assert_eq!((news.bytes, news.text.len()), (1 + text.len() as u64, MCP_PROGRESS_BYTES));
        assert!(text.ends_with(&news.text));
    }

    #[test]
    fn a_calls_place_is_a_name_or_nothing() {
        let of = |value: Value| runner(&mut Map::from_iter([(RUNNER.to_owned(), value)]));
        assert_eq!(of(Value::Null).unwrap(), None);
        assert_eq!(of("laptop".into()).unwrap().as_deref(), Some("laptop"));
        assert_eq!(of(1.into()).unwrap_err().kind, "invalid");
    }
}
