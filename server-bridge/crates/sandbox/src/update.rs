//! A runner that replaces its own program.

use proto::request;
use tokio::time::timeout;

use crate::driver::LinkHandle;
use crate::error::SandboxError;
use crate::limits::RUNNING_LOOK_TIMEOUT;

/// Requests the update; see [`crate::SandboxRouter::update_runner`].
pub(crate) async fn update(link: &LinkHandle) -> Result<usize, SandboxError> {
    if link.is_returning() {
        // The runner has already left for an update.
        return Ok(0);
    }
    if !link.facts().can_update() {
        return Err(SandboxError::CannotUpdate { runner: link.place().to_owned() });
    }
    link.call(request::Update {}).await?;
    // A runner that has already left does not answer; nothing was running there.
    let list = timeout(RUNNING_LOOK_TIMEOUT, link.call(request::List {})).await;
    Ok(list.ok().and_then(Result::ok).map_or(0, |list| list.execs.iter().filter(|exec| exec.running).count()))
}
