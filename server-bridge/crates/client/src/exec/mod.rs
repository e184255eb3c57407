//! `sandbridge exec`: run one command, stream its output, exit with the command's own code.
//!
//! ```text
//!   standard input ──(thread)──► ┐            ┌ stdout, stderr ──(thread)──► descriptors 1 and 2
//!   Ctrl-C, SIGTERM ───────────► ├─ WebSocket ┤
//!   output has no reader ──────► ┘            └ exit │ error ──► exit code
//! ```
//! A lost connection is restored, and the command continues in the meantime: no output is missing or repeated. Reading and writing block, so
//! each has its own thread: a slow reader of the output must not block Ctrl-C.

pub(super) mod attach;
mod hint;
pub(super) mod stdin;
mod stream;
pub(super) mod wire;
pub(super) mod writer;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::str::FromStr;

use api::exec::{ExecAsk, TIMEOUT_MAX_S};
use bytes::Bytes;
use clap::Parser;

use super::failure::{self, Failure};
use super::line::Line;
use super::run_as::RunAsOptions;
use super::{names, output, socket};
use crate::command::{Command, block_on};
use crate::globals::Globals;
use stdin::Stdin;
use stream::{Ended, OnInterrupt, Opening, Stream};
use wire::Format;
use writer::Channel;

/// Run a command and stream its output; exits with the command's own code
#[derive(Parser)]
#[command(override_usage = "sandbridge exec [OPTIONS] -- CMD [ARGS]...")]
pub(crate) struct ExecOptions {
    /// Run it on NAME instead of your active runner
    #[arg(long, value_name = "NAME", add = names::places())]
    on: Option<String>,
    /// Stop it after this many seconds (fractions are allowed) [default: never]
    #[arg(long, value_name = "S", env = "SANDBRIDGE_TIMEOUT", hide_env_values = true)]
    timeout: Option<Seconds>,
    /// Run it in this directory of the workspace
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
    /// Set an environment variable of the command; may be given many times
    #[arg(long, value_name = "K=V")]
    env: Vec<Variable>,
    /// Send it this program's standard input
    #[arg(long)]
    stdin: bool,
    /// Run it in the background: prints its id, for `sandbridge attach`, `ps` and `cancel`
    #[arg(long, conflicts_with = "stdin")]
    detach: bool,
    /// The user to run the command as.
    #[command(flatten)]
    run_as: RunAsOptions,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    pub(super) command: Vec<OsString>,
}

impl Command for ExecOptions {
    const NAME: &'static str = "exec";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(run(globals, self)).map_err(Failure::into_not_run)
    }
}

/// A time limit in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Seconds(f64);

impl FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(seconds) if seconds > 0.0 && seconds <= TIMEOUT_MAX_S => Ok(Self(seconds)),
            _ => Err(format!(
                "give a number of seconds greater than 0 and at most {TIMEOUT_MAX_S} (30 days), like 1.5"
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

async fn run(globals: &Globals, options: ExecOptions) -> Result<ExitCode, Failure> {
    let mut request = request(&options)?;
    let session = globals.session()?;
    options.run_as.add_to(&mut request, &session, options.stdin).await?;
    let stdin = if options.stdin { Stdin::start()? } else { Stdin::none() };
    let opening = Opening::Request(Box::new(request));
    let stream = Stream::start(&session, opening, OnInterrupt::Cancel, stdin, format(globals), 0).await?;
    finish(globals, stream, options.timeout)
        .await
        .map_err(|failure| hint::with_shell_line(failure, &options.command))
}

fn format(globals: &Globals) -> Format {
    if globals.json { Format::Json } else { Format::Raw }
}

/// Runs a stream to its end and reports that; `limit` is the command's time limit, if this program set it.
async fn finish(
    globals: &Globals,
    stream: Option<Stream<'_>>,
    limit: Option<Seconds>,
) -> Result<ExitCode, Failure> {
    let interrupted = ExitCode::from(failure::INTERRUPTED);
    let Some(mut stream) = stream else { return Ok(interrupted) };
    let ended = stream.run().await;
    let Stream { mut writer, mut interrupts, outbox, inbox, stderr_tail, .. } = stream;
    let is_broken = writer.is_broken();
    if let (Format::Json, Ended::Exit(exit)) = (format(globals), &ended) {
        writer.push_last(Channel::Stdout, wire::exit_line(exit));
    }
    tokio::select! {
        () = writer.finish() => {}
        () = interrupts.next() => return Ok(interrupted),
    }
    if let (Format::Raw, Ended::Exit(exit)) = (format(globals), &ended) {
        if exit.timed_out {
            output::warn(&hint::timed_out(limit));
        } else if wire::is_denied(exit) && std::io::stderr().is_terminal() {
            output::warn(hint::denied(&stderr_tail));
        }
    }
    // All output was written: the server may discard it.
    if matches!(ended, Ended::Exit(_)) {
        socket::goodbye(outbox, inbox).await;
    }
    match ended {
        Ended::Exit(_) | Ended::Failed(_) if is_broken => Ok(ExitCode::from(failure::BROKEN_PIPE)),
        Ended::Exit(exit) => Ok(ExitCode::from(wire::exit_code(&exit))),
        Ended::Detached { exec_id, runner } => {
            if globals.json {
                let line = Line::Detached { exec_id: &exec_id, runner: runner.as_deref() };
                output::line(&line.to_string());
            } else {
                output::line(&exec_id);
            }
            Ok(ExitCode::SUCCESS)
        }
        Ended::Failed(failure) => Err(failure),
        Ended::Interrupted => Ok(interrupted),
    }
}

/// The request in the server's form. It is JSON, so arguments can only be text.
fn request(options: &ExecOptions) -> Result<ExecAsk, Failure> {
    let text = |word: &OsString| {
        word.to_str().map(str::to_owned).ok_or_else(|| {
            let hint = "arguments must be UTF-8; send other bytes through --stdin or a file";
            Failure::usage(format!("the argument {word:?} is not UTF-8: {hint}"))
        })
    };
    let argv = options.command.iter().map(text).collect::<Result<Vec<_>, _>>()?;
    Ok(ExecAsk {
        argv: Some(argv),
        on: options.on.clone(),
        cwd: options.cwd.clone(),
        env: options.env.iter().map(|Variable { name, value }| (name.clone(), value.clone())).collect(),
        timeout_s: options.timeout.map(|Seconds(seconds)| seconds),
        stdin: options.stdin,
        detach: options.detach,
        acks: true,
        exec_id: Some(format!("{:032x}", rand::random::<u128>())),
        ..ExecAsk::default()
    })
}

/// A frame of standard input, marked by its first byte.
fn stdin_frame(bytes: &[u8]) -> Bytes {
    let mut frame = Vec::with_capacity(1 + bytes.len());
    frame.push(wire::STDIN);
    frame.extend_from_slice(bytes);
    frame.into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
            detach: false,
            run_as: RunAsOptions::default(),
            command: vec!["ls".into(), "-l".into()],
        };
        let mut request = request(&options).unwrap();
        assert_eq!(request.exec_id.take().unwrap().len(), 32);
        let expected = json!({"argv": ["ls", "-l"], "on": "laptop", "env": {"A": "b"}, "timeout_s": 1.5, "stdin": true,
                              "acks": true});
        assert_eq!(serde_json::to_value(&request).unwrap(), expected);
    }

    #[test]
    fn an_argument_that_is_no_text_is_wrong_usage() {
        use std::os::unix::ffi::OsStringExt;
        let command = vec!["echo".into(), OsString::from_vec(vec![0xff])];
        let options = ExecOptions {
            on: None,
            timeout: None,
            cwd: None,
            env: vec![],
            stdin: false,
            detach: false,
            run_as: RunAsOptions::default(),
            command,
        };
        let failure = request(&options).unwrap_err();
        assert_eq!(failure.code, 2);
        assert!(failure.message.contains("arguments must be UTF-8"), "{}", failure.message);
    }
}
