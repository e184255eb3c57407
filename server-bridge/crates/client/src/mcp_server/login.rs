//! `sandbridge mcp-server login`: a login to a server that requires one, in a browser of this machine or of another.
//!
//! ```text
//!   listen ─► begin: the provider's page ─► the browser comes back, or its address is pasted ─► end ─► check
//! ```
//!
//! Neither the secret nor the address that comes back is printed.

mod answer;
mod listener;

use std::io::{BufRead, IsTerminal, Read};
use std::pin::pin;
use std::sync::Arc;

use api::mcp::{McpLogin, McpLoginStart};
use clap::Args;
use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;
use tokio::sync::mpsc;

use self::answer::{Answer, Expected};
use self::listener::{Browser, Listener, Page};
use super::{check, words};
use crate::failure::{Failure, TIMED_OUT};
use crate::http::{Client, nonsense};
use crate::limits::{MCP_LOGIN_PATIENCE, MCP_LOGIN_TEXT_BYTES};
use crate::line::Line;
use crate::names;
use crate::output::{both, line, one_line, warn};

/// A login to a server.
#[derive(Args)]
pub(crate) struct LoginOptions {
    /// Its name
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
    /// The port of this machine to which the browser is sent back [default: one that is free]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
}

/// Logs in and checks the server: a document for programs, and the same as text.
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
    if !is_page(&url) {
        return Err(nonsense());
    }
    let lines = if has_person() { Some(lines()?) } else { None };
    announce(name, &url, lines.is_some(), as_json);
    let came = came(&listener, &url, lines);
    let (answer, browser) = tokio::time::timeout(MCP_LOGIN_PATIENCE, came).await.map_err(|_| late())?;
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

/// True for an address that a browser may be given: the MCP server chose it.
fn is_page(url: &str) -> bool {
    ["https://", "http://"].iter().any(|scheme| url.starts_with(scheme))
}

/// True if somebody may write a line: a shell would stop a job in the background that reads its terminal.
fn has_person() -> bool {
    let stdin = std::io::stdin();
    stdin.is_terminal() && tcgetpgrp(&stdin).is_ok_and(|foreground| foreground == getpgrp())
}

fn announce(name: &str, url: &str, has_person: bool, as_json: bool) {
    if as_json {
        return line(&Line::Open { url }.to_string());
    }
    let what = words::called_by(name);
    let minutes = MCP_LOGIN_PATIENCE.as_secs() / 60;
    eprintln!(
        "Open this page in a browser within {minutes} minutes to log in to {what}:\n\n{}\n",
        one_line(url)
    );
    if has_person {
        eprintln!(
            "If the browser is on another machine, the last page does not load there: copy its address from the \
             browser's address bar, paste it here and press Enter."
        );
    }
}

/// Waits for the browser, or for a line with the address to which it was sent.
async fn came(
    listener: &Listener,
    page: &str,
    mut lines: Option<mpsc::Receiver<String>>,
) -> (Answer, Option<Browser>) {
    let expected = Arc::new(Expected::new(&listener.address(), page));
    let mut returned = pin!(listener.returned(&expected));
    loop {
        let line = async {
            match &mut lines {
                Some(lines) => lines.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            (answer, browser) = &mut returned => return (answer, Some(browser)),
            line = line => match line.map(|line| (expected.read(&line), line)) {
                Some((Some(answer), _)) => return (answer, None),
                Some((None, line)) if line.trim().is_empty() => {}
                Some((None, _)) => warn(&format!(
                    "this is not the address to which this login leads; copy the whole address that begins with {}?",
                    expected.address()
                )),
                None => lines = None,
            },
        }
    }
}

/// The lines of the terminal.
fn lines() -> Result<mpsc::Receiver<String>, Failure> {
    let (sender, lines) = mpsc::channel(1);
    // A separate thread that is not waited for: the terminal may never give a line.
    std::thread::Builder::new()
        .name("pasted".to_owned())
        .spawn(move || {
            loop {
                let mut line = Vec::new();
                let mut stdin = std::io::stdin().lock().take(MCP_LOGIN_TEXT_BYTES as u64 + 1);
                let is_over = !matches!(stdin.read_until(b'\n', &mut line), Ok(1..));
                if is_over || sender.blocking_send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    return;
                }
            }
        })
        .map_err(|error| Failure::other("io", format!("the terminal cannot be read: {error}")))?;
    Ok(lines)
}

/// Ends the login: the name of the server that it was for.
async fn end(client: &mut Client, answer: Answer) -> Result<String, Failure> {
    let Answer { url, refusal } = answer;
    let ended = client.end_mcp_login(url).await;
    match refusal {
        // The server has forgotten the login by now, too, and cannot report more about it.
        Some(refusal) => Err(Failure::other("denied", format!("{refusal}; nothing was changed"))),
        None => ended.map(|ended| ended.server).map_err(words::quoted_failure),
    }
}

fn late() -> Failure {
    let minutes = MCP_LOGIN_PATIENCE.as_secs() / 60;
    let message = format!("nobody logged in within {minutes} minutes; nothing was changed");
    Failure { kind: "timed_out".to_owned(), message, code: TIMED_OUT }
}
