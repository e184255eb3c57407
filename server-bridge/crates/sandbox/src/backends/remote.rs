//! The link of a runner that dialled in.

use std::future::Future;
use std::sync::Arc;

use crate::budget::MessageBudget;
use crate::driver::{Plugged, StartedBy, driver};
use crate::error::LinkError;
use crate::handshake::{Admission, Admitted, Dialect, Opening, Refusal, Registration, register};
use crate::link::Link;
use crate::on_demand::Tasks;
use crate::registry::{Registry, key_of};
use crate::xbot;

/// Registers the runner at the other end of `link`, and serves the link until it ends. The streams on it belong to the
/// runner's process, whose driver continues without the link.
pub(crate) async fn serve<L, F, Fut>(
    registry: &Arc<Registry>,
    tasks: &Tasks,
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
        () = tasks.stop.cancelled() => return Ok(()),
        // Boxed: the state for registering is needed once, and the connection would otherwise keep it until it ends.
        admitted = Box::pin(register(&mut link, Opening::RunnerRegisters, admit)) => admitted?,
    };
    let _leave = LeaveOnDrop { registry, admitted: &admitted };
    match admitted.dialect {
        Dialect::Sandbridge => plug(registry, tasks, &admitted, link)?.ended().await.into_result(),
        Dialect::Xbot => {
            let (place, facts) = (admitted.admission.runner.clone(), Arc::clone(&admitted.facts));
            let peer = xbot::Peer { place, user: admitted.claimed_user.clone(), facts };
            // The runner's life ends with the link: the dialect cannot resume anything over another one.
            let driver = registry.enter(&admitted, |earlier| {
                if let Some(earlier) = earlier {
                    earlier.close(None);
                }
                xbot::driver(link, peer, budget)
            })?;
            let ended = Box::pin(driver.run(tasks.stop.clone())).await;
            registry.forget(&key_of(&admitted));
            ended.into_result()
        }
    }
}

/// Gives the link to the driver of the runner's process, which is started if the process is new.
fn plug(
    registry: &Arc<Registry>,
    tasks: &Tasks,
    admitted: &Admitted,
    link: impl Link,
) -> Result<Plugged, LinkError> {
    registry.enter(admitted, |same| {
        let handle = match same {
            Some(handle) => handle.with_facts(Arc::clone(&admitted.facts)),
            None => {
                let (name, facts) = (&admitted.admission.runner, Arc::clone(&admitted.facts));
                let (handle, driver) = driver(name, StartedBy::User, facts);
                let (registry, key, stop) = (Arc::clone(registry), key_of(admitted), tasks.stop.clone());
                tasks.tracker.spawn(async move {
                    driver.run_until(stop, || registry.farewell()).await;
                    registry.forget(&key);
                });
                handle
            }
        };
        let plugged = handle.plug(link, admitted.admission.epoch);
        (handle, plugged)
    })
}

/// Records the end of the connection even if the task that serves it is dropped.
struct LeaveOnDrop<'a> {
    registry: &'a Registry,
    admitted: &'a Admitted,
}

impl Drop for LeaveOnDrop<'_> {
    fn drop(&mut self) {
        self.registry.leave(self.admitted);
    }
}

#[cfg(test)]
mod tests;
