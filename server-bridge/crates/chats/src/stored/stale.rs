//! Files that changed after their content was put aside as a result.

use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use sandbox::{Sandbox, SandboxError};
use store::{ChatId, OffloadedRead, Store};
use tokio::time::timeout;

use crate::limits::STALE_CHECK_TIMEOUT_MS;
use agent::limits::TOOLS_AT_ONCE;

/// The state of a file whose content was put aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Same,
    /// The same content, written again at this time, in Unix milliseconds.
    Touched(i64),
    Changed,
    /// The state cannot be determined.
    Unknown,
}

/// Checks the files on this machine that the model of `reader` read and that were put aside with `chat`, and marks those that changed.
/// Files that cannot be checked in time are left unmarked.
///
/// Fails with the store's errors.
pub(super) async fn look(
    store: &Store,
    sandbox: &Sandbox,
    chat: &ChatId,
    reader: &ChatId,
) -> store::Result<()> {
    let reads = store.fresh_reads(chat, reader, sandbox.place()).await?;
    if reads.is_empty() {
        return Ok(());
    }
    let looking: Vec<_> = reads.into_iter().map(|read| state(sandbox, read)).collect();
    let mut looked = stream::iter(looking).buffer_unordered(TOOLS_AT_ONCE);
    let patience = Duration::from_millis(STALE_CHECK_TIMEOUT_MS);
    let mut news = Vec::new();
    // If the time runs out, the results so far count.
    let _ = timeout(patience, async {
        while let Some(found) = looked.next().await {
            news.push(found);
        }
    })
    .await;
    for (read, state) in news {
        match state {
            State::Changed => store.mark_stale(chat, &read.offload_id).await?,
            State::Touched(modified_ms) => store.mark_seen(chat, &read.offload_id, modified_ms).await?,
            State::Same | State::Unknown => {}
        }
    }
    Ok(())
}

/// Determines a file's state. The metadata is checked first, because that is cheap.
async fn state(sandbox: &Sandbox, read: OffloadedRead) -> (OffloadedRead, State) {
    let state = compared(sandbox, &read).await;
    (read, state)
}

async fn compared(sandbox: &Sandbox, read: &OffloadedRead) -> State {
    let facts = match sandbox.stat(read.path.as_bytes()).await {
        Ok(facts) => facts,
        Err(error) => return of_error(&error),
    };
    let is_as_long = i64::try_from(facts.size_bytes) == Ok(read.size_bytes);
    match (is_as_long, facts.modified_ms == read.modified_ms) {
        (true, true) => State::Same,
        (false, _) => State::Changed,
        (true, false) => match tools::whole(sandbox, &read.path).await {
            Ok(content) if tools::hash(&content) == read.hash => State::Touched(facts.modified_ms),
            Ok(_) => State::Changed,
            Err(_) => State::Unknown,
        },
    }
}

fn of_error(error: &SandboxError) -> State {
    if error.kind() == "not_found" { State::Changed } else { State::Unknown }
}
