//! The budget of a run while its agents work: each request to a model is held against it until it is known what the request used.
//!
//! ```text
//!   a request ─▶ spent ≥ budget? ── yes ─▶ refused; an agent that was at work has one more request, to end its answer, and an attempt
//!                     │                    for which a person gave more has its first one
//!                     │ no
//!                     ▼
//!                spent + held ≥ budget? ── yes ─▶ waits until a request under way has ended, then again
//!                     │ no
//!                     ▼
//!                held: its input and the longest answer ─▶ the model ─▶ what it used is on record ─▶ released
//! ```
//! However many agents and sub-agents work at the same time, together they exceed the budget by one request, and each by its last one.
//! People who share a group share a home, so all of these requests are made by this process. What it holds ends with it; the next server makes
//! a request again that was cut off.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use agent::hooks::{Estimate, Hold};
use chains::{Room, Spent};
use store::TurnId;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use crate::error::Result;
use crate::limits::{FREE_TURNS_KEPT, LONGEST_SLEEP};

/// The refusal of further work for a run that has used up its budget.
pub(crate) const USED_UP: &str = "the budget of the chain's run is used up";

/// What the requests under way may use of the budgets of runs.
#[derive(Default)]
pub(crate) struct Budgets {
    runs: Mutex<HashMap<i64, Weak<OfRun>>>,
    /// The turns that were let make their last request, with the number of answers that they had before.
    last: Mutex<HashMap<TurnId, usize>>,
    /// Turns under way that work for no call, which never changes: their requests need no look at the database.
    free: Mutex<HashSet<TurnId>>,
}

/// The requests of a run.
#[derive(Default)]
struct OfRun {
    /// One request is looked at after the other, so that no two get the same room.
    order: tokio::sync::Mutex<()>,
    /// What those under way may use.
    held: watch::Sender<Spent>,
}

/// A request under way.
struct Held {
    run: Arc<OfRun>,
    tokens: i64,
    cost_micro_usd: i64,
}

impl Held {
    fn begin(run: Arc<OfRun>, tokens: i64, cost_micro_usd: i64) -> Self {
        run.held.send_if_modified(|held| {
            held.tokens = held.tokens.saturating_add(tokens);
            held.cost_micro_usd = held.cost_micro_usd.saturating_add(cost_micro_usd);
            // Waiting requests are woken when there may be more room, not when there is less.
            false
        });
        Self { run, tokens, cost_micro_usd }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.run.held.send_modify(|held| {
            held.tokens = held.tokens.saturating_sub(self.tokens);
            held.cost_micro_usd = held.cost_micro_usd.saturating_sub(self.cost_micro_usd);
        });
    }
}

impl Budgets {
    /// Holds what a request may use of a run's budget, once there is room; `None` if the budget is used up. `room` looks it up, given what the
    /// requests under way may use.
    pub(crate) async fn hold<F>(
        &self,
        run: i64,
        estimate: Estimate,
        room: impl Fn(Spent) -> F,
    ) -> Result<Option<Hold>>
    where
        F: Future<Output = Result<Room>>,
    {
        let of_run = self.of(run);
        let (tokens, cost) = (clamped(estimate.tokens), clamped(estimate.cost_micros));
        let mut changes = of_run.held.subscribe();
        // When there was no room, and what was held then: with as much held, there is none a moment later either.
        let mut full: Option<(Instant, Spent)> = None;
        loop {
            let in_order = of_run.order.lock().await;
            // Read before what is on record: a request that ends in between counts twice, and never not at all.
            let held = *changes.borrow_and_update();
            let is_full = full.is_some_and(|(at, then)| {
                at.elapsed() < LONGEST_SLEEP
                    && held.tokens >= then.tokens
                    && held.cost_micro_usd >= then.cost_micro_usd
            });
            if !is_full {
                match room(held).await? {
                    Room::UsedUp => return Ok(None),
                    Room::Free => return Ok(Some(Hold::of(Held::begin(Arc::clone(&of_run), tokens, cost)))),
                    Room::Held => full = Some((Instant::now(), held)),
                }
            }
            drop(in_order);
            // A person may allow more meanwhile, and the time may run out.
            let _ = timeout(LONGEST_SLEEP, changes.changed()).await;
        }
    }

    /// True if a turn with this many answers may make its last request: once, and again if that one got no answer.
    pub(crate) fn may_end(&self, turn: TurnId, answers: usize) -> bool {
        answers > 0 && *locked(&self.last).entry(turn).or_insert(answers) == answers
    }

    /// Remembers that a turn works for no call.
    pub(crate) fn set_free(&self, turn: TurnId) {
        let mut free = locked(&self.free);
        // Requests that follow a turn's end, such as one for a summary, leave an entry behind.
        if free.len() >= FREE_TURNS_KEPT {
            free.clear();
        }
        free.insert(turn);
    }

    /// True if a turn is known to work for no call.
    pub(crate) fn is_free(&self, turn: TurnId) -> bool {
        locked(&self.free).contains(&turn)
    }

    /// Forgets a turn that has ended.
    pub(crate) fn forget(&self, turn: TurnId) {
        locked(&self.last).remove(&turn);
        locked(&self.free).remove(&turn);
    }

    fn of(&self, run: i64) -> Arc<OfRun> {
        let mut runs = locked(&self.runs);
        if let Some(known) = runs.get(&run).and_then(Weak::upgrade) {
            return known;
        }
        runs.retain(|_, known| known.strong_count() > 0);
        let new = Arc::new(OfRun::default());
        runs.insert(run, Arc::downgrade(&new));
        new
    }
}

fn clamped(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use futures_util::future::select_all;
    use rand::RngExt as _;
    use tokio::task::{JoinSet, yield_now};

    use super::*;

    const BUDGET: i64 = 10_000;

    /// The most that a request of the test uses, in tokens.
    const MOST: i64 = 700;

    fn estimate(tokens: i64) -> Estimate {
        Estimate { tokens: tokens.cast_unsigned(), cost_micros: 0, answers: Some(0) }
    }

    /// The room in a budget of which `spent` tokens are recorded as used and `held` are held by requests under way.
    async fn room(spent: &AtomicI64, held: Spent) -> Result<Room> {
        yield_now().await;
        let spent = spent.load(Ordering::SeqCst);
        Ok(match spent {
            BUDGET.. => Room::UsedUp,
            spent if spent + held.tokens >= BUDGET => Room::Held,
            _ => Room::Free,
        })
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn many_agents_at_once_exceed_a_budget_by_one_request() {
        for _ in 0..20 {
            let (budgets, spent) = (Arc::new(Budgets::default()), Arc::new(AtomicI64::new(0)));
            let mut agents = JoinSet::new();
            for _ in 0..100 {
                let (budgets, spent) = (Arc::clone(&budgets), Arc::clone(&spent));
                agents.spawn(async move {
                    while let Some(hold) =
                        budgets.hold(1, estimate(MOST), |held| room(&spent, held)).await.unwrap()
                    {
                        let pauses = rand::rng().random_range(0..20);
                        for _ in 0..pauses {
                            yield_now().await;
                        }
                        spent.fetch_add(rand::rng().random_range(1..=MOST), Ordering::SeqCst);
                        drop(hold);
                    }
                });
            }
            agents.join_all().await;
            let spent = spent.load(Ordering::SeqCst);
            assert!((BUDGET..BUDGET + MOST).contains(&spent), "{spent} of {BUDGET}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_waits_for_those_under_way_and_the_runs_beside_it_do_not() {
        let (budgets, spent) = (&Budgets::default(), &AtomicI64::new(0));
        let ask = move |run, tokens| budgets.hold(run, estimate(tokens), move |held| room(spent, held));
        // The first request may use more than there is: how much it uses is known only afterwards.
        let first = ask(1, 3 * BUDGET).await.unwrap().unwrap();
        assert!(timeout(4 * LONGEST_SLEEP, ask(1, 1)).await.is_err(), "it may use the whole budget");
        assert!(ask(2, 1).await.unwrap().is_some());
        let (second, ()) = tokio::join!(timeout(LONGEST_SLEEP / 2, ask(1, BUDGET / 2)), async {
            yield_now().await;
            drop(first);
        });
        assert!(second.unwrap().unwrap().is_some(), "it is woken when the first one ends");
        spent.store(BUDGET, Ordering::SeqCst);
        assert!(ask(1, 1).await.unwrap().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn requests_that_wait_are_looked_at_again_only_when_there_may_be_more_room() {
        let (budgets, looks) = (&Budgets::default(), &AtomicI64::new(0));
        let room = move |held: Spent| async move {
            looks.fetch_add(1, Ordering::SeqCst);
            Ok::<_, crate::error::Error>(if held.tokens < MOST { Room::Free } else { Room::Held })
        };
        let ask = move || Box::pin(budgets.hold(1, estimate(MOST), room));
        let first = ask().await.unwrap().unwrap();
        let waiting = select_all((0..10).map(|_| ask()));
        let ((second, _, waiting), ()) = tokio::join!(waiting, async {
            yield_now().await;
            drop(first);
        });
        let _second = second.unwrap().unwrap();
        assert!(
            timeout(LONGEST_SLEEP / 2, select_all(waiting)).await.is_err(),
            "the second one has the room"
        );
        assert_eq!(looks.load(Ordering::SeqCst), 12, "each once, and the second one again");
    }

    #[test]
    fn a_turn_has_one_last_request_and_another_one_only_if_that_got_no_answer() {
        let budgets = Budgets::default();
        let may_end = |answers| budgets.may_end(TurnId(1), answers);
        assert!(!may_end(0), "a turn without an answer has nothing to end");
        assert_eq!([may_end(3), may_end(3), may_end(4)], [true, true, false]);
        budgets.forget(TurnId(1));
        assert!(may_end(4));
    }

    #[test]
    fn a_turn_that_works_for_no_call_is_remembered_until_it_ends() {
        let budgets = Budgets::default();
        assert!(!budgets.is_free(TurnId(1)));
        budgets.set_free(TurnId(1));
        assert!(budgets.is_free(TurnId(1)) && !budgets.is_free(TurnId(2)));
        budgets.forget(TurnId(1));
        assert!(!budgets.is_free(TurnId(1)));
        (0..=FREE_TURNS_KEPT as i64).for_each(|turn| budgets.set_free(TurnId(turn)));
        assert_eq!(locked(&budgets.free).len(), 1, "what is kept is limited");
    }
}
