//! `sandbridge use`: choose where one's commands run.

use std::process::ExitCode;

use api::runner::AUTO;
use clap::Parser;

use super::failure::Failure;
use super::http::Client;
use super::{names, output};
use crate::command::{Command, block_on};
use crate::globals::Globals;

/// Choose where your commands run
#[derive(Parser)]
#[command(name = "use")]
pub(crate) struct UseOptions {
    /// A runner's name, `__docker__`, `none` (the server itself), or `auto` (your only runner)
    #[arg(value_name = "NAME|__docker__|none|auto", add = names::places())]
    place: String,
}

impl Command for UseOptions {
    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(run(globals, self))
    }
}

async fn run(globals: &Globals, options: UseOptions) -> Result<ExitCode, Failure> {
    let session = globals.session()?;
    let mut client = Client::new(&session)?;
    let changed = client.use_place(Some(options.place).filter(|place| place != AUTO)).await?;
    if globals.json {
        output::json_line(&changed);
    } else {
        match &changed.active_runner {
            Some(name) => output::line(&format!("your commands run on {name} now")),
            None => output::line("your commands run on your only runner now, or in Docker if you have none"),
        }
    }
    if let Some(warning) = &changed.warning {
        output::warn(&format!("warning: {warning}"));
    }
    Ok(ExitCode::SUCCESS)
}
