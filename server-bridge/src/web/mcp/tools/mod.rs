//! What an MCP client may call: one file per family of tools, and the table of all of them.

mod exec;
mod files;
mod runners;
mod search;
mod tasks;

use std::future::Future;

use agent::tool::schema_of;
use futures_util::future::BoxFuture;
use rmcp::model::{CallToolResult, ContentBlock, ProgressNotificationParam, ProgressToken, ToolAnnotations};
use rmcp::{Peer, RoleServer};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::server::object;
use crate::state::AppState;
use crate::web::auth::Caller;
use crate::web::error::ApiError;

/// Where a tool works, and for whom.
pub(super) struct Desk {
    pub(super) state: AppState,
    pub(super) caller: Caller,
    /// Its client wants it to stop.
    pub(super) cancelled: CancellationToken,
    /// Where its client wants to hear of what happens meanwhile.
    pub(super) progress: Option<Progress>,
}

/// How a client is told of progress.
pub(super) struct Progress {
    pub(super) peer: Peer<RoleServer>,
    pub(super) token: ProgressToken,
}

/// What a tool came to.
#[derive(Debug)]
pub(super) struct Outcome {
    content: Vec<ContentBlock>,
    /// The same for programs.
    structured: Option<Value>,
    is_error: bool,
}

/// A tool: its arguments as a client sends them. Their doc comments are what models read.
trait Tool: DeserializeOwned + JsonSchema + Send + Sync + 'static {
    /// What clients call it.
    const NAME: &'static str;
    /// What models are told of it.
    const DESCRIPTION: &'static str;
    /// Whether it changes nothing; a key for reading opens no other.
    const ONLY_READS: bool;

    /// What its structured result looks like, if it has one.
    fn output_schema() -> Option<Value> {
        None
    }

    /// Does it.
    ///
    /// Fails with what the client is told, as the result of the call.
    fn run(self, desk: &Desk) -> impl Future<Output = Result<Outcome, ApiError>> + Send;
}

/// All tools, in the order that clients are told of them in.
const TOOLS: &[Entry] = &[
    Entry::of::<runners::ListRunners>(),
    Entry::of::<exec::Exec>(),
    Entry::of::<files::ReadFile>(),
    Entry::of::<files::WriteFile>(),
    Entry::of::<files::ListDirectory>(),
    Entry::of::<search::Glob>(),
    Entry::of::<search::Grep>(),
    Entry::of::<tasks::Start>(),
    Entry::of::<tasks::Status>(),
    Entry::of::<tasks::Read>(),
    Entry::of::<tasks::Kill>(),
];

/// Understands a tool's arguments and does it.
type Run = for<'a> fn(Map<String, Value>, &'a Desk) -> BoxFuture<'a, Result<Outcome, ApiError>>;

/// A row of the table.
pub(super) struct Entry {
    name: &'static str,
    only_reads: bool,
    describe: fn() -> rmcp::model::Tool,
    run: Run,
}

impl Entry {
    const fn of<T: Tool>() -> Self {
        Self { name: T::NAME, only_reads: T::ONLY_READS, describe: describe::<T>, run: run::<T> }
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Whether it changes nothing.
    pub(super) fn only_reads(&self) -> bool {
        self.only_reads
    }

    /// As a client is told of it.
    pub(super) fn describe(&self) -> rmcp::model::Tool {
        (self.describe)()
    }

    /// Understands the arguments and does it.
    pub(super) async fn run(&self, arguments: Map<String, Value>, desk: &Desk) -> Result<Outcome, ApiError> {
        (self.run)(arguments, desk).await
    }
}

/// All tools.
pub(super) fn all() -> &'static [Entry] {
    TOOLS
}

/// The tool of this name.
pub(super) fn find(name: &str) -> Option<&'static Entry> {
    TOOLS.iter().find(|entry| entry.name == name)
}

/// A result as the protocol carries it. What went wrong is a result too: a model can do something about it.
pub(super) fn result(outcome: Result<Outcome, ApiError>) -> CallToolResult {
    let outcome = outcome.unwrap_or_else(|error| {
        let text = format!("{} ({})", error.message, error.kind);
        Outcome { content: vec![ContentBlock::text(text)], structured: None, is_error: true }
    });
    let mut result = if outcome.is_error {
        CallToolResult::error(outcome.content)
    } else {
        CallToolResult::success(outcome.content)
    };
    result.structured_content = outcome.structured;
    result
}

fn describe<T: Tool>() -> rmcp::model::Tool {
    let annotations = ToolAnnotations::new().read_only(T::ONLY_READS).open_world(!T::ONLY_READS);
    let tool = rmcp::model::Tool::new(T::NAME, T::DESCRIPTION, object(schema_of::<T>()));
    let tool = tool.with_annotations(annotations);
    match T::output_schema() {
        Some(schema) => tool.with_raw_output_schema(object(schema)),
        None => tool,
    }
}

fn run<T: Tool>(arguments: Map<String, Value>, desk: &Desk) -> BoxFuture<'_, Result<Outcome, ApiError>> {
    Box::pin(async move {
        let known: T = serde_json::from_value(arguments.into()).map_err(|error| {
            ApiError::invalid(format!("the arguments of {} do not fit: {error}", T::NAME))
        })?;
        tokio::select! {
            done = known.run(desk) => done,
            // A command is ended by its own tool, which sees the same.
            () = desk.cancelled.cancelled(), if T::ONLY_READS => Err(ApiError::new("cancelled", "it was cancelled")),
        }
    })
}

impl Desk {
    /// The sandbox of the place that is named, else of the active one.
    async fn sandbox(&self, runner: Option<&str>) -> Result<sandbox::Sandbox, ApiError> {
        self.state.sandbox(&self.caller.user, runner).await
    }
}

impl Progress {
    /// Tells the client how far it is; a client that is gone is told nothing.
    async fn tell(&self, bytes: u64, text: String) {
        // A number without a total: exact up to 2^53 bytes.
        let told = ProgressNotificationParam::new(self.token.clone(), bytes as f64).with_message(text);
        if let Err(error) = self.peer.notify_progress(told).await {
            tracing::debug!(%error, "a client heard no progress");
        }
    }
}

impl Outcome {
    fn text(text: impl Into<String>) -> Self {
        Self { content: vec![ContentBlock::text(text)], structured: None, is_error: false }
    }

    /// One more text behind it.
    fn and(mut self, text: impl Into<String>) -> Self {
        self.content.push(ContentBlock::text(text));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_describes_each_of_its_arguments() {
        for entry in all() {
            let tool = entry.describe();
            assert_eq!(tool.input_schema["type"], "object", "{}", entry.name());
            assert_eq!(tool.input_schema["additionalProperties"], false, "{}", entry.name());
            for (name, schema) in tool.input_schema["properties"].as_object().unwrap() {
                assert!(schema["description"].is_string(), "{} {name}", entry.name());
                assert!(!schema.to_string().contains("$ref"), "{} {name}", entry.name());
            }
            assert_eq!(tool.annotations.unwrap().read_only_hint, Some(entry.only_reads()));
        }
    }

    #[test]
    fn an_error_is_told_as_a_result_in_words_and_its_kind() {
        let told = result(Err(ApiError::new("offline", "runner laptop is offline")));
        let told = serde_json::to_value(told).unwrap();
        assert_eq!(told["isError"], true);
        assert_eq!(told["content"][0]["text"], "runner laptop is offline (offline)");
    }
}
