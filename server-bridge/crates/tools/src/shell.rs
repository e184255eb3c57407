//! `Shell`: runs a command in the sandbox. A command that takes too long continues as a task.
//!
//! The id of a command's exec is its call's key: see `take_up`.

mod awaited;
mod take_up;

use std::convert::Infallible;
use std::pin::pin;
use std::time::Duration;

use awaited::Awaited;
use execs::{End, Point, Recorded, fault};
use sandbox::{
    AckMode, Choice, Exec, ExecControl, ExecEvent, ExecOutcome, ExecRequest, Profile, Sandbox, SandboxError,
};
use schemars::JsonSchema;
use serde::Deserialize;
use store::{ExecId, ExecKind};
use take_up::take_up;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::Work;
use crate::limits::{
    SHELL_CANCEL_GRACE, SHELL_CANCEL_PATIENCE, SHELL_KEPT_BYTES, SHELL_TIMEOUT_MAX_S, SHELL_TIMEOUT_S,
    TASK_LIFETIME_S,
};
use crate::output::Output;
use crate::{Ported, Services};
use agent::approval::Access;
use agent::tool::look::{Ground, Looked, part};
use agent::tool::{AgentTurn, CallKey, Failure, Outcome, visible};
use agent::tool::{Live, Rules, Subject, ToolContext, TypedTool};
use execs::Ending;
use execs::{Utf8Decoder, request_hash};

/// The signal that no process can ignore, on every system that a runner is built for.
const SIGKILL: i32 = 9;

/// The tool's name for models.
pub const NAME: &str = "Shell";

/// The command to run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The command line.
    command: String,
    /// The number of seconds after which the command becomes a task; 120 by default, 600 at most.
    #[serde(default)]
    timeout: Option<u64>,
    /// Whether to run the command as a task from the beginning.
    #[serde(default)]
    background: bool,
    /// The user account of the machine to run the command as, if the runner allows one other than the default; the privileged user always
    /// needs approval.
    #[serde(default)]
    run_as: Option<String>,
    /// The reason for running the command, in a few words for the user, who may be asked to allow it.
    #[serde(default)]
    reason: Option<String>,
}

impl TypedTool for Arguments {
    type Services = Services;

    const NAME: &'static str = NAME;
    const DESCRIPTION: &'static str = "Runs a command line in a shell of the sandbox, beginning in the current directory, and \
answers with its output and exit code. Standard input is empty. A command that has not ended after its timeout continues as a \
task: see task_status, task_read and task_kill. Use background for servers and watchers. Use Read, Glob and Grep instead of \
cat, find and grep.";
    const RULES: Rules = Rules::of(Access::Run).sees_cancel().takes_up();

    fn hint(&self) -> &str {
        &self.command
    }

    fn subject(&self) -> Subject<'_> {
        Subject::Command(&self.command)
    }
    fn run_as(&self) -> Option<&str> {
        self.run_as.as_deref()
    }

    async fn look(&self, ground: Option<&Ground>) -> Result<Looked, Failure> {
        let Some(ground) = ground else { return Err(Failure::unreachable()) };
        let (machine, directory) = (ground.machine(), ground.directory());
        let effect = if self.background { "runs a command in the background" } else { "runs a command" };
        let reason = self.reason.iter().map(|reason| part("reason that the model gives", reason));
        let parts = std::iter::once(part("command", &self.command)).chain(reason).collect();
        let user = ground.user().unwrap_or_default();
        let by = if user.is_empty() { String::new() } else { format!(" as {}", visible::line(user)) };
        let shown = visible::line(&directory);
        let words = format!(
            "this exact command in {shown} on {machine}{by}, in this chat, until a file is changed or downloaded without asking"
        );
        let subject = [machine, &directory, user, &self.command];
        let looked = Looked { bound: ground.bound(), ..Looked::words(effect, parts) };
        Ok(looked.at(Some(ground)).always(&subject, words))
    }

    async fn run(
        &self,
        services: &Services,
        context: &ToolContext<'_>,
        live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let work = &Work { services, context };
        match work.agent()? {
            AgentTurn { call: Some(key), is_taken_up: true, .. } => take_up(self, key, work, live).await,
            _ => run(self, work, live).await,
        }
    }
}

async fn run(arguments: &Arguments, work: &Work<'_>, live: Live<'_>) -> Result<Outcome, Failure> {
    let sandbox = tokio::select! {
        sandbox = work.sandbox() => sandbox,
        () = work.cancelled.cancelled() => return Ok(Outcome::failed("cancelled by the user")),
    };
    let sandbox = match sandbox {
        Ok(sandbox) => sandbox,
        Err(failure) => {
            audit_refusal(arguments, work).await?;
            return Err(failure);
        }
    };
    let request = request(arguments, work, &sandbox).await?;
    let record = put_on_record(&request, arguments, work, &sandbox).await?;
    let sent = sandbox.exec(request).await;
    fault(Point::Sent);
    let exec = match sent {
        Ok(exec) => exec,
        Err(error) => {
            let _recorded = record.finish(work, &Ending::failed(&error)).await?;
            return Err(error.into());
        }
    };
    Watch::new(exec, record, sandbox, work).until(patience(arguments), work, live).await
}

/// The id of the exec that a call begins.
fn exec_id(key: CallKey) -> ExecId {
    ExecId::from_bytes(key.0)
}

/// How long a command is awaited before it becomes a task.
fn patience(arguments: &Arguments) -> Duration {
    match arguments.background {
        true => Duration::ZERO,
        false => Duration::from_secs(timeout_s(arguments.timeout)),
    }
}

/// The number of seconds after which a command becomes a task.
fn timeout_s(asked: Option<u64>) -> u64 {
    asked.unwrap_or(SHELL_TIMEOUT_S).clamp(1, SHELL_TIMEOUT_MAX_S)
}

async fn request(arguments: &Arguments, work: &Work<'_>, sandbox: &Sandbox) -> Result<ExecRequest, Failure> {
    let cwd = work.directory(sandbox).await?;
    let mut request = long_lived(&arguments.command);
    if let Some(key) = work.agent()?.call {
        request.exec_id = execs::follow::sandbox_id(&exec_id(key));
    }
    request.cwd = (!cwd.is_empty()).then(|| cwd.into_bytes());
    request.profile = work.is_plan.then_some(Profile::ReadOnly);
    Ok(match &arguments.run_as {
        Some(user) => request.run_as(user.as_str(), work.approval.clone()),
        None => request,
    })
}

/// The request for a command that may become a task, whose output is then read later and by others.
fn long_lived(command: &str) -> ExecRequest {
    let mut request = ExecRequest::shell(command);
    request.merge_stderr = true;
    (request.retain, request.acks) = (true, AckMode::Manual);
    request.timeout = Some(Duration::from_secs(TASK_LIFETIME_S));
    request
}

/// Audits a command for which no machine could be found.
async fn audit_refusal(arguments: &Arguments, work: &Work<'_>) -> Result<(), Failure> {
    let (service, user) = (work.services, work.user);
    let route_request =
        execs::chat_route_request(&service.store, user.id, Some(work.agent()?.chat)).await.ported()?;
    let named = match &route_request.choice {
        Choice::Place(place) => Some(place.name()),
        Choice::Auto => None,
    };
    let checked = service.router.check(&execs::sandbox_user(user), &route_request);
    let kind = checked.err().map_or("unavailable", |error| error.kind());
    let shown = match &arguments.run_as {
        Some(run_as) => &format!("as {run_as}: {}", arguments.command),
        None => &arguments.command,
    };
    Ok(service.execs.refused(user, named, shown, kind).await.ported()?)
}

/// An exec on record: after a restart, the server finds it, and ends it unless it is a task.
struct OnRecord {
    id: store::ExecId,
    /// The command, as the audit trail shows it.
    command: String,
    place: String,
    /// Held so that no other code reports the exec's end while the command is awaited.
    _watch: execs::Watch,
}

async fn put_on_record(
    request: &ExecRequest,
    arguments: &Arguments,
    work: &Work<'_>,
    sandbox: &Sandbox,
) -> Result<OnRecord, Failure> {
    let (exec_id, place) = (store::ExecId::from_bytes(request.exec_id.0), sandbox.place());
    let shown = sandbox.shown_as(arguments.run_as.as_deref(), &arguments.command);
    let command = if arguments.run_as.is_some() { shown.clone() } else { arguments.command.clone() };
    let start = store::ExecRequest {
        exec_id: exec_id.clone(),
        kind: ExecKind::Tool,
        user: work.user.id,
        // A sub-agent's tasks belong to the chat, and outlive it.
        chat: Some(work.agent()?.root.clone()),
        message: None,
        request_hash: request_hash(Some(place), &command),
        runner: Some(place.to_owned()),
        command,
        audited: Some(shown.clone()),
        detached: arguments.background,
        linger_ms: None,
    };
    work.services.execs.begin(&start).await.ported()?;
    let watch = work.services.execs.watch(work.user.id, &exec_id);
    Ok(OnRecord { id: exec_id, command: shown, place: place.to_owned(), _watch: watch })
}

impl OnRecord {
    async fn finish(&self, work: &Work<'_>, ending: &Ending) -> Result<Recorded, Failure> {
        let (user, place, shown) = (work.user, Some(self.place.as_str()), self.command.as_str());
        let end = End { user, exec_id: &self.id, place, shown, ending, message: None };
        Ok(work.services.execs.end(end).await.ported()?)
    }
}

/// A command that the call waits for.
struct Watch {
    exec: Awaited,
    record: OnRecord,
    output: Output,
    place: Sandbox,
    /// An event that was already read.
    read: Option<ExecEvent>,
}

impl Watch {
    fn new(exec: Exec, record: OnRecord, place: Sandbox, work: &Work<'_>) -> Self {
        let exec = Awaited::new(exec, &work.services.execs, work.user.id);
        Self { exec, record, output: Output::new(SHELL_KEPT_BYTES), place, read: None }
    }

    /// The error with which the command's events begin, if they do.
    async fn first_error(&mut self) -> Option<SandboxError> {
        self.read = self.exec.next().await;
        match &self.read {
            Some(ExecEvent::Failed(error)) => Some(error.clone()),
            _ => None,
        }
    }

    async fn until(
        mut self,
        patience: Duration,
        work: &Work<'_>,
        live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let deadline = Instant::now() + patience;
        let (mut decoder, mut has_started) = (Utf8Decoder::default(), false);
        let mut ending = pin!(end_when_cancelled(self.exec.control(), work.cancelled));
        loop {
            let read = self.read.take();
            let event = tokio::select! {
                event = next(&mut self.exec, read) => event,
                // The command's runner continues to end it.
                () = &mut ending => {
                    let ending = Ending::refused("cancelled", "cancelled by the user");
                    let _recorded = self.record.finish(work, &ending).await?;
                    return Ok(Outcome::failed("cancelled by the user; the command is being ended"));
                }
                () = sleep_until(deadline), if has_started && !work.cancelled.is_cancelled() => {
                    return self.become_task(work).await;
                }
            };
            if let Some(event) = &event {
                execs::seen(event);
            }
            match event {
                Some(ExecEvent::Stdout(bytes) | ExecEvent::Stderr(bytes)) => {
                    self.exec.consumed(bytes.len());
                    live(&decoder.decode(&bytes));
                    self.output.push(&bytes);
                }
                Some(ExecEvent::Started { .. }) => has_started = true,
                Some(ExecEvent::Gap { bytes, .. }) => {
                    self.output.lost(bytes);
                }
                Some(ExecEvent::Exited(_) | ExecEvent::Interrupted | ExecEvent::Resumed) => {}
                Some(ExecEvent::Finished(outcome)) => {
                    let ending = Ending::of(&outcome);
                    self.record.finish(work, &ending).await?.acknowledge(&self.exec);
                    return Ok(told(&self.output.finish().text, &ending, &outcome));
                }
                Some(ExecEvent::Failed(error)) => {
                    let _recorded = self.record.finish(work, &Ending::failed(&error)).await?;
                    return Err(error.into());
                }
                None => {
                    let ending =
                        Ending::refused("protocol", "the sandbox gave no answer; run the command again");
                    let _recorded = self.record.finish(work, &ending).await?;
                    return Err(Failure::Message("the command's end was not reported".to_owned()));
                }
            }
        }
    }

    /// Leaves the command in the background as a task.
    async fn become_task(self, work: &Work<'_>) -> Result<Outcome, Failure> {
        let Self { exec, record, output, place, .. } = self;
        // Recorded first: a recorded task is not ended when the server restarts.
        work.services.store.detach_exec(work.user.id, &record.id).await.ported()?;
        exec.leave();
        fault(Point::Left);
        work.services.execs.follow_id(work.user, &record.id).await.ported()?;
        let (id, place, text) = (&record.id, place.place(), output.finish().text);
        let so_far = if text.is_empty() { String::new() } else { format!("Its output so far:\n{text}\n") };
        Ok(Outcome::done(format!(
            "{so_far}It continues as task {id} on {place}; use task_status, task_read and task_kill."
        )))
    }
}

/// The event that was already read, or the next one.
async fn next(exec: &mut Exec, read: Option<ExecEvent>) -> Option<ExecEvent> {
    match read {
        Some(event) => Some(event),
        None => exec.next().await,
    }
}

/// Ends a command when its user cancels it. Returns when the longest wait is over.
async fn end_when_cancelled(control: ExecControl, cancelled: &CancellationToken) {
    cancelled.cancelled().await;
    control.cancel();
    insist(async {
        if let Err(error) = control.signal(SIGKILL).await {
            tracing::debug!(%error, "a cancelled command is left to its runner");
        }
    })
    .await;
}

/// Kills a command that has not ended within the grace period, and waits for that for a limited time.
async fn insist(kill: impl Future<Output = ()>) {
    let kill = async {
        sleep(SHELL_CANCEL_GRACE).await;
        kill.await;
        std::future::pending().await
    };
    // The wait ends only with the timeout.
    let _: Result<Infallible, Elapsed> = timeout(SHELL_CANCEL_PATIENCE, kill).await;
}

/// The note for the model if the sandbox denied something to a command.
const DENIED: &str = "(the sandbox denied it something: the user's files outside the workspace, their keys and credentials, and the \
                      configuration and hooks of git repositories are out of reach; the user may allow the last with \
                      --allow-git-config on the runner)";

/// The text for the model about a command that ended.
fn told(text: &str, ending: &Ending, outcome: &ExecOutcome) -> Outcome {
    let mut lines = Vec::new();
    if !text.is_empty() {
        lines.push(text.trim_end_matches('\n').to_owned());
    }
    lines.push(match (outcome.code, outcome.signal) {
        _ if outcome.cancelled => "(cancelled by the user)".to_owned(),
        _ if outcome.timed_out => "(ended: it ran for 24 hours)".to_owned(),
        (Some(code), _) => format!("(exit code {code})"),
        (None, Some(signal)) => format!("(killed by signal {signal})"),
        (None, None) => ending.outcome.error.clone().unwrap_or_default(),
    });
    if outcome.sandbox_denied {
        lines.push(DENIED.to_owned());
    }
    let failed = outcome.code != Some(0);
    if failed && !outcome.cancelled {
        lines.push("Do NOT retry the same command. Analyze the error, fix the root cause.".to_owned());
    }
    Outcome { is_error: failed, ..Outcome::done(lines.join("\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_120_seconds_unless_it_asks_for_others_up_to_600() {
        let asked = [None, Some(0), Some(1), Some(600), Some(601)];
        assert_eq!(asked.map(timeout_s), [120, 1, 1, 600, 600]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_command_is_killed_after_half_a_second_and_waited_for_less_than_one() {
        let begun = Instant::now();
        let mut killed_after = None;
        insist(async { killed_after = Some(begun.elapsed()) }).await;
        let (grace, patience) = (Duration::from_millis(500), Duration::from_millis(800));
        assert_eq!((killed_after.map(rounded), rounded(begun.elapsed())), (Some(grace), patience));
        // A machine that does not answer does not block the cancel.
        let begun = Instant::now();
        insist(std::future::pending()).await;
        assert_eq!(rounded(begun.elapsed()), patience);
    }

    /// Timers may be late by a millisecond.
    fn rounded(duration: Duration) -> Duration {
        Duration::from_millis(u64::try_from(duration.as_millis() / 10 * 10).unwrap())
    }

    #[test]
    fn a_command_and_the_task_that_it_becomes_may_run_for_24_hours() {
        assert_eq!(long_lived("make").timeout, Some(Duration::from_secs(24 * 60 * 60)));
        let outcome = ExecOutcome {
            code: None,
            signal: Some(15),
            timed_out: true,
            cancelled: false,
            sandbox_denied: false,
            truncated: false,
            still_open: false,
            stdout_bytes: 0,
            stderr_bytes: 0,
            duration: Duration::from_secs(TASK_LIFETIME_S),
        };
        let told = told("built half", &Ending::of(&outcome), &outcome);
        assert!(
            told.is_error && told.text.starts_with("built half\n(ended: it ran for 24 hours)"),
            "{}",
            told.text
        );
    }
}
