//! `sandbridge attach`, `ps` and `cancel`: commands that run without this program.

use std::process::ExitCode;

use api::exec::ExecView;
use clap::Args;
use serde_json::json;

use super::stdin::Stdin;
use super::stream::{OnInterrupt, Opening, Stream};
use super::{Globals, finish, format};
use crate::cli::client::{Client, percent_encoded, read};
use crate::cli::failure::Failure;
use crate::cli::{names, output};

/// Which command, and from where on.
#[derive(Args)]
pub(in crate::cli) struct AttachOptions {
    /// Its id, as `exec --detach` and `ps` print it
    #[arg(value_name = "ID", add = names::commands())]
    exec_id: String,
    /// Skip so many bytes of its output
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    offset: u64,
    /// Send it this program's standard input
    #[arg(long)]
    stdin: bool,
}

/// Which commands are listed.
#[derive(Args)]
pub(in crate::cli) struct PsOptions {
    /// Also those that have ended
    #[arg(long)]
    all: bool,
}

/// Which command is ended.
#[derive(Args)]
pub(in crate::cli) struct CancelOptions {
    /// Its id, as `exec --detach` and `ps` print it
    #[arg(value_name = "ID", add = names::commands())]
    exec_id: String,
}

/// Shows a command's output from its beginning, and ends with its code. Ctrl-C ends this program, not the command.
pub(in crate::cli) async fn attach(globals: &Globals, options: AttachOptions) -> Result<ExitCode, Failure> {
    let session = globals.session()?;
    let stdin = if options.stdin { Stdin::start()? } else { Stdin::none() };
    let opening = Opening::Attach(format!("/api/v1/execs/{}", percent_encoded(&options.exec_id)));
    let (leave, offset) = (OnInterrupt::Leave, options.offset);
    let stream = Stream::start(&session, opening, leave, stdin, format(globals), offset).await?;
    finish(globals, stream).await
}

/// Lists commands.
pub(in crate::cli) async fn list(globals: &Globals, options: PsOptions) -> Result<ExitCode, Failure> {
    let mut client = Client::new(&globals.session()?)?;
    let path = if options.all { "/api/v1/execs" } else { "/api/v1/execs?running=true" };
    let execs = client.get(path).await?;
    if globals.json {
        output::json_line(&execs);
    } else {
        output::line(&words(&read::<Vec<ExecView>>(execs)?));
    }
    Ok(ExitCode::SUCCESS)
}

/// Ends a command: TERM, grace, KILL on its whole tree.
pub(in crate::cli) async fn cancel(globals: &Globals, options: CancelOptions) -> Result<ExitCode, Failure> {
    let mut client = Client::new(&globals.session()?)?;
    let path = format!("/api/v1/execs/{}/cancel", percent_encoded(&options.exec_id));
    let answer = client.post(&path, &json!({})).await?;
    if globals.json {
        output::json_line(&answer);
    } else {
        output::line(&format!("{} has ended", options.exec_id));
    }
    Ok(ExitCode::SUCCESS)
}

fn words(execs: &[ExecView]) -> String {
    if execs.is_empty() {
        return "nothing runs; `sandbridge ps --all` shows what has ended".to_owned();
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
