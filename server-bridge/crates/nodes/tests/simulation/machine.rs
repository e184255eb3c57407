//! A simulated machine: its runner dials any node, its commands outlive its links as `PROTOCOL.md` specifies, and the machine detects every command
//! that is meant for another machine or arrives twice.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use proto::handshake::{Facts, Handshake, Ready, RefusalReason, Register, VersionRange};
use proto::limits::HEARTBEAT_TIMEOUT;
use proto::message::{Attached, ExecStarted};
use proto::request::{Attach, Command};
use proto::session::{CloseCode, Event};
use proto::{
    BootId, Channel, DataBuf, ErrorKind, ExecId, Message, Request, Session, Side, StreamId, WireError,
};
use sandbox::LinkMessage;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use crate::house::{Call, House};
use crate::job::{Job, Script, channel_of, left_of_channel};
use crate::link::{CutLink, WHOLE, cut_link};
use crate::random::Random;

/// The maximum number of messages on a link before it breaks, per end and direction.
const MESSAGES: u64 = 60;
/// How long a runner waits for the response to its registration.
const PATIENCE: Duration = Duration::from_secs(12);
/// The longest delay with which some runners confirm their registration, so that a home can move in the meantime.
const HESITATION: Duration = Duration::from_secs(3);
/// The longest pause before a runner dials again.
const PAUSE: Duration = Duration::from_millis(1_500);
/// The longest time between two steps of a command.
const STEP: Duration = Duration::from_millis(40);
/// The interval at which an idle runner checks its link.
const LOOK: Duration = Duration::from_secs(5);

/// The state of a machine, which outlives its links.
#[derive(Debug)]
pub(crate) struct Machine {
    number: u64,
    token: String,
    pub(crate) jobs: HashMap<ExecId, Job>,
    random: Random,
}

impl Machine {
    pub(crate) fn number(&self) -> u64 {
        self.number
    }
}

/// Counters of a machine's faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fate {
    /// How many links were cut.
    cuts: u64,
    /// How many processes of the runner have ended.
    boots: u8,
}

/// The schedule's handle to a machine.
#[derive(Clone, Debug)]
pub(crate) struct Hand {
    pub(crate) machine: Arc<Mutex<Machine>>,
    fate: watch::Sender<Fate>,
    /// True once the machine's links no longer break by themselves.
    is_calm: Arc<AtomicBool>,
}

impl Hand {
    pub(crate) fn new(number: u64, token: String, random: Random) -> Self {
        let machine = Machine { number, token, jobs: HashMap::new(), random };
        let machine = Arc::new(Mutex::new(machine));
        Self { machine, fate: watch::Sender::default(), is_calm: Arc::default() }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().unwrap()
    }

    pub(crate) fn cut(&self) {
        self.fate.send_modify(|fate| fate.cuts += 1);
    }

    /// Restarts the runner's process: everything that it runs and remembers is lost.
    pub(crate) fn restart(&self) {
        self.lock().jobs.values_mut().for_each(|job| job.is_forgotten = true);
        self.fate.send_modify(|fate| fate.boots += 1);
    }

    pub(crate) fn calm(&self) {
        self.is_calm.store(true, Ordering::Relaxed);
    }

    /// Dials nodes, again and again, in an endless loop.
    pub(crate) async fn run(self, house: House, urls: Vec<String>) {
        let mut fates = self.fate.subscribe();
        loop {
            let (url, cuts, mut random) = {
                let mut machine = self.lock();
                let url = urls[machine.random.place(urls.len())].clone();
                let is_whole = self.is_calm.load(Ordering::Relaxed) || machine.random.is_one_in(2);
                let mut cut = || if is_whole { u64::MAX } else { machine.random.below(MESSAGES) };
                let cuts = if is_whole { WHOLE } else { [cut(), cut(), cut(), cut()] };
                (url, cuts, machine.random.fork())
            };
            let boots = fates.borrow_and_update().boots;
            let (link, own) = cut_link(cuts);
            if house.call(&url, Call::Link { link, from: None, is_taken: None }) {
                let opening = Connection::open(own, boots, &self, random.fork());
                if let Ok(Some(connection)) = timeout(PATIENCE, opening).await {
                    tokio::select! {
                        () = connection.serve() => {}
                        _ = fates.changed() => {}
                    }
                }
            }
            for job in self.lock().jobs.values_mut() {
                job.work(&mut random, self.is_calm.load(Ordering::Relaxed));
            }
            sleep(random.time(PAUSE)).await;
        }
    }
}

/// The state of a stream.
#[derive(Debug)]
struct Work {
    id: ExecId,
    /// The offset at which the stream's output began, and the credit granted since.
    from: u64,
    sent: u64,
    output: bool,
    has_exited: bool,
}

/// One link of the machine.
struct Connection {
    link: CutLink,
    session: Session,
    machine: Arc<Mutex<Machine>>,
    is_calm: Arc<AtomicBool>,
    random: Random,
    streams: BTreeMap<StreamId, Work>,
}

impl Connection {
    /// Registers; `None` if the link breaks or the registration is refused for now.
    async fn open(mut link: CutLink, boots: u8, hand: &Hand, mut random: Random) -> Option<Self> {
        let register = register(&hand.lock(), boots);
        link.send(LinkMessage::Text(register.to_text())).await.ok()?;
        let LinkMessage::Text(text) = link.next().await?.ok()? else { panic!("a frame") };
        let accepted = match Handshake::from_text(&text).unwrap() {
            Handshake::RegisterOk { body } => body.sandbridge.unwrap(),
            Handshake::Error { body } => {
                assert_eq!(body.reason, RefusalReason::Unavailable, "{}", body.message);
                return None;
            }
            other => panic!("{other:?}"),
        };
        if random.is_one_in(4) {
            sleep(random.time(HESITATION)).await;
        }
        let body = Ready { epoch: accepted.epoch, nonce: accepted.nonce };
        link.send(LinkMessage::Text(Handshake::Ready { body }.to_text())).await.ok()?;
        let session = Session::new(Side::Executor, Instant::now().into_std());
        let (machine, is_calm) = (Arc::clone(&hand.machine), Arc::clone(&hand.is_calm));
        Some(Self { link, session, machine, is_calm, random, streams: BTreeMap::new() })
    }

    /// Serves the link until it ends.
    async fn serve(mut self) {
        loop {
            while let Some(frame) = self.session.poll_transmit(Instant::now().into_std()) {
                let sending = self.link.send(LinkMessage::Binary(frame));
                // A frozen node does not read.
                if !matches!(timeout(HEARTBEAT_TIMEOUT, sending).await, Ok(Ok(()))) {
                    return;
                }
            }
            let step = Duration::from_millis(1) + self.random.time(STEP);
            let is_idle = self.streams.is_empty();
            tokio::select! {
                biased;
                message = self.link.next() => {
                    let Some(Ok(message)) = message else { return };
                    let LinkMessage::Binary(frame) = message else { panic!("{message:?}") };
                    let event = self.session.receive(&frame, Instant::now().into_std()).unwrap();
                    if let Some(event) = event && !self.act(event) {
                        return;
                    }
                }
                () = sleep(step), if !is_idle => self.work(),
                () = sleep(LOOK), if is_idle => {}
            }
            // A frozen or dead node sends nothing.
            if self.session.handle_timeout(Instant::now().into_std()).is_err() {
                return;
            }
        }
    }

    /// Handles an event; returns true if the link is still up.
    fn act(&mut self, event: Event) -> bool {
        let machine = Arc::clone(&self.machine);
        let mut machine = machine.lock().unwrap();
        match event {
            Event::Opened(stream, Request::Exec(exec)) => {
                let Command::Shell(line) = exec.command else { panic!("no line") };
                let script = Script::parse(std::str::from_utf8(&line).unwrap());
                assert_eq!(script.machine, machine.number, "a command of another machine");
                let is_new = machine.jobs.insert(exec.exec_id, Job::new(script)).is_none();
                assert!(is_new, "exec {:?} was started twice", exec.exec_id);
                self.send(stream, ExecStarted { pid: 1 });
                let work = Work { id: exec.exec_id, from: 0, sent: 0, output: true, has_exited: false };
                self.streams.insert(stream, work);
            }
            Event::Opened(stream, Request::Attach(attach)) => self.attach(&machine, stream, &attach),
            Event::Writable(stream, bytes) => {
                if let Some(work) = self.streams.get_mut(&stream) {
                    work.from = (work.from + bytes).min(work.sent);
                    let job = machine.jobs.get_mut(&work.id).unwrap();
                    job.floor = job.floor.max(work.from);
                }
            }
            Event::Cancelled(stream) => {
                if let Some(work) = self.streams.get(&stream) {
                    let job = machine.jobs.get_mut(&work.id).unwrap();
                    job.is_cancelled |= !job.has_ended();
                }
            }
            Event::Left(stream) => self.detach(stream),
            Event::Acknowledged(id) => {
                if let Some(job) = machine.jobs.get_mut(&id) {
                    job.is_acknowledged = true;
                }
            }
            Event::Closed(close) => {
                let is_expected = [CloseCode::GoingAway, CloseCode::Dead].contains(&close.code);
                assert!(is_expected, "{close}");
                return false;
            }
            other => panic!("{other:?}"),
        }
        true
    }

    fn attach(&mut self, machine: &Machine, stream: StreamId, attach: &Attach) {
        let job = machine.jobs.get(&attach.id).filter(|job| !job.is_forgotten);
        let refused = match job {
            None => Some((ErrorKind::NoSuchExec, "it never arrived")),
            Some(job) if job.is_acknowledged => Some((ErrorKind::Expired, "its result was acknowledged")),
            Some(_) => None,
        };
        if let Some((kind, why)) = refused {
            return self.session.fail(stream, &WireError::new(kind, why));
        }
        let Some(job) = job else { return };
        assert!(attach.offset <= job.produced, "{attach:?} of {job:?}");
        // Only the newest reader gets the output.
        let before = |work: &Work| work.id == attach.id && work.output && attach.output;
        let readers: Vec<_> =
            self.streams.iter().filter(|(_, work)| before(work)).map(|(&id, _)| id).collect();
        readers.into_iter().for_each(|reader| self.detach(reader));
        self.send(stream, Attached { input_bytes: 0 });
        self.send(stream, ExecStarted { pid: 1 });
        let mut sent = attach.offset;
        if attach.output && attach.offset < job.floor {
            self.session.gap(stream, Channel::Main, job.floor - attach.offset);
            sent = job.floor;
        }
        let work = Work { id: attach.id, from: sent, sent, output: attach.output, has_exited: false };
        self.streams.insert(stream, work);
    }

    fn detach(&mut self, stream: StreamId) {
        self.session.fail(stream, &WireError::new(ErrorKind::Detached, "another reader attached"));
        self.streams.remove(&stream);
    }

    fn send(&mut self, stream: StreamId, message: impl Into<Message>) {
        self.session.message(stream, &message.into(), false).unwrap();
    }

    /// Advances every running command.
    fn work(&mut self) {
        let machine = Arc::clone(&self.machine);
        let mut machine = machine.lock().unwrap();
        let mut streams = std::mem::take(&mut self.streams);
        for job in machine.jobs.values_mut() {
            job.work(&mut self.random, self.is_calm.load(Ordering::Relaxed));
        }
        streams.retain(|stream, work| !self.advance(&machine.jobs[&work.id], *stream, work));
        self.streams = streams;
    }

    /// Sends output as far as credit allows; returns true once the stream has ended.
    fn advance(&mut self, job: &Job, stream: StreamId, work: &mut Work) -> bool {
        let is_told = job.has_ended() && (work.sent == job.produced || self.random.is_one_in(2));
        if is_told && !std::mem::replace(&mut work.has_exited, true) {
            self.send(stream, job.exited());
        }
        while work.output && work.sent < job.produced {
            let left = (job.produced - work.sent).min(left_of_channel(work.sent));
            let piece = (1 + self.random.below(left)).min(self.session.writable(stream) as u64);
            if piece == 0 {
                return false;
            }
            let bytes = job.script.bytes(work.sent, piece);
            self.session.data(stream, channel_of(work.sent), DataBuf::copy_from(&bytes));
            work.sent += piece;
        }
        let is_over = work.has_exited && (work.sent == job.produced || !work.output);
        if is_over {
            self.session.message(stream, &job.closed().into(), true).unwrap();
        }
        is_over
    }
}

fn register(machine: &Machine, boots: u8) -> Handshake {
    let mut boot_id = [boots; 16];
    boot_id[0] = machine.number as u8;
    let facts = Facts {
        protocol: VersionRange::OURS,
        runner_id: String::new(),
        boot_id: BootId(boot_id),
        os: "linux".to_owned(),
        arch: "x86_64".to_owned(),
        hostname: format!("host{}", machine.number),
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
        auth_token: machine.token.clone(),
        workspace: "/workspace".to_owned(),
        shell: "/bin/sh".to_owned(),
        llm_provider: String::new(),
        llm_model: String::new(),
        sandbridge: Some(facts),
    };
    Handshake::Register { user_id: String::new(), body: Box::new(body) }
}
