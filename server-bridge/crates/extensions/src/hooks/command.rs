//! A handler that is a command: an exec on the user's machine, confined as any, and on record.
//!
//! The command runs in a task of its own. Whoever waits for it may give up at any time, because the turn was cancelled or the time
//! is over: the task then ends the command, and records its end.

use std::sync::Arc;
use std::time::Duration;

use execs::{Ending, sandbox_user};
use hooks::Raw;
use hooks::command::{Line, line, variables};
use hooks::layers::Hook;
use hooks::limits::OUTPUT_BYTES;
use hooks::payload::Payload;
use sandbox::{AckMode, Exec, ExecEvent, ExecOutcome, ExecRequest, Profile, Sandbox};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::Inner;
use super::run::Owner;
use super::turns::{PLAN, TurnHooks};
use crate::limits::HOOK_CANCEL_PATIENCE;
use crate::on_record::OnRecord;

impl Inner {
    #[expect(
        clippy::too_many_arguments,
        reason = "a command is its words, its hook, its payload and its time"
    )]
    pub(super) async fn command(
        self: &Arc<Self>,
        owner: &Owner,
        hooks: &TurnHooks,
        hook: &Hook,
        command: &str,
        args: Option<&[String]>,
        payload: &Payload,
        patience: Duration,
    ) -> Raw {
        let sandbox = match self.router.for_user(&sandbox_user(&owner.user), &hooks.route).await {
            Ok(sandbox) => sandbox,
            Err(error) => return Raw::Failed(format!("no machine can be reached: {error}")),
        };
        if let Some(changed) = changed_script(&sandbox, hook).await {
            return Raw::Failed(format!(
                "{changed} has changed since you approved the hook; approve it again"
            ));
        }
        // The mode may have become stricter since the turn began.
        let mode = match self.store.approval(owner.user.id, &owner.root).await {
            Ok(mode) => mode,
            Err(error) => {
                tracing::error!(%error, "the mode of a hook's chat could not be read");
                return Raw::Failed("the server could not read the chat's mode; its log says why".to_owned());
            }
        };
        let mut request = match line(command, args, hook, &hooks.session) {
            Line::Shell(line) => ExecRequest::shell(line),
            Line::Words(words) => ExecRequest::argv(words),
        };
        // In the workspace itself, whose files were approved: a model chooses its own directory, and may remove it.
        request.env = variables(hook, &hooks.session)
            .into_iter()
            .map(|(name, value)| (name.as_bytes().to_vec(), value.into_bytes()))
            .collect();
        request.stdin = true;
        request.timeout = Some(patience);
        request.acks = AckMode::Manual;
        request.profile = (hooks.is_plan || mode == PLAN).then_some(Profile::ReadOnly);
        let recorded = match self.record(owner, &request, hook, sandbox.place()).await {
            Ok(recorded) => recorded,
            Err(error) => {
                tracing::error!(%error, "a hook's command could not be recorded");
                return Raw::Failed("the server could not record it; its log says why".to_owned());
            }
        };
        let given_up = CancellationToken::new();
        let task = {
            let (inner, input, given_up) = (Arc::clone(self), payload.text.clone(), given_up.clone());
            self.tasks.spawn(async move {
                inner.follow(recorded, sandbox, request, input, given_up, patience).await
            })
        };
        let _gives_up = given_up.drop_guard();
        task.await.unwrap_or_else(|_| Raw::Failed("the server failed to run it".to_owned()))
    }

    async fn record(
        &self,
        owner: &Owner,
        request: &ExecRequest,
        hook: &Hook,
        place: &str,
    ) -> store::Result<OnRecord> {
        let command = hook.handler.describe();
        let shown = format!("hook {}: {command}", hook.event_name());
        OnRecord::begin(&self.ledger, &owner.user, Some(&owner.root), request, place, command, shown).await
    }

    /// Sends the command, follows it to its end or until nobody waits for it, and records the end.
    async fn follow(
        &self,
        recorded: OnRecord,
        sandbox: Sandbox,
        request: ExecRequest,
        input: String,
        given_up: CancellationToken,
        patience: Duration,
    ) -> Raw {
        let mut exec = match sandbox.exec(request).await {
            Ok(exec) => exec,
            Err(error) => {
                recorded.end(&Ending::failed(&error), None).await;
                return Raw::Failed(error.to_string());
            }
        };
        let control = exec.control();
        let feeds = async {
            // A command may end, or close its input, before it has read everything.
            let _ = control.write_stdin(input.as_bytes()).await;
            control.close_stdin();
            std::future::pending::<()>().await;
        };
        let mut output = Output::default();
        let ended = tokio::select! {
            ended = output.until_end(&mut exec) => Some(ended),
            () = feeds => None,
            () = given_up.cancelled() => None,
            () = self.stop.cancelled() => None,
        };
        let ended = match ended {
            Some(ended) => ended,
            None => {
                control.cancel();
                match timeout(HOOK_CANCEL_PATIENCE, output.until_end(&mut exec)).await {
                    Ok(ended) => ended,
                    // Its runner goes on ending it.
                    Err(_) => {
                        let ending = Ending::refused("cancelled", "the turn went on without it");
                        recorded.end(&ending, None).await;
                        return Raw::TimedOut(patience);
                    }
                }
            }
        };
        match ended {
            Ok(outcome) => {
                recorded.end(&Ending::of(&outcome), Some(&exec)).await;
                output.raw(&outcome, patience)
            }
            Err((ending, why)) => {
                recorded.end(&ending, None).await;
                Raw::Failed(why)
            }
        }
    }
}

/// A file that a hook of the workspace names and that is not as it was approved.
async fn changed_script<'a>(sandbox: &Sandbox, hook: &'a Hook) -> Option<&'a str> {
    if !hook.layer.needs_approval() {
        return None;
    }
    for (script, approved) in &hook.scripts {
        let found = sandbox.resolve(script.path.as_bytes()).await.ok().flatten();
        let now = found.and_then(|found| found.sha256).map(|sha256| store::hex(&sha256));
        if now != *approved {
            return Some(&script.path);
        }
    }
    None
}

/// The output of a command, as much of it as is read.
#[derive(Default)]
struct Output {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    is_cut: bool,
}

impl Output {
    /// Reads the output until the command has ended; the error is its ending on record, and in words.
    async fn until_end(&mut self, exec: &mut Exec) -> Result<ExecOutcome, (Ending, String)> {
        while let Some(event) = exec.next().await {
            match event {
                ExecEvent::Stdout(bytes) => {
                    exec.consumed(bytes.len());
                    self.is_cut |= keep(&mut self.stdout, &bytes);
                }
                ExecEvent::Stderr(bytes) => {
                    exec.consumed(bytes.len());
                    // A long complaint is cut, and is no reason to distrust what was said.
                    keep(&mut self.stderr, &bytes);
                }
                ExecEvent::Gap { stderr, .. } => self.is_cut |= !stderr,
                ExecEvent::Finished(outcome) => return Ok(outcome),
                ExecEvent::Failed(error) => return Err((Ending::failed(&error), error.to_string())),
                ExecEvent::Started { .. }
                | ExecEvent::Exited(_)
                | ExecEvent::Interrupted
                | ExecEvent::Resumed => {}
            }
        }
        let why = "the command's end was not reported";
        Err((Ending::refused("protocol", why), why.to_owned()))
    }

    fn raw(self, outcome: &ExecOutcome, patience: Duration) -> Raw {
        let Self { stdout, stderr, is_cut } = self;
        match (outcome.code, outcome.signal) {
            _ if outcome.timed_out || outcome.cancelled => Raw::TimedOut(patience),
            (Some(status), _) => Raw::Exit { status, stdout, stderr, is_cut },
            (None, Some(signal)) => Raw::Signal(signal),
            (None, None) => Raw::Failed("its end is unknown".to_owned()),
        }
    }
}

/// Keeps as many bytes as are read at most; returns true if some were dropped.
fn keep(kept: &mut Vec<u8>, bytes: &[u8]) -> bool {
    let room = OUTPUT_BYTES - kept.len();
    kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    bytes.len() > room
}
