//! The command line: what a person types, and which file does it.
//!
//! `serve`, `user` and `backup` work on this machine, in `crate::serve`, `crate::admin` and `crate::backup`; every other command is a client of a server's HTTP interface. A client
//! command runs on one thread and loads nothing it does not need: `sandbridge exec` has to start faster than `ssh`.
//!
//! | module | holds |
//! |---|---|
//! | `exec/`, `shell/`, `cp/`, `chat/` | the streaming commands |
//! | `tui/` | the chat on the full screen |
//! | `here/` | all of it for one directory: server, runner and chat |
//! | `mcp/` | the server's MCP endpoint over standard streams |
//! | `runner`, `key`, `container`, `model`, `use_place`, `login`, `doctor`, `completions` | one command each |
//! | `session` | which server, and who one is there: `client.json` |
//! | `endpoint`, `client`, `body`, `socket`, `events` | connections: TCP or TLS, HTTP, WebSocket, what a server tells |
//! | `failure` | what went wrong, as people, programs and shells are told |
//! | `interrupts` | Ctrl-C and SIGTERM |
//! | `output` | `--json` or words |
//! | `names` | names that shells complete |
//! | `limits` | every limit and timeout |
//!
//! A new command: a file here, a variant of `Command`, an arm in `dispatch`.

mod body;
mod chat;
mod client;
mod completions;
mod container;
mod cp;
mod doctor;
mod endpoint;
mod events;
mod exec;
mod failure;
mod here;
mod interrupts;
mod key;
mod limits;
mod line;
mod login;
mod mcp;
mod model;
mod names;
mod output;
mod run_as;
mod runner;
mod runner_update;
mod session;
mod shell;
mod socket;
mod tui;
mod use_place;

use std::ffi::{OsStr, OsString};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::Resettable;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use serde_json::Value;

use crate::admin::UserCommand;
use crate::backup::BackupOptions;
use crate::backup::restore::{self, RestoreOptions};
use crate::config::{ServeArgs, Settings};
use failure::Failure;
use session::Session;

/// Run commands, copy files and chat on machines you choose.
#[derive(Parser)]
#[command(name = "sandbridge", version, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    command: Command,
}

/// The variables that say where the server is, where things are kept, and what is trusted.
const SERVER_VARIABLES: [&str; 3] = ["SANDBRIDGE_SERVER", "SANDBRIDGE_HOME", "SANDBRIDGE_CA_CERT"];

/// Options of every command.
#[derive(Args)]
struct Globals {
    /// The server's address [default: where you logged in last, or http://127.0.0.1:8080]
    #[arg(long, global = true, env = SERVER_VARIABLES[0], hide_env_values = true, value_name = "URL")]
    server: Option<String>,
    /// Where settings and sessions are kept [default: ~/.sandbridge]
    #[arg(long, global = true, env = SERVER_VARIABLES[1], hide_env_values = true, value_name = "DIR")]
    home: Option<PathBuf>,
    /// Also trust the certificates in this PEM file, for a server whose own is not from a public authority
    #[arg(long, global = true, env = SERVER_VARIABLES[2], hide_env_values = true, value_name = "FILE")]
    ca_cert: Option<PathBuf>,
    /// Print JSON for programs
    #[arg(long, global = true)]
    json: bool,
    /// When to use colours; NO_COLOR, CLICOLOR and CLICOLOR_FORCE are obeyed too
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        hide_possible_values = true
    )]
    color: output::Colour,
}

#[derive(Subcommand)]
enum Command {
    /// Chat in this directory, with a server, a runner and an account of its own that end with the chat
    Here(Box<here::HereOptions>),
    /// Run the server
    Serve(Box<ServeArgs>),
    /// Manage the accounts of the server on this machine
    #[command(subcommand)]
    User(UserCommand),
    /// Copy the database of the server on this machine, which may run meanwhile
    Backup(BackupOptions),
    /// Put a backup in the place of the database of the server on this machine, which must not run
    Restore(RestoreOptions),
    /// Log in to a server
    Login(login::LoginOptions),
    /// Log out
    Logout,
    /// Manage the machines that run your commands
    #[command(subcommand)]
    Runner(runner::RunnerCommand),
    /// Manage the keys of your programs
    #[command(subcommand)]
    Key(key::KeyCommand),
    /// Look at, stop, keep, move or replace your container as a whole
    #[command(subcommand)]
    Container(container::ContainerCommand),
    /// Choose, add, try and remove the models that answer in your chats
    #[command(subcommand)]
    Model(model::ModelCommand),
    /// Choose where your commands run
    Use(use_place::UseOptions),
    /// Run a command and stream its output; ends with the command's own code
    #[command(override_usage = "sandbridge exec [OPTIONS] -- CMD [ARGS]...")]
    Exec(exec::ExecOptions),
    /// Read the output of a command that runs already, and end with its code
    Attach(exec::attach::AttachOptions),
    /// List the commands that run
    Ps(exec::attach::PsOptions),
    /// End a command that runs
    Cancel(exec::attach::CancelOptions),
    /// Open a terminal there: your shell, or CMD; ends with its code
    #[command(override_usage = "sandbridge shell [OPTIONS] [-- CMD [ARGS]...]")]
    Shell(shell::ShellOptions),
    /// Copy a file to or from a runner
    Cp(cp::CpOptions),
    /// Chat; "!command" runs a shell command
    Chat(chat::ChatOptions),
    /// Serve your runners to an MCP client over standard input and output
    Mcp,
    /// Print a completion script for a shell
    Completions(completions::CompletionsOptions),
    /// Say what works here, what does not, and the fix
    Doctor(doctor::DoctorOptions),
}

/// The whole of the `sandbridge` program: reads the command line, does what it asks for, says how it ended.
pub fn main() -> ExitCode {
    completions::answer();
    let Cli { globals, command } = parse(std::env::args_os()).unwrap_or_else(|error| error.exit());
    output::set_colour(globals.color);
    match dispatch(&globals, command) {
        Ok(code) => code,
        Err(failure) => failure.report(globals.json),
    }
}

fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut command = without_empty_variables(Cli::command());
    let matches = command.try_get_matches_from_mut(arguments)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// An empty variable is no value, here as in the server's options; clap alone would read an empty text.
fn without_empty_variables(command: clap::Command) -> clap::Command {
    let is_empty = |name: &OsStr| std::env::var_os(name).is_some_and(|value| value.is_empty());
    command
        .mut_args(|argument| match argument.get_env() {
            Some(name) if is_empty(name) => argument.env(Resettable::Reset),
            Some(_) | None => argument,
        })
        .mut_subcommands(without_empty_variables)
}

fn dispatch(globals: &Globals, command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Serve(arguments) => crate::serve::main(*arguments, globals.home.as_deref())
            .map(|()| ExitCode::SUCCESS)
            .map_err(|error| Failure::from_error(&error)),
        Command::Here(options) => here::run(globals, *options),
        Command::User(command) => told(globals, crate::admin::main(command, globals.home.as_deref())),
        Command::Backup(options) => told(globals, crate::backup::main(&options, globals.home.as_deref())),
        Command::Restore(options) => told(globals, restore::main(&options, globals.home.as_deref())),
        Command::Login(options) => block_on(login::log_in(globals, options)),
        Command::Logout => block_on(login::log_out(globals)),
        Command::Runner(command) => block_on(runner::run(globals, command)),
        Command::Key(command) => block_on(key::run(globals, command)),
        Command::Container(command) => block_on(container::run(globals, command)),
        Command::Model(command) => block_on(model::run(globals, command)),
        Command::Use(options) => block_on(use_place::run(globals, options)),
        Command::Exec(options) => block_on(exec::run(globals, options)).map_err(Failure::into_not_run),
        Command::Attach(options) => {
            block_on(exec::attach::attach(globals, options)).map_err(Failure::into_not_run)
        }
        Command::Ps(options) => block_on(exec::attach::list(globals, options)),
        Command::Cancel(options) => block_on(exec::attach::cancel(globals, options)),
        Command::Shell(options) => block_on(shell::run(globals, options)).map_err(Failure::into_not_run),
        Command::Cp(options) => block_on(cp::run(globals, options)),
        Command::Chat(options) => block_on(chat::run(globals, options)),
        Command::Mcp => block_on(mcp::run(globals)),
        Command::Completions(options) => completions::run(options),
        Command::Doctor(options) => block_on(doctor::run(globals, options)),
    }
}

/// Says what was done on this machine, for programs or in words.
fn told(globals: &Globals, done: anyhow::Result<(Value, String)>) -> Result<ExitCode, Failure> {
    let (value, words) = done.map_err(|error| Failure::from_error(&error))?;
    if globals.json {
        output::json_line(&value);
    } else {
        output::line(&words);
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs a client command on this thread alone: no hop to another, and the least to start.
fn block_on(command: impl Future<Output = Result<ExitCode, Failure>>) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::other("internal", format!("cannot start: {error}")))?;
    let result = runtime.block_on(command);
    // A read of a terminal may still be under way; it must not hold up the end.
    runtime.shutdown_background();
    result
}

impl Globals {
    /// Which server to talk to, and who one is there.
    fn session(&self) -> Result<Session, Failure> {
        let home = self.home()?;
        let settings = self.settings(&home)?;
        let server = self.server.clone().or_else(|| settings.value("server"));
        let ca_cert = self.ca_cert.clone().or_else(|| settings.value("ca_cert").map(PathBuf::from));
        let api_key = settings.value("api_key");
        Ok(Session::load(&home, server.as_deref(), ca_cert)?.with_api_key(api_key))
    }

    /// Where settings and sessions are kept.
    fn home(&self) -> Result<PathBuf, Failure> {
        crate::config::home_dir(self.home.as_deref())
            .map_err(|error| Failure::other("invalid", error.to_string()))
    }

    /// What the files beneath the home directory and the environment say.
    fn settings(&self, home: &Path) -> Result<Settings, Failure> {
        Settings::load(home).map_err(|error| Failure::other("invalid", error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_command_keeps_its_own_options() {
        let cli = Cli::try_parse_from(["sandbridge", "exec", "--on", "laptop", "--", "ls", "--json", "-l"])
            .unwrap();
        let Command::Exec(options) = cli.command else { panic!("not exec") };
        assert_eq!(options.command, ["ls", "--json", "-l"]);
        assert!(!cli.globals.json);
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
            let error = Cli::try_parse_from(arguments).err().unwrap();
            assert_eq!(error.exit_code(), 2, "{arguments:?}");
        }
    }
}
