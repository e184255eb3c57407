//! A tool's description of itself: the JSON object that it prints when it is called with `--describe`.

use std::sync::Arc;
use std::time::Duration;

use agent::tool::visible;
use sandbox::{AckMode, ExecRequest, Profile, Sandbox};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use store::{ChatId, User};

use super::Inner;
use super::find::Found;
use crate::limits::{
    CUSTOM_TOOL_DESCRIBE_PATIENCE, CUSTOM_TOOL_DESCRIPTION_BYTES, CUSTOM_TOOL_MAX_PATIENCE,
    CUSTOM_TOOL_PATIENCE, CUSTOM_TOOL_STDERR_SHOWN_BYTES,
};
use crate::on_record::OnRecord;
use crate::schema;
use crate::to_the_end::{Output, Ran, run};

/// A tool's description of itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Description {
    /// A text that explains to models what it does and when to use it.
    pub(super) description: String,
    /// The JSON schema of its arguments, an object.
    pub(super) parameters: Value,
    /// True if it changes nothing. The machine enforces this: the tool runs with a read-only workspace.
    pub(super) only_reads: bool,
    /// How long a call may take.
    pub(super) patience: Duration,
}

/// The object in the form in which it is printed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Printed {
    description: String,
    #[serde(default)]
    parameters: Option<Map<String, Value>>,
    #[serde(default)]
    read_only: bool,
    /// The time limit of a call, in seconds.
    #[serde(default)]
    timeout: Option<u64>,
    /// A tool is named after its file; if it prints a name as well, that is ignored.
    #[serde(default)]
    #[expect(dead_code, reason = "it is accepted and ignored")]
    name: Option<String>,
}

impl Description {
    /// Reads what a tool printed.
    ///
    /// Fails with the reason as text.
    fn read(printed: &[u8]) -> Result<Self, String> {
        let printed: Printed = serde_json::from_slice(printed).map_err(|error| {
            format!("what it prints with --describe is not the expected JSON object: {error}")
        })?;
        let description = visible::lines(printed.description.trim());
        if description.is_empty() {
            return Err("its description is empty".to_owned());
        }
        let mut parameters = printed.parameters.unwrap_or_default();
        if *parameters.entry("type").or_insert_with(|| json!("object")) != "object" {
            return Err("the type of its parameters is not \"object\"".to_owned());
        }
        // Some providers refuse an object without properties.
        if !parameters.entry("properties").or_insert_with(|| json!({})).is_object() {
            return Err("the properties of its parameters are not an object".to_owned());
        }
        let mut parameters = Value::Object(parameters);
        if let Some(problem) = schema::problem(&parameters) {
            return Err(format!("its parameters cannot be used: {problem}"));
        }
        schema::make_visible(&mut parameters);
        let patience = printed.timeout.map_or(CUSTOM_TOOL_PATIENCE, Duration::from_secs);
        Ok(Self {
            description,
            parameters,
            only_reads: printed.read_only,
            patience: patience.clamp(Duration::from_secs(1), CUSTOM_TOOL_MAX_PATIENCE),
        })
    }
}

impl Inner {
    /// Runs a tool with `--describe`, with a read-only workspace.
    ///
    /// Fails with the reason as text.
    pub(super) async fn describe(
        self: &Arc<Self>,
        user: &User,
        chat: &ChatId,
        sandbox: &Sandbox,
        tool: &Found,
    ) -> Result<Description, String> {
        let mut request = ExecRequest::argv([format!("./{}", tool.path), "--describe".to_owned()]);
        request.timeout = Some(CUSTOM_TOOL_DESCRIBE_PATIENCE);
        request.acks = AckMode::Manual;
        request.profile = Some(Profile::ReadOnly);
        request.stdin = true;
        let command = format!("{} --describe", tool.path);
        let shown = format!("custom tool: {command}");
        let place = sandbox.place();
        let recorded = OnRecord::begin(&self.ledger, user, Some(chat), &request, place, command, shown).await;
        let recorded = recorded.map_err(|error| {
            tracing::error!(%error, "a custom tool could not be recorded");
            error.shown()
        })?;
        let (inner, sandbox) = (Arc::clone(self), sandbox.clone());
        let ran = self.tasks.spawn(async move {
            let most = CUSTOM_TOOL_DESCRIPTION_BYTES;
            run(recorded, &sandbox, request, "", most, inner.stop.cancelled(), |_| {}).await
        });
        match ran.await {
            Ok(Ran::Ended(outcome, output)) if outcome.timed_out => Err(format!(
                "it did not describe itself within {} s{}",
                CUSTOM_TOOL_DESCRIBE_PATIENCE.as_secs(),
                complaint(&output)
            )),
            Ok(Ran::Ended(outcome, output)) if outcome.code != Some(0) => {
                Err(format!("it did not describe itself: it {}{}", end(&outcome), complaint(&output)))
            }
            Ok(Ran::Ended(_, output)) if output.is_cut => {
                Err(format!("its description is longer than {CUSTOM_TOOL_DESCRIPTION_BYTES} bytes"))
            }
            Ok(Ran::Ended(_, output)) => Description::read(&output.stdout),
            Ok(Ran::Failed(why)) => Err(format!("it did not describe itself: {why}")),
            Ok(Ran::GivenUp) => Err("the server is stopping".to_owned()),
            Err(_) => Err("the server failed to run it; its log says why".to_owned()),
        }
    }
}

/// How a command ended, as a phrase that follows its name.
pub(super) fn end(outcome: &sandbox::ExecOutcome) -> String {
    match (outcome.code, outcome.signal) {
        (Some(code), _) => format!("ended with exit status {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended in an unknown way".to_owned(),
    }
}

/// The end of what a command wrote to its standard error, to be added to a reason; empty if it wrote nothing.
pub(super) fn complaint(output: &Output) -> String {
    let kept = &output.stderr[output.stderr.len().saturating_sub(CUSTOM_TOOL_STDERR_SHOWN_BYTES)..];
    let text = visible::lines(String::from_utf8_lossy(kept).trim());
    if text.is_empty() { text } else { format!("; its standard error ends with:\n{text}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_read_with_what_it_leaves_out() {
        let read = |text: &str| Description::read(text.as_bytes());
        let least = read(r#"{"description": " Says hello. "}"#).unwrap();
        assert_eq!(least.description, "Says hello.");
        assert_eq!(least.parameters, json!({"type": "object", "properties": {}}));
        assert_eq!((least.only_reads, least.patience), (false, CUSTOM_TOOL_PATIENCE));
        let most = read(
            r#"{"name": "x", "description": "d", "parameters": {"type": "object", "properties": {"a": {}}},
                "read_only": true, "timeout": 999999}"#,
        );
        let most = most.unwrap();
        assert_eq!((most.only_reads, most.patience), (true, CUSTOM_TOOL_MAX_PATIENCE));
        assert_eq!(most.parameters["properties"], json!({"a": {}}));
    }

    #[test]
    fn what_is_no_description_is_refused_with_the_reason() {
        for (text, reason) in [
            ("", "not the expected JSON object"),
            ("[]", "not the expected JSON object"),
            ("usage: tool ARG", "not the expected JSON object"),
            ("{}", "description"),
            (r#"{"description": " "}"#, "empty"),
            (r#"{"description": "d", "readonly": true}"#, "readonly"),
            (r#"{"description": "d", "parameters": {"type": "string"}}"#, "\"object\""),
            (r#"{"description": "d", "parameters": {"properties": []}}"#, "properties"),
            (
                r#"{"description": "d", "parameters": {"properties": {"a": {"$ref": "https://x.example/s"}}}}"#,
                "cannot be used",
            ),
        ] {
            let why = Description::read(text.as_bytes()).unwrap_err();
            assert!(why.contains(reason), "{text}: {why}");
        }
    }
}
