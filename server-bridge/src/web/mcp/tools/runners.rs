//! `list_runners`: where the others can work.

use axum::extract::State;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Desk, Outcome, Tool};
use crate::web::error::ApiError;
use crate::web::runners;

/// Nothing to be said.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListRunners {}

impl Tool for ListRunners {
    const NAME: &'static str = "list_runners";
    const DESCRIPTION: &'static str = "Lists the user's runners: their names, whether they are online, which one is active, and what \
machine each is. Other places are __docker__ (a container of the user's own on the server, if its admin allows it) and none (the \
server itself).";
    const ONLY_READS: bool = true;

    async fn run(self, desk: &Desk) -> Result<Outcome, ApiError> {
        let active = desk.state.accounts.active_runner(desk.caller.user.id).await?;
        let listed = runners::list(State(desk.state.clone()), desk.caller.clone()).await?;
        let listed = serde_json::to_value(&listed.0).map_err(|error| ApiError::internal(&error))?;
        let lines: Vec<String> = listed.as_array().into_iter().flatten().map(line).collect();
        let lines = if lines.is_empty() {
            "there are no runners; `sandbridge runner add NAME` adds one".to_owned()
        } else {
            lines.join("\n")
        };
        let active_words = active.as_deref().unwrap_or("chosen by the server");
        let outcome = Outcome::text(format!("{lines}\nactive: {active_words}"));
        Ok(Outcome { structured: Some(json!({"active_runner": active, "runners": listed})), ..outcome })
    }
}

fn line(runner: &Value) -> String {
    let word = |field: &str| runner[field].as_str().unwrap_or("?");
    let state = if runner["online"] == true { "online" } else { "offline" };
    let refused: Vec<&str> =
        runner["refused"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let lacks = if refused.is_empty() {
        String::new()
    } else {
        format!(", refused: it lacks {}", refused.join(", "))
    };
    format!(
        "{}: {state}{lacks}, {} {}, workspace {}, profile {}",
        word("name"),
        word("os"),
        word("arch"),
        word("workspace"),
        word("profile"),
    )
}
