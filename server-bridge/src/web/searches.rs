//! A limit on concurrent searches, because each one reads a lot of data.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use accounts::UserId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::limits::{CHAT_SEARCH_PATIENCE, CHAT_SEARCHES};
use crate::web::error::ApiError;

/// The running searches: one per user at a time, and a small number in total.
#[derive(Debug)]
pub struct Searches {
    all: Semaphore,
    users: Mutex<HashMap<UserId, Arc<Semaphore>>>,
}

/// A running search, which ends when this value is dropped.
#[derive(Debug)]
pub struct Search<'a> {
    _all: SemaphorePermit<'a>,
    _own: OwnedSemaphorePermit,
}

impl Default for Searches {
    fn default() -> Self {
        Self { all: Semaphore::new(CHAT_SEARCHES), users: Mutex::default() }
    }
}

impl Searches {
    /// Waits a short time until the user may search.
    ///
    /// # Errors
    /// `rate_limited` if other searches are still running after that time.
    pub async fn begin(&self, user: UserId) -> Result<Search<'_>, ApiError> {
        self.begin_within(user, CHAT_SEARCH_PATIENCE).await
    }

    async fn begin_within(&self, user: UserId, patience: Duration) -> Result<Search<'_>, ApiError> {
        let own = self.of(user);
        let turn = async {
            // The user's own limit is taken first, so that a user who waits for it does not block others.
            let own = own.acquire_owned().await.expect("it is never closed");
            let all = self.all.acquire().await.expect("it is never closed");
            Search { _all: all, _own: own }
        };
        let limited = |_| ApiError::rate_limited("searches at once", 1);
        timeout(patience, turn).await.map_err(limited)
    }

    fn of(&self, user: UserId) -> Arc<Semaphore> {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        users.retain(|_, own| Arc::strong_count(own) > 1);
        Arc::clone(users.entry(user).or_insert_with(|| Arc::new(Semaphore::new(1))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_user_searches_once_at_a_time_and_two_do_at_once() {
        let searches = Searches::default();
        let begin = |user| searches.begin_within(UserId(user), Duration::ZERO);
        let first = begin(1).await.unwrap();
        assert_eq!(begin(1).await.unwrap_err().kind, "rate_limited");
        let _second = begin(2).await.unwrap();
        assert_eq!(begin(3).await.unwrap_err().kind, "rate_limited");
        drop(first);
        let _third = begin(3).await.unwrap();
        assert!(searches.users.lock().unwrap().len() <= 2, "a user who does not search is not remembered");
    }
}
