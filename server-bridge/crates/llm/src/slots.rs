//! The limit on a tenant's calls in progress, so that no tenant uses up capacity that all tenants share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::{PERSONAL_CALLS, SHARED_CALLS, SUB_AGENT_CALLS};

/// The owner of the model, or the kind of caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The server's own model.
    Shared,
    /// The tenant's own model.
    Personal,
    /// Either model, called by a sub-agent.
    SubAgent,
}

impl Kind {
    /// The maximum number of concurrent calls of this kind.
    pub fn calls(self) -> usize {
        match self {
            Self::Shared => SHARED_CALLS,
            Self::Personal => PERSONAL_CALLS,
            Self::SubAgent => SUB_AGENT_CALLS,
        }
    }
}

/// The slots of all tenants.
#[derive(Debug, Default)]
pub struct Slots(Mutex<HashMap<(String, Kind), Weak<Semaphore>>>);

/// A tenant's queue for slots.
#[derive(Clone, Debug)]
pub struct Seat(Arc<Semaphore>);

impl Slots {
    /// The seat of a tenant; shared by all callers while it is in use.
    pub fn seat(&self, tenant: &str, kind: Kind) -> Seat {
        // Each change is a single step, so the data stays consistent if another thread panics.
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (tenant.to_owned(), kind);
        if let Some(known) = slots.get(&key).and_then(Weak::upgrade) {
            return Seat(known);
        }
        slots.retain(|_, slots| slots.strong_count() > 0);
        let semaphore = Arc::new(Semaphore::new(kind.calls()));
        slots.insert(key, Arc::downgrade(&semaphore));
        Seat(semaphore)
    }
}

impl Seat {
    /// Waits for a slot; it is freed when this is dropped.
    pub async fn take(&self) -> OwnedSemaphorePermit {
        Arc::clone(&self.0).acquire_owned().await.expect("the semaphore is never closed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_tenant_waits_for_its_own_calls_and_for_nobody_elses() {
        let slots = Slots::default();
        for (kind, calls) in [(Kind::Shared, 5), (Kind::Personal, 3), (Kind::SubAgent, 3)] {
            let seat = slots.seat("alice", kind);
            let mut held = Vec::new();
            for _ in 0..calls {
                held.push(seat.take().await);
            }
            let soon = std::time::Duration::from_secs(1);
            let more = slots.seat("alice", kind);
            assert!(tokio::time::timeout(soon, more.take()).await.is_err(), "{kind:?}");
            assert!(tokio::time::timeout(soon, slots.seat("bob", kind).take()).await.is_ok());
            held.pop();
            assert!(tokio::time::timeout(soon, more.take()).await.is_ok());
        }
    }

    #[test]
    fn tenants_that_left_take_no_room() {
        let slots = Slots::default();
        (0..1000).for_each(|tenant| drop(slots.seat(&tenant.to_string(), Kind::Shared)));
        assert!(slots.0.lock().unwrap().len() <= 1);
    }
}
