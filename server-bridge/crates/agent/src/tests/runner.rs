//! A runner for tests: the handshake and [`proto::Session`], with a script in place of processes.
//!
//! A command's text is its script, words apart by spaces: `out:TEXT`, `err:TEXT`, `bytes:HEX`, `fill:CHARS`, `wait`
//! (until it is cancelled or [`ScriptedRunner::release`] is called), `exit:CODE`, `signal:NUMBER`, `timeout`.

mod files;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use proto::handshake::{Facts, Handshake, Ready, Register, VersionRange};
use proto::message::{ExecExited, ExecStarted, ExecStreamsClosed, ExitStatus};
use proto::request::{Command, Request};
use proto::session::Event;
use proto::{BootId, Channel, DataBuf, ErrorKind, Session, Side, StreamId, WireError};
use sandbox::{Admission, LinkMessage, MemoryLink, SandboxRouter, memory_link};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

use files::Files;

/// A connected runner; dropped, its link breaks.
pub(super) struct ScriptedRunner {
    /// The commands it was given, as they were.
    pub(super) started: mpsc::UnboundedReceiver<String>,
    /// The files it was given.
    pub(super) files: Files,
    release: Arc<Notify>,
    task: JoinHandle<()>,
    _served: JoinHandle<()>,
}

impl ScriptedRunner {
    pub(super) async fn connect(router: &SandboxRouter, user_key: &str, name: &str) -> Self {
        let (server_end, mut link) = memory_link();
        let admission =
            Admission { user_key: user_key.to_owned(), runner: name.to_owned(), epoch: 1, token: None };
        let for_task = router.clone();
        let served = tokio::spawn(async move {
            let _ = for_task.serve_remote(server_end, |_| async { Ok(admission) }).await;
        });
        shake_hands(&mut link).await;
        while router.runners(user_key).iter().all(|state| state.name != name) {
            tokio::task::yield_now().await;
        }
        let (tell_started, started) = mpsc::unbounded_channel();
        let (files, release) = (Files::default(), Arc::new(Notify::new()));
        let session = Session::new(Side::Executor, Instant::now());
        let script = Script {
            link,
            session,
            tell_started,
            files: files.clone(),
            release: Arc::clone(&release),
            streams: HashMap::new(),
        };
        Self { started, files, release, task: tokio::spawn(script.run()), _served: served }
    }

    /// Lets one waiting command go on.
    pub(super) fn release(&self) {
        self.release.notify_one();
    }
}

impl Drop for ScriptedRunner {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn shake_hands(link: &mut MemoryLink) {
    let facts = Facts {
        protocol: VersionRange::OURS,
        runner_id: String::new(),
        boot_id: BootId([1; 16]),
        os: "linux".to_owned(),
        arch: "x86_64".to_owned(),
        hostname: "host".to_owned(),
        version: "0.1.0".to_owned(),
        profile: "workspace".to_owned(),
        capabilities: Vec::new(),
        landlock_abi: 7,
        kill_tier: "walk".to_owned(),
        layers: Vec::new(),
    };
    let body = Register {
        user_id: String::new(),
        auth_token: "token".to_owned(),
        workspace: "/workspace".to_owned(),
        shell: "/bin/sh".to_owned(),
        llm_provider: String::new(),
        llm_model: String::new(),
        sandbridge: Some(facts),
    };
    let register = Handshake::Register { user_id: String::new(), body: Box::new(body) };
    link.send(LinkMessage::Text(register.to_text())).await.unwrap();
    let Some(Ok(LinkMessage::Text(text))) = link.next().await else { panic!("no answer") };
    let Handshake::RegisterOk { body } = Handshake::from_text(&text).unwrap() else {
        panic!("refused: {text}")
    };
    let accepted = body.sandbridge.unwrap();
    let ready = Handshake::Ready { body: Ready { epoch: accepted.epoch, nonce: accepted.nonce } };
    link.send(LinkMessage::Text(ready.to_text())).await.unwrap();
}

enum Work {
    Exec { words: Vec<String>, written: [u64; 2], pending: Option<(Channel, Bytes)> },
    File { path: String, content: Vec<u8> },
}

struct Script {
    link: MemoryLink,
    session: Session,
    tell_started: mpsc::UnboundedSender<String>,
    files: Files,
    release: Arc<Notify>,
    streams: HashMap<StreamId, Work>,
}

impl Script {
    async fn run(mut self) {
        loop {
            while let Some(frame) = self.session.poll_transmit(Instant::now()) {
                if self.link.send(LinkMessage::Binary(frame)).await.is_err() {
                    return;
                }
            }
            tokio::select! {
                message = self.link.next() => {
                    let Some(Ok(LinkMessage::Binary(frame))) = message else { return };
                    match self.session.receive(&frame, Instant::now()) {
                        Ok(Some(event)) => self.take(event),
                        Ok(None) => {}
                        Err(_) => return,
                    }
                }
                () = self.release.notified() => {
                    let waiting = self.streams.iter_mut().find_map(|(&id, work)| match work {
                        Work::Exec { words, .. } if words.first().is_some_and(|word| word == "wait") => {
                            words.remove(0);
                            Some(id)
                        }
                        Work::Exec { .. } | Work::File { .. } => None,
                    });
                    if let Some(id) = waiting {
                        self.advance(id);
                    }
                }
            }
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Opened(id, Request::Exec(exec)) => {
                let Command::Shell(line) = exec.command else { panic!("no shell command") };
                let line = String::from_utf8(line).unwrap();
                let _ = self.tell_started.send(line.clone());
                if line == "missing" {
                    let error = WireError::new(ErrorKind::CommandNotFound, "there is no such program");
                    return self.session.fail(id, &error);
                }
                self.session.message(id, &ExecStarted { pid: 1 }.into(), false).unwrap();
                let words = line.split(' ').map(str::to_owned).collect();
                self.streams.insert(id, Work::Exec { words, written: [0, 0], pending: None });
                self.advance(id);
            }
            Event::Opened(id, request) => {
                if let Some(path) = self.files.answer(&mut self.session, id, request) {
                    self.streams.insert(id, Work::File { path, content: Vec::new() });
                }
            }
            Event::Data(id, _, bytes) => {
                self.session.consumed(id, bytes.len());
                if let Some(Work::File { content, .. }) = self.streams.get_mut(&id) {
                    content.extend_from_slice(&bytes);
                }
            }
            Event::End(id, _) => {
                if let Some(Work::File { path, content }) = self.streams.remove(&id) {
                    self.files.keep(&mut self.session, id, path, content);
                }
            }
            Event::Cancelled(id) => {
                if let Some(Work::Exec { written, .. }) = self.streams.remove(&id) {
                    self.finish(id, written, ExitStatus::Signal(15), false, true);
                }
            }
            Event::Writable(id, _) => self.advance(id),
            _ => {}
        }
    }

    /// Goes on with a command's script until it waits, blocks or ends.
    fn advance(&mut self, id: StreamId) {
        loop {
            let Some(Work::Exec { words, written, pending }) = self.streams.get_mut(&id) else { return };
            if let Some((channel, mut bytes)) = pending.take() {
                let room = self.session.writable(id).min(32 * 1024).min(bytes.len());
                let part = bytes.split_to(room);
                written[usize::from(channel == Channel::Stderr)] += part.len() as u64;
                if !bytes.is_empty() {
                    *pending = Some((channel, bytes));
                }
                if part.is_empty() {
                    return;
                }
                self.session.data(id, channel, DataBuf::copy_from(&part));
                continue;
            }
            let word = if words.is_empty() { "exit:0".to_owned() } else { words[0].clone() };
            let (verb, argument) = word.split_once(':').unwrap_or((&word, ""));
            let status = match verb {
                "wait" => return,
                "out" => {
                    *pending = Some((Channel::Stdout, Bytes::copy_from_slice(argument.as_bytes())));
                    None
                }
                "err" => {
                    *pending = Some((Channel::Stderr, Bytes::copy_from_slice(argument.as_bytes())));
                    None
                }
                "bytes" => {
                    let byte = |at| u8::from_str_radix(&argument[at..at + 2], 16).unwrap();
                    *pending = Some((Channel::Stdout, (0..argument.len()).step_by(2).map(byte).collect()));
                    None
                }
                "fill" => {
                    *pending = Some((Channel::Stdout, fill(argument.parse().unwrap()).into()));
                    None
                }
                "signal" => Some((ExitStatus::Signal(argument.parse().unwrap()), false)),
                "timeout" => Some((ExitStatus::Signal(15), true)),
                "exit" => Some((ExitStatus::Code(argument.parse().unwrap()), false)),
                other => panic!("no such word: {other}"),
            };
            if let Some((status, timed_out)) = status {
                let written = *written;
                self.streams.remove(&id);
                return self.finish(id, written, status, timed_out, false);
            }
            words.remove(0);
        }
    }

    fn finish(
        &mut self,
        id: StreamId,
        written: [u64; 2],
        status: ExitStatus,
        timed_out: bool,
        cancelled: bool,
    ) {
        self.session.end(id, Channel::Stdout);
        self.session.end(id, Channel::Stderr);
        let exited = ExecExited { status, timed_out, cancelled, sandbox_denied: false, duration_us: 1500 };
        self.session.message(id, &exited.into(), false).unwrap();
        let [stdout_bytes, stderr_bytes] = written;
        let closed = ExecStreamsClosed { stdout_bytes, stderr_bytes, dropped_bytes: 0, still_open: false };
        self.session.message(id, &closed.into(), true).unwrap();
    }
}

/// What the word `fill` writes: lines that differ, of exactly so many characters.
pub(super) fn fill(chars: usize) -> Vec<u8> {
    let lines = (0..).flat_map(|line: usize| format!("line {line}\n").into_bytes());
    lines.take(chars).collect()
}
