//! The commands of the program: those that work on this machine, and those of the client.
//!
//! A new command on this machine: its arguments where its work is done, an `impl Command` and a line here.

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use client::command::{Command, Registration};
use client::failure::Failure;
use client::globals::Globals;
use client::output;
use serde_json::Value;

use crate::admin::UserCommand;
use crate::backup::BackupOptions;
use crate::backup::restore::{self, RestoreOptions};
use crate::config::{ConfigError, ServeArgs};
use crate::here::HereOptions;

/// The commands that work on this machine, in the order of the help.
const OWN: &[Registration] = &[
    Registration::of::<HereOptions>(),
    Registration::of::<ServeCommand>(),
    Registration::of::<UserCommand>(),
    Registration::of::<BackupOptions>(),
    Registration::of::<RestoreOptions>(),
];

/// The whole of the `sandbridge` program.
pub fn main() -> ExitCode {
    client::main(&[OWN, client::COMMANDS].concat())
}

/// Run the server
#[derive(Parser)]
#[command(name = "serve")]
struct ServeCommand {
    #[command(flatten)]
    options: ServeArgs,
}

impl Command for ServeCommand {
    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        crate::serve::main(self.options, globals.home.as_deref())
            .map(|()| ExitCode::SUCCESS)
            .map_err(|error| failure_of(&error))
    }
}

impl Command for UserCommand {
    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        done(globals, |home| crate::admin::main(self, home))
    }
}

impl Command for BackupOptions {
    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        done(globals, |home| crate::backup::main(&self, home))
    }
}

impl Command for RestoreOptions {
    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        done(globals, |home| restore::main(&self, home))
    }
}

/// Does something on this machine and says what was done, for programs or in words.
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

/// The failure of work on this machine, with its causes; one that its error's text names already is not said twice.
pub(crate) fn failure_of(error: &anyhow::Error) -> Failure {
    let mut message = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !message.contains(&cause) {
            message.push_str(": ");
            message.push_str(&cause);
        }
    }
    let kind = match error.downcast_ref::<store::Error>() {
        Some(store::Error::NotFound { .. }) => "not_found",
        Some(store::Error::Taken { .. } | store::Error::Conflict { .. }) => "conflict",
        Some(error) if error.is_callers() => "invalid",
        None if error.is::<ConfigError>() || error.is::<home::Error>() => "invalid",
        Some(_) | None => "failed",
    };
    Failure::other(kind, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_told_once_whether_its_error_names_it_or_not() {
        let missing = || std::io::Error::from_raw_os_error(2);
        let home = home::Error::Home { home: "/h".into(), source: missing() };
        let listen = crate::serve::StartError::Listen { listen: "x:1".to_owned(), source: missing() };
        let store = store::Error::Open { path: "/h/db".into(), source: missing() };
        let plain = anyhow::Error::new(missing()).context("cannot read the password");
        for error in [home.into(), listen.into(), anyhow::Error::new(store), plain] {
            let told = failure_of(&error).message;
            assert_eq!(told.matches("os error 2").count(), 1, "{told}");
        }
    }

    #[test]
    fn failures_of_accounts_have_kinds() {
        let taken = store::Error::Taken { what: "user", name: "ada".to_owned() };
        let missing = store::Error::NotFound { what: "user", name: "ada".to_owned() };
        let name = store::Error::InvalidName { name: "!".to_owned() };
        for (error, kind) in [(taken, "conflict"), (missing, "not_found"), (name, "invalid")] {
            assert_eq!(failure_of(&error.into()).kind, kind);
        }
        assert_eq!(failure_of(&home::Error::NoHome.into()).kind, "invalid");
    }
}
