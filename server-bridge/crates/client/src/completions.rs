//! `sandbridge completions`: a completion script on standard output.
//!
//! Each time, the script asks this program, which takes options from its own parser and names from the server (`names`). Therefore the script
//! is never out of date.

use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use clap_complete::CompleteEnv;
use clap_complete::env::Shells;

use super::failure::Failure;
use super::output;
use crate::command::Command;
use crate::globals::Globals;

/// The variable that a script sets to ask for completions.
const VARIABLE: &str = "COMPLETE_SANDBRIDGE";
/// The name of this program.
const PROGRAM: &str = "sandbridge";

/// Print a completion script for a shell
#[derive(Parser)]
pub(crate) struct CompletionsOptions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Command for CompletionsOptions {
    const NAME: &'static str = "completions";

    fn run(self, _: &Globals) -> Result<ExitCode, Failure> {
        run(self)
    }
}

/// A shell for which there is a script.
#[derive(Clone, Copy, ValueEnum)]
enum Shell {
    /// In ~/.bashrc: source <(sandbridge completions bash)
    Bash,
    /// In ~/.config/elvish/rc.elv: eval (sandbridge completions elvish | slurp)
    Elvish,
    /// In ~/.config/fish/config.fish: sandbridge completions fish | source
    Fish,
    /// In $PROFILE: sandbridge completions powershell | Out-String | Invoke-Expression
    Powershell,
    /// In ~/.zshrc, after compinit: source <(sandbridge completions zsh)
    Zsh,
}

fn run(options: CompletionsOptions) -> Result<ExitCode, Failure> {
    let shell = options.shell.to_possible_value();
    let name = shell.as_ref().map_or("bash", |shell| shell.get_name());
    let failed = || Failure::other("internal", format!("there is no script for {name}"));
    let mut script = Vec::new();
    Shells::builtins()
        .completer(name)
        .ok_or_else(failed)?
        .write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)
        .map_err(|_| failed())?;
    output::line(&String::from_utf8_lossy(&script));
    Ok(ExitCode::SUCCESS)
}

/// If a completion script asks for completions, answers it and exits.
pub(super) fn answer(program: impl Fn() -> clap::Command) {
    CompleteEnv::with_factory(program).var(VARIABLE).bin(PROGRAM).completer(PROGRAM).complete();
}
