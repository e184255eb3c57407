//! An executor with a fresh workspace, and the peer that sends it requests.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use proto::message::{ExecExited, ExecStreamsClosed, ExitStatus};
use proto::request::{Command, Exec};
use proto::{Channel, DataBuf, Event, ExecId, Message, Request, Session, Side, StreamId, WireError};
use runner::executor::{Executor, ExecutorConfig};
use runner::layers::Profile;
use runner::link::memory::{MemoryLink, pair};
use runner::llm::LlmConfig;
use runner::serve::{Ended, serve};
use tokio::task::{JoinHandle, LocalSet};
use tokio_util::sync::CancellationToken;

/// Longer than anything here may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Sends links to the executor's thread, which reports when it is done with each.
type ServeLink = tokio::sync::mpsc::UnboundedSender<ToServe>;
type ToServe = (MemoryLink, std::sync::mpsc::Sender<JoinHandle<Ended>>);

fn connect(serve_link: &ServeLink) -> (Peer, JoinHandle<Ended>) {
    let (ours, theirs) = pair();
    let (reply, served) = std::sync::mpsc::channel();
    serve_link.send((theirs, reply)).unwrap();
    (Peer::new(ours), served.recv().unwrap())
}

/// An executor on its own thread, which is confined, and the peer that sends it requests.
pub(crate) struct World {
    pub(crate) workspace: PathBuf,
    pub(crate) shutdown: CancellationToken,
    pub(crate) served: JoinHandle<Ended>,
    pub(crate) peer: Peer,
    serve_link: ServeLink,
    /// Cancelled when the executor should shut down as well.
    stop: CancellationToken,
    runner: Option<std::thread::JoinHandle<()>>,
    _state: tempfile::TempDir,
}

impl World {
    /// Runs a test under the profile `workspace`.
    pub(crate) fn run(test: impl AsyncFnOnce(&mut World)) {
        Self::run_under(Profile::Workspace, test);
    }

    /// Runs a test, then stops the executor.
    pub(crate) fn run_under(profile: Profile, test: impl AsyncFnOnce(&mut World)) {
        let workspace = tempfile::tempdir().unwrap();
        Self::run_in(workspace.path(), profile, test);
    }

    /// Runs a test in an existing workspace.
    pub(crate) fn run_in(workspace: &Path, profile: Profile, test: impl AsyncFnOnce(&mut World)) {
        Self::run_with(workspace, profile, |_| None, test);
    }

    /// Runs a test with an LLM endpoint.
    pub(crate) fn run_with_llm(
        llm: impl FnOnce(&ExecutorConfig) -> LlmConfig,
        test: impl AsyncFnOnce(&mut World),
    ) {
        let workspace = tempfile::tempdir().unwrap();
        Self::run_with(workspace.path(), Profile::Workspace, |config| Some(llm(config)), test);
    }

    fn run_with(
        workspace: &Path,
        profile: Profile,
        llm: impl FnOnce(&ExecutorConfig) -> Option<LlmConfig>,
        test: impl AsyncFnOnce(&mut World),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        LocalSet::new().block_on(&runtime, async {
            let mut world = World::new(workspace, profile, llm);
            test(&mut world).await;
            world.shutdown.cancel();
            world.stop_executor();
        });
    }

    fn new(
        workspace: &Path,
        profile: Profile,
        llm: impl FnOnce(&ExecutorConfig) -> Option<LlmConfig>,
    ) -> Self {
        let state = tempfile::tempdir().unwrap();
        let workspace = workspace.canonicalize().unwrap();
        let state_dir = state.path().to_owned();
        let mut config = ExecutorConfig::new(workspace.clone(), state_dir, profile);
        config.llm = llm(&config);
        // The servers of these tests are on this machine.
        config.bounds.download_allow = ["127.0.0.1", "localhost"].map(str::to_owned).to_vec();
        config.bounds.http_allow = ["127.0.0.1", "localhost"].map(|host| host.parse().unwrap()).to_vec();
        let (shutdown, stop) = (CancellationToken::new(), CancellationToken::new());
        let (serve_link, mut to_serve) = tokio::sync::mpsc::unbounded_channel::<ToServe>();
        let tokens = (shutdown.clone(), stop.clone());
        let runner = std::thread::spawn(move || {
            let (shutdown, stop) = tokens;
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            LocalSet::new().block_on(&runtime, async {
                let executor = Executor::start(&config).unwrap();
                let links = async {
                    while let Some((link, reply)) = to_serve.recv().await {
                        let (serving, shutdown) = (Rc::clone(&executor), shutdown.clone());
                        let served = async move { serve(link, &serving, &shutdown).await };
                        reply.send(tokio::task::spawn_local(served)).unwrap();
                    }
                };
                tokio::select! {
                    () = links => {}
                    () = stop.cancelled() => {}
                }
                executor.shutdown().await;
            });
        });
        let (peer, served) = connect(&serve_link);
        let runner = Some(runner);
        Self { workspace, shutdown, served, peer, serve_link, stop, runner, _state: state }
    }

    /// Shuts the executor down, and waits until it has.
    pub(crate) fn stop_executor(&mut self) {
        self.stop.cancel();
        if let Some(runner) = self.runner.take() {
            runner.join().unwrap();
        }
    }

    /// Runs a shell line to its end.
    pub(crate) async fn shell(&mut self, line: &str) -> Outcome {
        self.peer.exec(shell(line)).await
    }

    /// Cuts the link, and connects another one. The peer's events and streams of the old one are dropped.
    pub(crate) async fn cut(&mut self) {
        let (peer, served) = connect(&self.serve_link);
        self.peer = peer;
        let ended = std::mem::replace(&mut self.served, served).await.unwrap();
        assert!(matches!(ended, Ended::Lost(_)), "{ended:?}");
    }

    /// A file's path in the workspace.
    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.workspace.join(name)
    }
}

/// A shell line with default settings.
pub(crate) fn shell(line: &str) -> Exec {
    exec(Command::Argv(["sh", "-c", line].map(|word| word.as_bytes().to_vec()).to_vec()))
}

/// A program and its arguments with default settings.
pub(crate) fn argv(words: &[&str]) -> Exec {
    exec(Command::Argv(words.iter().map(|word| word.as_bytes().to_vec()).collect()))
}

fn exec(command: Command) -> Exec {
    Exec::new(id(), command)
}

/// A fresh name for an exec or a change.
pub(crate) fn id() -> ExecId {
    ExecId(rand::random())
}

/// The complete result of an exec.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) gap_bytes: u64,
    pub(crate) exited: Option<ExecExited>,
    pub(crate) closed: Option<ExecStreamsClosed>,
    pub(crate) error: Option<WireError>,
}

impl Outcome {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }

    pub(crate) fn exited(&self) -> &ExecExited {
        self.exited.as_ref().unwrap_or_else(|| panic!("no exit: {self:?}"))
    }

    pub(crate) fn closed(&self) -> &ExecStreamsClosed {
        self.closed.as_ref().unwrap_or_else(|| panic!("not closed: {self:?}"))
    }

    pub(crate) fn status(&self) -> ExitStatus {
        self.exited().status
    }
}

/// The originator's end of the link.
pub(crate) struct Peer {
    link: MemoryLink,
    pub(crate) session: Session,
    events: VecDeque<Event>,
    /// True if data is reported as drained when it arrives.
    pub(crate) consumes: bool,
    /// Execs whose tree has ended.
    pub(crate) gone: Vec<ExecId>,
}

impl Peer {
    pub(crate) fn new(link: MemoryLink) -> Self {
        let session = Session::new(Side::Originator, Instant::now());
        Self { link, session, events: VecDeque::new(), consumes: true, gone: Vec::new() }
    }

    pub(crate) fn open(&mut self, request: impl Into<Request>) -> StreamId {
        self.session.open(&request.into()).unwrap()
    }

    /// Opens a stream and sends all of its body.
    pub(crate) async fn sends(&mut self, request: impl Into<Request>, body: &[u8]) -> StreamId {
        let stream = self.open(request);
        self.upload(stream, body).await;
        if self.session.is_open(stream) {
            self.end(stream);
        }
        self.flush().await;
        stream
    }

    /// Sends a frame unchanged.
    pub(crate) async fn send_raw(&mut self, frame: Bytes) {
        self.link.send(frame).await.unwrap();
    }

    /// Sends what is queued.
    pub(crate) async fn flush(&mut self) {
        while let Some(frame) = self.session.poll_transmit(Instant::now()) {
            self.link.send(frame).await.unwrap();
        }
    }

    /// The next event of a stream; those of others are kept.
    pub(crate) async fn event(&mut self, stream: StreamId) -> Event {
        tokio::time::timeout(PATIENCE, self.wait_event(stream)).await.expect("an event within the patience")
    }

    /// The next event of a stream within a time.
    pub(crate) async fn event_within(&mut self, stream: StreamId, time: Duration) -> Option<Event> {
        tokio::time::timeout(time, self.wait_event(stream)).await.ok()
    }

    async fn wait_event(&mut self, stream: StreamId) -> Event {
        loop {
            if let Some(at) = self.events.iter().position(|event| stream_of(event) == stream) {
                return self.events.remove(at).unwrap();
            }
            self.receive().await;
        }
    }

    async fn receive(&mut self) {
        self.flush().await;
        let frame = self.link.next().await.expect("an open link").unwrap();
        match self.session.receive(&frame, Instant::now()).unwrap() {
            Some(Event::Message {
                stream: StreamId::SESSION, message: Message::ExecTreeGone(gone), ..
            }) => {
                self.gone.push(gone.exec_id);
            }
            Some(event) => {
                if let (true, Event::Data(stream, _, bytes)) = (self.consumes, &event) {
                    self.session.consumed(*stream, bytes.len());
                }
                self.events.push_back(event);
            }
            None => {}
        }
        self.flush().await;
    }

    /// Waits until the last process of an exec has ended.
    pub(crate) async fn tree_gone(&mut self, exec_id: ExecId) {
        let wait = async {
            while !self.gone.contains(&exec_id) {
                self.receive().await;
            }
        };
        tokio::time::timeout(PATIENCE, wait).await.expect("the tree's end within the patience");
    }

    /// Waits until the link ends, and returns the events before that.
    pub(crate) async fn until_closed(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(Ok(frame)) = self.link.next().await {
            events.extend(self.session.receive(&frame, Instant::now()).unwrap());
        }
        events
    }

    pub(crate) async fn exec(&mut self, request: Exec) -> Outcome {
        let stream = self.open(request);
        self.outcome(stream).await
    }

    /// Collects an exec's messages until its stream ends.
    pub(crate) async fn outcome(&mut self, stream: StreamId) -> Outcome {
        let mut outcome = Outcome::default();
        loop {
            match self.event(stream).await {
                Event::Data(_, Channel::Stdout, bytes) => outcome.stdout.extend_from_slice(&bytes),
                Event::Data(_, Channel::Stderr, bytes) => outcome.stderr.extend_from_slice(&bytes),
                Event::Gap(_, _, bytes) => outcome.gap_bytes += bytes,
                Event::Message { message: Message::ExecExited(exited), .. } => outcome.exited = Some(exited),
                Event::Message { message: Message::ExecStreamsClosed(closed), fin, .. } => {
                    assert!(fin);
                    outcome.closed = Some(closed);
                    return outcome;
                }
                Event::Message { message: Message::ExecStarted(_), .. }
                | Event::End(..)
                | Event::Writable(..) => {}
                Event::Failed(_, error) => {
                    outcome.error = Some(error);
                    return outcome;
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// The answer to a request whose stream carries no data from the runner.
    pub(crate) async fn answer(&mut self, stream: StreamId) -> Result<Message, WireError> {
        loop {
            match self.event(stream).await {
                Event::Message { message, fin: true, .. } => return Ok(message),
                Event::Failed(_, error) => return Err(error),
                Event::Writable(..) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    pub(crate) async fn ask(&mut self, request: impl Into<Request>) -> Result<Message, WireError> {
        let stream = self.open(request);
        self.answer(stream).await
    }

    /// Sends all of `bytes` as credit arrives.
    pub(crate) async fn upload(&mut self, stream: StreamId, mut bytes: &[u8]) {
        while !bytes.is_empty() && self.session.is_open(stream) {
            let room = self.session.writable(stream).min(bytes.len()).min(proto::limits::MAX_DATA_BYTES);
            if room == 0 {
                self.receive().await;
                continue;
            }
            let (now, rest) = bytes.split_at(room);
            self.session.data(stream, Channel::Main, DataBuf::copy_from(now));
            bytes = rest;
            self.flush().await;
        }
    }

    pub(crate) fn end(&mut self, stream: StreamId) {
        self.session.end(stream, Channel::Main);
    }

    pub(crate) async fn cancel(&mut self, stream: StreamId) {
        self.session.cancel(stream);
        self.flush().await;
    }
}

fn stream_of(event: &Event) -> StreamId {
    match event {
        Event::Opened(stream, _)
        | Event::Message { stream, .. }
        | Event::Failed(stream, _)
        | Event::Data(stream, ..)
        | Event::End(stream, _)
        | Event::Gap(stream, ..)
        | Event::Cancelled(stream)
        | Event::Left(stream)
        | Event::Writable(stream, _) => *stream,
        Event::Acknowledged(_) | Event::Closed(_) => StreamId::SESSION,
    }
}

/// True if a process exists and is not a zombie.
pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| {
        !matches!(stat.rsplit(") ").next().and_then(|rest| rest.chars().next()), Some('Z' | 'X'))
    })
}

/// Waits until a condition is true.
pub(crate) async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "not within the patience: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
