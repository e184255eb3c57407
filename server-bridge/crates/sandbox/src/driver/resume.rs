//! Streams outlive links: this handles the loss of their runner's link, and a new one.
//!
//! ```text
//!          link lost                       next link of the same life
//! open ---------------> parked --------------------------------------------------------> open
//!   |                     |         never sent      its request
//!   | what can only be    |         exec            Attach from what its reader took
//!   | asked once          |         change          Attach, for the answer alone
//!   v                     v         read            its request, or the rest of it
//! fails at once        no link in time, or another process: fails with what is known
//! ```
//! If the runner announced that it will be back, it did not begin the requests that it left unanswered: they count as
//! unsent, and wait together with new ones for any next link, for as long as the runner announced.
//!
//! If an Attach is refused because the exec's request never arrived, that request is sent again; another reader's Attach
//! waits for it. A reader never gets an event twice, even though the runner sends untaken events again over each link.

use std::time::{Duration, Instant};

use proto::limits::MAX_STREAM_CREDIT_BYTES;
use proto::message::FileRead;
use proto::{ErrorKind, Message, Session, Side, StreamId};

use crate::driver::entry::{Entry, Fate, Nature, Stage, cancelled};
use crate::driver::stream::{Seat, StreamEvent, StreamState};
use crate::driver::table::{Received, Table, end_state};
use crate::error::SandboxError;
use crate::limits::{AWAY_NOTE, AWAY_TIMEOUT, EXEC_AWAY_TIMEOUT, REOPEN_DELAY};

/// The time without a link.
#[derive(Debug)]
pub(super) struct Away {
    since: Instant,
    /// How long a request waits, unless the runner may be carrying it out.
    short: Duration,
    /// How long anything waits.
    longest: Duration,
    /// True if the runner announced that it will be back.
    is_returning: bool,
    /// True once the readers of execs were informed and other requests failed.
    is_told: bool,
    is_short_over: bool,
}

impl Away {
    pub(super) fn since(now: Instant) -> Self {
        Self {
            since: now,
            short: AWAY_TIMEOUT,
            longest: EXEC_AWAY_TIMEOUT,
            is_returning: false,
            is_told: false,
            is_short_over: false,
        }
    }

    /// The state after a runner announced that it will be back within this time.
    fn returning(now: Instant, time: Duration) -> Self {
        Self { short: time, longest: time, is_returning: true, ..Self::since(now) }
    }

    pub(super) fn is_returning(&self) -> bool {
        self.is_returning
    }

    pub(super) fn next_timeout(&self) -> Instant {
        let next = match (self.is_told, self.is_short_over) {
            (false, _) => AWAY_NOTE,
            (true, false) => self.short,
            (true, true) => self.longest,
        };
        self.since + next.min(self.longest)
    }
}

impl Table {
    /// Handles the loss of the link: streams that can wait for the next one do.
    pub(super) fn lose_link(&mut self, now: Instant) {
        self.away = Some(Away::since(now));
        self.reopen_at = None;
        self.writing.clear();
        self.session.drain();
        let mut entries: Vec<_> = self.entries.drain().map(|(_, entry)| entry).collect();
        entries.sort_unstable_by_key(|entry| entry.number);
        for mut entry in entries {
            match entry.fate(&self.runner) {
                Fate::Waits => self.park(entry),
                Fate::Gone => {}
                Fate::Fails(error) => end_state(&entry.state, StreamEvent::Failed(error)),
            }
        }
    }

    /// Handles the loss of the link of a runner that will be back: unanswered requests wait for it, even in a new process.
    pub(super) fn await_return(&mut self, time: Duration, now: Instant) {
        self.entries.values_mut().for_each(|entry| entry.take_back());
        self.lose_link(now);
        self.fail_parked(|entry| entry.is_sent);
        self.away = Some(Away::returning(now, time));
    }

    /// Makes a new stream wait for a runner that will be back.
    pub(super) fn wait(&mut self, mut entry: Box<Entry>) {
        if self.away.as_ref().is_some_and(|away| away.is_told) {
            tell_interrupted(&mut entry);
        }
        self.park(entry);
    }

    /// Handles a new link: streams resume.
    pub(super) fn take_link(&mut self, now: Instant) {
        self.session = Session::new(Side::Originator, now);
        self.away = None;
        self.acknowledge_taken(now);
        self.reopen(now);
    }

    /// Acts on the time that passed without a link; `true` when nothing can wait any longer.
    pub(super) fn wait_for_link(&mut self, now: Instant) -> bool {
        let Some(away) = &mut self.away else { return false };
        let (elapsed, longest) = (now.saturating_duration_since(away.since), away.longest);
        if elapsed >= AWAY_NOTE && !away.is_told {
            away.is_told = true;
            self.parked.values_mut().for_each(|entry| tell_interrupted(entry));
        }
        if elapsed >= away.short && !away.is_short_over {
            away.is_short_over = true;
            self.fail_parked(|entry| !entry.outlives_links());
        }
        elapsed >= longest
    }

    /// Fails every stream: the runner's life is over.
    pub(super) fn fail_all(&mut self, now: Instant) {
        self.lose_link(now);
        self.fail_parked(|_| true);
    }

    fn fail_parked(&mut self, is_over: impl Fn(&Entry) -> bool) {
        let runner = &self.runner;
        self.parked.retain(|_, entry| {
            let is_over = is_over(entry);
            if is_over {
                end_state(&entry.state, StreamEvent::Failed(entry.final_error(runner)));
            }
            !is_over
        });
    }

    fn park(&mut self, entry: Box<Entry>) {
        entry.state.take_seat(Seat::Parked(entry.number));
        self.parked.insert(entry.number, entry);
    }

    /// Handles the cancel of a parked stream. One that was never sent is over, and so is one of which only the answer was
    /// wanted; an exec is cancelled when it resumes.
    pub(super) fn cancel_parked(&mut self, state: &StreamState) {
        let Some(Seat::Parked(number)) = state.seat() else { return };
        let is_over = |entry: &Entry| !entry.is_sent || (entry.is_deaf && !entry.is_exec());
        if self.parked.get(&number).is_some_and(|entry| is_over(entry)) {
            self.parked.remove(&number);
            end_state(state, StreamEvent::Failed(cancelled()));
        }
    }

    /// Opens parked streams, as far as there is room. Execs are opened last: all other requests are answered soon and
    /// make room.
    pub(super) fn reopen(&mut self, now: Instant) {
        self.reopen_at = None;
        let parked = std::mem::take(&mut self.parked);
        let (execs, others): (Vec<_>, Vec<_>) = parked.into_values().partition(|entry| entry.is_exec());
        for mut entry in others.into_iter().chain(execs) {
            let request = entry.next_request(now);
            self.open_again(entry, &request, now);
        }
    }

    fn open_again(&mut self, mut entry: Box<Entry>, request: &proto::Request, now: Instant) {
        match self.session.open_with(request, MAX_STREAM_CREDIT_BYTES) {
            Ok(id) => {
                entry.state.take_seat(Seat::Open(id));
                entry.state.set_window(self.session.window(id));
                if entry.is_cancelled {
                    self.session.cancel(id);
                }
                if entry.stage == Stage::Original {
                    tell_resumed(&mut entry);
                }
                if entry.input.is_ready() {
                    self.writing.push_back(id);
                }
                self.entries.insert(id, entry);
            }
            Err(error) if error.kind == ErrorKind::Busy => self.try_later(entry, now),
            Err(error) => end_state(&entry.state, StreamEvent::Failed(error.into())),
        }
    }

    fn try_later(&mut self, entry: Box<Entry>, now: Instant) {
        self.reopen_at.get_or_insert(now + REOPEN_DELAY);
        self.park(entry);
    }

    /// A message that does not end its stream.
    pub(super) fn message(&mut self, id: StreamId, message: Message) -> Result<(), Received> {
        let Some(entry) = self.entries.get_mut(&id) else { return Ok(()) };
        entry.has_arrived = true;
        match (entry.stage, &message) {
            (Stage::Rereading(taken_bytes), Message::FileOpened(opened)) => {
                let is_same = entry.opened.as_ref().is_some_and(|old| {
                    (old.size_bytes, old.modified_ms) == (opened.size_bytes, opened.modified_ms)
                });
                entry.stage = Stage::Reread(taken_bytes);
                if !is_same {
                    let runner = self.runner.to_string();
                    self.give_up(id, SandboxError::FileChanged { runner });
                }
                Ok(())
            }
            (_, Message::FileOpened(opened)) => {
                entry.opened = Some(opened.clone());
                self.deliver(id, StreamEvent::Message(message))
            }
            (Stage::Attaching, Message::Attached(attached)) => {
                let input_bytes = attached.input_bytes;
                entry.stage = Stage::Attached;
                tell_resumed(entry);
                self.resume_input(id, input_bytes);
                Ok(())
            }
            (Stage::Original, Message::Attached(attached)) if matches!(entry.nature(), Nature::Attach(_)) => {
                let input_bytes = attached.input_bytes;
                entry.stage = Stage::Attached;
                self.deliver(id, StreamEvent::Message(message))?;
                self.resume_input(id, input_bytes);
                Ok(())
            }
            // Only the first one is reported.
            (_, Message::Attached(_)) => Ok(()),
            (_, Message::ExecStarted(_)) if entry.knows_start => Ok(()),
            (_, Message::ExecExited(_)) if entry.knows_exit => Ok(()),
            _ => self.deliver(id, StreamEvent::Message(message)),
        }
    }

    fn resume_input(&mut self, id: StreamId, input_bytes: u64) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        if entry.is_cancelled || entry.is_left || !entry.is_exec() {
            return;
        }
        if entry.input.resume(input_bytes).is_err() {
            let what = "an offset in the standard input that was never sent";
            let runner = self.runner.to_string();
            return self.give_up(id, SandboxError::Protocol { runner, what });
        }
        self.session.set_input_offset(id, input_bytes);
        if entry.input.is_ready() {
            self.writing.push_back(id);
        }
    }

    /// Ends a stream whose answer cannot be used.
    fn give_up(&mut self, id: StreamId, error: SandboxError) {
        self.session.cancel(id);
        if let Some(entry) = self.entries.remove(&id) {
            end_state(&entry.state, StreamEvent::Failed(error));
        }
    }

    /// The meaning of a stream's last frame for its reader; `None` if the stream continues after all.
    pub(super) fn last_event(
        &mut self,
        mut entry: Box<Entry>,
        event: StreamEvent,
        now: Instant,
    ) -> Option<(Box<Entry>, StreamEvent)> {
        let event = match (entry.stage, event) {
            (Stage::Attaching, StreamEvent::Failed(SandboxError::Remote { kind: ErrorKind::Busy, .. })) => {
                self.try_later(entry, now);
                return None;
            }
            (
                Stage::Original | Stage::Attaching,
                StreamEvent::Failed(SandboxError::Remote { kind: ErrorKind::NoSuchExec, .. }),
            ) if self.is_overtaking(&entry) => {
                // The runner will not carry out this request, so it counts as unsent.
                entry.is_sent = false;
                self.try_later(entry, now);
                return None;
            }
            (Stage::Attaching | Stage::Attached, StreamEvent::Failed(error)) => {
                match entry.refused(error, &self.runner) {
                    Some(error) => StreamEvent::Failed(error),
                    None => {
                        self.send_again(entry, now);
                        return None;
                    }
                }
            }
            (Stage::Reread(taken), StreamEvent::Answer(Message::FileRead(read))) => {
                let bytes = read.bytes.saturating_add(taken);
                StreamEvent::Answer(Message::FileRead(FileRead { bytes }))
            }
            (Stage::Rereading(_), StreamEvent::Failed(error)) if error.kind() == "not_found" => {
                StreamEvent::Failed(SandboxError::FileChanged { runner: self.runner.to_string() })
            }
            (_, event) => event,
        };
        Some((entry, event))
    }

    /// True for an Attach of an exec whose own request has not arrived yet: that may have been lost with its link, and requests on the
    /// next link may overtake it.
    fn is_overtaking(&self, attach: &Entry) -> bool {
        let Nature::Attach(id) = attach.nature() else { return false };
        let is_its_exec =
            |entry: &Entry| entry.nature() == Nature::Exec(id) && !entry.has_arrived && !entry.is_deaf;
        let mut others = self.entries.values().chain(self.parked.values());
        !attach.has_arrived && !attach.is_deaf && others.any(|entry| is_its_exec(entry))
    }

    /// Sends a request again that the runner never received.
    fn send_again(&mut self, mut entry: Box<Entry>, now: Instant) {
        if entry.is_deaf {
            return;
        }
        entry.stage = Stage::Original;
        // Nothing arrived there, so that all input is still here.
        let is_whole = !matches!(entry.nature(), Nature::Exec(_)) || entry.input.resume(0).is_ok();
        if is_whole {
            let request = entry.original(now);
            self.open_again(entry, &request, now);
        } else {
            end_state(&entry.state, StreamEvent::Failed(entry.final_error(&self.runner)));
        }
    }
}

/// Informs the reader of an exec, once, that its runner cannot be reached.
fn tell_interrupted(entry: &mut Entry) {
    if entry.is_exec() && !entry.is_deaf && !std::mem::replace(&mut entry.is_interrupted, true) {
        entry.state.push(StreamEvent::Interrupted);
    }
}

/// Informs the same reader that the interruption is over.
fn tell_resumed(entry: &mut Entry) {
    if std::mem::take(&mut entry.is_interrupted) && !entry.is_deaf {
        entry.state.push(StreamEvent::Resumed);
    }
}
