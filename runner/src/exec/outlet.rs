//! A command's output on its way: into the [`Log`], and from there to the attached clients.
//!
//! An exec does not depend on links. Streams attach, read from an offset on as their credit allows, and leave; the exec continues.
//!
//! ```text
//!  pipe ─▶ push ─▶ log ─┬─▶ reader (cursor, stream) ─▶ peer        what a reader drained is trimmed,
//!                       └─▶ reader …                               unless the exec retains its output
//! ```
//! - While there is a reader, the pipe is read only as far as the output can be sent at once: otherwise it fills, and the
//!   command waits.
//! - Without a reader, and if the request asks for `DropOldest`, it is always read, and the oldest is dropped at a bound.
//! - Bytes go to the log and onto the link as one allocation.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use proto::limits::{MAX_DATA_BYTES, MAX_STREAM_CREDIT_BYTES};
use proto::message::{Attached, ExecEntry, ExecExited, ExecReport, ExecStarted, ExecStreamsClosed};
use proto::request::{Attach, Exec, Overflow};
use proto::{Channel, DataBuf, ErrorKind, WireError};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::log::Log;
use super::met_limit::MetLimit;
use super::reader::Reader;
use super::spool::Budget;
use crate::limits::{BACKLOG_BYTES, CANCELLED_OUTPUT_MS, REPORT_BYTES, REPORT_HEAD_BYTES, SPOOL_EXEC_BYTES};
use crate::stream::StreamHandle;

/// The events of an exec, and the streams that get them. Shared by its task and the registry.
#[derive(Debug)]
pub(crate) struct Outlet {
    state: RefCell<State>,
    /// Notified when a reader's stream changed, or a reader attached.
    changed: Rc<Notify>,
}

#[derive(Debug)]
struct State {
    log: Log,
    readers: Vec<Reader>,
    /// Counts the readers that could send input, so that input of one is not credited to another.
    generation: u64,
    retain: bool,
    overflow: Overflow,
    channels: &'static [Channel],
    born: Instant,
    head: Vec<u8>,
    started: Option<ExecStarted>,
    exited: Option<ExecExited>,
    ended: Option<Result<ExecStreamsClosed, WireError>>,
    /// The time when a client that cancelled and takes nothing gets no more of the output.
    gives_up_at: Option<Instant>,
    input_taken: u64,
    is_cancelled: bool,
    /// The limit for which the command is ended, until that was reported.
    met_limit: Option<MetLimit>,
    is_forgotten: bool,
}

/// Input from the newest reader, to be reported back with [`Outlet::input_taken`].
#[derive(Debug)]
pub(super) struct Input {
    pub(super) bytes: Bytes,
    pub(super) generation: u64,
}

impl Outlet {
    pub(super) fn new(request: &Exec, budget: Rc<Budget>) -> Rc<Self> {
        let merged = request.merge_stderr || request.pty.is_some();
        let channels: &[Channel] =
            if merged { &[Channel::Stdout] } else { &[Channel::Stdout, Channel::Stderr] };
        Rc::new(Self {
            state: RefCell::new(State {
                log: Log::new(budget),
                readers: Vec::new(),
                generation: 0,
                retain: request.retain,
                overflow: request.overflow,
                channels,
                born: Instant::now(),
                head: Vec::new(),
                started: None,
                exited: None,
                ended: None,
                gives_up_at: None,
                input_taken: 0,
                is_cancelled: false,
                met_limit: None,
                is_forgotten: false,
            }),
            changed: Rc::default(),
        })
    }

    /// Adds the stream of the request itself: from offset 0. Pump it once before anything waits.
    pub(super) fn begin(&self, stream: StreamHandle) {
        self.add(stream, 0, true, false);
    }

    /// Adds the stream of a repeated request.
    pub(super) fn begin_again(&self, stream: StreamHandle) {
        self.add(stream, 0, true, false);
        self.changed.notify_one();
    }

    /// Adds a stream that resumes an earlier one.
    pub(super) fn attach(&self, stream: StreamHandle, request: &Attach) {
        let end = self.state.borrow().log.end();
        if request.output && request.offset > end {
            let text = format!("offset {} lies beyond the output, which ends at {end}", request.offset);
            return stream.finish(Err::<Attached, _>(WireError::new(ErrorKind::InvalidBody, text)));
        }
        self.add(stream, request.offset.min(end), request.output, true);
        self.changed.notify_one();
    }

    fn add(&self, stream: StreamHandle, offset: u64, wants_output: bool, resumes: bool) {
        let mut state = self.state.borrow_mut();
        stream.share_changes(&self.changed);
        let input_taken = state.input_taken;
        if resumes {
            stream.set_input_offset(input_taken);
            stream.send(Attached { input_bytes: input_taken });
        }
        if wants_output {
            state.generation += 1;
            if !state.retain {
                state.detach_readers();
            }
        }
        let mut reader = Reader::new(stream, offset, wants_output, state.log.end());
        reader.repeated_input = if resumes { 0 } else { input_taken };
        state.readers.push(reader);
    }

    /// Waits until something about a reader changed.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// How much may be pushed now; a change from 0 is announced by [`Outlet::changed`].
    pub(super) fn room(&self) -> usize {
        self.state.borrow().room()
    }

    /// Takes output that was read; more than [`Outlet::room`] is accepted too, but may be dropped then.
    pub(super) fn push(&self, channel: Channel, bytes: DataBuf) {
        self.state.borrow_mut().push(channel, bytes);
    }

    /// Sends what can be sent, and drops readers whose link has ended.
    pub(super) fn pump(&self) {
        self.state.borrow_mut().pump();
    }

    pub(super) fn tell_started(&self, started: ExecStarted) {
        let mut state = self.state.borrow_mut();
        state.started = Some(started);
        state.pump();
    }

    pub(super) fn tell_exited(&self, exited: ExecExited) {
        let mut state = self.state.borrow_mut();
        state.exited = Some(exited);
        state.pump();
    }

    /// Records that the exec is complete, or did not start: nothing more will be pushed.
    pub(super) fn end(&self, ended: Result<ExecStreamsClosed, WireError>) {
        let mut state = self.state.borrow_mut();
        state.ended = Some(ended);
        state.gives_up_at = Some(Instant::now() + Duration::from_millis(CANCELLED_OUTPUT_MS));
        state.pump();
    }

    /// True if the command is to be ended.
    pub(super) fn is_cancelled(&self) -> bool {
        let mut state = self.state.borrow_mut();
        state.is_cancelled |= state.readers.iter().any(|reader| reader.stream.is_cancelled());
        state.is_cancelled
    }

    /// Ends the command without a request of a client, because the runner is stopping.
    pub(super) fn cancel(&self) {
        self.state.borrow_mut().is_cancelled = true;
        self.changed.notify_one();
    }

    /// Records that the command is being ended for a limit.
    pub(super) fn meet_limit(&self, limit: MetLimit) {
        self.state.borrow_mut().met_limit = Some(limit);
        self.changed.notify_one();
    }

    /// The limit that the command is being ended for, once.
    pub(super) fn take_met_limit(&self) -> Option<MetLimit> {
        self.state.borrow_mut().met_limit.take()
    }

    /// The time at which the exec was created.
    pub(super) fn born(&self) -> Instant {
        self.state.borrow().born
    }

    pub(super) fn is_retained(&self) -> bool {
        self.state.borrow().retain
    }

    /// Records that the result will not be requested any more.
    pub(super) fn forget(&self) {
        let mut state = self.state.borrow_mut();
        state.is_forgotten = true;
        state.pump();
        self.changed.notify_one();
    }

    /// Serves readers of a complete exec, until it is removed and they have everything.
    pub(super) async fn serve(&self) {
        loop {
            {
                let mut state = self.state.borrow_mut();
                state.pump();
                if state.is_forgotten && state.readers.is_empty() {
                    return;
                }
            }
            let gives_up_at = self.state.borrow().give_up_due();
            let timer = async {
                match gives_up_at {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.changed() => {}
                () = timer => {}
            }
        }
    }

    /// The next piece of standard input.
    pub(super) fn take_input(&self) -> Option<Input> {
        let mut state = self.state.borrow_mut();
        let generation = state.generation;
        let reader = state.input_reader()?;
        loop {
            let mut bytes = reader.stream.take_data()?;
            let repeated = reader.repeated_input.min(bytes.len() as u64);
            reader.repeated_input -= repeated;
            let repeated = usize::try_from(repeated).unwrap_or(usize::MAX);
            reader.stream.consumed(repeated);
            let fresh = bytes.split_off(repeated);
            if !fresh.is_empty() {
                return Some(Input { bytes: fresh, generation });
            }
        }
    }

    /// Records input that went to the command, or that it does not want.
    pub(super) fn input_taken(&self, generation: u64, bytes: usize) {
        let mut state = self.state.borrow_mut();
        if generation == state.generation {
            state.input_taken += bytes as u64;
            if let Some(reader) = state.input_reader() {
                reader.stream.consumed(bytes);
            }
        }
    }

    /// True if input of this generation still counts.
    pub(super) fn is_current(&self, generation: u64) -> bool {
        self.state.borrow().generation == generation
    }

    /// True if all input has been taken by [`Outlet::take_input`].
    pub(super) fn input_ended(&self) -> bool {
        self.state.borrow_mut().input_reader().is_some_and(|reader| reader.stream.data_ended())
    }

    pub(super) fn report(&self, head_bytes: u32, tail_bytes: u32) -> ExecReport {
        let mut state = self.state.borrow_mut();
        let bounded = |bytes: u32| (bytes as usize).min(REPORT_BYTES);
        let head_length = bounded(head_bytes).min(state.head.len());
        let head = state.head[..head_length].to_vec();
        let end = state.log.end();
        let tail_start = end.saturating_sub(bounded(tail_bytes) as u64).max(head.len() as u64);
        let mut tail = Vec::new();
        let mut offset = tail_start.max(state.log.start());
        while let Some((_, bytes)) = state.log.read(offset, MAX_DATA_BYTES) {
            offset += bytes.len() as u64;
            tail.extend_from_slice(&bytes);
        }
        ExecReport {
            exited: state.exited.clone(),
            complete: state.ended.is_some(),
            age_ms: age_ms(state.born),
            output_bytes: end,
            head,
            tail,
        }
    }

    pub(super) fn entry(&self, exec_id: proto::ExecId) -> ExecEntry {
        let state = self.state.borrow();
        ExecEntry {
            exec_id,
            running: state.exited.is_none() && state.ended.is_none(),
            age_ms: age_ms(state.born),
            output_bytes: state.log.end(),
        }
    }
}

impl State {
    fn input_reader(&mut self) -> Option<&mut Reader> {
        self.readers.iter_mut().rev().find(|reader| reader.wants_output)
    }

    fn output_readers(&self) -> impl Iterator<Item = &Reader> {
        self.readers.iter().filter(|reader| reader.wants_output)
    }

    fn detach_readers(&mut self) {
        let text = "another client is now reading this command's output";
        self.readers.retain(|reader| {
            if reader.wants_output {
                reader.detach(text);
            }
            !reader.wants_output
        });
    }

    /// The time at which to give up on a reader that cancelled and takes nothing, if there is one.
    fn give_up_due(&self) -> Option<Instant> {
        let waits = |reader: &Reader| reader.wants_output && reader.stream.is_cancelled();
        self.gives_up_at.filter(|_| self.readers.iter().any(waits))
    }

    fn room(&self) -> usize {
        let Some(furthest_behind) = self.output_readers().map(|reader| reader.cursor).min() else {
            return MAX_DATA_BYTES;
        };
        if self.overflow == Overflow::DropOldest {
            return MAX_DATA_BYTES;
        }
        if self.retain {
            let left = SPOOL_EXEC_BYTES.saturating_sub(self.log.end() - furthest_behind);
            return usize::try_from(left).unwrap_or(usize::MAX).min(MAX_DATA_BYTES);
        }
        // With one reader, output that cannot be sent at once stays in the pipe.
        let reader = self.output_readers().find(|reader| reader.cursor == self.log.end());
        reader.map_or(0, |reader| reader.stream.writable().min(MAX_DATA_BYTES))
    }

    /// How much the log may hold now, in bytes.
    fn log_limit(&self) -> u64 {
        match self.output_readers().map(|reader| reader.replay_end).max() {
            // A client that attached gets the output gathered until then; later output is a backlog.
            Some(replay_end) if self.overflow == Overflow::DropOldest && !self.retain => {
                replay_end.saturating_sub(self.log.start())
                    + BACKLOG_BYTES as u64
                    + u64::from(MAX_STREAM_CREDIT_BYTES)
            }
            _ => SPOOL_EXEC_BYTES,
        }
    }

    fn push(&mut self, channel: Channel, bytes: DataBuf) {
        if self.retain {
            let wanted = REPORT_HEAD_BYTES.saturating_sub(self.head.len()).min(bytes.len());
            self.head.extend_from_slice(&bytes.as_slice()[..wanted]);
        }
        let end = self.log.end();
        let length = bytes.len();
        let live = self
            .readers
            .iter_mut()
            .find(|reader| reader.wants_output && reader.cursor == end && reader.stream.writable() >= length);
        let bytes = match live {
            Some(reader) => {
                reader.cursor += length as u64;
                reader.stream.data(channel, bytes)
            }
            None => bytes.into_bytes(),
        };
        self.log.append(channel, bytes);
        let limit = self.log_limit();
        self.log.limit(limit);
        if self.output_readers().any(|reader| reader.cursor < self.log.end()) {
            self.pump();
        }
    }

    fn pump(&mut self) {
        self.is_cancelled |= self.readers.iter().any(|reader| reader.stream.is_cancelled());
        let mut readers = std::mem::take(&mut self.readers);
        readers.retain_mut(|reader| !reader.stream.is_lost() && !reader.leaves() && self.serve(reader));
        self.readers = readers;
    }

    /// Gives a reader as much as possible now; `false` when it has everything.
    fn serve(&mut self, reader: &mut Reader) -> bool {
        if let Some(started) = &self.started
            && !std::mem::replace(&mut reader.told_started, true)
        {
            reader.stream.send(started.clone());
        }
        if reader.wants_output {
            reader.note_drained();
            // The offset shows what the peer has seen; its credit shows what it has consumed.
            if !self.retain && reader.has_drained {
                self.log.trim_to(reader.drained);
            }
            reader.catch_up(&mut self.log);
        }
        if let Some(exited) = &self.exited
            && !std::mem::replace(&mut reader.told_exited, true)
        {
            reader.stream.send(exited.clone());
        }
        let Some(ended) = &self.ended else { return true };
        if reader.wants_output && reader.cursor < self.log.end() {
            let gives_up = self.gives_up_at.is_some_and(|due| Instant::now() >= due);
            if !(gives_up && reader.stream.is_cancelled()) {
                return true;
            }
            reader.skip_to(self.log.end());
        }
        let answer = ended.clone().map(|mut closed| {
            closed.dropped_bytes += reader.gap_bytes;
            if reader.wants_output {
                self.channels.iter().for_each(|channel| reader.stream.end(*channel));
            }
            closed
        });
        reader.stream.finish(answer);
        false
    }
}

fn age_ms(born: Instant) -> u64 {
    u64::try_from(born.elapsed().as_millis()).unwrap_or(u64::MAX)
}
