//! A runner for tests: the handshake and [`proto::Session`], with a script in place of processes. The runner's commands outlive its links.
//!
//! A command's text is its script, with words separated by spaces: `out:TEXT`, `err:TEXT`, `bytes:HEX`, `fill:CHARS`, `wait` (until it is
//! cancelled or [`ScriptedRunner::release`] is called), `forget` (drops the output so far), `exit:CODE`, `signal:NUMBER`, `timeout`;
//! words for its files, relative to the workspace: `cat:PATH`, `append:PATH:TEXT`, `remove:PATH`; words for itself: `pwd`, `profile`.

mod execs;
mod files;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use futures_util::{SinkExt, StreamExt};
use proto::handshake::{Facts, Handshake, Ready, Register, VersionRange};
use proto::request::Request;
use proto::session::Event;
use proto::{BootId, ExecId, Session, Side, StreamId};
use sandbox::{Admission, LinkMessage, MemoryLink, SandboxRouter, memory_link};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

use execs::Execs;
use files::Files;

/// A runner's process; dropping it breaks its link and ends its commands.
pub(super) struct ScriptedRunner {
    /// The commands that the runner received, unchanged.
    pub(super) started: mpsc::UnboundedReceiver<String>,
    /// The execs whose results the runner may discard.
    pub(super) acknowledged: mpsc::UnboundedReceiver<ExecId>,
    /// The runner's files.
    pub(super) files: Files,
    boot: u8,
    release: Arc<Notify>,
    answer_reads: Arc<Notify>,
    links: mpsc::UnboundedSender<Option<MemoryLink>>,
    task: JoinHandle<()>,
    served: Vec<JoinHandle<()>>,
}

/// Increases from link to link, as the store's epochs do.
static EPOCH: AtomicU64 = AtomicU64::new(1);

impl ScriptedRunner {
    pub(super) async fn connect(router: &SandboxRouter, user_key: &str, name: &str) -> Self {
        Self::begin(1, router, user_key, name).await
    }

    /// A new process with this boot number, connected.
    pub(super) async fn begin(boot: u8, router: &SandboxRouter, user_key: &str, name: &str) -> Self {
        let (tell_started, started) = mpsc::unbounded_channel();
        let (tell_acknowledged, acknowledged) = mpsc::unbounded_channel();
        let (links, next_links) = mpsc::unbounded_channel();
        let (files, release) = (Files::default(), Arc::new(Notify::new()));
        let answer_reads = Arc::new(Notify::new());
        let script = Script {
            link: None,
            next_links,
            session: Session::new(Side::Executor, Instant::now()),
            tell_started,
            tell_acknowledged,
            files: files.clone(),
            release: Arc::clone(&release),
            answer_reads: Arc::clone(&answer_reads),
            execs: Execs::on(files.clone()),
            uploads: HashMap::new(),
        };
        let task = tokio::spawn(script.run());
        let served = Vec::new();
        let mut runner =
            Self { started, acknowledged, files, boot, release, answer_reads, links, task, served };
        runner.connect_to(router, user_key, name).await;
        runner
    }

    /// Connects to a server over a new link; the commands continue.
    pub(super) async fn connect_to(&mut self, router: &SandboxRouter, user_key: &str, name: &str) {
        let (server_end, mut link) = memory_link();
        let epoch = EPOCH.fetch_add(1, Ordering::Relaxed);
        let admission = Admission {
            user_key: user_key.to_owned(),
            runner: name.to_owned(),
            epoch,
            token: None,
            version: None,
        };
        let for_task = router.clone();
        self.served.push(tokio::spawn(async move {
            let _ = for_task.serve_remote(server_end, |_| async { Ok(admission) }).await;
        }));
        shake_hands(&mut link, self.boot).await;
        while router.runners(user_key).iter().all(|state| state.name != name) {
            tokio::task::yield_now().await;
        }
        self.links.send(Some(link)).unwrap();
    }

    /// Breaks the runner's link.
    pub(super) fn cut(&self) {
        self.links.send(None).unwrap();
    }

    /// Lets one waiting command continue.
    pub(super) fn release(&self) {
        self.release.notify_one();
    }
}

impl ScriptedRunner {
    /// Answers the pending reads; every read waits until this is called.
    pub(super) fn answer_reads(&self) {
        self.answer_reads.notify_one();
    }
}

impl Drop for ScriptedRunner {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn shake_hands(link: &mut MemoryLink, boot: u8) {
    let facts = Facts {
        protocol: VersionRange::OURS,
        runner_id: String::new(),
        boot_id: BootId([boot; 16]),
        os: "linux".to_owned(),
        arch: "x86_64".to_owned(),
        hostname: "host".to_owned(),
        version: "0.1.0".to_owned(),
        profile: "workspace".to_owned(),
        capabilities: Vec::new(),
        landlock_abi: 7,
        kill_tier: "walk".to_owned(),
        layers: Vec::new(),
        run_as: None,
        update_error: None,
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

struct Script {
    link: Option<MemoryLink>,
    next_links: mpsc::UnboundedReceiver<Option<MemoryLink>>,
    session: Session,
    tell_started: mpsc::UnboundedSender<String>,
    tell_acknowledged: mpsc::UnboundedSender<ExecId>,
    files: Files,
    release: Arc<Notify>,
    answer_reads: Arc<Notify>,
    execs: Execs,
    /// Files that are being written, and their content so far.
    uploads: HashMap<StreamId, (String, Vec<u8>)>,
}

impl Script {
    async fn run(mut self) {
        loop {
            if let Some(link) = &mut self.link {
                while let Some(frame) = self.session.poll_transmit(Instant::now()) {
                    // If the server no longer exists, this is noticed at the next read.
                    let _ = link.send(LinkMessage::Binary(frame)).await;
                }
            }
            let receive = async {
                match &mut self.link {
                    Some(link) => link.next().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                link = self.next_links.recv() => match link {
                    Some(link) => self.take_link(link),
                    None => return,
                },
                () = self.release.notified() => self.execs.release(&mut self.session),
                () = self.answer_reads.notified() => self.files.answer_reads(&mut self.session),
                message = receive => match message {
                    Some(Ok(LinkMessage::Binary(frame))) => {
                        match self.session.receive(&frame, Instant::now()) {
                            Ok(Some(event)) => self.take(event),
                            Ok(None) => {}
                            Err(_) => self.take_link(None),
                        }
                    }
                    _ => self.take_link(None),
                },
            }
        }
    }

    fn take_link(&mut self, link: Option<MemoryLink>) {
        self.link = link;
        self.session = Session::new(Side::Executor, Instant::now());
        self.execs.lose_streams();
        self.uploads.clear();
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Opened(id, Request::Exec(exec)) => {
                assert!(exec.retain, "a chat's output is retained");
                if let Some(line) = self.execs.start(&mut self.session, id, exec) {
                    let _ = self.tell_started.send(line);
                }
            }
            Event::Opened(id, Request::Attach(attach)) => self.execs.attach(&mut self.session, id, &attach),
            Event::Opened(id, request) => {
                if let Some(path) = self.files.answer(&mut self.session, id, request) {
                    self.uploads.insert(id, (path, Vec::new()));
                }
            }
            Event::Data(id, _, bytes) => {
                self.session.consumed(id, bytes.len());
                if let Some((_, content)) = self.uploads.get_mut(&id) {
                    content.extend_from_slice(&bytes);
                }
            }
            Event::End(id, _) => {
                if let Some((path, content)) = self.uploads.remove(&id) {
                    self.files.keep(&mut self.session, id, path, content);
                }
            }
            Event::Cancelled(id) => {
                self.uploads.remove(&id);
                self.execs.cancel(&mut self.session, id);
            }
            Event::Left(id) => self.execs.leave(&mut self.session, id),
            Event::Writable(id, _) => self.execs.pump(&mut self.session, id),
            Event::Acknowledged(exec_id) => {
                self.execs.forget(exec_id);
                let _ = self.tell_acknowledged.send(exec_id);
            }
            _ => {}
        }
    }
}

/// The output of the word `fill`: distinct lines, of exactly this many characters.
pub(super) fn fill(chars: usize) -> Vec<u8> {
    let lines = (0..).flat_map(|line: usize| format!("line {line}\n").into_bytes());
    lines.take(chars).collect()
}
