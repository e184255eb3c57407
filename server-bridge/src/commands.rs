//! The commands of the program: those that work on this machine, and those of the client.
//!
//! A new command on this machine needs a type for its arguments, next to its implementation; an `impl Command`; and a line in `OWN`.

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use client::command::{Command, Registration};
use client::failure::Failure;
use client::globals::Globals;
use client::output;
use serde_json::Value;

use crate::admin::UserOptions;
use crate::backup::BackupOptions;
use crate::backup::restore::{self, RestoreOptions};
use crate::config::ServeArgs;
use crate::failure::failure_of;
use crate::here::HereOptions;
use crate::store_copy::StoreOptions;

/// The commands that work on this machine, in the order of the help.
const OWN: &[Registration] = &[
    Registration::of::<HereOptions>(),
    Registration::of::<ServeCommand>(),
    Registration::of::<UserOptions>(),
    Registration::of::<BackupOptions>(),
    Registration::of::<RestoreOptions>(),
    Registration::of::<StoreOptions>(),
    Registration::of::<ExtractCommand>(),
];

/// Runs the `sandbridge` program.
pub fn main() -> ExitCode {
    client::main(&[OWN, client::COMMANDS].concat())
}

/// Run the server
#[derive(Parser)]
struct ServeCommand {
    #[command(flatten)]
    options: ServeArgs,
}

impl Command for ServeCommand {
    const NAME: &'static str = "serve";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        crate::serve::main(self.options, globals.home.as_deref())
            .map(|()| ExitCode::SUCCESS)
            .map_err(|error| failure_of(&error))
    }
}

/// Read the document on standard input: the server runs this, confined, for each document
#[derive(Parser)]
#[command(hide = true)]
struct ExtractCommand {
    /// The document's name: its extension decides if the content does not show the kind of document
    #[arg(long, default_value = "", value_name = "NAME")]
    name: String,
}

impl Command for ExtractCommand {
    const NAME: &'static str = extract::COMMAND;

    fn run(self, _globals: &Globals) -> Result<ExitCode, Failure> {
        Ok(extract::child::main(&self.name))
    }
}

impl Command for UserOptions {
    const NAME: &'static str = "user";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        done(globals, |home| crate::admin::main(self, home))
    }
}

impl Command for BackupOptions {
    const NAME: &'static str = "backup";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        done(globals, |home| crate::backup::main(&self, home))
    }
}

impl Command for RestoreOptions {
    const NAME: &'static str = "restore";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        done(globals, |home| restore::main(&self, home))
    }
}

impl Command for StoreOptions {
    const NAME: &'static str = "store";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        done(globals, |_| crate::store_copy::main(self))
    }
}

/// Carries out an action on this machine and reports it, for programs or as text.
fn done(
    globals: &Globals,
    work: impl FnOnce(Option<&Path>) -> anyhow::Result<(Value, String)>,
) -> Result<ExitCode, Failure> {
    let (value, words) = work(globals.home.as_deref()).map_err(|error| failure_of(&error))?;
    if globals.json {
        output::json_line(&value);
    } else {
        output::line(&words);
    }
    Ok(ExitCode::SUCCESS)
}
