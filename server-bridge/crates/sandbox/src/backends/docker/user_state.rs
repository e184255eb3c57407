//! A user between the runs of their container: exclusive access to it, and its last use.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Semaphore;
use tokio::time::Instant;

/// The state of one user between the runs of their container.
#[derive(Debug)]
pub(super) struct UserState {
    /// One run, or one change of the whole container, at a time.
    pub(super) turn: Arc<Semaphore>,
    pub(super) last_use: LastUse,
    /// The permit for making an image of the container: only one is made at a time.
    pub(super) making_image: Semaphore,
}

impl UserState {
    pub(super) fn new() -> Self {
        Self { turn: Arc::new(Semaphore::new(1)), last_use: LastUse::new(), making_image: Semaphore::new(1) }
    }
}

/// The time at which a user last used their container.
#[derive(Debug)]
pub(super) struct LastUse(Mutex<Instant>);

impl LastUse {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    pub(super) fn get(&self) -> Instant {
        *self.lock()
    }

    pub(super) fn touch(&self) {
        *self.lock() = Instant::now();
    }

    /// Runs `give_up` unless it was used since `last_use`; no use falls between the check and the action.
    pub(super) fn is_still(&self, last_use: Instant, give_up: impl FnOnce()) -> bool {
        let held = self.lock();
        let is_still = *held == last_use;
        if is_still {
            give_up();
        }
        is_still
    }

    fn lock(&self) -> MutexGuard<'_, Instant> {
        // An instant is valid after any panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_use_falls_between_the_look_and_the_stop_of_an_idle_container() {
        let last_use = LastUse::new();
        let seen = last_use.get();
        last_use.touch();
        assert!(!last_use.is_still(seen, || panic!("it was used")));
        let mut given_up = false;
        assert!(last_use.is_still(last_use.get(), || given_up = true));
        assert!(given_up);
    }
}
