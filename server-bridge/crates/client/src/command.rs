//! A command of the program: its arguments, its action, and its registration.

use std::future::Future;
use std::process::ExitCode;

use clap::{ArgMatches, Parser};

use crate::failure::Failure;
use crate::globals::Globals;

/// The outcome of a command: its exit code, or why it was not done.
pub type Outcome = Result<ExitCode, Failure>;

/// A command. The fields of the type are its arguments, and the type's documentation is its description.
pub trait Command: Parser {
    /// The command's name.
    const NAME: &'static str;

    /// Does what the arguments ask for, and gives the exit code.
    ///
    /// # Errors
    /// The reason why it was not done.
    fn run(self, globals: &Globals) -> Outcome;
}

/// A command as the program knows it.
#[derive(Clone, Copy)]
pub struct Registration {
    pub(crate) name: &'static str,
    arguments: fn() -> clap::Command,
    run: fn(&Globals, &ArgMatches) -> Result<Outcome, clap::Error>,
}

impl Registration {
    /// The registration of a command.
    pub const fn of<C: Command>() -> Self {
        Self {
            name: C::NAME,
            arguments: C::command,
            run: |globals, matches| Ok(C::from_arg_matches(matches)?.run(globals)),
        }
    }

    /// The command's name, arguments and help.
    pub(crate) fn arguments(self) -> clap::Command {
        (self.arguments)().name(self.name)
    }

    /// Runs the command with its parsed arguments.
    ///
    /// # Errors
    /// If the arguments are invalid.
    pub(crate) fn run(self, globals: &Globals, matches: &ArgMatches) -> Result<Outcome, clap::Error> {
        (self.run)(globals, matches)
    }
}

/// Runs a client command on this thread alone: without a switch to another, and with the least startup cost.
///
/// # Errors
/// The command's own errors, and `internal` if the runtime cannot be started.
pub(crate) fn block_on(
    command: impl Future<Output = Result<ExitCode, Failure>>,
) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
        Failure::other("internal", format!("cannot start the runtime of this program: {error}"))
    })?;
    let result = runtime.block_on(command);
    // A read of a terminal may still be pending; it must not delay the exit.
    runtime.shutdown_background();
    result
}
