//! `sandbridge cancel`: ends a running command.

use std::process::ExitCode;

use clap::Parser;

use crate::command::{Command, block_on};
use crate::failure::Failure;
use crate::globals::Globals;
use crate::http::Client;
use crate::{names, output};

/// End a running command
#[derive(Parser)]
pub(crate) struct CancelOptions {
    /// The command's id, as `exec --detach` and `ps` print it
    #[arg(value_name = "ID", add = names::commands())]
    exec_id: String,
}

impl Command for CancelOptions {
    const NAME: &'static str = "cancel";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(cancel(globals, self))
    }
}

/// Ends a command: its whole process tree gets TERM and, after a grace period, KILL.
async fn cancel(globals: &Globals, options: CancelOptions) -> Result<ExitCode, Failure> {
    let mut client = Client::new(&globals.session()?)?;
    let cancelled = client.cancel_exec(&options.exec_id).await?;
    if globals.json {
        output::json_line(&cancelled);
    } else {
        output::line(&format!("{} has ended", options.exec_id));
    }
    Ok(ExitCode::SUCCESS)
}
