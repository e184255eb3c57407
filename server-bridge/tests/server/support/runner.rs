//! A scripted runner, without real processes and disks. Its commands: `echo WORDS`, `fail CODE`, `cat`, `flood BYTES`, `hang` (runs until it is
//! cancelled), and `linger` (runs for a while after it is cancelled). A terminal echoes its input and prints its size. Its files are kept in memory.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use proto::handshake::{
    ENROLMENT_CAPABILITY, Facts, Handshake, Layer, Ready, Refusal, Register, VersionRange,
};
use proto::message::{
    DirBatch, DirEntry, DirRead, Done, ExecEntry, ExecExited, ExecList, ExecStarted, ExecStreamsClosed,
    ExitStatus, FileKind, FileOpened, FileRead, FileWritten, Metadata,
};
use proto::request::{Command, Exec};
use proto::session::{Close, CloseCode};
use proto::{
    BootId, Channel, DataBuf, ErrorKind, Event, ExecId, Message, Request, Session, Side, StreamId, WireError,
    codec,
};
use sha2::{Digest, Sha256};
use tokio::task::JoinHandle;
use tokio::time::sleep_until;
use tokio_tungstenite::tungstenite;

use super::Socket;

/// The time that `linger` takes to end after a cancel.
const LINGER: Duration = Duration::from_millis(500);

/// A connected runner, served by a task until its link ends.
pub struct FakeRunner(JoinHandle<Option<Close>>);

impl FakeRunner {
    /// Registers a runner at the server whose API is at `base`.
    pub async fn connect(base: &str, token: &str, hostname: &str) -> Result<Self, Refusal> {
        Self::connect_to(&base.replace("/api/v1", "/runner"), token, hostname).await
    }

    /// Registers a runner at this address.
    pub async fn connect_to(address: &str, token: &str, hostname: &str) -> Result<Self, Refusal> {
        Self::connect_as(address, token, facts(hostname)).await
    }

    /// Registers a runner with these properties at this address.
    pub async fn connect_as(address: &str, token: &str, facts: Facts) -> Result<Self, Refusal> {
        let url = address.replacen("http", "ws", 1);
        let mut socket = Socket::connect(&url, &[]).await.unwrap();
        let hostname = facts.hostname.clone();
        socket.text(&registration(token, facts)).await;
        let accepted = match handshake(&mut socket).await {
            Some(Handshake::RegisterOk { body }) => body.sandbridge.unwrap(),
            Some(Handshake::Error { body }) => return Err(body),
            other => panic!("{other:?}"),
        };
        let ready = Handshake::Ready { body: Ready { epoch: accepted.epoch, nonce: accepted.nonce } };
        socket.text(&ready.to_text()).await;
        let state = Scripted {
            socket,
            session: Session::new(Side::Executor, Instant::now()),
            hostname,
            files: HashMap::new(),
            execs: HashMap::new(),
            terminals: HashMap::new(),
            lingering: VecDeque::new(),
            uploads: HashMap::new(),
            queue: VecDeque::new(),
        };
        Ok(Self(tokio::spawn(state.run())))
    }

    /// Waits for the end of the link; returns its close code.
    pub async fn closed(self) -> Option<CloseCode> {
        self.goodbye().await.map(|close| close.code)
    }

    /// Waits for the end of the link; returns the whole close frame.
    pub async fn goodbye(self) -> Option<Close> {
        tokio::time::timeout(super::PATIENCE, self.0).await.expect("the link ends in time").unwrap()
    }

    /// Ends the link without a close frame.
    pub fn vanish(self) {
        self.0.abort();
    }
}

/// The registration of a runner with this token.
pub fn handshake_text(token: &str, hostname: &str) -> String {
    registration(token, facts(hostname))
}

/// Returns a runner's registration data, with the values that most tests need.
pub fn facts(hostname: &str) -> Facts {
    let layer = Layer { name: "landlock".to_owned(), holds: true, detail: "ABI 7".to_owned() };
    Facts {
        protocol: VersionRange::OURS,
        runner_id: String::new(),
        boot_id: BootId(rand::random()),
        os: "linux".to_owned(),
        arch: "x86_64".to_owned(),
        hostname: hostname.to_owned(),
        version: "0.1.0".to_owned(),
        profile: "workspace".to_owned(),
        capabilities: vec![ENROLMENT_CAPABILITY.to_owned()],
        landlock_abi: 7,
        kill_tier: "walk".to_owned(),
        layers: vec![layer],
        run_as: None,
        update_error: None,
    }
}

fn registration(token: &str, facts: Facts) -> String {
    let body = Register {
        user_id: String::new(),
        auth_token: token.to_owned(),
        workspace: "/workspace".to_owned(),
        shell: "/bin/sh".to_owned(),
        llm_provider: String::new(),
        llm_model: String::new(),
        sandbridge: Some(facts),
    };
    Handshake::Register { user_id: String::new(), body: Box::new(body) }.to_text()
}

/// Reads the server's response, which must be a refusal.
pub async fn refusal_of(socket: &mut Socket) -> Refusal {
    match handshake(socket).await {
        Some(Handshake::Error { body }) => body,
        other => panic!("{other:?}"),
    }
}

/// Reads the next message of a handshake; `None` if the socket ended.
pub async fn handshake(socket: &mut Socket) -> Option<Handshake> {
    match tokio::time::timeout(super::PATIENCE, socket.0.next()).await.expect("an answer in time")?.ok()? {
        tungstenite::Message::Text(text) => Some(Handshake::from_text(&text).unwrap()),
        other => panic!("{other:?}"),
    }
}

/// Bytes of output that are waiting to be sent.
struct Queued {
    stream: StreamId,
    channel: Channel,
    /// The total number of bytes; 0 for the output of a command that continues afterwards.
    total: u64,
    bytes: Vec<u8>,
}

/// The behaviour of a running command.
#[derive(PartialEq)]
enum Running {
    Copies,
    Hangs,
    Lingers,
}

struct Scripted {
    socket: Socket,
    session: Session,
    hostname: String,
    files: HashMap<Vec<u8>, Vec<u8>>,
    /// Commands that are still running.
    execs: HashMap<StreamId, Running>,
    /// Commands with a terminal.
    terminals: HashMap<ExecId, StreamId>,
    /// Commands that were cancelled, and when they end.
    lingering: VecDeque<(Instant, StreamId)>,
    uploads: HashMap<StreamId, (Vec<u8>, Vec<u8>)>,
    /// Output that waits for credit, in the order in which it is sent.
    queue: VecDeque<Queued>,
}

impl Scripted {
    async fn run(mut self) -> Option<Close> {
        loop {
            self.write_queued();
            while let Some(frame) = self.session.poll_transmit(Instant::now()) {
                // A server that disconnected is noticed at the next read, after its last messages.
                let _ = self.socket.0.send(tungstenite::Message::Binary(frame)).await;
            }
            let timeout = self.session.next_timeout();
            let ends = self.lingering.front().map(|(ends, _)| *ends);
            tokio::select! {
                message = self.socket.0.next() => match message?.ok()? {
                    tungstenite::Message::Binary(frame) => {
                        if let Some(event) = self.session.receive(&frame, Instant::now()).unwrap() {
                            if let Event::Closed(close) = event {
                                return Some(close);
                            }
                            self.on_event(event);
                        }
                    }
                    tungstenite::Message::Close(_) => return None,
                    _ => {}
                },
                () = sleep_until(ends.unwrap_or(timeout).into()), if ends.is_some() => {
                    if let Some((_, stream)) = self.lingering.pop_front() {
                        self.exit(stream, ExitStatus::Signal(15), true);
                    }
                }
                () = sleep_until(timeout.into()) => self.session.handle_timeout(Instant::now()).unwrap(),
            }
        }
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Opened(stream, request) => self.on_request(stream, request),
            Event::Data(stream, _, bytes) => {
                self.session.consumed(stream, bytes.len());
                if let Some((_, content)) = self.uploads.get_mut(&stream) {
                    content.extend_from_slice(&bytes);
                } else if self.execs.get(&stream) == Some(&Running::Copies) {
                    self.queue.push_back(Queued {
                        stream,
                        channel: Channel::Stdout,
                        total: 0,
                        bytes: bytes.to_vec(),
                    });
                }
            }
            Event::End(stream, _) => {
                if let Some((path, content)) = self.uploads.remove(&stream) {
                    let bytes = content.len() as u64;
                    self.files.insert(path, content);
                    self.answer(stream, FileWritten { bytes });
                } else if self.execs.remove(&stream) == Some(Running::Copies) {
                    self.exit(stream, ExitStatus::Code(0), false);
                }
            }
            Event::Cancelled(stream) => {
                if self.uploads.remove(&stream).is_some() {
                    self.session.fail(stream, &WireError::new(ErrorKind::Cancelled, "cancelled"));
                } else {
                    match self.execs.remove(&stream) {
                        Some(Running::Lingers) => self.lingering.push_back((Instant::now() + LINGER, stream)),
                        Some(Running::Copies | Running::Hangs) => {
                            self.exit(stream, ExitStatus::Signal(15), true);
                        }
                        None => {
                            let is_flood = |queued: &Queued| queued.stream == stream && queued.total > 0;
                            if self.queue.iter().any(is_flood) {
                                self.queue.retain(|queued| !is_flood(queued));
                                self.exit(stream, ExitStatus::Signal(15), true);
                            }
                        }
                    }
                }
            }
            _ => {}
        }
    }

    fn on_request(&mut self, stream: StreamId, request: Request) {
        match request {
            Request::Exec(Exec { exec_id, pty: Some(pty), command, .. }) => {
                self.terminals.insert(exec_id, stream);
                self.session.message(stream, &Message::ExecStarted(ExecStarted { pid: 1 }), false).unwrap();
                self.execs.insert(stream, Running::Copies);
                self.show(stream, format!("{command:?} on {pty:?}\n"));
            }
            Request::Exec(exec) => self.exec(stream, exec.command),
            Request::Resize(resize) => match self.terminals.get(&resize.exec_id) {
                Some(terminal) => {
                    self.show(*terminal, format!("resized {}x{}\n", resize.rows, resize.columns));
                    self.answer(stream, Done {});
                }
                None => self.session.fail(stream, &WireError::new(ErrorKind::NoSuchExec, "no terminal")),
            },
            Request::ReadFile(read) => match self.files.get(&read.path.0) {
                Some(content) => {
                    let size_bytes = content.len() as u64;
                    let offset = usize::try_from(read.offset).unwrap().min(content.len());
                    let left = u64::try_from(content.len() - offset).unwrap();
                    let total = read.length.unwrap_or(left).min(left);
                    let bytes = content[offset..offset + usize::try_from(total).unwrap()].to_vec();
                    self.queue.push_back(Queued { stream, channel: Channel::Main, total, bytes });
                    let opened = FileOpened { size_bytes, mode: 0o644, modified_ms: 1 };
                    self.session.message(stream, &Message::FileOpened(opened), false).unwrap();
                }
                None => self.missing(stream),
            },
            Request::WriteFile(write) if write.path.0.starts_with(b"..") => {
                let error = WireError::new(ErrorKind::EscapesWorkspace, "path escapes the workspace");
                self.session.fail(stream, &error);
            }
            Request::WriteFile(write)
                if write.if_match.is_some_and(|hash| {
                    self.files.get(&write.path.0).is_none_or(|old| hash[..] != Sha256::digest(old)[..])
                }) =>
            {
                let error = WireError::new(ErrorKind::PreconditionFailed, "the file is another one");
                self.session.fail(stream, &error);
            }
            Request::WriteFile(write) => drop(self.uploads.insert(stream, (write.path.0, Vec::new()))),
            Request::Stat(stat) => match self.files.get(&stat.path.0) {
                Some(content) => {
                    let size_bytes = content.len() as u64;
                    self.answer(
                        stream,
                        Metadata { kind: FileKind::File, size_bytes, mode: 0o644, modified_ms: 1 },
                    );
                }
                None => self.missing(stream),
            },
            Request::ReadDir(_) => {
                let entry = |(name, content): (&Vec<u8>, &Vec<u8>)| DirEntry {
                    name: name.clone(),
                    kind: FileKind::File,
                    size_bytes: content.len() as u64,
                };
                let entries: Vec<_> = self.files.iter().map(entry).collect();
                let count = entries.len() as u64;
                let batch = codec::encode(&DirBatch { entries }).unwrap();
                self.session.data(stream, Channel::Main, DataBuf::copy_from(&batch));
                self.session.end(stream, Channel::Main);
                self.answer(stream, DirRead { entries: count });
            }
            Request::Remove(remove) => match self.files.remove(&remove.path.0) {
                Some(_) => self.answer(stream, Done {}),
                None => self.missing(stream),
            },
            Request::Rename(rename) => match self.files.remove(&rename.from.0) {
                Some(content) => {
                    self.files.insert(rename.to.0, content);
                    self.answer(stream, Done {});
                }
                None => self.missing(stream),
            },
            Request::MkdirAll(_) | Request::RemoveAll(_) | Request::Signal(_) => self.answer(stream, Done {}),
            Request::Update(_) if self.hostname == "full" => {
                let error = WireError::new(ErrorKind::NoSpace, "no space for the new program");
                self.session.fail(stream, &error);
            }
            Request::Update(_) => self.answer(stream, Done {}),
            Request::List(_) => {
                let entry = |_| ExecEntry {
                    exec_id: ExecId(rand::random()),
                    running: true,
                    age_ms: 1,
                    output_bytes: 0,
                };
                self.answer(stream, ExecList { execs: self.execs.keys().map(entry).collect() });
            }
            other => {
                let text = format!("this runner knows no {other:?}");
                self.session.fail(stream, &WireError::new(ErrorKind::Unsupported, text));
            }
        }
    }

    /// Queues output of a command that continues afterwards.
    fn show(&mut self, stream: StreamId, text: String) {
        self.queue.push_back(Queued { stream, channel: Channel::Stdout, total: 0, bytes: text.into_bytes() });
    }

    fn exec(&mut self, stream: StreamId, command: Command) {
        let words = match command {
            Command::Argv(argv) => argv.join(&b' '),
            Command::Shell(line) => line,
        };
        let words = String::from_utf8(words).unwrap();
        self.session.message(stream, &Message::ExecStarted(ExecStarted { pid: 1 }), false).unwrap();
        match words.split_once(' ').unwrap_or((&words, "")) {
            ("echo", rest) => {
                let output = format!("{rest} on {}\n", self.hostname);
                self.session.data(stream, Channel::Stdout, DataBuf::copy_from(output.as_bytes()));
                self.exit(stream, ExitStatus::Code(0), false);
            }
            ("fail", code) => {
                self.session.data(stream, Channel::Stderr, DataBuf::copy_from(b"bad\n"));
                self.exit(stream, ExitStatus::Code(code.parse().unwrap()), false);
            }
            ("flood", bytes) => {
                let bytes: Vec<u8> = (0..bytes.parse::<usize>().unwrap()).map(|at| at as u8).collect();
                let total = bytes.len() as u64;
                self.queue.push_back(Queued { stream, channel: Channel::Stdout, total, bytes });
            }
            ("cat", _) => drop(self.execs.insert(stream, Running::Copies)),
            ("linger", _) => drop(self.execs.insert(stream, Running::Lingers)),
            _ => drop(self.execs.insert(stream, Running::Hangs)),
        }
    }

    fn exit(&mut self, stream: StreamId, status: ExitStatus, cancelled: bool) {
        let exited =
            ExecExited { status, timed_out: false, cancelled, sandbox_denied: false, duration_us: 1500 };
        self.session.message(stream, &Message::ExecExited(exited), false).unwrap();
        self.session.end(stream, Channel::Stdout);
        self.session.end(stream, Channel::Stderr);
        let closed =
            ExecStreamsClosed { stdout_bytes: 0, stderr_bytes: 0, dropped_bytes: 0, still_open: false };
        self.answer(stream, closed);
    }

    fn missing(&mut self, stream: StreamId) {
        self.session.fail(stream, &WireError::new(ErrorKind::NotFound, "nothing is there"));
    }

    fn answer(&mut self, stream: StreamId, message: impl Into<Message>) {
        self.session.message(stream, &message.into(), true).unwrap();
    }

    /// Sends as much as the credit allows; a file's stream ends after its last byte.
    fn write_queued(&mut self) {
        for _ in 0..self.queue.len() {
            let Some(mut queued) = self.queue.pop_front() else { return };
            let stream = queued.stream;
            while !queued.bytes.is_empty() {
                let room = self.session.writable(stream).min(proto::limits::MAX_DATA_BYTES);
                if room == 0 {
                    break;
                }
                let rest = queued.bytes.split_off(room.min(queued.bytes.len()));
                self.session.data(stream, queued.channel, DataBuf::copy_from(&queued.bytes));
                queued.bytes = rest;
            }
            if !queued.bytes.is_empty() && self.session.is_open(stream) {
                self.queue.push_back(queued);
            } else if queued.channel == Channel::Main {
                self.session.end(stream, Channel::Main);
                self.answer(stream, FileRead { bytes: queued.total });
            } else if queued.total > 0 {
                self.exit(stream, ExitStatus::Code(0), false);
            }
        }
    }
}
