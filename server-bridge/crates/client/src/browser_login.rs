//! A login in a browser, on this machine or another one, whose provider redirects the browser to this machine.
//!
//! ```text
//!   Listener::bind ─► its address ─► the page to open ─► wait: the browser comes back, or its address is pasted ─► Answer
//! ```
//!
//! The address of the redirect is not printed, because it contains the code.

mod answer;
mod listener;

use std::io::{BufRead, IsTerminal, Read};
use std::pin::pin;
use std::sync::Arc;

use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;
use tokio::sync::mpsc;

pub(crate) use self::answer::Answer;
use self::answer::Expected;
pub(crate) use self::listener::{Browser, Listener, Page};
use crate::failure::{Failure, TIMED_OUT};
use crate::http::nonsense;
use crate::limits::{MCP_LOGIN_PATIENCE, MCP_LOGIN_TEXT_BYTES};
use crate::line::Line;
use crate::output::{line, one_line, warn};

impl Listener {
    /// Tells the user to open the page to log in to `what`, and waits for the browser to come back.
    ///
    /// # Errors
    /// `timed_out` after 10 minutes; another error if `page` is not an address that may be opened in a browser.
    pub(crate) async fn wait(
        &self,
        what: &str,
        page: &str,
        as_json: bool,
    ) -> Result<(Answer, Option<Browser>), Failure> {
        if !is_page(page) {
            return Err(nonsense());
        }
        let lines = if has_person() { Some(lines()?) } else { None };
        announce(what, page, lines.is_some(), as_json);
        tokio::time::timeout(MCP_LOGIN_PATIENCE, came(self, page, lines)).await.map_err(|_| late())
    }
}

/// True for an address that may be opened in a browser. It comes from outside, so it is not trusted.
fn is_page(url: &str) -> bool {
    ["https://", "http://"].iter().any(|scheme| url.starts_with(scheme))
}

/// True if a person can type a line. A shell would stop a background job that reads from the terminal.
fn has_person() -> bool {
    let stdin = std::io::stdin();
    stdin.is_terminal() && tcgetpgrp(&stdin).is_ok_and(|foreground| foreground == getpgrp())
}

fn announce(what: &str, url: &str, has_person: bool, as_json: bool) {
    if as_json {
        return line(&Line::Open { url }.to_string());
    }
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

/// Waits for the browser's redirect, or for a line with its address.
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
                    "this is not the redirect address of this login; copy the whole address that begins with {}?",
                    expected.address()
                )),
                None => lines = None,
            },
        }
    }
}

/// The lines that are typed at the terminal.
fn lines() -> Result<mpsc::Receiver<String>, Failure> {
    let (sender, lines) = mpsc::channel(1);
    // A thread that is never joined: the terminal may never return a line.
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

fn late() -> Failure {
    let minutes = MCP_LOGIN_PATIENCE.as_secs() / 60;
    let message = format!("the login was not completed within {minutes} minutes; nothing was changed");
    Failure { kind: "timed_out".to_owned(), message, code: TIMED_OUT }
}
