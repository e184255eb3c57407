//! `sandbridge login`: begins a session on a server.

use std::io::{IsTerminal, Read};
use std::process::ExitCode;

use api::session::{LoggedIn, UserView};
use clap::Parser;
use serde::Serialize;

use super::failure::Failure;
use super::http::Client;
use super::output;
use super::session::Login;
use crate::command::{Command, block_on};
use crate::globals::Globals;

/// Log in to a server
#[derive(Parser)]
pub(crate) struct LoginOptions {
    /// Your user name on the server
    #[arg(long, value_name = "NAME", env = "SANDBRIDGE_USER", hide_env_values = true)]
    user: String,
    /// Read the password from standard input
    #[arg(long)]
    password_stdin: bool,
}

impl Command for LoginOptions {
    const NAME: &'static str = "login";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(log_in(globals, self))
    }
}

/// The result of a login, for programs.
#[derive(Serialize)]
struct LoginLine<'a> {
    server: &'a str,
    user: &'a UserView,
}

async fn log_in(globals: &Globals, options: LoginOptions) -> Result<ExitCode, Failure> {
    let mut session = globals.session()?;
    let mut client = Client::anonymous(&session)?;
    let password = if options.password_stdin { from_stdin()? } else { prompt("Password: ")? };
    let login = api::session::Login { user: options.user.clone(), password };
    let LoggedIn { token, user } =
        client.log_in(&login).await.map_err(|failure| match failure.kind.as_str() {
            "protocol" => {
                Failure::other("unreachable", "the server's response contains no token; is it Sandbridge?")
            }
            _ => failure,
        })?;
    session.remember(Login { token, user: options.user.clone(), chat: None })?;
    if globals.json {
        output::json_line(&LoginLine { server: &session.server, user: &user });
    } else {
        output::line(&format!("logged in to {} as {}", session.server, options.user));
    }
    Ok(ExitCode::SUCCESS)
}

/// The first line of standard input.
fn from_stdin() -> Result<String, Failure> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| Failure::other("io", format!("cannot read the password: {error}")))?;
    match text.lines().next() {
        Some(line) if !line.is_empty() => Ok(line.to_owned()),
        Some(_) | None => {
            Err(Failure::usage("standard input contains no password; write the password there, on one line"))
        }
    }
}

fn prompt(question: &str) -> Result<String, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage("there is no terminal to ask for a password; use --password-stdin"));
    }
    rpassword::prompt_password(question)
        .map_err(|error| Failure::other("io", format!("cannot read the password: {error}")))
}
