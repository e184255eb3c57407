//! The link of a runner that dialled in.

use std::future::Future;
use std::sync::Arc;

use crate::driver::driver;
use crate::error::LinkError;
use crate::facts::{Admission, Refusal, Registration};
use crate::handshake::{Opening, register};
use crate::links::Link;
use crate::on_demand::Tasks;
use crate::registry::{Registry, key_of};

/// Registers the runner behind `link`, and serves the link until it is over. The streams on it belong to the runner's
/// life, whose driver goes on without it.
pub(crate) async fn serve<L, F, Fut>(
    registry: &Arc<Registry>,
    tasks: &Tasks,
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
        () = tasks.stop.cancelled() => return Ok(()),
        admitted = register(&mut link, Opening::RunnerRegisters, admit) => admitted?,
    };
    let epoch = admitted.admission.epoch;
    let plugged = registry.enter(&admitted, |same| {
        let handle = match same {
            Some(handle) => handle.with_facts(Arc::clone(&admitted.facts)),
            None => {
                let (handle, driver) = driver(&admitted.admission.runner, Arc::clone(&admitted.facts));
                let (registry, key, stop) = (Arc::clone(registry), key_of(&admitted), tasks.stop.clone());
                tasks.tracker.spawn(async move {
                    driver.run(stop).await;
                    registry.forget(&key);
                });
                handle
            }
        };
        let plugged = handle.plug(link, epoch);
        (handle, plugged)
    })?;
    let _leave = LeaveOnDrop { registry, admitted: &admitted };
    plugged.ended().await.into_result()
}

/// Notes the end of the connection even where the task that serves it is dropped.
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
