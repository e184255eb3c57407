//! The client: the command line and the terminal UI, which use a server's HTTP interface.
//!
//! Every command here talks to a server and does not depend on its internals; commands for the server's own machine (`serve`,
//! `user`, `backup`, `restore`, `here`) are registered by the program that has both. A command runs on one thread and loads
//! nothing it does not need: `sandbridge exec` has to start faster than `ssh`.
//!
//! | module | holds |
//! |---|---|
//! | [`command`], `commands` | how a command is registered, and the list of them |
//! | `exec/`, `shell/`, `cp/` | the streaming commands |
//! | [`chat`] | the chat, line by line |
//! | `tui/` | the chat on the full screen |
//! | `card` | a request for approval, as lines of a terminal |
//! | `ask` | a question at the terminal |
//! | `mcp/` | the server's MCP endpoint over standard streams |
//! | `runner`, `key`, `container`, `model`, `memory`, `rule`, `hook`, `http_tool`, `knowledge`, `mcp_server`, `plugin`, `trust`, `cron`, `trigger`, `channel`, `group`, `server`, `node`, `use_place`, `login`, `logout`, `ps`, `cancel`, `doctor`, `completions` | one command each |
//! | `extension` | the layers, documents and approvals of hooks and MCP servers |
//! | `browser_login` | a login in a browser that is redirected to this machine |
//! | `automation` | what `cron` and `trigger` share |
//! | [`globals`] | the options of every command |
//! | [`session`] | the server, and the login there: `client.json` |
//! | `routes` | one method per route, with the documents of crate `api` |
//! | `endpoint`, [`http`], `body`, `socket`, `events` | connections: TCP or TLS, HTTP, WebSocket, a server's events |
//! | [`failure`] | errors, for people, programs and shells |
//! | `interrupts` | Ctrl-C and SIGTERM |
//! | [`output`], `line` | text for people, and JSON for programs |
//! | `names` | names that shells complete |
//! | `limits` | every limit and timeout |
//!
//! A new command: a file here with its arguments and an `impl Command`, and a line in `commands`.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod ask;
mod automation;
mod body;
mod browser_login;
mod cancel;
mod card;
mod channel;
pub mod chat;
pub mod command;
mod commands;
mod completions;
mod container;
mod cp;
mod cron;
mod doctor;
mod endpoint;
mod events;
mod exec;
mod extension;
pub mod failure;
pub mod globals;
mod group;
mod hook;
pub mod http;
mod http_tool;
mod interrupts;
mod key;
mod knowledge;
mod limits;
mod line;
mod login;
mod logout;
mod mcp;
mod mcp_server;
mod memory;
mod model;
mod names;
mod node;
pub mod output;
mod plugin;
mod ps;
mod routes;
mod rule;
mod run_as;
mod runner;
mod runner_update;
mod server;
pub mod session;
mod shell;
mod socket;
mod trigger;
mod trust;
mod tui;
mod use_place;

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use clap::builder::Resettable;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};

use command::Registration;
pub use commands::COMMANDS;
use globals::Globals;

/// Run commands, copy files and chat on machines you choose.
#[derive(Parser)]
#[command(
    name = "sandbridge",
    version,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true
)]
struct Cli {
    #[command(flatten)]
    globals: Globals,
}

/// A parsed command line.
struct Parsed {
    globals: Globals,
    registration: Registration,
    matches: ArgMatches,
}

/// The whole `sandbridge` program with these commands: parses the command line, carries it out, reports how it ended.
pub fn main(commands: &[Registration]) -> ExitCode {
    completions::answer(|| program(commands));
    let mut command = without_empty_variables(program_for(commands, std::env::args_os()));
    let Parsed { globals, registration, matches } = parse(&mut command, commands, std::env::args_os())
        .unwrap_or_else(|error| {
            let mut command = with_plain_usage(without_empty_variables(program(commands)));
            parse(&mut command, commands, std::env::args_os()).err().unwrap_or(error).exit()
        });
    output::set_colour(globals.color);
    let result =
        registration.run(&globals, &matches).unwrap_or_else(|error| error.format(&mut command).exit());
    match result {
        Ok(code) => code,
        Err(failure) => failure.report(globals.json),
    }
}

/// The program's arguments with those of its commands, in the order of the help.
fn program(commands: &[Registration]) -> clap::Command {
    Cli::command().subcommands(commands.iter().map(|registration| registration.arguments()))
}

/// The parser for this command line, if it is valid: commands that it does not name get no arguments. Building the arguments of all commands
/// takes more time than everything else that `sandbridge exec` does before it connects.
fn program_for(commands: &[Registration], arguments: impl Iterator<Item = OsString>) -> clap::Command {
    let words: Vec<OsString> = arguments.collect();
    let named = |registration: &Registration| words.iter().any(|word| word == registration.name);
    Cli::command().subcommands(commands.iter().map(|registration| {
        if named(registration) { registration.arguments() } else { clap::Command::new(registration.name) }
    }))
}

fn parse(
    command: &mut clap::Command,
    commands: &[Registration],
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<Parsed, clap::Error> {
    let mut matches = command.try_get_matches_from_mut(arguments)?;
    let globals = Cli::from_arg_matches(&matches).map_err(|error| error.format(command))?.globals;
    let missing = || clap::Error::new(clap::error::ErrorKind::MissingSubcommand);
    let (name, matches) = matches.remove_subcommand().ok_or_else(missing)?;
    let registration = commands.iter().find(|registration| registration.name == name);
    Ok(Parsed { globals, registration: *registration.ok_or_else(missing)?, matches })
}

/// An empty variable counts as unset, here as in the server's options; clap alone would read an empty text.
fn without_empty_variables(command: clap::Command) -> clap::Command {
    let is_empty = |name: &OsStr| std::env::var_os(name).is_some_and(|value| value.is_empty());
    command
        .mut_args(|argument| match argument.get_env() {
            Some(name) if is_empty(name) => argument.env(Resettable::Reset),
            Some(_) | None => argument,
        })
        .mut_subcommands(without_empty_variables)
}

/// Makes errors show the usage line of the help: clap would put each option that has a value in front, such as a `--server` from the
/// environment, as if it were required.
fn with_plain_usage(mut command: clap::Command) -> clap::Command {
    command.build();
    fn plain(mut command: clap::Command) -> clap::Command {
        let usage = command.render_usage().to_string();
        let usage = usage.trim_start_matches("Usage: ").to_owned();
        command.mut_subcommands(plain).override_usage(usage)
    }
    plain(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Parsed, clap::Error> {
        parse(&mut program(COMMANDS), COMMANDS, arguments.iter().map(OsString::from))
    }

    #[test]
    fn the_command_line_is_consistent() {
        program(COMMANDS).debug_assert();
    }

    /// A positional argument with such an id would get the value of the global option.
    #[test]
    fn no_positional_argument_has_the_id_of_a_global_option() {
        fn check(command: &clap::Command, globals: &[String]) {
            for argument in command.get_positionals() {
                let id = argument.get_id().to_string();
                assert!(!globals.contains(&id), "{} has an argument {id}", command.get_name());
            }
            command.get_subcommands().for_each(|command| check(command, globals));
        }
        let globals: Vec<String> =
            Cli::command().get_arguments().map(|argument| argument.get_id().to_string()).collect();
        assert!(globals.contains(&"server".to_owned()), "{globals:?}");
        COMMANDS.iter().for_each(|registration| check(&registration.arguments(), &globals));
    }

    #[test]
    fn only_the_named_command_has_its_arguments() {
        let words = ["sandbridge", "exec", "--on", "laptop", "--", "true"].map(OsString::from);
        let mut command = program_for(COMMANDS, words.clone().into_iter());
        let has_arguments = |name: &str| command.find_subcommand(name).unwrap().get_arguments().count() > 0;
        assert!(has_arguments("exec") && !has_arguments("cp"));
        let Parsed { matches, .. } = parse(&mut command, COMMANDS, words).unwrap();
        let options = exec::ExecOptions::from_arg_matches(&matches).unwrap();
        assert_eq!(options.command, ["true"]);
    }

    #[test]
    fn a_command_keeps_its_own_options() {
        let Parsed { globals, matches, .. } =
            parsed(&["sandbridge", "exec", "--on", "laptop", "--", "ls", "--json", "-l"]).unwrap();
        let options = exec::ExecOptions::from_arg_matches(&matches).unwrap();
        assert_eq!(options.command, ["ls", "--json", "-l"]);
        assert!(!globals.json);
    }

    #[test]
    fn usage_lines_name_no_option_that_is_not_needed() {
        for (arguments, usage) in [
            (&["sandbridge", "--server", "http://x", "cp", "one"][..], "sandbridge cp [OPTIONS] <SRC> <DST>"),
            (
                &["sandbridge", "--home", "/x", "runner", "add", "--server", "http://x"],
                "sandbridge runner add [OPTIONS] <NAME>",
            ),
            (&["sandbridge", "--server", "http://x", "exec"], "sandbridge exec [OPTIONS] -- CMD [ARGS]..."),
        ] {
            let mut command = with_plain_usage(program(COMMANDS));
            let error = parse(&mut command, COMMANDS, arguments.iter().map(OsString::from)).err().unwrap();
            let text = error.to_string();
            assert!(text.contains(&format!("Usage: {usage}\n")), "{text}");
        }
    }

    #[test]
    fn a_terminal_offers_no_json_and_refuses_it() {
        let mut command = program(COMMANDS);
        command.build();
        let help = |name: &str| {
            let shown = command.find_subcommand(name).unwrap().clone().render_help().to_string();
            shown.contains("--json")
        };
        assert!(!help("shell") && help("exec"));
        for arguments in [["sandbridge", "--json", "shell"], ["sandbridge", "shell", "--json"]] {
            let Parsed { globals, registration, matches } = parsed(&arguments).unwrap();
            let failure = registration.run(&globals, &matches).unwrap().unwrap_err();
            assert!(failure.message.contains("--json"), "{}", failure.message);
        }
    }

    #[test]
    fn bad_usage_ends_with_two() {
        for arguments in [
            &["sandbridge", "exec"][..],
            &["sandbridge", "exec", "--timeout", "soon", "--", "true"],
            &["sandbridge", "exec", "--timeout", "-1", "--", "true"],
            &["sandbridge", "exec", "--timeout", "99999999", "--", "true"],
            &["sandbridge", "exec", "--env", "NOVALUE", "--", "true"],
            &["sandbridge", "cp", "one"],
            &["sandbridge", "nonsense"],
        ] {
            let error = parsed(arguments).err().unwrap();
            assert_eq!(error.exit_code(), 2, "{arguments:?}");
        }
    }
}
