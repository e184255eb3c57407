//! An exec that is asked for and told of in one request, without a socket: the same checks, the same record, the same trail.
//!
//! Its output is kept by its runner until it is acknowledged, or for 10 min: whoever was shown a part of it can have the rest.

use std::time::Duration;

use api::exec::ExecAsk;
use execs::follow::sandbox_id;
use execs::{Begun, ExecKind, ExecStatus, Point, Recorded, fault};
use sandbox::{AckMode, AttachOptions, Exec, ExecEvent, ExecOutcome, SandboxError};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::attach::check_terminal;
use super::request::Asked;
use super::subject::Subject;
use super::{Ended, Running};
use crate::state::AppState;
use crate::web::auth::Caller;
use crate::web::error::ApiError;

/// A command that was sent.
pub struct Program<'a> {
    state: &'a AppState,
    caller: &'a Caller,
    sandbox: sandbox::Sandbox,
    subject: Subject,
    exec: Exec,
    /// A stopping server waits for the record.
    _awaited: TaskTrackerToken,
}

/// How a command ended, or why that is not known; and what acknowledges its output.
pub struct Finished {
    /// Its end.
    pub ended: Result<ExecOutcome, SandboxError>,
    recorded: Option<Recorded>,
    exec: Exec,
}

/// A part of an exec's output.
pub struct Part {
    /// The exec, as it is on record.
    pub record: execs::Exec,
    /// Standard output and error, as they came.
    pub bytes: Vec<u8>,
    /// Bytes that are not there any more, amid these.
    pub lost_bytes: u64,
    /// Where the output goes on.
    pub next_offset: u64,
    /// Whether it has ended, and this is its last part.
    pub is_last: bool,
}

impl<'a> Program<'a> {
    /// Sends a command, asked for like the first frame of the exec socket.
    ///
    /// # Errors
    /// What makes no sense, where there is no sandbox, and what the sandbox refused; all of it is on record then.
    pub async fn start(state: &'a AppState, caller: &'a Caller, ask: ExecAsk) -> Result<Self, ApiError> {
        let mut asked = Asked::check(ask, caller.may_approve())?;
        asked.request.retain = true;
        let awaited = state.execs.token();
        let mut subject = asked.subject(ExecKind::Mcp);
        let sandbox = match asked.begin(state, &caller.user, ExecKind::Mcp).await? {
            Begun::New(sandbox) => sandbox,
            Begun::Known(known) => {
                return Err(execs::Error::Conflict(known.exec_id.to_string()).into());
            }
        };
        subject.shown = sandbox.shown_as(asked.request.named_user(), &asked.shown);
        let sent = sandbox.exec(asked.request).await;
        fault(Point::Sent);
        match sent {
            Ok(exec) => Ok(Self { state, caller, sandbox, subject, exec, _awaited: awaited }),
            Err(error) => {
                let running = Running::new(state, caller, &sandbox, &subject);
                let _recorded = running.record(&Ended::Failed(error.clone())).await;
                Err(error.into())
            }
        }
    }

    /// Its id, for who asks later.
    pub fn id(&self) -> String {
        self.subject.id.to_string()
    }

    /// Where it runs.
    pub fn place(&self) -> &str {
        self.sandbox.place()
    }

    /// Feeds it `input`, hands its output to `live` as it comes, and returns at its end, which is on record by then. It is
    /// ended when it is cancelled, its caller's session or key is over, or the server stops.
    pub async fn finish(
        mut self,
        input: &[u8],
        cancelled: &CancellationToken,
        mut live: impl FnMut(&[u8], u64),
    ) -> Finished {
        let _watch = self.state.ledger.watch(self.caller.user.id, &self.subject.id);
        let control = self.exec.control();
        let feed = async {
            // Errors say that the command reads no more, which is its own affair.
            let _ = control.write_stdin(input).await;
            control.close_stdin();
        };
        let stop = async {
            tokio::select! {
                () = cancelled.cancelled() => {}
                () = self.caller.session_ended(self.state) => {}
                () = self.state.shutdown.cancelled() => {}
            }
            control.cancel();
        };
        let (mut feed, mut stop) = (std::pin::pin!(feed), std::pin::pin!(stop));
        let (mut is_fed, mut is_stopped) = (!self.subject.stdin, false);
        let ended = loop {
            let event = tokio::select! {
                event = self.exec.next() => event,
                () = &mut feed, if !is_fed => { is_fed = true; continue }
                () = &mut stop, if !is_stopped => { is_stopped = true; continue }
            };
            event.iter().for_each(execs::seen);
            match event {
                Some(ExecEvent::Stdout(bytes) | ExecEvent::Stderr(bytes)) => {
                    self.exec.consumed(bytes.len());
                    live(&bytes, 0);
                }
                Some(ExecEvent::Gap { bytes, .. }) => live(&[], bytes),
                Some(ExecEvent::Started { .. } | ExecEvent::Exited(_)) => {}
                Some(ExecEvent::Interrupted | ExecEvent::Resumed) => {}
                Some(ExecEvent::Finished(outcome)) => break Ended::Finished(outcome),
                Some(ExecEvent::Failed(error)) => break Ended::Failed(error),
                None => break Ended::Failed(SandboxError::Lost { runner: self.place().to_owned() }),
            }
        };
        let running = Running::new(self.state, self.caller, &self.sandbox, &self.subject);
        let recorded = Running { serves: true, ..running }.record(&ended).await;
        let ended = match ended {
            Ended::Finished(outcome) => Ok(outcome),
            Ended::Failed(error) => Err(error),
        };
        Finished { ended, recorded, exec: self.exec }
    }

    /// Lets it go on by itself once it has started.
    ///
    /// # Errors
    /// Why it did not start.
    pub async fn detach(mut self) -> Result<(), ApiError> {
        let running = Running::new(self.state, self.caller, &self.sandbox, &self.subject);
        let first = self.exec.next().await;
        first.iter().for_each(execs::seen);
        if let Some(ExecEvent::Failed(error)) = first {
            let _recorded = running.record(&Ended::Failed(error.clone())).await;
            return Err(error.into());
        }
        self.exec.leave();
        running.be_followed().await;
        Ok(())
    }
}

impl Finished {
    /// All of the output arrived where it belongs: its runner may forget it.
    pub fn acknowledge(&self) {
        if let Some(recorded) = &self.recorded {
            recorded.acknowledge(&self.exec);
        }
    }
}

/// At most `limit` bytes of an exec's output from `offset` on: what there is by now, or comes within `patience`. Whoever reads
/// it elsewhere is told that somebody else does.
///
/// # Errors
/// `not_found` for an exec that is none of the caller's; `forbidden` for a terminal where the caller is a program with a key for
/// less; what its sandbox says, as `no_such_exec` or `expired` where its output
/// is not kept any more.
pub async fn read_part(
    state: &AppState,
    caller: &Caller,
    id: &str,
    offset: u64,
    limit: usize,
    patience: Duration,
) -> Result<Part, ApiError> {
    let record = state.ledger.exec(caller.user.id, id).await?;
    check_terminal(caller, &record)?;
    let sandbox = state.ledger.sandbox_of(&caller.user, &record).await?;
    let id = sandbox_id(&record.exec_id);
    let known_bytes = sandbox.exec_report(id, 0, 0).await?.output_bytes;
    let options = AttachOptions { output: true, acks: AckMode::Manual };
    let mut exec = sandbox.attach(id, offset, options).await?;
    let mut part = Part { record, bytes: Vec::new(), lost_bytes: 0, next_offset: offset, is_last: false };
    let deadline = Instant::now() + patience;
    while part.bytes.len() < limit
        && (part.next_offset < known_bytes || part.record.status != ExecStatus::Running)
    {
        let Ok(event) = timeout_at(deadline, exec.next()).await else { break };
        match event {
            Some(ExecEvent::Stdout(bytes) | ExecEvent::Stderr(bytes)) => {
                let taken = bytes.len().min(limit - part.bytes.len());
                part.bytes.extend_from_slice(&bytes[..taken]);
                part.next_offset += taken as u64;
            }
            Some(ExecEvent::Gap { bytes, .. }) => {
                part.lost_bytes += bytes;
                part.next_offset += bytes;
            }
            Some(ExecEvent::Finished(_)) | None => {
                part.is_last = true;
                break;
            }
            Some(ExecEvent::Failed(error)) => return Err(error.into()),
            Some(_) => {}
        }
    }
    exec.leave();
    Ok(part)
}
