//! A command in xbot's dialect: one request, one answer when it has ended.
//!
//! | request | handling |
//! |---|---|
//! | time limit | whole seconds, rounded up, 3600 at most; none means 3600, and a command that reaches it fails |
//! | standard input | gathered until it ends, then the command starts; UTF-8 only |
//! | variables, merged output | a wrapper of `env` and `/bin/sh` around the command |
//! | output cap | applied here |
//! | cancel | the server stops waiting; the command may continue |
//! | a signal, a narrower profile | refused |
//!
//! The runner's answer is not reliable: `timed_out` is false if the limit ended the command and true if the command had
//! ended and a descendant held the output, so the clock here decides. And if such a descendant makes the runner wait
//! without end, the deadline here ends the exec.

use std::sync::Arc;
use std::time::Duration;

use proto::message::{ExecExited, ExecStreamsClosed, ExitStatus};
use proto::request::{self, Command, Profile, Stdin};
use proto::{Channel, ErrorKind, Message};
use tokio::time::{Instant, timeout_at};

use super::calls::Answer;
use super::files;
use super::job::{Job, accounted};
use super::wire::{ExecBody, ExecResult};
use crate::error::SandboxError;
use crate::limits::{XBOT_EXEC_GRACE, XBOT_EXEC_MAX_S};

pub(super) async fn run(job: &mut Job, exec: request::Exec) -> Result<Message, SandboxError> {
    if let Some(Profile::ReadOnly | Profile::Workspace) = exec.profile {
        return Err(job.unsupported("confining a command"));
    }
    let limit_s = limit(job, exec.timeout_ms)?;
    let mut body = body(job, &exec, limit_s)?;
    let mut account = None;
    if exec.stdin == Stdin::Stream {
        let mut input = Vec::new();
        account = Some(job.take_input(|piece| input.extend_from_slice(piece)).await?);
        body.stdin = String::from_utf8(input).map_err(|_| not_utf8("standard input"))?;
    }
    let started = Instant::now();
    let deadline = started + Duration::from_secs(limit_s) + XBOT_EXEC_GRACE;
    let asked = timeout_at(deadline, job.calls.ask("exec", &body, account)).await;
    let answer = asked.map_err(|_| unanswered(job, limit_s))??;
    let result = match job.calls.body::<ExecResult>(&answer, "exec_result") {
        Ok(result) => result,
        Err(error) => return Err(not_started(job, &exec, error).await),
    };
    deliver(job, &exec, result, answer, started.elapsed(), limit_s)
}

/// The time limit that is sent, in seconds.
fn limit(job: &Job, timeout_ms: Option<u64>) -> Result<u64, SandboxError> {
    let Some(timeout_ms) = timeout_ms else { return Ok(XBOT_EXEC_MAX_S) };
    let seconds = timeout_ms.div_ceil(1000).max(1);
    if seconds > XBOT_EXEC_MAX_S {
        return Err(job.unsupported(&format!("a time limit above {XBOT_EXEC_MAX_S} s")));
    }
    Ok(seconds)
}

fn body(job: &Job, exec: &request::Exec, timeout: u64) -> Result<ExecBody, SandboxError> {
    let dir = match &exec.cwd {
        Some(path) => job.workspace.directory(path.as_bytes())?,
        None => None,
    };
    let mut prefix = Vec::new();
    if !exec.env.is_empty() {
        prefix.push("env".to_owned());
        for (name, value) in &exec.env {
            let (name, value) = (text(name, "a variable's name")?, text(value, "a variable's value")?);
            if name.is_empty() || name.starts_with('-') || name.contains('=') {
                return Err(invalid("a variable's name must not be empty, contain '=' or begin with '-'"));
            }
            prefix.push(format!("{name}={value}"));
        }
    }
    let is_wrapped = exec.merge_stderr || !prefix.is_empty();
    let mut script = |script: String| prefix.extend(["/bin/sh".to_owned(), "-c".to_owned(), script]);
    let (command, shell) = match &exec.command {
        Command::Shell(line) => {
            let line = text(line, "the command")?;
            if is_wrapped {
                script(if exec.merge_stderr { format!("exec 2>&1\n{line}") } else { line });
                (String::new(), false)
            } else {
                (line, true)
            }
        }
        Command::Argv(arguments) => {
            if arguments.is_empty() {
                return Err(invalid("a command needs at least the name of its program"));
            }
            if is_wrapped {
                let words = if exec.merge_stderr { "exec \"$@\" 2>&1" } else { "exec \"$@\"" };
                script(words.to_owned());
                prefix.push("sh".to_owned());
            }
            for argument in arguments {
                prefix.push(text(argument, "an argument")?);
            }
            (String::new(), false)
        }
    };
    let run_as_user = exec.run_as.clone();
    Ok(ExecBody { command, args: prefix, shell, dir, stdin: String::new(), timeout, run_as_user })
}

/// Delivers the command's output and how it ended.
fn deliver(
    job: &Job,
    exec: &request::Exec,
    result: ExecResult,
    answer: Answer,
    elapsed: Duration,
    limit_s: u64,
) -> Result<Message, SandboxError> {
    let ExecResult { stdout, stderr, exit_code, timed_out: is_held_open } = result;
    let (stdout_bytes, stderr_bytes) = (stdout.len() as u64, stderr.len() as u64);
    let account = Arc::new(answer.into_account());
    let mut left = exec.output_cap_bytes.unwrap_or(u64::MAX);
    for (channel, output) in [(Channel::Stdout, stdout), (Channel::Stderr, stderr)] {
        let mut bytes = accounted(output.into_bytes(), Arc::clone(&account));
        bytes.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        left -= bytes.len() as u64;
        job.deliver(channel, bytes);
    }
    let met_limit = is_held_open || exit_code == -1 && elapsed >= Duration::from_secs(limit_s);
    if met_limit && exec.timeout_ms.is_none() {
        return Err(job.unsupported(&format!("a command for longer than {XBOT_EXEC_MAX_S} s: it was ended")));
    }
    job.tell(ExecExited {
        // The runner's own value: -1 if a signal ended it, without the signal's number.
        status: ExitStatus::Code(exit_code),
        timed_out: met_limit,
        cancelled: false,
        sandbox_denied: false,
        duration_us: u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX),
    });
    let cap = exec.output_cap_bytes.unwrap_or(u64::MAX);
    Ok(ExecStreamsClosed {
        stdout_bytes,
        stderr_bytes,
        dropped_bytes: (stdout_bytes + stderr_bytes).saturating_sub(cap),
        still_open: is_held_open,
    }
    .into())
}

/// Finds out why a command did not start, from an error with few details.
async fn not_started(job: &Job, exec: &request::Exec, error: SandboxError) -> SandboxError {
    let SandboxError::Remote { kind, message } = &error else { return error };
    let kind = match kind {
        _ if exec.run_as.is_some() && message.contains("\"sudo\"") => ErrorKind::Unsupported,
        _ if message.contains("executable file not found") => ErrorKind::CommandNotFound,
        ErrorKind::PermissionDenied => ErrorKind::NotExecutable,
        ErrorKind::NotADirectory => ErrorKind::InvalidCwd,
        ErrorKind::NotFound => {
            // The text is the same for a missing program and a missing directory.
            let directory = exec.cwd.as_ref().map_or(&b"."[..], |path| path.as_bytes());
            let is_there = files::metadata(job, directory).await.is_ok();
            let is_program = matches!(exec.command, Command::Argv(_)) && is_there;
            if is_program { ErrorKind::CommandNotFound } else { ErrorKind::InvalidCwd }
        }
        kind => *kind,
    };
    SandboxError::Remote { kind, message: message.clone() }
}

fn unanswered(job: &Job, limit_s: u64) -> SandboxError {
    let message = format!(
        "runner {} gave no result {} s after the command's time limit of {limit_s} s; most likely a process that it \
         started still has its output open. It is unknown what the command did, and it may still be running",
        job.place,
        XBOT_EXEC_GRACE.as_secs()
    );
    SandboxError::Remote { kind: ErrorKind::Lost, message }
}

fn text(bytes: &[u8], what: &str) -> Result<String, SandboxError> {
    if bytes.contains(&0) {
        return Err(invalid(&format!("{what} has a NUL byte")));
    }
    String::from_utf8(bytes.to_vec()).map_err(|_| not_utf8(what))
}

fn not_utf8(what: &str) -> SandboxError {
    invalid(&format!("{what} is not UTF-8, and this runner's dialect supports nothing else"))
}

fn invalid(message: &str) -> SandboxError {
    SandboxError::Remote { kind: ErrorKind::InvalidBody, message: message.to_owned() }
}
