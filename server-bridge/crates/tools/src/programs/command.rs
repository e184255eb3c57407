//! A program's command, from the request to the record of its end.

use std::time::{Duration, Instant};

use agent::tool::{Failure, Live};
use execs::{Begun, Ending, ExecId, ExecKind, Point, Recorded, Utf8Decoder, fault};
use sandbox::{AckMode, Exec, ExecEvent, ExecOutcome, ExecRequest, Sandbox, SandboxError};

use crate::Work;
use crate::output::{Output, Shown};
use crate::services::exec_failure;

/// A program's request.
pub(super) struct Asked<'a> {
    pub(super) line: Option<&'a str>,
    pub(super) argv: Option<&'a [String]>,
    pub(super) cwd: Option<&'a str>,
    pub(super) timeout_s: Option<f64>,
    /// The longest time limit that the command may request, in seconds.
    pub(super) timeout_max_s: f64,
    /// True if the command gets standard input.
    pub(super) stdin: bool,
    /// True if the command outlives the call.
    pub(super) goes_on: bool,
}

/// A command that was sent.
pub(super) struct Command<'a> {
    work: &'a Work<'a>,
    sandbox: Sandbox,
    id: ExecId,
    exec: Exec,
    sent: Instant,
}

/// How a command ended, with the shown part of its output.
pub(super) struct Finished {
    pub(super) outcome: ExecOutcome,
    pub(super) shown: Shown,
    pub(super) id: String,
    pub(super) runner: String,
}

impl<'a> Command<'a> {
    /// Puts a command on record and sends it.
    ///
    /// Fails for an invalid request, if there is no sandbox, and if the sandbox refuses the command; all of these except the first are audited.
    pub(super) async fn start(work: &'a Work<'a>, asked: Asked<'_>) -> Result<Self, Failure> {
        let user = work.user;
        let (request, shown) = asked.request()?;
        let id = ExecId::from_bytes(request.exec_id.0);
        let on = work.program().and_then(|program| program.on);
        let begin = execs::Request {
            exec_id: &id,
            kind: ExecKind::Mcp,
            hash: &execs::request_hash(on, &shown),
            on,
            shown: &shown,
            run_as: None,
            goes_on: asked.goes_on,
            linger: None,
        };
        let begun = work.services.execs.request(user, &begin, work.cancelled).await.map_err(exec_failure)?;
        let Begun::New(sandbox) = begun else {
            return Err(exec_failure(execs::Error::Conflict(id.to_string())));
        };
        let sent = Instant::now();
        let exec = sandbox.exec(request).await;
        fault(Point::Sent);
        match exec {
            Ok(exec) => Ok(Self { work, sandbox, id, exec, sent }),
            Err(error) => {
                let _recorded = record(work, &id, sent, Ending::failed(&error)).await;
                Err(error.into())
            }
        }
    }

    /// The name of the place where the command runs.
    pub(super) fn place(&self) -> &str {
        self.sandbox.place()
    }

    /// The command's id, for later calls.
    pub(super) fn id(&self) -> String {
        self.id.to_string()
    }

    /// Writes `input` to the command, passes its output to `live` as it arrives, and returns when it has ended, which is on record by
    /// then. The command is ended if the call is cancelled.
    ///
    /// Fails with the sandbox's error.
    pub(super) async fn finish(
        mut self,
        input: &[u8],
        side_bytes: usize,
        live: Live<'_>,
    ) -> Result<Finished, Failure> {
        let _watch = self.work.services.execs.watch(self.work.user.id, &self.id);
        let (mut output, mut decoder) = (Output::new(side_bytes), Utf8Decoder::default());
        let control = self.exec.control();
        let feed = async {
            // An error means that the command does not read its input any more, which is fine.
            let _ = control.write_stdin(input).await;
            control.close_stdin();
        };
        let stop = async {
            self.work.cancelled.cancelled().await;
            control.cancel();
        };
        let (mut feed, mut stop) = (std::pin::pin!(feed), std::pin::pin!(stop));
        let (mut is_fed, mut is_stopped) = (false, false);
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
                    live(&decoder.decode(&bytes));
                    output.push(&bytes);
                }
                Some(ExecEvent::Gap { bytes, .. }) => output.lost(bytes),
                Some(ExecEvent::Started { .. } | ExecEvent::Exited(_)) => {}
                Some(ExecEvent::Interrupted | ExecEvent::Resumed) => {}
                Some(ExecEvent::Finished(outcome)) => break Ok(outcome),
                Some(ExecEvent::Failed(error)) => break Err(error),
                None => break Err(SandboxError::Lost { runner: self.sandbox.place().to_owned() }),
            }
        };
        let ending = ended.as_ref().map_or_else(Ending::failed, Ending::of);
        let recorded = record(self.work, &self.id, self.sent, ending).await;
        let shown = output.finish();
        // The omitted part can be read until its runner discards it.
        if let Some(recorded) = recorded
            && shown.left_out_bytes == 0
        {
            recorded.acknowledge(&self.exec);
        }
        Ok(Finished { outcome: ended?, shown, id: self.id(), runner: self.place().to_owned() })
    }

    /// Leaves the command in the background once it has started.
    ///
    /// Fails with the reason why the command did not start.
    pub(super) async fn leave(mut self) -> Result<(), Failure> {
        let (user, execs) = (self.work.user, &self.work.services.execs);
        let first = self.exec.next().await;
        first.iter().for_each(execs::seen);
        if let Some(ExecEvent::Failed(error)) = first {
            let _recorded = record(self.work, &self.id, self.sent, Ending::failed(&error)).await;
            return Err(error.into());
        }
        self.exec.leave();
        fault(Point::Left);
        if !execs.is_watched(user.id, &self.id)
            && let Err(error) = execs.follow_id(user, &self.id).await
        {
            tracing::error!(%error, "cannot follow an exec; the server will do so at its next start");
        }
        Ok(())
    }
}

impl Asked<'_> {
    /// The request, and the command in the form that people read.
    ///
    /// Fails for an invalid request.
    fn request(&self) -> Result<(ExecRequest, String), Failure> {
        let neither = || Failure::Message("give either `argv`, with a program, or `command`".to_owned());
        let (argv, line) = (self.argv.map(<[String]>::to_vec), self.line.map(str::to_owned));
        let (command, shown) = execs::command_of(argv, line).ok_or_else(neither)?;
        let mut request = ExecRequest::new(command);
        request.cwd = self.cwd.map(|cwd| cwd.as_bytes().to_vec());
        request.stdin = self.stdin;
        request.merge_stderr = true;
        (request.retain, request.acks) = (true, AckMode::Manual);
        request.timeout = match self.timeout_s {
            Some(seconds) if seconds > 0.0 && seconds <= self.timeout_max_s => {
                Some(Duration::from_secs_f64(seconds))
            }
            Some(_) => {
                let (most, advice) = (self.timeout_max_s, if self.goes_on { "" } else { LONGER });
                return Err(Failure::Message(format!(
                    "timeout_s must be more than 0 and at most {most}{advice}"
                )));
            }
            None => None,
        };
        Ok((request, shown))
    }
}

const LONGER: &str = "; use task_start for what takes longer";

/// Records a command's end; `None` if that failed, which is logged, or if the exec is not on record any more.
async fn record(work: &Work<'_>, id: &ExecId, sent: Instant, mut ending: Ending) -> Option<Recorded> {
    let execs = &work.services.execs;
    let record = match execs::patiently(execs.known(work.user.id, id)).await {
        Ok(record) => record?,
        Err(error) => {
            tracing::error!(%error, %id, "cannot record how an exec ended; the server will do so at its next start");
            return None;
        }
    };
    if execs.is_stopping(work.user.id) {
        ending = ending.while_the_server_stops();
    }
    let recorded = execs.settle(work.user, &record, &ending).await?;
    if recorded.is_new() {
        execs::count_end(ending.outcome.status.as_str(), sent.elapsed());
    }
    Some(recorded)
}
