//! Links that the server makes itself: started at a user's first use, kept, and started again after their runner ended.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::driver::LinkHandle;
use crate::error::RouteError;
use crate::limits::PLACE_AWAY_TIMEOUT;

/// The outcome of a starting link; `None` while it starts.
type Outcome = Option<Result<LinkHandle, RouteError>>;

/// The links that the server made itself: at most one per user and backend.
#[derive(Debug)]
pub(crate) struct OnDemand {
    place: &'static str,
    links: Mutex<HashMap<String, watch::Receiver<Outcome>>>,
}

impl OnDemand {
    /// No links yet; `place` is the name users know the backend by.
    pub(crate) fn new(place: &'static str) -> Self {
        Self { place, links: Mutex::default() }
    }

    /// The user's link. The first caller starts it; callers that arrive meanwhile wait for the same start, which
    /// continues even if its first caller gives up.
    pub(crate) async fn link<F, Fut>(
        &self,
        user_key: &str,
        tracker: &TaskTracker,
        start: F,
    ) -> Result<LinkHandle, RouteError>
    where
        F: Fn() -> Fut,
        Fut: Future<Output = Result<LinkHandle, RouteError>> + Send + 'static,
    {
        let offline = || RouteError::Offline { runner: self.place.to_owned() };
        // The existing one may be over; one that ends right after its start is not tried again.
        for _ in 0..2 {
            let mut outcome = self.outcome(user_key, tracker, &start);
            let outcome = outcome.wait_for(Option::is_some).await.map(|outcome| outcome.clone());
            // The start was dropped with its runtime, or panicked; the next use starts another one.
            let link = outcome.ok().flatten().unwrap_or_else(|| Err(offline()))?;
            // A broken link is being restored; if that fails, the runner is started again.
            match timeout(PLACE_AWAY_TIMEOUT, link.comes_back()).await {
                Ok(true) => return Ok(link),
                Ok(false) => {}
                Err(_) => break,
            }
            if tracker.is_closed() {
                break;
            }
        }
        Err(offline())
    }

    /// The user's link, if it was started.
    pub(crate) fn present(&self, user_key: &str) -> Option<LinkHandle> {
        let links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = links.get(user_key)?.borrow();
        outcome.as_ref()?.as_ref().ok().cloned()
    }

    /// Gives up the user's link, so that the next use starts another one. Returns the earlier link, once it has
    /// started.
    pub(crate) fn forget(&self, user_key: &str) -> impl Future<Output = Option<LinkHandle>> + use<> {
        let forgotten = self.links.lock().unwrap_or_else(PoisonError::into_inner).remove(user_key);
        async move {
            let mut outcome = forgotten?;
            let outcome = outcome.wait_for(Option::is_some).await.ok()?;
            outcome.as_ref()?.as_ref().ok().cloned()
        }
    }

    /// The keys of the users who have a link, or had one.
    pub(crate) fn user_keys(&self) -> Vec<String> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    fn outcome<F, Fut>(&self, user_key: &str, tracker: &TaskTracker, start: &F) -> watch::Receiver<Outcome>
    where
        F: Fn() -> Fut,
        Fut: Future<Output = Result<LinkHandle, RouteError>> + Send + 'static,
    {
        // Each change is a single step, so the data stays consistent if another thread panics.
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(outcome) = links.get(user_key)
            && is_usable(outcome)
        {
            return outcome.clone();
        }
        let (sender, receiver) = watch::channel(None);
        links.insert(user_key.to_owned(), receiver.clone());
        let start = start();
        tracker.spawn(async move {
            let outcome = start.await;
            sender.send_replace(Some(outcome));
        });
        receiver
    }
}

/// True if the link is starting, is up, or may come back.
fn is_usable(outcome: &watch::Receiver<Outcome>) -> bool {
    match &*outcome.borrow() {
        None => outcome.has_changed().is_ok(),
        Some(Ok(link)) => !link.is_over(),
        Some(Err(_)) => false,
    }
}

/// The handles that the server's own backends need to run their tasks.
#[derive(Debug, Clone)]
pub(crate) struct Tasks {
    pub(crate) tracker: TaskTracker,
    pub(crate) stop: CancellationToken,
}

/// A registration number for one of the server's own runners, whose process may outlive the server's: the time in
/// microseconds, which no two registrations of one user's place share.
pub(crate) fn next_epoch() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::driver::{LinkEnd, StartedBy, driver};
    use crate::facts::RunnerFacts;
    use crate::memory_link;
    use crate::testing::{facts, settle};

    #[tokio::test(start_paused = true)]
    async fn link_that_breaks_is_waited_for_and_one_that_is_over_is_started_again() {
        let (tracker, starts) = (TaskTracker::new(), Arc::new(AtomicUsize::new(0)));
        let links = OnDemand::new("place");
        let (started, mut starting) = tokio::sync::mpsc::unbounded_channel();
        let tasks = tracker.clone();
        let count = Arc::clone(&starts);
        let start = move || {
            count.fetch_add(1, Ordering::Relaxed);
            let (handle, driver) =
                driver("place", StartedBy::Server, Arc::new(RunnerFacts::new(&facts(1), "/workspace")));
            tasks.spawn(driver.run(CancellationToken::new()));
            let (ours, theirs) = memory_link();
            let plugged = handle.plug(ours, 1);
            started.send((handle.clone(), plugged, theirs)).unwrap();
            async move { Ok(handle) }
        };
        links.link("u1", &tracker, &start).await.unwrap();
        let (handle, plugged, theirs) = starting.recv().await.unwrap();
        drop(theirs);
        assert!(matches!(plugged.ended().await, LinkEnd::Peer(None)));
        assert!(!handle.is_open() && !handle.is_over());
        let (ours, _theirs) = memory_link();
        let later = async {
            settle().await;
            handle.plug(ours, 2)
        };
        let (link, _plugged) = tokio::join!(links.link("u1", &tracker, &start), later);
        assert!(link.unwrap().is_open());
        assert_eq!(starts.load(Ordering::Relaxed), 1, "the same life");
        handle.close(None);
        settle().await;
        links.link("u1", &tracker, &start).await.unwrap();
        assert_eq!(starts.load(Ordering::Relaxed), 2);
    }
}
