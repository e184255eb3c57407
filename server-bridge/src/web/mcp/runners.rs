//! `list_runners`: the places where the other tools can work.

use agent::approval::Access;
use agent::tool::{Failure, ForPrograms, Live, Outcome, Rules, ToolContext, TypedTool};
use api::runner::RunnerView;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::web::runners::Views;

/// The tool, which has no arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListRunners {}

impl TypedTool for ListRunners {
    type Services = Views;

    const NAME: &'static str = "list_runners";
    const DESCRIPTION: &'static str = "Lists the user's runners: their names, whether they are online, which one is active, and what \
machine each is. Other places are __docker__ (a container of the user's own on the server, if its administrator allows it) and \
none (the \
server itself).";
    const RULES: Rules = Rules::of(Access::Read).without_machine().for_programs();

    fn hint(&self) -> &str {
        ""
    }

    async fn run(
        &self,
        services: &Views,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let listed = services.all(context.user).await;
        let (active, runners) = listed.map_err(|error| agent::PortError::Failed(error.to_string()))?;
        let lines: Vec<String> = runners.iter().map(line).collect();
        let lines = if lines.is_empty() {
            "there are no runners; `sandbridge runner add NAME` adds one".to_owned()
        } else {
            lines.join("\n")
        };
        let text = format!("{lines}\nactive: {}", active.as_deref().unwrap_or("chosen by the server"));
        let structured = Some(json!({"active_runner": active, "runners": runners}));
        Ok(Outcome::done(text).with(ForPrograms { structured, ..ForPrograms::default() }))
    }
}

fn line(runner: &RunnerView) -> String {
    let word = |field: &Option<String>| field.clone().unwrap_or_else(|| "?".to_owned());
    let state = if runner.online { "online" } else { "offline" };
    let lacks = if runner.refused.is_empty() {
        String::new()
    } else {
        format!(", refused: it lacks {}", runner.refused.join(", "))
    };
    format!(
        "{}: {state}{lacks}, {} {}, workspace {}, profile {}",
        runner.name,
        word(&runner.os),
        word(&runner.arch),
        word(&runner.workspace),
        word(&runner.profile),
    )
}
