//! The runner of the simulation: its commands outlive its links, as `PROTOCOL.md` specifies, and it detects every error in
//! the server's bookkeeping.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use proto::handshake::{Handshake, Ready};
use proto::message::{
    Attached, Done, ExecExited, ExecStarted, ExecStreamsClosed, ExitStatus, FileOpened, FileRead, FileWritten,
};
use proto::request::Command;
use proto::session::Event;
use proto::{Channel, DataBuf, ErrorKind, ExecId, Message, Request, Session, Side, StreamId, WireError};
use tokio::time::{Instant, sleep};

use super::Random;
use super::link::CutLink;
use crate::LinkMessage;
use crate::testing::{facts, register_with};

/// The byte at this offset of both the output and the input of the exec with this seed.
pub(super) fn byte(seed: u64, offset: u64) -> u8 {
    (offset.wrapping_mul(31) ^ (offset >> 8) ^ seed) as u8
}

/// The number of bytes of one channel before the other channel's turn.
fn stripe(length: u64) -> u64 {
    if length < 10_000 { 333 } else { 20_000 }
}

pub(super) fn channel_of(offset: u64, length: u64) -> Channel {
    if (offset / stripe(length)).is_multiple_of(2) { Channel::Stdout } else { Channel::Stderr }
}

/// Bytes of both channels up to an offset.
pub(super) fn totals(offset: u64, length: u64) -> (u64, u64) {
    let stripe = stripe(length);
    let (pairs, rest) = (offset / (2 * stripe), offset % (2 * stripe));
    let stdout = pairs * stripe + rest.min(stripe);
    (stdout, offset - stdout)
}

#[derive(Debug)]
struct Job {
    is_cat: bool,
    seed: u64,
    length: u64,
    code: i32,
    input_bytes: u64,
    input_ended: bool,
    produced: u64,
    is_cancelled: bool,
    /// Output before this offset was drained and is not kept.
    floor: u64,
    is_acknowledged: bool,
    /// True if the exec's answer was sent.
    is_answered: bool,
    /// The answer, or its acknowledgement, may have been lost with a link; then nothing is discarded early.
    may_be_kept: bool,
}

impl Job {
    fn new(line: &str) -> Self {
        let mut words = line.split(' ');
        let verb = words.next().unwrap();
        let mut number = || words.next().unwrap().parse::<u64>().unwrap();
        Self {
            is_cat: verb == "cat",
            seed: number(),
            length: number(),
            code: i32::try_from(number()).unwrap(),
            input_bytes: 0,
            input_ended: false,
            produced: 0,
            is_cancelled: false,
            floor: 0,
            is_acknowledged: false,
            is_answered: false,
            may_be_kept: false,
        }
    }

    fn work(&mut self, random: &mut Random) {
        let possible = if self.is_cat { self.input_bytes } else { self.length };
        if !self.is_cancelled {
            self.produced += random.below(self.length / 4 + 2).min(possible - self.produced);
        }
    }

    fn has_ended(&self) -> bool {
        let is_whole = self.produced == self.length && (!self.is_cat || self.input_ended);
        self.is_cancelled || is_whole
    }

    fn exited(&self) -> ExecExited {
        ExecExited {
            status: ExitStatus::Code(self.code),
            timed_out: false,
            cancelled: self.is_cancelled,
            sandbox_denied: false,
            duration_us: 1,
        }
    }

    fn closed(&self) -> ExecStreamsClosed {
        let (stdout_bytes, stderr_bytes) = totals(self.produced, self.length);
        ExecStreamsClosed { stdout_bytes, stderr_bytes, dropped_bytes: 0, still_open: false }
    }
}

/// The state that outlives the links.
#[derive(Debug)]
pub(super) struct Machine {
    jobs: HashMap<ExecId, Job>,
    /// The answers of changes.
    changes: HashMap<ExecId, Message>,
    made: Vec<Vec<u8>>,
    pub(super) written: HashMap<Vec<u8>, Vec<u8>>,
    pub(super) file: Vec<u8>,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            jobs: HashMap::new(),
            changes: HashMap::new(),
            made: Vec::new(),
            written: HashMap::new(),
            file: (0..5_000).map(|offset| byte(99, offset)).collect(),
        }
    }
}

impl Machine {
    /// Continues working while there is no link.
    pub(super) fn work_alone(&mut self, random: &mut Random) {
        for job in self.jobs.values_mut() {
            job.work(random);
            job.may_be_kept |= job.is_answered;
        }
    }

    /// Checks that every change was made once, and every result that arrived was acknowledged.
    pub(super) fn check(&self) {
        self.made
            .iter()
            .for_each(|path| assert_eq!(self.made.iter().filter(|other| *other == path).count(), 1));
        assert_eq!(self.made.len(), 5);
        for job in self.jobs.values() {
            assert!(job.is_answered && (job.is_acknowledged || job.may_be_kept), "{job:?}");
        }
    }
}

/// The work of a stream of the present link.
#[derive(Debug)]
enum Work {
    Exec {
        id: ExecId,
        from: u64,
        sent: u64,
        output: bool,
        has_exited: bool,
    },
    Write {
        id: ExecId,
        path: Vec<u8>,
        content: Vec<u8>,
    },
    /// Sends the file from an offset to its end.
    Read {
        from: usize,
        sent: usize,
    },
    Answer(Message),
}

/// One link of the machine.
pub(super) struct Connection {
    link: CutLink,
    session: Session,
    machine: Arc<Mutex<Machine>>,
    random: Random,
    streams: BTreeMap<StreamId, Work>,
}

impl Connection {
    /// Registers; `None` if the link breaks meanwhile.
    pub(super) async fn open(
        mut link: CutLink,
        epoch: u64,
        machine: Arc<Mutex<Machine>>,
        random: Random,
    ) -> Option<Self> {
        let register = register_with(&format!("u1:laptop:{epoch}"), Some(facts(1)));
        link.send(LinkMessage::Text(register.to_text())).await.ok()?;
        let LinkMessage::Text(text) = link.next().await?.ok()? else { panic!("a frame") };
        let Handshake::RegisterOk { body } = Handshake::from_text(&text).unwrap() else { panic!("{text}") };
        let accepted = body.sandbridge.unwrap();
        let body = Ready { epoch: accepted.epoch, nonce: accepted.nonce };
        link.send(LinkMessage::Text(Handshake::Ready { body }.to_text())).await.ok()?;
        let session = Session::new(Side::Executor, Instant::now().into_std());
        Some(Self { link, session, machine, random, streams: BTreeMap::new() })
    }

    /// Serves until the link breaks.
    pub(super) async fn serve(mut self) {
        loop {
            while let Some(frame) = self.session.poll_transmit(Instant::now().into_std()) {
                if self.link.send(LinkMessage::Binary(frame)).await.is_err() {
                    return;
                }
            }
            // A link that breaks within this time loses queued messages, as a real one does.
            let tick = Duration::from_millis(1 + self.random.below(40));
            let is_idle = self.streams.is_empty();
            tokio::select! {
                biased;
                message = self.link.next() => {
                    let Some(Ok(LinkMessage::Binary(frame))) = message else { return };
                    let event = self.session.receive(&frame, Instant::now().into_std()).unwrap();
                    if let Some(event) = event && !self.act(event) {
                        return;
                    }
                }
                () = sleep(tick), if !is_idle => self.work(),
                () = sleep(Duration::from_secs(5)), if is_idle => {
                    let _alive = self.session.handle_timeout(Instant::now().into_std());
                }
            }
        }
    }

    fn machine(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().unwrap()
    }

    /// Acts on an event; true if the link is still up.
    fn act(&mut self, event: Event) -> bool {
        match event {
            Event::Opened(stream, request) => self.open_stream(stream, request),
            Event::Data(stream, _, bytes) => self.take(stream, &bytes),
            Event::End(stream, _) => self.end(stream),
            Event::Writable(stream, bytes) => {
                if let Some(Work::Exec { id, from, .. }) = self.streams.get_mut(&stream) {
                    *from += bytes;
                    let (id, from) = (*id, *from);
                    let mut machine = self.machine();
                    let job = machine.jobs.get_mut(&id).unwrap();
                    job.floor = job.floor.max(from);
                }
            }
            Event::Cancelled(stream) => {
                if let Some(Work::Exec { id, .. }) = self.streams.get(&stream) {
                    let mut machine = self.machine();
                    let job = machine.jobs.get_mut(id).unwrap();
                    job.is_cancelled |= !job.has_ended();
                }
            }
            Event::Acknowledged(id) => self.machine().jobs.get_mut(&id).unwrap().is_acknowledged = true,
            Event::Closed(close) => {
                assert_eq!(close.code, proto::session::CloseCode::GoingAway, "{close}");
                return false;
            }
            other => panic!("{other:?}"),
        }
        true
    }

    fn open_stream(&mut self, stream: StreamId, request: Request) {
        let work = match request {
            Request::Exec(exec) => {
                let Command::Shell(line) = exec.command else { panic!("no line") };
                let job = Job::new(std::str::from_utf8(&line).unwrap());
                assert!(self.machine().jobs.insert(exec.exec_id, job).is_none(), "started twice");
                self.send(stream, ExecStarted { pid: 1 }, false);
                Work::Exec { id: exec.exec_id, from: 0, sent: 0, output: true, has_exited: false }
            }
            Request::Attach(attach) => match self.attach(stream, &attach) {
                Some(work) => work,
                None => return,
            },
            Request::MkdirAll(change) => {
                let mut machine = self.machine();
                assert!(machine.changes.insert(change.id, Done {}.into()).is_none(), "not asked first");
                machine.made.push(change.path.0);
                Work::Answer(Done {}.into())
            }
            Request::WriteFile(write) => {
                Work::Write { id: write.id, path: write.path.0, content: Vec::new() }
            }
            Request::ReadFile(read) => {
                let opened = FileOpened { size_bytes: 5_000, mode: 0o644, modified_ms: 3 };
                self.send(stream, opened, false);
                let from = usize::try_from(read.offset).unwrap();
                Work::Read { from, sent: from }
            }
            other => panic!("{other:?}"),
        };
        self.streams.insert(stream, work);
    }

    fn attach(&mut self, stream: StreamId, attach: &proto::request::Attach) -> Option<Work> {
        let machine = Arc::clone(&self.machine);
        let machine = machine.lock().unwrap();
        if let Some(answer) = machine.changes.get(&attach.id) {
            return Some(Work::Answer(answer.clone()));
        }
        let Some(job) = machine.jobs.get(&attach.id) else {
            self.session.fail(stream, &WireError::new(ErrorKind::NoSuchExec, "it never arrived"));
            return None;
        };
        assert!(!job.is_acknowledged, "attached to an acknowledged exec");
        assert!((job.floor..=job.produced).contains(&attach.offset), "{attach:?} of {job:?}");
        self.session.set_input_offset(stream, job.input_bytes);
        self.send(stream, Attached { input_bytes: job.input_bytes }, false);
        self.send(stream, ExecStarted { pid: 1 }, false);
        let (from, output) = (attach.offset, attach.output);
        Some(Work::Exec { id: attach.id, from, sent: from, output, has_exited: false })
    }

    fn send(&mut self, stream: StreamId, message: impl Into<Message>, fin: bool) {
        self.session.message(stream, &message.into(), fin).unwrap();
    }

    /// Standard input, or a file's bytes.
    fn take(&mut self, stream: StreamId, bytes: &[u8]) {
        let mut machine = self.machine.lock().unwrap();
        match self.streams.get_mut(&stream) {
            Some(Work::Exec { id, .. }) => {
                let job = machine.jobs.get_mut(id).unwrap();
                assert!(!job.input_ended, "input after its end");
                let expected: Vec<u8> =
                    (job.input_bytes..).take(bytes.len()).map(|at| byte(job.seed, at)).collect();
                assert!(*bytes == expected, "{} wrong bytes of input at {}", bytes.len(), job.input_bytes);
                job.input_bytes += bytes.len() as u64;
                self.session.consumed(stream, bytes.len());
            }
            Some(Work::Write { content, .. }) => {
                content.extend_from_slice(bytes);
                self.session.consumed(stream, bytes.len());
            }
            // Its answer was sent already.
            _ => {}
        }
    }

    fn end(&mut self, stream: StreamId) {
        let machine = Arc::clone(&self.machine);
        let mut machine = machine.lock().unwrap();
        match self.streams.get_mut(&stream) {
            Some(Work::Exec { id, .. }) => {
                let job = machine.jobs.get_mut(id).unwrap();
                assert!(job.input_bytes == job.length || job.is_cancelled, "an end before the end: {job:?}");
                job.input_ended = true;
            }
            Some(Work::Write { id, path, content }) => {
                let answer = Message::from(FileWritten { bytes: content.len() as u64 });
                assert!(machine.written.insert(path.clone(), content.clone()).is_none(), "written twice");
                machine.changes.insert(*id, answer.clone());
                self.streams.insert(stream, Work::Answer(answer));
            }
            _ => {}
        }
    }

    /// Makes every running command progress a bit.
    fn work(&mut self) {
        let mut streams = std::mem::take(&mut self.streams);
        streams.retain(|stream, work| !self.advance(*stream, work));
        streams.append(&mut self.streams);
        self.streams = streams;
    }

    /// Advances a stream's work; returns true if the work is finished.
    fn advance(&mut self, stream: StreamId, work: &mut Work) -> bool {
        let machine = Arc::clone(&self.machine);
        let mut machine = machine.lock().unwrap();
        match work {
            Work::Exec { id, sent, output, has_exited, .. } => {
                let job = machine.jobs.get_mut(id).unwrap();
                job.work(&mut self.random);
                let is_told = job.has_ended() && (*sent == job.produced || self.random.is_one_in(2));
                if is_told && !std::mem::replace(has_exited, true) {
                    self.send(stream, job.exited(), false);
                }
                while *output && *sent < job.produced {
                    let left =
                        job.produced.min((*sent / stripe(job.length) + 1) * stripe(job.length)) - *sent;
                    let piece = (1 + self.random.below(left)).min(self.session.writable(stream) as u64);
                    if piece == 0 {
                        return false;
                    }
                    let bytes: Vec<u8> = (*sent..*sent + piece).map(|at| byte(job.seed, at)).collect();
                    self.session.data(stream, channel_of(*sent, job.length), DataBuf::copy_from(&bytes));
                    *sent += piece;
                }
                let is_over = *has_exited && (*sent == job.produced || !*output);
                if is_over {
                    job.is_answered = true;
                    self.send(stream, job.closed(), true);
                }
                is_over
            }
            Work::Read { from, sent } => {
                let piece = (1 + self.random.below(900) as usize).min(machine.file.len() - *sent);
                self.session.data(
                    stream,
                    Channel::Main,
                    DataBuf::copy_from(&machine.file[*sent..*sent + piece]),
                );
                *sent += piece;
                let is_over = *sent == machine.file.len();
                if is_over {
                    self.send(stream, FileRead { bytes: (*sent - *from) as u64 }, true);
                }
                is_over
            }
            Work::Write { .. } => false,
            Work::Answer(message) => {
                let message = message.clone();
                self.send(stream, message, true);
                true
            }
        }
    }
}
