//! The link of a runner that dialled in.

use std::future::Future;

use tokio_util::sync::CancellationToken;

use crate::budget::MessageBudget;
use crate::driver::driver;
use crate::error::LinkError;
use crate::facts::{Admission, Refusal, Registration};
use crate::handshake::{Opening, register};
use crate::links::Link;
use crate::links::xbot::{self, register::Dialect};
use crate::registry::Registry;

/// Registers the runner behind `link` and drives it until the link is over.
pub(crate) async fn serve<L, F, Fut>(
    registry: &Registry,
    stop: CancellationToken,
    budget: MessageBudget,
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
    let (place, facts) = (&admitted.admission.runner, admitted.facts.clone());
    // Only the registry and the sandboxes hold handles once it is entered.
    match admitted.dialect {
        Dialect::Sandbridge => {
            let (handle, driver) = driver(link, place, facts);
            registry.enter(&admitted, &handle)?;
            drop(handle);
            let _leave = LeaveOnDrop { registry, admitted: &admitted };
            driver.run(stop).await.into_result()
        }
        Dialect::Xbot => {
            let peer = xbot::Peer { place: place.clone(), user: admitted.claimed_user.clone(), facts };
            let (handle, driver) = xbot::driver(link, peer, budget);
            registry.enter(&admitted, &handle)?;
            drop(handle);
            let _leave = LeaveOnDrop { registry, admitted: &admitted };
            Box::pin(driver.run(stop)).await.into_result()
        }
    }
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
