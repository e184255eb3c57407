//! `sandbridge shell`: a terminal on another machine, in this one.
//!
//! ```text
//!   keys ──(thread)──► escapes ──► ┐            ┌ output ──(thread)──► descriptor 1
//!   SIGWINCH ────────► resize ───► ├─ WebSocket ┤
//!   SIGTERM, SIGHUP, ~. ─► cancel► ┘            └ exit │ error ──► exit code
//! ```
//! Ctrl-C and all other keys go to the other end. The terminal is restored however this ends.

mod escape;
mod replay;
mod terminal;

use std::ffi::OsString;
use std::process::ExitCode;

use api::exec::{ClientFrame, ExecAsk, ExecExit, PtyAsk, usual_terminal};
use bytes::Bytes;
use clap::Parser;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, sleep_until};
use tokio_websockets::Message;

use super::exec::stdin::Stdin;
use super::exec::wire::{self, Format, Incoming};
use super::exec::writer::{Channel, Writer};
use super::failure::{self, Failure};
use super::http::{Client, percent_encoded};
use super::limits::{HANG_UP_TIMEOUT, KEYS_QUEUE};
use super::run_as::RunAsOptions;
use super::session::Session;
use super::socket::{self, Inbox, Outbox};
use super::{names, output};
use crate::command::{Command, block_on};
use crate::globals::Globals;
use escape::{Escape, HELP, RouteRequest};
use replay::Replay;
use terminal::RawTerminal;

/// Open a terminal on your active runner, with a shell or CMD; exits with its code
#[derive(Parser)]
#[command(override_usage = "sandbridge shell [OPTIONS] [-- CMD [ARGS]...]")]
#[command(
    after_help = "At the beginning of a line: ~d detaches and leaves the command running, ~. hangs up, ~? lists the escapes, \
        ~~ sends a tilde. Closing the local terminal leaves the command running too."
)]
pub(crate) struct ShellOptions {
    /// Open it on NAME instead of your active runner
    #[arg(long, value_name = "NAME", add = names::places())]
    on: Option<String>,
    /// Begin in this directory of the workspace
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
    /// Return to a terminal that was left running, by its id (`sandbridge ps`)
    #[arg(long, value_name = "ID", conflicts_with_all = ["on", "cwd", "command", "run_as"], add = names::commands())]
    attach: Option<String>,
    /// The user to run the command as.
    #[command(flatten)]
    run_as: RunAsOptions,
    /// Hides the `--json` of all commands, so that it can be refused: a terminal is for people.
    #[arg(long, hide = true)]
    json: bool,
    /// A program to run instead of a shell, and its arguments
    #[arg(trailing_var_arg = true, value_name = "CMD")]
    command: Vec<OsString>,
}

impl Command for ShellOptions {
    const NAME: &'static str = "shell";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(run(globals, self)).map_err(Failure::into_not_run)
    }
}

/// How the terminal ended.
enum Ended {
    /// The server reported how the command ended.
    Exit(ExecExit),
    /// The server reported why the command could not be run, or the connection broke.
    Failed(Failure),
    /// Hung up; this program waits no longer.
    HungUp,
    /// The command continues without this program.
    Left,
}

async fn run(globals: &Globals, options: ShellOptions) -> Result<ExitCode, Failure> {
    if globals.json || options.json {
        return Err(Failure::usage("shell has no --json; programs use: sandbridge exec --json -- CMD"));
    }
    RawTerminal::check()?;
    let mut request = request(&options)?;
    let session = globals.session()?;
    options.run_as.add_to(&mut request, &session, false).await?;
    let (exec_id, replay, (outbox, inbox)) = match &options.attach {
        Some(exec_id) => {
            let replay = replay(&session, exec_id).await?;
            let path = format!("/api/v1/execs/{}?offset={}", percent_encoded(exec_id), replay.offset());
            (exec_id.clone(), Some(replay), socket::open(&session, &path).await?)
        }
        None => {
            let (mut outbox, inbox) = socket::open(&session, "/api/v1/exec").await?;
            outbox.push_json(&request);
            (request.exec_id.unwrap_or_default(), None, (outbox, inbox))
        }
    };
    let signals = Signals::listen()?;
    let (stdin, writer) = (Stdin::start()?, Writer::start());
    let raw = RawTerminal::enter()?;
    let escape = Escape::new();
    let mut stream = Stream { outbox, inbox, writer, stdin, signals, escape, replay, hung_up: None };
    stream.show_again();
    let ended = stream.run().await;
    tokio::select! {
        () = stream.writer.finish() => {}
        () = stream.signals.end() => stream.hang_up(),
    }
    if !matches!(ended, Ended::Exit(_)) || stream.hung_up.is_some() {
        raw.tidy();
    }
    drop(raw);
    match ended {
        Ended::Exit(_) if stream.hung_up.is_some() => Ok(ExitCode::from(failure::HUNG_UP)),
        Ended::Exit(exit) => Ok(ExitCode::from(wire::exit_code(&exit))),
        Ended::Failed(mut failure) => {
            if failure.kind == "lost" {
                failure.message += &format!("; the terminal continues: sandbridge shell --attach {exec_id}");
            }
            Err(failure)
        }
        Ended::HungUp => Ok(ExitCode::from(failure::HUNG_UP)),
        Ended::Left => {
            output::warn(&format!(
                "the terminal continues; return to it with: sandbridge shell --attach {exec_id}"
            ));
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// The replay for the terminal of a running exec.
async fn replay(session: &Session, exec_id: &str) -> Result<Replay, Failure> {
    Ok(Replay::of(Client::new(session)?.exec_report(exec_id).await?.output_bytes))
}

/// The signals to this program.
struct Signals {
    resized: Signal,
    end: [Signal; 4],
}

/// The meaning of a signal.
enum News {
    /// The terminal has another size.
    Resized,
    /// This program has to end.
    End,
    /// This program's terminal was closed.
    TerminalGone,
}

impl Signals {
    fn listen() -> Result<Self, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|error| Failure::other("io", format!("cannot listen for signals: {error}")))
        };
        Ok(Self {
            resized: listen(SignalKind::window_change())?,
            end: [
                listen(SignalKind::hangup())?,
                listen(SignalKind::interrupt())?,
                listen(SignalKind::quit())?,
                listen(SignalKind::terminate())?,
            ],
        })
    }

    /// Waits for the next signal. May be cancelled at any time.
    async fn next(&mut self) -> News {
        let [hang_up, interrupt, quit, terminate] = &mut self.end;
        tokio::select! {
            _ = hang_up.recv() => News::TerminalGone,
            _ = interrupt.recv() => News::End,
            _ = quit.recv() => News::End,
            _ = terminate.recv() => News::End,
            _ = self.resized.recv() => News::Resized,
        }
    }

    async fn end(&mut self) {
        while matches!(self.next().await, News::Resized) {}
    }
}

/// A terminal's data in both directions while it is open.
struct Stream {
    outbox: Outbox,
    inbox: Inbox,
    writer: Writer,
    stdin: Stdin,
    signals: Signals,
    escape: Escape,
    /// The output so far to show after reconnecting.
    replay: Option<Replay>,
    /// After hanging up: when to stop waiting for the end.
    hung_up: Option<Instant>,
}

impl Stream {
    /// Moves bytes both ways until the command has ended. No branch waits for more than its own event.
    async fn run(&mut self) -> Ended {
        let readers = self.writer.watch();
        loop {
            let is_blocked = self.writer.is_full();
            let is_hung_up = self.hung_up.is_some();
            // Keys are read while others wait to be sent: the escapes must work when nothing can be sent.
            let has_room = self.stdin.is_open() && self.outbox.waiting() < KEYS_QUEUE;
            let give_up_at = self.hung_up.unwrap_or_else(Instant::now);
            tokio::select! {
                message = self.inbox.next(), if !is_blocked => match message {
                    Ok(message) => match wire::incoming(message, Format::Raw) {
                        Some(Incoming::Output(channel, bytes, _)) => {
                            let bytes = match &mut self.replay {
                                Some(replay) => replay.pass(bytes),
                                None => bytes,
                            };
                            self.writer.push(channel, bytes);
                        }
                        Some(Incoming::Gap(_)) => {
                            if let Some(replay) = &mut self.replay {
                                replay.gap();
                            }
                        }
                        Some(Incoming::Exit(exit)) => return Ended::Exit(exit),
                        Some(Incoming::Failed(failure)) => return Ended::Failed(failure),
                        Some(Incoming::Started(_) | Incoming::InputTaken(_) | Incoming::Away(_)) => {}
                        Some(Incoming::Detached { .. }) | None => {}
                    },
                    Err(failure) => return Ended::Failed(failure),
                },
                () = self.writer.has_room(), if is_blocked => {}
                sent = self.outbox.send_all(), if self.outbox.is_busy() => {
                    // A server that has ended the exec reads no more; its last messages are still to be read.
                    if sent.is_err() {
                        self.stdin.close();
                    }
                }
                frame = self.stdin.next(), if has_room && !is_hung_up => {
                    if self.typed(&frame) {
                        return Ended::Left;
                    }
                }
                news = self.signals.next() => match news {
                    News::Resized => {
                        let (rows, columns) = terminal::size();
                        self.outbox.push_json(&ClientFrame::Resize { rows, columns });
                    }
                    News::End => self.hang_up(),
                    News::TerminalGone => return Ended::Left,
                },
                () = readers.broken(), if !is_hung_up => self.hang_up(),
                () = sleep_until(give_up_at), if is_hung_up => return Ended::HungUp,
            }
        }
    }

    /// Shows a terminal again after reconnecting: replays its last output, and makes a full-screen program redraw.
    fn show_again(&mut self) {
        let Some(replay) = &self.replay else { return };
        self.writer.push(Channel::Stdout, Bytes::from_static(replay.preamble()));
        let (rows, columns) = terminal::size();
        for rows in [rows.saturating_sub(1).max(1), rows] {
            self.outbox.push_json(&ClientFrame::Resize { rows, columns });
        }
    }

    /// Handles a frame of keys; an empty frame means that this terminal was closed. Returns true if the command is to be left running.
    fn typed(&mut self, frame: &Bytes) -> bool {
        let mut rest = &frame[1..];
        if rest.is_empty() {
            return true;
        }
        while !rest.is_empty() {
            let mut passed = vec![wire::STDIN];
            let (taken, wish) = self.escape.read(rest, &mut passed);
            rest = &rest[taken..];
            if passed.len() > 1 {
                self.outbox.push(Message::binary(passed));
            }
            match wish {
                Some(RouteRequest::HangUp) => {
                    self.hang_up();
                    return false;
                }
                Some(RouteRequest::Leave) => return true,
                // The help is not output of the other end, so it is not queued with that output.
                Some(RouteRequest::Help) => eprint!("\r\n{HELP}"),
                None => {}
            }
        }
        false
    }

    /// Asks the server to end the command, and sets when to stop waiting for its end.
    fn hang_up(&mut self) {
        if self.hung_up.is_none() {
            self.outbox.push_json(&ClientFrame::Cancel);
            self.hung_up = Some(Instant::now() + HANG_UP_TIMEOUT);
        }
    }
}

/// The request in the server's form. It is JSON, so arguments can only be text.
fn request(options: &ShellOptions) -> Result<ExecAsk, Failure> {
    let text = |word: &OsString| {
        word.to_str()
            .map(str::to_owned)
            .ok_or_else(|| Failure::usage(format!("the argument {word:?} is not UTF-8, but must be")))
    };
    let argv = options.command.iter().map(text).collect::<Result<Vec<_>, _>>()?;
    let (rows, columns) = terminal::size();
    let term = std::env::var("TERM").ok().filter(|term| !term.is_empty()).unwrap_or_else(usual_terminal);
    Ok(ExecAsk {
        argv: Some(argv).filter(|argv| !argv.is_empty()),
        on: options.on.clone(),
        cwd: options.cwd.clone(),
        pty: Some(PtyAsk { rows, columns, term }),
        exec_id: Some(format!("{:032x}", rand::random::<u128>())),
        ..ExecAsk::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_command_the_server_chooses_the_shell() {
        let options = |command: &[&str]| ShellOptions {
            on: None,
            cwd: Some("src".to_owned()),
            attach: None,
            run_as: RunAsOptions::default(),
            json: false,
            command: command.iter().map(OsString::from).collect(),
        };
        let asked = request(&options(&[])).unwrap();
        assert_eq!((asked.argv, asked.cwd.as_deref()), (None, Some("src")));
        assert!(asked.pty.is_some_and(|pty| pty.rows > 0 && pty.columns > 0));
        let named = request(&options(&["vim", "-u"])).unwrap().argv;
        assert_eq!(named, Some(vec!["vim".to_owned(), "-u".to_owned()]));
    }
}
