//! Short commands that the server itself runs to manage worktrees: on record like any other, and followed to their end.

use execs::{End, Ending};
use sandbox::{AckMode, ExecEvent, ExecOutcome, ExecRequest, Profile, Sandbox};
use store::{ChatId, ExecId, ExecKind, User};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::limits::{GIT_OUTPUT_BYTES, GIT_TIMEOUT, SHELL_CANCEL_PATIENCE};
use crate::{Ported, Services};
use agent::tool::Failure;

/// The place and the user for the server's own commands on worktrees.
pub struct Worktrees<'a> {
    /// The services that tools use.
    pub services: &'a Services,
    /// The user for whom the commands run.
    pub user: &'a User,
    /// The chat that the user talks in.
    pub chat: &'a ChatId,
    /// The machine on which the commands run.
    pub sandbox: &'a Sandbox,
    /// True if nothing may be changed, as in the mode `plan`.
    pub is_plan: bool,
    /// Cancelled when the user stops the work; `None` for work that has to be done in spite of that.
    pub cancelled: Option<&'a CancellationToken>,
}

/// The end of a command, with its output.
pub(super) struct Ran {
    /// The exit code; `None` if a signal or a timeout ended it.
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Worktrees<'_> {
    /// Runs a script with these arguments, beginning in a directory; `shown` is the text for the audit trail.
    ///
    /// Fails with a text if the machine cannot be reached, the command cannot be started, or the user stops it.
    pub(super) async fn run(
        &self,
        shown: &str,
        cwd: &str,
        script: &str,
        arguments: &[&str],
    ) -> Result<Ran, Failure> {
        let words = ["sh", "-c", script, "sh"].into_iter().chain(arguments.iter().copied());
        let mut request = ExecRequest::argv(words.map(str::to_owned).collect::<Vec<_>>());
        request.cwd = (!cwd.is_empty()).then(|| cwd.as_bytes().to_vec());
        request.timeout = Some(GIT_TIMEOUT);
        request.acks = AckMode::Manual;
        request.profile = self.is_plan.then_some(Profile::ReadOnly);
        let exec_id = ExecId::from_bytes(request.exec_id.0);
        let place = self.sandbox.place();
        let start = store::ExecRequest {
            exec_id: exec_id.clone(),
            kind: ExecKind::Tool,
            user: self.user.id,
            chat: Some(self.chat.clone()),
            message: None,
            request_hash: execs::request_hash(Some(place), shown),
            runner: Some(place.to_owned()),
            command: shown.to_owned(),
            audited: Some(shown.to_owned()),
            detached: false,
            linger_ms: None,
        };
        self.services.execs.begin(&start).await.ported()?;
        let _watch = self.services.execs.watch(self.user.id, &exec_id);
        let ends = async |ending: &Ending| {
            let end =
                End { user: self.user, exec_id: &exec_id, place: Some(place), shown, ending, message: None };
            self.services.execs.end(end).await.ported()
        };
        let mut exec = match self.sandbox.exec(request).await {
            Ok(exec) => exec,
            Err(error) => {
                let _recorded = ends(&Ending::failed(&error)).await?;
                return Err(Failure::Message(error.to_string()));
            }
        };
        let (mut stdout, mut stderr, control) = (Vec::new(), Vec::new(), exec.control());
        let ended = tokio::select! {
            ended = follow(&mut exec, &mut stdout, &mut stderr) => Some(ended),
            () = stopped(self.cancelled) => None,
        };
        let (ended, is_stopped) = match ended {
            Some(ended) => (ended, false),
            None => {
                control.cancel();
                let followed = follow(&mut exec, &mut stdout, &mut stderr);
                let patiently = timeout(SHELL_CANCEL_PATIENCE, followed).await;
                // The command's runner continues to end it.
                (
                    patiently.unwrap_or_else(|_| Err(Ending::refused("cancelled", "cancelled by the user"))),
                    true,
                )
            }
        };
        let outcome = match ended {
            Ok(outcome) => {
                ends(&Ending::of(&outcome)).await?.acknowledge(&exec);
                outcome
            }
            Err(ending) => {
                let _recorded = ends(&ending).await?;
                if !is_stopped {
                    let why = format!("the connection to {place} was lost; what git did there is not known");
                    return Err(Failure::Message(why));
                }
                return Err(Failure::Message("cancelled by the user".to_owned()));
            }
        };
        if is_stopped {
            return Err(Failure::Message("cancelled by the user".to_owned()));
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Ran { code: outcome.code, stdout: text(&stdout), stderr: text(&stderr) })
    }
}

/// Waits until a token is cancelled, or forever if there is no token.
async fn stopped(token: Option<&CancellationToken>) {
    match token {
        Some(token) => token.cancelled().await,
        None => std::future::pending().await,
    }
}

/// Reads the output until the command has ended; the error is the ending to record.
async fn follow(
    exec: &mut sandbox::Exec,
    stdout: &mut Vec<u8>,
    stderr: &mut Vec<u8>,
) -> Result<ExecOutcome, Ending> {
    while let Some(event) = exec.next().await {
        match event {
            ExecEvent::Stdout(bytes) => {
                exec.consumed(bytes.len());
                keep(stdout, &bytes);
            }
            ExecEvent::Stderr(bytes) => {
                exec.consumed(bytes.len());
                keep(stderr, &bytes);
            }
            ExecEvent::Finished(outcome) => return Ok(outcome),
            ExecEvent::Failed(error) => return Err(Ending::failed(&error)),
            ExecEvent::Started { .. }
            | ExecEvent::Gap { .. }
            | ExecEvent::Exited(_)
            | ExecEvent::Interrupted
            | ExecEvent::Resumed => {}
        }
    }
    Err(Ending::refused("protocol", "the command's end was not reported"))
}

/// Appends bytes, up to the limit on kept output.
fn keep(kept: &mut Vec<u8>, bytes: &[u8]) {
    let room = GIT_OUTPUT_BYTES - kept.len();
    kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
}
