//! `sandbridge ps`: lists the running commands.

use std::process::ExitCode;

use api::exec::ExecView;
use clap::Parser;

use crate::command::{Command, block_on};
use crate::failure::Failure;
use crate::globals::Globals;
use crate::http::Client;
use crate::output;

/// List the running commands
#[derive(Parser)]
pub(crate) struct PsOptions {
    /// Also list those that have ended
    #[arg(long)]
    all: bool,
}

impl Command for PsOptions {
    const NAME: &'static str = "ps";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(list(globals, self))
    }
}

async fn list(globals: &Globals, options: PsOptions) -> Result<ExitCode, Failure> {
    let mut client = Client::new(&globals.session()?)?;
    let execs = client.execs(!options.all).await?;
    if globals.json {
        output::json_line(&execs);
    } else {
        output::line(&words(&execs));
    }
    Ok(ExitCode::SUCCESS)
}

fn words(execs: &[ExecView]) -> String {
    if execs.is_empty() {
        return "nothing is running; `sandbridge ps --all` shows what has ended".to_owned();
    }
    let heading = ["ID", "STARTED", "STATE", "RUNNER", "COMMAND"].map(str::to_owned).to_vec();
    let rows = execs.iter().map(|exec| {
        let state = match (exec.code, exec.signal) {
            (Some(number), _) | (None, Some(number)) => format!("{} {number}", exec.status),
            (None, None) => exec.status.to_string(),
        };
        let command: String = exec.command.chars().take(60).collect();
        let runner = exec.runner.clone().unwrap_or_else(|| "-".to_owned());
        vec![exec.exec_id.clone(), output::ago(exec.started_at), state, runner, command]
    });
    output::table(&std::iter::once(heading).chain(rows).collect::<Vec<_>>())
}
