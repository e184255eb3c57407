//! `sandbridge exec`: run one command, stream its output, end with its own code.
//!
//! ```text
//!   standard input ──(thread)──► ┐            ┌ stdout, stderr ──(thread)──► descriptors 1 and 2
//!   Ctrl-C, SIGTERM ───────────► ├─ WebSocket ┤
//!   nobody reads the output ───► ┘            └ exit │ error ──► exit code
//! ```
//! Reading and writing block, so each has a thread of its own: whoever reads our output slowly must not keep Ctrl-C from
//! being heard.

pub(super) mod stdin;
pub(super) mod wire;
pub(super) mod writer;

use std::ffi::OsString;
use std::process::ExitCode;
use std::str::FromStr;

use bytes::Bytes;
use clap::Args;
use serde_json::json;
use tokio::time::{Instant, sleep_until};
use tokio_tungstenite::tungstenite::Message;

use super::Globals;
use super::failure::{self, Failure};
use super::interrupts::Interrupts;
use super::limits::CANCEL_TIMEOUT;
use super::socket::{self, Inbox, Outbox};
use crate::limits::EXEC_TIMEOUT_MAX_S;
use stdin::Stdin;
use wire::{Exit, Format, Incoming};
use writer::{Channel, Writer};

/// What to run, and how.
#[derive(Args)]
pub(super) struct ExecOptions {
    /// Run it there instead of on your active runner
    #[arg(long, value_name = "NAME")]
    on: Option<String>,
    /// Stop it after so many seconds (fractions are fine) [default: never]
    #[arg(long, value_name = "S", env = "SANDBRIDGE_TIMEOUT", hide_env_values = true)]
    timeout: Option<Seconds>,
    /// Run it in this directory of the workspace
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
    /// Set a variable of its environment; may be given many times
    #[arg(long, value_name = "K=V")]
    env: Vec<Variable>,
    /// Send it this program's standard input
    #[arg(long)]
    stdin: bool,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    pub(super) command: Vec<OsString>,
}

/// A time limit in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Seconds(f64);

impl FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(seconds) if seconds > 0.0 && seconds <= EXEC_TIMEOUT_MAX_S => Ok(Self(seconds)),
            _ => Err(format!(
                "give a number of seconds greater than 0 and at most {EXEC_TIMEOUT_MAX_S} (30 days), like 1.5"
            )),
        }
    }
}

/// A variable of the command's environment.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Variable {
    name: String,
    value: String,
}

impl FromStr for Variable {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => {
                Ok(Self { name: name.to_owned(), value: value.to_owned() })
            }
            Some(_) | None => Err("give it as NAME=VALUE".to_owned()),
        }
    }
}

/// How the stream ended.
enum Ended {
    /// The server told how the command ended.
    Exit(Exit),
    /// The server told why it could not be run, or the connection broke.
    Failed(Failure),
    /// The user does not want to wait any longer.
    Interrupted,
}

pub(super) async fn run(globals: &Globals, options: ExecOptions) -> Result<ExitCode, Failure> {
    let request = request(&options)?;
    let session = globals.session()?;
    let mut interrupts = Interrupts::listen()?;
    let (mut outbox, inbox) = tokio::select! {
        socket = socket::open(&session, "/api/v1/exec") => socket?,
        () = interrupts.next() => return Ok(ExitCode::from(failure::INTERRUPTED)),
    };
    outbox.push_json(&request);
    let format = if globals.json { Format::Json } else { Format::Raw };
    let stdin = if options.stdin { Stdin::start()? } else { Stdin::none() };
    let writer = Writer::start()?;
    let mut stream = Stream { outbox, inbox, writer, stdin, interrupts, format };
    let ended = stream.run().await;
    let Stream { mut writer, mut interrupts, .. } = stream;
    let is_broken = writer.is_broken();
    if let (Format::Json, Ended::Exit(exit)) = (format, &ended) {
        writer.push_last(Channel::Stdout, exit.line());
    }
    tokio::select! {
        () = writer.finish() => {}
        () = interrupts.next() => return Ok(ExitCode::from(failure::INTERRUPTED)),
    }
    match ended {
        Ended::Exit(_) | Ended::Failed(_) if is_broken => Ok(ExitCode::from(failure::BROKEN_PIPE)),
        Ended::Exit(exit) => Ok(ExitCode::from(exit.exit_code())),
        Ended::Failed(failure) => Err(failure),
        Ended::Interrupted => Ok(ExitCode::from(failure::INTERRUPTED)),
    }
}

/// Everything that moves while a command runs.
struct Stream {
    outbox: Outbox,
    inbox: Inbox,
    writer: Writer,
    stdin: Stdin,
    interrupts: Interrupts,
    format: Format,
}

impl Stream {
    /// Moves bytes both ways until the command ended. No arm waits for more than its own event, so a command that
    /// reads no input still has its output shown, and Ctrl-C is always heard.
    async fn run(&mut self) -> Ended {
        let readers = self.writer.watch();
        let mut given_up_at = None;
        loop {
            let is_blocked = self.writer.is_full();
            let is_cancelled = given_up_at.is_some();
            tokio::select! {
                message = self.inbox.next(), if !is_blocked => match message {
                    Ok(message) => match wire::incoming(message, self.format) {
                        Some(Incoming::Output(channel, bytes)) => self.writer.push(channel, bytes),
                        Some(Incoming::Exit(exit)) => return Ended::Exit(exit),
                        Some(Incoming::Failed(failure)) => return Ended::Failed(failure),
                        None => {}
                    },
                    Err(failure) => return Ended::Failed(failure),
                },
                () = self.writer.has_room(), if is_blocked => {}
                sent = self.outbox.send_all(), if self.outbox.is_busy() => {
                    // A server that has ended the exec reads no more; what it said of the end is still to be read.
                    if sent.is_err() {
                        self.stdin.close();
                    }
                }
                frame = self.stdin.next(), if self.stdin.is_open() && !self.outbox.is_busy() && !is_cancelled => {
                    self.outbox.push(Message::Binary(frame));
                }
                () = readers.broken(), if !is_cancelled => given_up_at = Some(self.cancel()),
                () = self.interrupts.next() => {
                    if is_cancelled {
                        return Ended::Interrupted;
                    }
                    given_up_at = Some(self.cancel());
                }
                // Unread input may stand before the cancel; then closing the connection is what cancels.
                () = sleep_until(given_up_at.unwrap_or_else(Instant::now)), if is_cancelled => {
                    return Ended::Interrupted;
                }
            }
        }
    }

    /// Asks the server to end the command, and returns when to stop waiting for that.
    fn cancel(&mut self) -> Instant {
        self.outbox.push_json(&json!({"type": "cancel"}));
        Instant::now() + CANCEL_TIMEOUT
    }
}

/// The request as the server reads it. It is JSON, so what a command is told can only be text.
fn request(options: &ExecOptions) -> Result<serde_json::Value, Failure> {
    let text = |word: &OsString| {
        word.to_str().map(str::to_owned).ok_or_else(|| {
            let hint = "arguments must be UTF-8; send other bytes through --stdin or a file";
            Failure::usage(format!("the argument {word:?} is not UTF-8: {hint}"))
        })
    };
    let argv = options.command.iter().map(text).collect::<Result<Vec<_>, _>>()?;
    let env: serde_json::Map<_, _> =
        options.env.iter().map(|variable| (variable.name.clone(), json!(variable.value))).collect();
    Ok(json!({
        "argv": argv,
        "on": options.on,
        "cwd": options.cwd,
        "env": env,
        "timeout_s": options.timeout.map(|Seconds(seconds)| seconds),
        "stdin": options.stdin,
        "merge_stderr": false,
        "exec_id": format!("{:032x}", rand::random::<u128>()),
    }))
}

/// A frame of standard input: its first byte says so.
fn stdin_frame(bytes: &[u8]) -> Bytes {
    let mut frame = Vec::with_capacity(1 + bytes.len());
    frame.push(wire::STDIN);
    frame.extend_from_slice(bytes);
    frame.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_limits_are_read() {
        assert_eq!("1.5".parse(), Ok(Seconds(1.5)));
        assert!("2592000".parse::<Seconds>().is_ok(), "as long as the server allows");
        for bad in ["", "0", "-1", "inf", "NaN", "1s", "2592001"] {
            assert!(bad.parse::<Seconds>().is_err(), "{bad}");
        }
    }

    #[test]
    fn variables_are_read() {
        let parsed: Variable = "A=b=c".parse().unwrap();
        assert_eq!((parsed.name.as_str(), parsed.value.as_str()), ("A", "b=c"));
        assert_eq!("A=".parse::<Variable>().unwrap().value, "");
        for bad in ["", "A", "=b"] {
            assert!(bad.parse::<Variable>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_request_says_what_was_asked_for() {
        let options = ExecOptions {
            on: Some("laptop".to_owned()),
            timeout: Some(Seconds(1.5)),
            cwd: None,
            env: vec![Variable { name: "A".to_owned(), value: "b".to_owned() }],
            stdin: true,
            command: vec!["ls".into(), "-l".into()],
        };
        let mut request = request(&options).unwrap();
        let exec_id = request["exec_id"].take();
        assert_eq!(exec_id.as_str().unwrap().len(), 32);
        let expected = json!({"argv": ["ls", "-l"], "on": "laptop", "cwd": null, "env": {"A": "b"}, "timeout_s": 1.5,
                              "stdin": true, "merge_stderr": false, "exec_id": null});
        assert_eq!(request, expected);
    }

    #[test]
    fn an_argument_that_is_no_text_is_wrong_usage() {
        use std::os::unix::ffi::OsStringExt;
        let command = vec!["echo".into(), OsString::from_vec(vec![0xff])];
        let options = ExecOptions { on: None, timeout: None, cwd: None, env: vec![], stdin: false, command };
        let failure = request(&options).unwrap_err();
        assert_eq!(failure.code, 2);
        assert!(failure.message.contains("arguments must be UTF-8"), "{}", failure.message);
    }
}
