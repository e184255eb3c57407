//! Limits on the answers in progress: in the whole server, and per user on the server's model and on their own.
//!
//! A turn that waits for a person gives up its place meanwhile.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use llm::slots::Kind;
use records::UserId;

use super::gate::{Gate, Permit};
use crate::limits::{PERSONAL_TURNS, SHARED_TURNS};

/// Admits answers as long as the limits allow it.
#[derive(Debug)]
pub struct Admission {
    all: Arc<Gate>,
    /// The users' gates, by user and by whether they use a model of their own.
    users: Mutex<HashMap<(UserId, bool), Weak<Gate>>>,
}

/// A place among the answers in progress, for a turn and all sub-agents below it; freed when this is dropped. By default, it has no gates.
#[derive(Debug, Default)]
pub struct Place {
    /// The gates, in the order in which the turn waits for them: a user who waits for their own limit does not block others.
    wanted: Vec<Arc<Gate>>,
    held: Mutex<Held>,
    /// Held by the task that takes the place again, so that only one does: two tasks that each got half of the permits would wait for each other.
    taking: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Held {
    permits: Vec<Permit>,
    /// The number of times that the permits were given back and not yet taken again; a turn may wait for several answers at once.
    absences: usize,
}

/// A wait for a person, during which the place is free for others. Dropping it ends the wait, and leaves it to the turn to take the place again.
#[derive(Debug)]
pub struct Away<'a>(&'a Place);

impl Admission {
    /// An admission with this limit on answers in progress in the whole server.
    pub fn new(turns_at_once: usize) -> Self {
        Self { all: Gate::new(turns_at_once), users: Mutex::default() }
    }

    /// Changes the limit for the whole server from now on; answers in progress continue.
    pub fn resize(&self, turns_at_once: usize) {
        self.all.resize(turns_at_once);
    }

    /// A place, not yet taken.
    pub fn place(&self, user: UserId, kind: Kind) -> Place {
        Place { wanted: vec![self.of(user, kind), Arc::clone(&self.all)], ..Place::default() }
    }

    fn of(&self, user: UserId, kind: Kind) -> Arc<Gate> {
        let is_personal = kind == Kind::Personal;
        // Each change is a single step, so the data stays consistent if another thread panics.
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = users.get(&(user, is_personal)).and_then(Weak::upgrade) {
            return known;
        }
        users.retain(|_, gate| gate.strong_count() > 0);
        let gate = Gate::new(if is_personal { PERSONAL_TURNS } else { SHARED_TURNS });
        users.insert((user, is_personal), Arc::downgrade(&gate));
        gate
    }
}

impl Place {
    /// Takes the place if it is free now; returns true if it was taken.
    pub fn try_take(&self) -> bool {
        let taken = self.wanted.iter().map(Gate::try_enter);
        let Some(taken) = taken.collect::<Option<Vec<_>>>() else { return false };
        self.held().permits = taken;
        true
    }

    /// Waits for the place.
    pub async fn take(&self) {
        let mut taken = Vec::with_capacity(self.wanted.len());
        for wanted in &self.wanted {
            taken.push(wanted.enter().await);
        }
        let mut held = self.held();
        // Another wait for a person may have begun meanwhile.
        if held.absences == 0 {
            held.permits = taken;
        }
    }

    /// Gives the place back while the turn waits for a person.
    pub fn leave(&self) -> Away<'_> {
        let mut held = self.held();
        held.absences += 1;
        held.permits.clear();
        Away(self)
    }

    /// Takes the place again if it was given back and the turn no longer waits for a person.
    pub async fn resume(&self) {
        let _alone = self.taking.lock().await;
        let is_due = {
            let held = self.held();
            held.absences == 0 && held.permits.is_empty()
        };
        if is_due {
            self.take().await;
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Away<'_> {
    /// Takes the place again, when the last wait for a person ends.
    pub async fn end(self) {
        let place = self.0;
        drop(self);
        place.resume().await;
    }
}

impl Drop for Away<'_> {
    fn drop(&mut self) {
        self.0.held().absences -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;
    use crate::limits::TURNS_AT_ONCE;

    const SOON: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn so_many_answers_are_under_way_in_all_and_the_next_one_waits() {
        let admission = Admission::new(TURNS_AT_ONCE);
        let of = |user| admission.place(UserId(user), Kind::Shared);
        let mut held: Vec<_> = (0..TURNS_AT_ONCE).map(|user| of(user as i64)).collect();
        assert!(held.iter().all(Place::try_take));
        let next = of(99);
        assert!(!next.try_take());
        assert!(timeout(SOON, next.take()).await.is_err());
        held.pop();
        assert!(timeout(SOON, next.take()).await.is_ok());
        let (one, another) = (held[0].leave(), held[0].leave());
        assert!(of(100).try_take(), "whoever waits for a person holds nothing");
        one.end().await;
        assert!(of(101).try_take(), "it waits for another person yet");
        another.end().await;
        assert!(!of(102).try_take());
        assert!(Admission::new(0).place(UserId(1), Kind::Shared).try_take(), "one may always begin");
    }

    #[tokio::test(start_paused = true)]
    async fn the_number_of_answers_changes_while_some_are_under_way() {
        let admission = Admission::new(2);
        let of = |user| admission.place(UserId(user), Kind::Shared);
        let (first, second, third) = (of(1), of(2), of(3));
        assert!(first.try_take() && second.try_take() && !third.try_take());
        admission.resize(1);
        drop(first);
        assert!(!third.try_take(), "one is under way");
        let (waited, ()) = tokio::join!(timeout(SOON, third.take()), async { admission.resize(2) });
        assert!(waited.is_ok());
        let away = second.leave();
        admission.resize(1);
        assert!(timeout(SOON, away.end()).await.is_err(), "a wait for a person may last longer then");
        drop(third);
        assert!(timeout(SOON, second.resume()).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_was_broken_off_leaves_the_place_to_whoever_goes_on_and_it_is_taken_once() {
        let admission = Admission::new(1);
        let (turn, other) =
            (admission.place(UserId(1), Kind::Shared), admission.place(UserId(2), Kind::Shared));
        assert!(turn.try_take());
        drop(turn.leave());
        assert!(other.try_take(), "nobody took it again");
        let both = async { tokio::join!(turn.resume(), turn.resume()) };
        let (waited, ()) = tokio::join!(timeout(SOON, both), async { drop(other) });
        assert!(waited.is_ok(), "each would wait for what the other holds");
        assert!(!admission.place(UserId(2), Kind::Shared).try_take());
        turn.resume().await;
    }

    #[tokio::test(start_paused = true)]
    async fn one_user_leaves_room_on_the_servers_model_for_the_others() {
        let admission = Admission::new(TURNS_AT_ONCE);
        let of = |user| admission.place(UserId(user), Kind::Shared);
        let held: Vec<_> = (0..=SHARED_TURNS).map(|_| of(1)).collect();
        let taken: Vec<bool> = held.iter().map(Place::try_take).collect();
        assert!(taken[..SHARED_TURNS].iter().all(|taken| *taken) && !taken[SHARED_TURNS]);
        assert!(of(2).try_take());
    }

    #[tokio::test(start_paused = true)]
    async fn a_user_with_a_model_of_their_own_has_one_answer_at_a_time_and_keeps_nobody_waiting() {
        let admission = Admission::new(2);
        let mine = || admission.place(UserId(1), Kind::Personal);
        let (first, second, other) = (mine(), mine(), admission.place(UserId(2), Kind::Personal));
        assert!(first.try_take() && !second.try_take());
        let waits = timeout(SOON, second.take());
        let (waited, passed) = tokio::join!(waits, async { other.try_take() });
        assert!(waited.is_err() && passed, "the second one holds nothing while it waits for the first");
        drop(other);
        drop(first);
        assert!(second.try_take());
        assert!(admission.place(UserId(1), Kind::Shared).try_take(), "the server's model is another matter");
    }
}
