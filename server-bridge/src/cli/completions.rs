//! `sandbridge completions`: a completion script on standard output.

use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::failure::Failure;

/// Which shell.
#[derive(Args)]
pub(super) struct CompletionsOptions {
    /// The shell: bash, zsh or fish
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn run(options: CompletionsOptions) -> Result<ExitCode, Failure> {
    clap_complete::generate(options.shell, &mut super::Cli::command(), "sandbridge", &mut std::io::stdout());
    Ok(ExitCode::SUCCESS)
}
