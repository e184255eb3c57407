//! The link of a runner that dialled in.

use std::future::Future;

use tokio_util::sync::CancellationToken;

use crate::driver::driver;
use crate::error::LinkError;
use crate::facts::{Admission, Refusal, Registration};
use crate::handshake::{Opening, register};
use crate::links::Link;
use crate::registry::Registry;

/// Registers the runner behind `link` and drives it until the link is over.
pub(crate) async fn serve<L, F, Fut>(
    registry: &Registry,
    stop: CancellationToken,
    mut link: L,
    admit: F,
) -> Result<(), LinkError>
where
    L: Link,
    F: FnOnce(Registration) -> Fut,
    Fut: Future<Output = Result<Admission, Refusal>>,
{
    let admitted = tokio::select! {
        biased;
        () = stop.cancelled() => return Ok(()),
        admitted = register(&mut link, Opening::RunnerRegisters, admit) => admitted?,
    };
    let (handle, driver) = driver(link, &admitted.admission.runner, admitted.facts.clone());
    registry.enter(&admitted, &handle)?;
    // Only the registry and the sandboxes hold handles from here on.
    drop(handle);
    let _leave = LeaveOnDrop { registry, admitted: &admitted };
    driver.run(stop).await.into_result()
}

/// Takes the connection out even where the task that serves it is dropped.
struct LeaveOnDrop<'a> {
    registry: &'a Registry,
    admitted: &'a crate::handshake::Admitted,
}

impl Drop for LeaveOnDrop<'_> {
    fn drop(&mut self) {
        self.registry.leave(self.admitted);
    }
}

#[cfg(test)]
mod tests;
