//! A hook's command while it runs: it ends, its time is up, or it asks to continue in the background.

use std::sync::Arc;
use std::time::Duration;

use hooks::Raw;
use hooks::limits::OUTPUT_BYTES;
use hooks::outcome::{FirstLine, after_first_line};
use sandbox::{ExecRequest, Sandbox};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Inner;
use crate::on_record::OnRecord;
use crate::to_the_end::{Output, Ran, run};

/// A command that runs in its own task. It is ended when this is dropped.
pub(super) struct Running {
    ended: JoinHandle<Raw>,
    /// Gets the time for which the command continues in the background, if it asks for that.
    asks: oneshot::Receiver<Duration>,
    _gives_up: DropGuard,
}

impl Running {
    /// Sends a recorded command, with this text as its input. It may take `patience`, or the time in the background that it asks for.
    pub(super) fn begin(
        inner: &Arc<Inner>,
        recorded: OnRecord,
        sandbox: Sandbox,
        request: ExecRequest,
        input: String,
        patience: Duration,
    ) -> Self {
        let (given_up, stop) = (CancellationToken::new(), inner.stop.clone());
        let gives_up = given_up.clone().drop_guard();
        let (tell, asks) = oneshot::channel();
        let ended = inner.tasks.spawn(async move {
            let (lengthen, lengthened) = oneshot::channel();
            let (mut first, mut ways) = (FirstLine::default(), Some((tell, lengthen)));
            let said = move |bytes: &[u8]| {
                if let Some(time) = first.take(bytes)
                    && let Some((tell, lengthen)) = ways.take()
                {
                    // At once, so that what a command wrote before it ended at once cannot count as its decision. Nobody may wait any more.
                    let _ = (tell.send(time), lengthen.send(time));
                }
            };
            let time_is_up = async {
                tokio::select! {
                    Ok(time) = lengthened => sleep(time).await,
                    () = sleep(patience) => {}
                }
            };
            let ends = async {
                tokio::select! {
                    () = given_up.cancelled() => {}
                    () = stop.cancelled() => {}
                    () = time_is_up => {}
                }
            };
            let ran = run(recorded, &sandbox, request, &input, OUTPUT_BYTES, ends, said);
            after_first_line(raw(ran.await, patience))
        });
        Self { ended, asks, _gives_up: gives_up }
    }

    /// Waits until the command has ended.
    pub(super) async fn end(self) -> Raw {
        let Self { ended, _gives_up, .. } = self;
        ended.await.unwrap_or_else(|_| not_run())
    }

    /// Waits until the command has ended, or continues in the background; then the error is the time that it has there.
    pub(super) async fn end_or_background(mut self) -> Result<Raw, (Duration, Self)> {
        tokio::select! {
            biased;
            Ok(time) = &mut self.asks => Err((time, self)),
            ended = &mut self.ended => Ok(ended.unwrap_or_else(|_| not_run())),
        }
    }
}

fn not_run() -> Raw {
    Raw::Failed("the server failed to run it".to_owned())
}

/// The outcome of a command, for the hook.
fn raw(ran: Ran, patience: Duration) -> Raw {
    let (outcome, output) = match ran {
        Ran::Ended(outcome, output) => (outcome, output),
        Ran::GivenUp => return Raw::TimedOut(patience),
        Ran::Failed(why) => return Raw::Failed(why),
    };
    let Output { stdout, stderr, is_cut, .. } = output;
    match (outcome.code, outcome.signal) {
        _ if outcome.timed_out || outcome.cancelled => Raw::TimedOut(patience),
        (Some(status), _) => Raw::Exit { status, stdout, stderr, is_cut },
        (None, Some(signal)) => Raw::Signal(signal),
        (None, None) => Raw::Failed("its end is unknown".to_owned()),
    }
}
