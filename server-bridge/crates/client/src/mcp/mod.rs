//! `sandbridge mcp`: the server's MCP endpoint for clients that start a program and talk with it over its standard streams.
//!
//! ```text
//!   stdin, one message per line ─► read ─► a task per request ─► POST /mcp ─► its answers ─► stdout, a message a line
//!                                └─ notifications: in their order
//! ```
//! Only what the other transport needs is parsed here. Standard output carries only messages.

mod bridge;
mod message;

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use self::bridge::Bridge;
use self::message::{Message, NoMessage};
use super::failure::Failure;
use super::interrupts::Interrupts;
use super::limits::{MCP_DRAIN_TIMEOUT, MCP_LINE_BYTES, STDIN_QUEUE};
use super::output;
use crate::command::{Command, block_on};
use crate::globals::Globals;

/// The JSON-RPC error code for a line that is not JSON.
const PARSE_ERROR: i32 = -32700;
/// The JSON-RPC error code for JSON that is not a message.
const INVALID_REQUEST: i32 = -32600;
/// The JSON-RPC error code for a failure of the transport.
const TRANSPORT_ERROR: i32 = -32000;

/// Serve your runners to an MCP client over standard input and output
#[derive(Parser)]
pub(crate) struct McpOptions {}

impl Command for McpOptions {
    const NAME: &'static str = "mcp";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(run(globals))
    }
}

async fn run(globals: &Globals) -> Result<ExitCode, Failure> {
    let session = globals.session()?;
    // Without a login or a key this fails at once, and the client shows the error.
    session.token()?;
    let bridge = Arc::new(Bridge::new(session));
    let mut interrupts = Interrupts::listen()?;
    let mut requests = Requests::default();
    let mut lines = read_lines();
    loop {
        let read = tokio::select! {
            read = lines.recv() => read.unwrap_or(Ok(Read::End))?,
            () = interrupts.next() => break,
        };
        match read {
            Read::Line(line) => requests.take(&bridge, &line).await,
            Read::TooLong => {
                say_error(None, INVALID_REQUEST, "a message is too long; send large files in parts");
            }
            Read::End => {
                // Pending requests may still get their responses, within a time limit.
                let _ = timeout(MCP_DRAIN_TIMEOUT, requests.end()).await;
                break;
            }
        }
    }
    bridge.close().await;
    Ok(ExitCode::SUCCESS)
}

/// The requests in progress.
#[derive(Default)]
struct Requests {
    tasks: JoinSet<()>,
    /// For each id of a request, true once the server has received the request.
    accepted: HashMap<String, watch::Receiver<bool>>,
}

impl Requests {
    async fn take(&mut self, bridge: &Arc<Bridge>, line: &[u8]) {
        while self.tasks.try_join_next().is_some() {}
        // A dropped sender means that its request has ended.
        self.accepted.retain(|_, accepted| accepted.has_changed().is_ok());
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let message = match Message::parse(line) {
            Ok(message) => message,
            Err(NoMessage::NoJson) => return say_error(None, PARSE_ERROR, "this is not JSON"),
            Err(NoMessage::NoRpc(id)) => {
                return say_error(id.as_deref(), INVALID_REQUEST, "this is not a JSON-RPC message");
            }
        };
        let id = message.id().map(ToOwned::to_owned);
        match (message.method(), id) {
            (Some("initialize"), Some(id)) => self.tell(bridge.initialize(&message).await, &id),
            (Some(_), Some(id)) => self.request(bridge, message, id),
            (Some("notifications/cancelled"), None) => {
                let cancelled = message.params().request_id;
                let known = cancelled.and_then(|id| self.accepted.get(id.get()).cloned());
                let bridge = Arc::clone(bridge);
                self.tasks.spawn(async move {
                    // The cancellation must not overtake the request that it cancels.
                    if let Some(mut accepted) = known {
                        let _ = accepted.wait_for(|is_accepted| *is_accepted).await;
                    }
                    warn_of(bridge.notify(&message).await);
                });
            }
            // A notification, or a response to the server.
            (Some(_), None) | (None, Some(_)) => warn_of(bridge.notify(&message).await),
            (None, None) => say_error(None, INVALID_REQUEST, "this is not a JSON-RPC message"),
        }
    }

    fn request(&mut self, bridge: &Arc<Bridge>, message: Message, id: Box<RawValue>) {
        let (accepted, is_accepted) = watch::channel(false);
        self.accepted.insert(id.get().to_owned(), is_accepted);
        let bridge = Arc::clone(bridge);
        self.tasks.spawn(async move {
            if let Err(failure) = bridge.request(&message, || _ = accepted.send_replace(true)).await {
                say_failure(&id, &failure);
            }
        });
    }

    fn tell(&self, done: Result<(), Failure>, id: &RawValue) {
        if let Err(failure) = done {
            say_failure(id, &failure);
        }
    }

    async fn end(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}

/// The result of reading a line.
#[derive(Debug, PartialEq, Eq)]
enum Read {
    /// A complete line, without its end.
    Line(Vec<u8>),
    /// A line that is longer than any message may be; it was skipped.
    TooLong,
    /// The input has ended.
    End,
}

/// The lines of standard input. A separate thread reads them, because a read of standard input cannot be cancelled.
fn read_lines() -> mpsc::Receiver<Result<Read, Failure>> {
    let (sender, lines) = mpsc::channel(STDIN_QUEUE);
    std::thread::spawn(move || {
        let mut stdin = BufReader::new(std::io::stdin().lock());
        loop {
            let read = next_line(&mut stdin)
                .map_err(|error| Failure::other("io", format!("cannot read standard input: {error}")));
            let is_last = !matches!(read, Ok(Read::Line(_) | Read::TooLong));
            if sender.blocking_send(read).is_err() || is_last {
                return;
            }
        }
    });
    lines
}

fn next_line(stdin: &mut impl BufRead) -> std::io::Result<Read> {
    let (mut line, mut is_too_long, mut has_bytes) = (Vec::new(), false, false);
    loop {
        let bytes = match stdin.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let (taken, is_end) = (end.map_or(bytes.len(), |end| end + 1), bytes.is_empty());
        has_bytes |= !is_end;
        is_too_long |= line.len() + taken > MCP_LINE_BYTES;
        if is_too_long {
            line.clear();
        } else {
            line.extend_from_slice(&bytes[..end.unwrap_or(taken)]);
        }
        stdin.consume(taken);
        match (end.is_some() || is_end, is_too_long) {
            (true, _) if !has_bytes => return Ok(Read::End),
            (true, true) => return Ok(Read::TooLong),
            (true, false) => return Ok(Read::Line(line)),
            (false, _) => {}
        }
    }
}

fn warn_of(done: Result<(), Failure>) {
    if let Err(failure) = done {
        output::warn(&failure.message);
    }
}

/// The response to a request that failed here.
#[derive(Serialize)]
struct Refusal<'a> {
    jsonrpc: &'a str,
    id: Option<&'a RawValue>,
    error: RefusalError<'a>,
}

#[derive(Serialize)]
struct RefusalError<'a> {
    code: i32,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<RefusalData<'a>>,
}

#[derive(Serialize)]
struct RefusalData<'a> {
    kind: &'a str,
}

fn say_failure(id: &RawValue, failure: &Failure) {
    let data = Some(RefusalData { kind: &failure.kind });
    say(Some(id), RefusalError { code: TRANSPORT_ERROR, message: &failure.message, data });
}

fn say_error(id: Option<&RawValue>, code: i32, message: &str) {
    say(id, RefusalError { code, message, data: None });
}

fn say(id: Option<&RawValue>, error: RefusalError<'_>) {
    output::json_line(&Refusal { jsonrpc: "2.0", id, error });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_and_an_endless_one_is_passed_over() {
        let text = format!("a\n{}\n\nb", "x".repeat(MCP_LINE_BYTES + 1));
        let mut stdin = BufReader::with_capacity(1000, text.as_bytes());
        let mut next = || next_line(&mut stdin).unwrap();
        assert_eq!(next(), Read::Line(b"a".to_vec()));
        assert_eq!(next(), Read::TooLong);
        assert_eq!(next(), Read::Line(Vec::new()));
        assert_eq!(next(), Read::Line(b"b".to_vec()));
        assert_eq!(next(), Read::End);
    }
}
