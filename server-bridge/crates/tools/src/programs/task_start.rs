//! `task_start`: starts a background command.

use agent::approval::Access;
use agent::tool::{Failure, ForPrograms, Live, Outcome, Rules, ToolContext, TypedTool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::command::{Asked, Command};
use crate::limits::PROGRAM_TASK_MAX_S;
use crate::{Services, Work};

/// The command to start: a command line or a program with its arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// A command line for the runner's shell; or give argv.
    #[serde(default)]
    command: Option<String>,
    /// A program and its arguments, passed unchanged; or give command.
    #[serde(default)]
    argv: Option<Vec<String>>,
    /// The working directory; the workspace if absent.
    #[serde(default)]
    cwd: Option<String>,
    /// The time limit in seconds, after which the command is ended with everything it started; none if absent.
    #[serde(default)]
    timeout_s: Option<f64>,
}

impl TypedTool for Arguments {
    type Services = Services;

    const NAME: &'static str = "task_start";
    const DESCRIPTION: &'static str = "Starts a command that keeps running in the background, beyond this call and this \
        session: a server, a watcher, a \
long build. Returns its id for task_status, task_read and task_kill.";
    const RULES: Rules = Rules::of(Access::Run).for_programs();

    fn hint(&self) -> &str {
        self.command.as_deref().unwrap_or_default()
    }

    async fn run(
        &self,
        services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let work = &Work { services, context };
        let asked = Asked {
            line: self.command.as_deref(),
            argv: self.argv.as_deref(),
            cwd: self.cwd.as_deref(),
            timeout_s: self.timeout_s,
            timeout_max_s: PROGRAM_TASK_MAX_S,
            stdin: false,
            goes_on: true,
        };
        let command = Command::start(work, asked).await?;
        let (id, runner) = (command.id(), command.place().to_owned());
        command.leave().await?;
        let text = format!("task {id} runs on {runner}");
        let structured = Some(json!({"id": id, "runner": runner}));
        Ok(Outcome::done(text).with(ForPrograms { structured, ..ForPrograms::default() }))
    }
}
