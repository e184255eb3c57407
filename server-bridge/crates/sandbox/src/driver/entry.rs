//! The driver's state of one stream, so that it can resume over another link.

use std::sync::Arc;
use std::time::Instant;

use proto::message::FileOpened;
use proto::request::{Attach, ReadFile};
use proto::{ErrorKind, ExecId, Request};
use tokio::sync::OwnedSemaphorePermit;

use crate::driver::input::Input;
use crate::driver::stream::StreamState;
use crate::error::SandboxError;

/// How a stream relates to its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The stream carries the request itself.
    Original,
    /// The stream asks to resume an earlier stream's work; no answer yet.
    Attaching,
    /// The stream resumed that work.
    Attached,
    /// The stream reads the rest of a file, beginning this many bytes after the requested offset; whether it is still the same file is not known yet.
    Rereading(u64),
    /// The stream reads the rest of the file, which is still the same one.
    Reread(u64),
}

/// The fate of a stream whose link is lost.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The stream resumes over the next link.
    Waits,
    /// The stream is dropped, because nothing waits for it.
    Gone,
    /// No later link can answer it.
    Fails(SandboxError),
}

/// The kind of a request, as far as a lost link is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nature {
    Exec(ExecId),
    /// Resumes an exec that another caller started.
    Attach(ExecId),
    /// A change that is carried out once, however often it is sent; with its name as text.
    Change(ExecId, &'static str),
    /// A write that is carried out once, after all of its content was sent.
    Write(ExecId),
    /// Takes effect each time it is sent.
    Control(&'static str),
    /// Changes nothing and is answered by one message.
    Question,
    File,
    Listing,
    /// Has an effect elsewhere each time it is sent, and none here.
    Relay,
}

/// One stream that has no answer yet.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) state: Arc<StreamState>,
    pub(super) request: Request,
    /// Increases from stream to stream.
    pub(super) number: u64,
    pub(super) opened_at: Instant,
    pub(super) stage: Stage,
    /// True if its events no longer have a reader.
    pub(super) is_deaf: bool,
    /// True if its events have no reader but the work continues: arriving data is not drained, so that other clients can get it.
    pub(super) is_left: bool,
    pub(super) is_cancelled: bool,
    /// True if the request left this process, on any link.
    pub(super) is_sent: bool,
    /// True if the END of its input left this process.
    pub(super) is_input_sent: bool,
    /// True if the runner ever sent anything on it.
    pub(super) has_arrived: bool,
    /// True if its reader was informed that the link is down.
    pub(super) is_interrupted: bool,
    /// True if its reader already has the messages about its start, which each link sends again.
    pub(super) knows_start: bool,
    pub(super) knows_exit: bool,
    /// The file whose bytes the reader gets.
    pub(super) opened: Option<FileOpened>,
    /// The number of bytes that the reader drained in total.
    pub(super) drained_bytes: u64,
    /// The number of the next drained bytes that arrived over earlier links; they give no credit on this one.
    pub(super) uncredited_bytes: u64,
    pub(super) input: Input,
    pub(super) _permit: OwnedSemaphorePermit,
}

impl Entry {
    pub(super) fn nature(&self) -> Nature {
        match &self.request {
            Request::Exec(exec) => Nature::Exec(exec.exec_id),
            Request::Attach(attach) => Nature::Attach(attach.id),
            Request::MkdirAll(change) => Nature::Change(change.id, "making the directory"),
            Request::Remove(change) => Nature::Change(change.id, "the removal"),
            Request::RemoveAll(change) => Nature::Change(change.id, "the removal"),
            Request::Rename(change) => Nature::Change(change.id, "the rename"),
            Request::Worktree(change) => Nature::Change(change.id, "the change to the worktree"),
            Request::Download(change) => Nature::Change(change.id, "the download"),
            Request::DownloadResolved(change) => Nature::Change(change.download.id, "the download"),
            Request::WriteFile(change) => Nature::Write(change.id),
            Request::WriteResolved(change) => Nature::Write(change.write.id),
            // Complete entries may have been written: it is not known how many.
            Request::WriteTree(_) => Nature::Control("the copy of the tree"),
            Request::Signal(_) => Nature::Control("the signal"),
            Request::Resize(_) => Nature::Control("the new size of the terminal"),
            // An update that is requested twice is made once.
            Request::Report(_)
            | Request::List(_)
            | Request::Stat(_)
            | Request::Resolve(_)
            | Request::HashTree(_)
            | Request::Update(_) => Nature::Question,
            Request::ReadFile(_) => Nature::File,
            Request::Llm(_) | Request::Http(_) => Nature::Relay,
            Request::ReadDir(_) | Request::Glob(_) | Request::Grep(_) | Request::ReadTree(_) => {
                Nature::Listing
            }
        }
    }

    /// True if it is an exec that the runner may be running.
    pub(super) fn outlives_links(&self) -> bool {
        self.is_sent && matches!(self.nature(), Nature::Exec(_) | Nature::Attach(_))
    }

    /// True if it concerns an exec, whose reader is informed when the link is down.
    pub(super) fn is_exec(&self) -> bool {
        matches!(self.nature(), Nature::Exec(_) | Nature::Attach(_))
    }

    /// The exec whose result arrived with an answer on this stream.
    pub(super) fn exec_id(&self) -> Option<ExecId> {
        match &self.request {
            Request::Exec(exec) => Some(exec.exec_id),
            Request::Attach(attach) => Some(attach.id),
            _ => None,
        }
    }

    /// Records that the reader drained this many bytes; returns how many of them are credit for the current link.
    pub(super) fn drained(&mut self, bytes: u64) -> u64 {
        self.drained_bytes += bytes;
        let uncredited = bytes.min(self.uncredited_bytes);
        self.uncredited_bytes -= uncredited;
        bytes - uncredited
    }

    /// Counts the request as unsent if the runner has not answered it, and so never began it, and if all of its input is
    /// still here. A request from an earlier link is in another stage.
    pub(super) fn take_back(&mut self) {
        let was_not_begun = self.stage == Stage::Original && !self.has_arrived;
        if was_not_begun && (self.is_cancelled || self.input.resume(0).is_ok()) {
            self.is_sent = false;
            self.is_input_sent = false;
        }
    }

    /// The stream's fate now that its link is lost.
    pub(super) fn fate(&mut self, runner: &str) -> Fate {
        if self.is_left {
            return Fate::Gone;
        }
        if !self.is_sent {
            return match (self.is_deaf, self.is_cancelled) {
                (true, _) => Fate::Gone,
                (false, true) => Fate::Fails(cancelled()),
                (false, false) => Fate::Waits,
            };
        }
        let nature = self.nature();
        if self.is_deaf && !matches!(nature, Nature::Exec(_) | Nature::Attach(_)) {
            return Fate::Gone;
        }
        match nature {
            Nature::Control(_) | Nature::Relay => Fate::Fails(self.final_error(runner)),
            Nature::Write(_) if !self.is_input_sent => Fate::Fails(self.final_error(runner)),
            // A directory may have changed, so that a listing cannot be combined from two.
            Nature::Listing if self.state.taken().data_bytes > 0 => Fate::Fails(self.final_error(runner)),
            Nature::Listing => {
                self.state.rewind();
                Fate::Waits
            }
            Nature::Exec(_) | Nature::Attach(_) | Nature::Change(..) | Nature::Write(_) => Fate::Waits,
            Nature::Question | Nature::File => Fate::Waits,
        }
    }

    /// The error, if there will be no answer.
    pub(super) fn final_error(&self, runner: &str) -> SandboxError {
        let runner = runner.to_owned();
        if !self.is_sent {
            return SandboxError::Offline { runner };
        }
        match self.nature() {
            Nature::Change(_, what) | Nature::Control(what) => SandboxError::Ambiguous { runner, what },
            Nature::Write(_) if self.is_input_sent => {
                SandboxError::Ambiguous { runner, what: "the file's new content" }
            }
            Nature::Write(_) => SandboxError::NotWritten { runner },
            Nature::Exec(_) | Nature::Attach(_) | Nature::Question => SandboxError::Lost { runner },
            Nature::File | Nature::Listing | Nature::Relay => SandboxError::Lost { runner },
        }
    }

    /// The request that resumes it over a new link, which sends untaken events again.
    pub(super) fn next_request(&mut self, now: Instant) -> Request {
        if !self.is_sent {
            self.stage = Stage::Original;
            return self.original(now);
        }
        match self.nature() {
            Nature::Exec(id) | Nature::Attach(id) => {
                let output =
                    !self.is_deaf && !matches!(self.request, Request::Attach(Attach { output: false, .. }));
                let taken = self.state.rewind();
                self.is_interrupted = taken.interrupted;
                (self.knows_start, self.knows_exit) = (taken.started, taken.exited);
                self.uncredited_bytes = taken.data_bytes.saturating_sub(self.drained_bytes);
                self.stage = Stage::Attaching;
                self.input.hold();
                Request::Attach(Attach { id, offset: taken.offset, output })
            }
            Nature::Change(id, _) | Nature::Write(id) => {
                self.stage = Stage::Attaching;
                Request::Attach(Attach { id, offset: 0, output: false })
            }
            Nature::File => self.rest_of_the_file(now),
            Nature::Control(_) | Nature::Question | Nature::Listing | Nature::Relay => self.original(now),
        }
    }

    fn rest_of_the_file(&mut self, now: Instant) -> Request {
        let taken = self.state.rewind();
        self.uncredited_bytes = taken.data_bytes.saturating_sub(self.drained_bytes);
        let Request::ReadFile(read) = &self.request else { return self.original(now) };
        if !taken.opened {
            self.stage = Stage::Original;
            return self.original(now);
        }
        self.stage = Stage::Rereading(taken.data_bytes);
        Request::ReadFile(ReadFile {
            path: read.path.clone(),
            offset: read.offset.saturating_add(taken.data_bytes),
            length: read.length.map(|length| length.saturating_sub(taken.data_bytes)),
        })
    }

    /// The request itself, with its current age.
    pub(super) fn original(&self, now: Instant) -> Request {
        let mut request = self.request.clone();
        if let Request::Exec(exec) = &mut request {
            let waited = now.saturating_duration_since(self.opened_at).as_millis();
            exec.age_ms = exec.age_ms.saturating_add(u64::try_from(waited).unwrap_or(u64::MAX));
        }
        request
    }

    /// The meaning of a refused [`Attach`] for the request; `None` if the request never arrived and is to be sent again.
    pub(super) fn refused(&self, error: SandboxError, runner: &str) -> Option<SandboxError> {
        let SandboxError::Remote { kind, .. } = &error else { return Some(error) };
        let runner_name = || runner.to_owned();
        match (self.nature(), kind) {
            (Nature::Exec(_), ErrorKind::NoSuchExec) if !self.has_arrived => {
                self.is_cancelled.then(cancelled)
            }
            (Nature::Attach(_), ErrorKind::NoSuchExec) if !self.has_arrived => Some(error),
            (Nature::Change(..), ErrorKind::NoSuchExec) => None,
            (Nature::Write(_), ErrorKind::NoSuchExec) => {
                Some(SandboxError::NotWritten { runner: runner_name() })
            }
            // The runner has forgotten it, or never received it.
            (
                _,
                ErrorKind::NoSuchExec
                | ErrorKind::Expired
                | ErrorKind::UnknownRequest
                | ErrorKind::Unsupported,
            ) => Some(self.final_error(runner)),
            _ => Some(error),
        }
    }
}

/// The answer to a request that was never sent.
pub(super) fn cancelled() -> SandboxError {
    SandboxError::Remote {
        kind: ErrorKind::Cancelled,
        message: "the request was cancelled before it reached the runner".to_owned(),
    }
}
