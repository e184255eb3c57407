//! The tokens that end work when the server stops, or when a user's home moves to another server: the next server continues the work.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use store::UserId;
use tokio_util::sync::CancellationToken;

/// The tokens that end work. Cheap to clone; all clones share the same tokens.
#[derive(Clone, Debug)]
pub struct Stops(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    all: CancellationToken,
    /// `None` for a server that works alone: it is the home of all users.
    users: Option<Mutex<HashMap<UserId, CancellationToken>>>,
}

impl Stops {
    /// `is_node` is true for a node, whose users may leave; other servers work for all users until they stop.
    pub fn new(is_node: bool) -> Self {
        Self(Arc::new(Inner { all: CancellationToken::new(), users: is_node.then(Mutex::default) }))
    }

    /// The token that ends all users' work.
    pub fn all(&self) -> &CancellationToken {
        &self.0.all
    }

    /// The token that ends the work for one user.
    pub fn of(&self, user: UserId) -> CancellationToken {
        match &self.0.users {
            None => self.0.all.clone(),
            Some(users) => lock(users).entry(user).or_insert_with(|| self.0.all.child_token()).clone(),
        }
    }

    /// True if the work for a user has been ended.
    pub fn is_stopping(&self, user: UserId) -> bool {
        self.of(user).is_cancelled()
    }

    /// Ends the work for a user here, for the user's next home to continue; work that begins before [`Stops::begin`] ends at once.
    pub fn end(&self, user: UserId) {
        if self.0.users.is_some() {
            self.of(user).cancel();
        }
    }

    /// Allows work for a user to begin again.
    pub fn begin(&self, user: UserId) {
        if let Some(users) = &self.0.users {
            lock(users).remove(&user);
        }
    }
}

fn lock(
    users: &Mutex<HashMap<UserId, CancellationToken>>,
) -> MutexGuard<'_, HashMap<UserId, CancellationToken>> {
    // Each change is a single step, so the data stays consistent if another thread panics.
    users.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_users_work_ends_and_begins_again_and_everybodys_ends_for_good() {
        let (stops, [ann, bob]) = (Stops::new(true), [1, 2].map(UserId));
        let (of_ann, of_bob) = (stops.of(ann), stops.of(bob));
        stops.end(ann);
        assert!(of_ann.is_cancelled() && stops.is_stopping(ann) && !of_bob.is_cancelled());
        stops.begin(ann);
        assert!(of_ann.is_cancelled() && !stops.is_stopping(ann));
        stops.all().cancel();
        assert!(stops.is_stopping(ann) && of_bob.is_cancelled());
    }

    #[test]
    fn a_server_that_works_alone_keeps_its_users() {
        let stops = Stops::new(false);
        stops.end(UserId(1));
        assert!(!stops.is_stopping(UserId(1)));
        stops.all().cancel();
        assert!(stops.is_stopping(UserId(1)));
    }
}
