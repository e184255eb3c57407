//! Takes up a command that an earlier run of the server began and did not see end: it is found by its call's key, and awaited again.

use agent::tool::{CallKey, Failure, Live, Outcome};
use execs::follow::sandbox_id;
use execs::limits::AWAY_TIMEOUT;
use execs::{Ending, Exec as Record, ExecStatus, is_open};
use sandbox::{AckMode, AttachOptions, SandboxError};
use store::ExecId;
use tokio::time::Instant;

use super::{Arguments, OnRecord, Watch, exec_id, patience};
use crate::services::exec_failure;
use crate::{Ported, Work};

/// The errors of a runner that has no record of a command any more.
const FORGOTTEN: [&str; 2] = ["no_such_exec", "expired"];

/// Waits for the end of the command that an earlier server began for this call.
pub(super) async fn take_up(
    arguments: &Arguments,
    key: CallKey,
    work: &Work<'_>,
    live: Live<'_>,
) -> Result<Outcome, Failure> {
    let (execs, user, id) = (&work.services.execs, work.user, exec_id(key));
    let Some(record) = execs.known(user.id, &id).await.map_err(exec_failure)? else {
        return Err(Failure::Message("the record of this command was deleted".to_owned()));
    };
    let _attended = execs.attendance().enter(user.id, &id, None);
    let followed = execs.followed(user, &record);
    let options = AttachOptions { output: true, acks: AckMode::Manual };
    let reached = async {
        let until = Instant::now() + AWAY_TIMEOUT;
        loop {
            let place = followed.available(until).await?;
            match place.attach(sandbox_id(&id), 0, options).await {
                // The machine became unreachable again before it could be asked.
                Err(SandboxError::Offline { .. }) => {}
                Ok(exec) => return Ok((place, exec)),
                Err(error) => return Err(error),
            }
        }
    };
    let reached = tokio::select! {
        reached = reached => reached,
        // The runner ends it soon, because no client is connected to it any more.
        () = work.cancelled.cancelled() => return Ok(Outcome::failed("cancelled by the user")),
    };
    let (place, exec) = match reached {
        Ok(reached) => reached,
        Err(error) => return forgotten(work, &id, &error).await,
    };
    let on_record = OnRecord {
        id: id.clone(),
        command: record.audited().to_owned(),
        place: place.place().to_owned(),
        _watch: execs.watch(user.id, &id),
    };
    let mut watch = Watch::new(exec, on_record, place, work);
    match watch.first_error().await {
        Some(error) if FORGOTTEN.contains(&error.kind()) => forgotten(work, &id, &error).await,
        _ => watch.until(patience(arguments), work, live).await,
    }
}

/// The result of a command whose output its runner does not have any more.
async fn forgotten(work: &Work<'_>, id: &ExecId, error: &SandboxError) -> Result<Outcome, Failure> {
    let execs = &work.services.execs;
    let Some(record) = execs.known(work.user.id, id).await.map_err(exec_failure)? else {
        return Err(Failure::Message("the command's record was deleted".to_owned()));
    };
    if is_open(record.status) {
        let ending =
            Ending::failed(error).lost(format!("the server was restarted while this ran, and {error}"));
        let _recorded = execs.end_of_record(work.user, &record, &ending).await.ported()?;
    }
    Ok(told_of(&record))
}

/// The text for the model about a command of which only the record is left.
fn told_of(record: &Record) -> Outcome {
    let how = match (record.status, record.exit_code, record.signal) {
        (ExecStatus::Exited, Some(code), _) => format!("It ended with exit code {code}"),
        (ExecStatus::Signaled, _, Some(signal)) => format!("It was killed by signal {signal}"),
        (ExecStatus::TimedOut, ..) => "It reached its time limit and was ended".to_owned(),
        (ExecStatus::Cancelled, ..) => "It was cancelled".to_owned(),
        _ => {
            return Outcome::unknown(
                "Error: the server was restarted while this command ran, and its machine has no record of it any more. It is not \
                 known if it took effect: check before you do it again.",
            );
        }
    };
    let text = format!("{how} while the server was being restarted; its output is not kept any more.");
    Outcome { is_error: record.exit_code != Some(0), ..Outcome::done(text) }
}
