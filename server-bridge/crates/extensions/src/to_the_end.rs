//! A command of an extension on a user's machine, followed from its record to its end.

use execs::Ending;
use sandbox::{Exec, ExecEvent, ExecOutcome, ExecRequest, Sandbox};
use tokio::time::timeout;

use crate::limits::COMMAND_CANCEL_PATIENCE;
use crate::on_record::OnRecord;

/// The outcome of a command.
pub(crate) enum Ran {
    /// The command ended by itself, or its machine ended it.
    Ended(ExecOutcome, Output),
    /// The caller stopped waiting for it.
    GivenUp,
    /// The command could not be started, or its end is unknown; contains the reason as text.
    Failed(String),
}

/// The output of a command, up to a limit.
pub(crate) struct Output {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// True if some of the standard output is missing.
    pub(crate) is_cut: bool,
    /// The limit on each of the two, in bytes.
    most_bytes: usize,
}

/// Sends a recorded command with its input, follows it until it ends or its caller gives up, and records the end. `said` is
/// called with its standard output as it arrives. This runs in a separate task, so that the end is recorded even if no
/// caller waits.
pub(crate) async fn run(
    recorded: OnRecord,
    sandbox: &Sandbox,
    request: ExecRequest,
    input: &str,
    most_bytes: usize,
    given_up: impl Future<Output = ()>,
    mut said: impl FnMut(&[u8]),
) -> Ran {
    let mut exec = match sandbox.exec(request).await {
        Ok(exec) => exec,
        Err(error) => {
            recorded.end(&Ending::failed(&error), None).await;
            return Ran::Failed(error.to_string());
        }
    };
    let control = exec.control();
    let feeds = async {
        // A command may end, or close its input, before it has read everything.
        let _ = control.write_stdin(input.as_bytes()).await;
        control.close_stdin();
        std::future::pending::<()>().await;
    };
    let mut output = Output { stdout: Vec::new(), stderr: Vec::new(), is_cut: false, most_bytes };
    let ended = tokio::select! {
        ended = output.until_end(&mut exec, &mut said) => Some(ended),
        () = feeds => None,
        () = given_up => None,
    };
    let ended = match ended {
        Some(ended) => ended,
        None => {
            control.cancel();
            match timeout(COMMAND_CANCEL_PATIENCE, output.until_end(&mut exec, &mut said)).await {
                Ok(ended) => ended,
                // The command's runner keeps trying to end it.
                Err(_) => {
                    let ending = Ending::refused("cancelled", "the turn continued without it");
                    recorded.end(&ending, None).await;
                    return Ran::GivenUp;
                }
            }
        }
    };
    match ended {
        Ok(outcome) => {
            recorded.end(&Ending::of(&outcome), Some(&exec)).await;
            Ran::Ended(outcome, output)
        }
        Err((ending, why)) => {
            recorded.end(&ending, None).await;
            Ran::Failed(why)
        }
    }
}

impl Output {
    /// Reads the output until the command has ended; the error is the end, for the record and as text.
    async fn until_end(
        &mut self,
        exec: &mut Exec,
        said: &mut impl FnMut(&[u8]),
    ) -> Result<ExecOutcome, (Ending, String)> {
        while let Some(event) = exec.next().await {
            match event {
                ExecEvent::Stdout(bytes) => {
                    exec.consumed(bytes.len());
                    said(&bytes);
                    self.is_cut |= keep(&mut self.stdout, &bytes, self.most_bytes);
                }
                ExecEvent::Stderr(bytes) => {
                    exec.consumed(bytes.len());
                    // Only standard error is cut, which is no reason to distrust the standard output.
                    keep(&mut self.stderr, &bytes, self.most_bytes);
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
}

/// Appends bytes up to the limit; returns true if some were dropped.
fn keep(kept: &mut Vec<u8>, bytes: &[u8], most_bytes: usize) -> bool {
    let room = most_bytes - kept.len();
    kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    bytes.len() > room
}
