//! A semaphore that grows and shrinks while its permits are held.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A limit on concurrent entries. Growing admits waiting entries; shrinking takes no permit away: the next entries wait until enough have left.
#[derive(Debug)]
pub(super) struct Gate {
    semaphore: Arc<Semaphore>,
    size: Mutex<Size>,
}

/// A permit to enter; freed when this is dropped.
#[derive(Debug)]
pub(super) struct Permit {
    gate: Arc<Gate>,
    /// `None` only during the drop.
    permit: Option<OwnedSemaphorePermit>,
}

#[derive(Debug)]
struct Size {
    /// The intended number of permits.
    wanted: usize,
    /// The number of existing permits, held or free; larger than `wanted` until enough held ones have come back.
    existing: usize,
}

impl Gate {
    /// A gate with this many permits, at least one.
    pub(super) fn new(count: usize) -> Arc<Self> {
        let wanted = possible(count);
        let semaphore = Arc::new(Semaphore::new(wanted));
        Arc::new(Self { semaphore, size: Mutex::new(Size { wanted, existing: wanted }) })
    }

    /// Changes the number of permits from now on, to at least one.
    pub(super) fn resize(&self, count: usize) {
        let mut size = self.size();
        size.wanted = possible(count);
        if size.existing < size.wanted {
            self.semaphore.add_permits(size.wanted - size.existing);
            size.existing = size.wanted;
        } else {
            size.existing -= self.semaphore.forget_permits(size.existing - size.wanted);
        }
    }

    /// Takes a permit if one is free now.
    pub(super) fn try_enter(self: &Arc<Self>) -> Option<Permit> {
        let permit = Arc::clone(&self.semaphore).try_acquire_owned().ok()?;
        Some(Permit { gate: Arc::clone(self), permit: Some(permit) })
    }

    /// Waits for a permit, first come, first served.
    pub(super) async fn enter(self: &Arc<Self>) -> Permit {
        let permit =
            Arc::clone(&self.semaphore).acquire_owned().await.expect("the semaphore is never closed");
        Permit { gate: Arc::clone(self), permit: Some(permit) }
    }

    fn size(&self) -> MutexGuard<'_, Size> {
        // No change can panic halfway, so the data stays consistent if another thread panics.
        self.size.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut size = self.gate.size();
        let permit = self.permit.take();
        if size.existing > size.wanted {
            size.existing -= 1;
            if let Some(permit) = permit {
                permit.forget();
            }
        }
    }
}

/// The count, limited to what a semaphore supports.
fn possible(count: usize) -> usize {
    count.clamp(1, Semaphore::MAX_PERMITS)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;
    use tokio::time::timeout;

    use super::*;

    const SOON: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn growing_lets_those_in_that_wait() {
        let gate = Gate::new(1);
        let first = gate.try_enter().unwrap();
        let (second, ()) = tokio::join!(timeout(SOON, gate.enter()), async { gate.resize(2) });
        assert!(second.is_ok());
        assert!(gate.try_enter().is_none());
        drop(first);
        assert!(gate.try_enter().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn shrinking_takes_nothing_from_those_within_and_keeps_the_next_ones_out() {
        let gate = Gate::new(3);
        let mut held: Vec<_> = (0..3).map(|_| gate.try_enter().unwrap()).collect();
        gate.resize(1);
        for _ in 0..2 {
            held.pop();
            assert!(gate.try_enter().is_none(), "as many as may be are within still");
            assert!(timeout(SOON, gate.enter()).await.is_err());
        }
        held.pop();
        let only = gate.try_enter().unwrap();
        assert!(gate.try_enter().is_none());
        gate.resize(0);
        drop(only);
        assert!(gate.try_enter().is_some(), "one may always enter");
    }

    #[tokio::test(start_paused = true)]
    async fn a_gate_that_shrinks_and_grows_again_before_anybody_left_has_as_many_permits_as_it_says() {
        let gate = Gate::new(2);
        let held = [gate.try_enter().unwrap(), gate.try_enter().unwrap()];
        gate.resize(1);
        gate.resize(3);
        let third = gate.try_enter().unwrap();
        assert!(gate.try_enter().is_none());
        drop((held, third));
        assert_eq!(gate.semaphore.available_permits(), 3);
    }

    proptest! {
        /// However the gate is resized while permits come and go, it never admits more than allowed, and no permit is lost.
        #[test]
        fn permits_are_neither_lost_nor_too_many(steps in prop::collection::vec((0_u8..3, 1_usize..6), 1..60)) {
            let gate = Gate::new(3);
            let (mut held, mut wanted) = (Vec::new(), 3);
            for (kind, number) in steps {
                match kind {
                    0 => match gate.try_enter() {
                        Some(permit) => {
                            prop_assert!(held.len() < wanted);
                            held.push(permit);
                        }
                        None => prop_assert!(held.len() >= wanted),
                    },
                    1 => drop(held.pop()),
                    _ => {
                        wanted = number;
                        gate.resize(number);
                    }
                }
            }
            held.clear();
            prop_assert_eq!(gate.semaphore.available_permits(), wanted);
        }
    }
}
