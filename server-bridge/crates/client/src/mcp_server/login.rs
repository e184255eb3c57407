//! `sandbridge mcp-server login`: a login to a server that requires one, in a browser of this machine or of another.
//!
//! ```text
//!   listen ─► begin: the provider's page ─► the browser comes back, or its address is pasted ─► end ─► check
//! ```
//!
//! Neither the secret nor the address of the redirect is printed.

use std::io::{IsTerminal, Read};

use api::mcp::{McpLogin, McpLoginStart};
use clap::Args;

use super::{check, words};
use crate::browser_login::{Answer, Listener, Page};
use crate::failure::Failure;
use crate::http::Client;
use crate::limits::MCP_LOGIN_TEXT_BYTES;
use crate::names;
use crate::output::both;

/// A login to a server.
#[derive(Args)]
pub(crate) struct LoginOptions {
    /// The server's name
    #[arg(add = names::mcp_servers())]
    name: String,
    /// The MCP server of NAME's workspace instead of your active runner's
    #[arg(long, value_name = "NAME", add = names::places())]
    on: Option<String>,
    /// The id of a client registered with the server's login provider, if that provider does not register clients automatically
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// Read that client's secret from standard input
    #[arg(long, requires = "client_id")]
    client_secret_stdin: bool,
    /// The port of this machine to which the browser is redirected [default: a free one]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
}

/// Logs in and checks the server; returns a document for programs, and the same as text.
pub(super) async fn log_in(
    client: &mut Client,
    options: &LoginOptions,
    as_json: bool,
) -> Result<(String, String), Failure> {
    let (name, on) = (&options.name, options.on.as_deref());
    let client_secret = if options.client_secret_stdin { Some(secret()?) } else { None };
    let listener = Listener::bind(options.port).await?;
    let start = McpLoginStart {
        redirect_uri: listener.address(),
        client_id: options.client_id.clone(),
        client_secret,
    };
    let McpLogin { url } = client.begin_mcp_login(name, &start, on).await.map_err(words::quoted_failure)?;
    let (answer, browser) = listener.wait(&words::called_by(name), &url, as_json).await?;
    client.hang_up();
    let ended = end(client, answer).await;
    if let Some(browser) = browser {
        browser.show(if ended.is_ok() { Page::LoggedIn } else { Page::Failed }).await;
    }
    drop(listener);
    let server = ended?;
    let server = check(client, &server, on).await.map_err(|failure| {
        let what = words::called_by(&server);
        let message = format!("you are logged in to {what}, but its check failed: {}", failure.message);
        Failure { message, ..failure }
    })?;
    let words = format!("you are logged in to {}\n{}", words::called(&server), words::checked(&server));
    Ok(both(&server, words))
}

/// The secret of a client.
pub(super) fn secret() -> Result<String, Failure> {
    let unread = |error| Failure::other("io", format!("cannot read the client's secret: {error}"));
    let text = if std::io::stdin().is_terminal() {
        rpassword::prompt_password("Client secret: ").map_err(unread)?
    } else {
        let mut text = String::new();
        let mut stdin = std::io::stdin().lock().take(MCP_LOGIN_TEXT_BYTES as u64);
        stdin.read_to_string(&mut text).map_err(unread)?;
        text
    };
    match text.lines().next().map(str::trim) {
        Some(secret) if !secret.is_empty() => Ok(secret.to_owned()),
        Some(_) | None => {
            Err(Failure::usage("standard input has no client secret; write the secret on its first line"))
        }
    }
}

/// Completes the login; returns the name of the server that it was for.
async fn end(client: &mut Client, answer: Answer) -> Result<String, Failure> {
    let Answer { url, refusal } = answer;
    let ended = client.end_mcp_login(url).await;
    match refusal {
        // By now the server has forgotten the login too, and cannot report more about it.
        Some(refusal) => Err(Failure::other("denied", format!("{refusal}; nothing was changed"))),
        None => ended.map(|ended| ended.server).map_err(words::quoted_failure),
    }
}
