//! `sandbridge use`: choose where one's commands run.

use std::process::ExitCode;

use clap::Parser;
use serde_json::{Value, json};

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
    let choice = if options.place == "auto" { Value::Null } else { json!(options.place) };
    let answer = client.put("/api/v1/settings", &json!({"active_runner": choice})).await?;
    if globals.json {
        output::json_line(&answer);
    } else {
        match answer["active_runner"].as_str() {
            Some(name) => output::line(&format!("your commands run on {name} now")),
            None => output::line("your commands run on your only runner now, or in Docker if you have none"),
        }
    }
    if let Some(warning) = answer["warning"].as_str() {
        output::warn(&format!("warning: {warning}"));
    }
    Ok(ExitCode::SUCCESS)
}
