//! `sandbridge logout`: ends the session on a server.

use std::process::ExitCode;

use clap::Parser;
use serde::Serialize;

use crate::command::{Command, block_on};
use crate::failure::Failure;
use crate::globals::Globals;
use crate::http::Client;
use crate::output;

/// Log out
#[derive(Parser)]
pub(crate) struct LogoutOptions {}

impl Command for LogoutOptions {
    const NAME: &'static str = "logout";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(log_out(globals))
    }
}

/// The result of a logout, for programs.
#[derive(Serialize)]
struct LogoutLine<'a> {
    server: &'a str,
}

async fn log_out(globals: &Globals) -> Result<ExitCode, Failure> {
    let mut session = globals.session()?;
    if session.has_api_key() {
        let message = "SANDBRIDGE_API_KEY is set, and a key has no login to end; unset it, or remove the key with \
                       `sandbridge key remove`";
        return Err(Failure::usage(message));
    }
    if session.login().is_some() {
        let answer = Client::new(&session)?.log_out().await;
        session.forget()?;
        // A session that the server has ended already counts as ended.
        answer.or_else(|failure| if failure.kind == "unauthorized" { Ok(()) } else { Err(failure) })?;
    }
    if globals.json {
        output::json_line(&LogoutLine { server: &session.server });
    } else {
        output::line(&format!("logged out of {}", session.server));
    }
    Ok(ExitCode::SUCCESS)
}
