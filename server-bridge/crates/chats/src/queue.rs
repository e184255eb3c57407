//! The turns in progress in each chat, and the queued ones.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use api::tui::ClientId;
use store::{ChatId, MessageId, TurnId, UserId};
use tokio_util::sync::CancellationToken;

use crate::limits::TURNS_QUEUED;

/// A queued turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) turn: TurnId,
    /// The message that shows the turn's answer.
    pub(crate) message: MessageId,
    /// True if the turn began in an earlier run of the server.
    pub(crate) goes_on: bool,
    /// True for the turn of a sub-agent in the background, which is queued in its own chat.
    pub(crate) is_background: bool,
    /// The terminal in which the turn's message was written; it is not on record.
    pub(crate) client: Option<ClientId>,
}

/// A job for a chat's worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Job {
    Turn(Waiting),
    /// Replaces the earlier conversation with a summary.
    Compress,
    /// Notifies the chat's agent of sub-agents that have ended, unless a turn has already done so.
    Tell,
}

type Key = (UserId, ChatId);

/// The queues of all chats. Cheap to clone; all clones share the same queues.
#[derive(Clone, Default)]
pub(crate) struct Queue(Arc<Mutex<HashMap<Key, Line>>>);

#[derive(Default)]
struct Line {
    /// The queued turns, each with the token that stops it.
    waiting: VecDeque<(Waiting, CancellationToken)>,
    /// The number of places that were taken and are not filled yet.
    reserved: usize,
    has_worker: bool,
    /// True if the chat's user wants it compressed.
    is_to_be_compressed: bool,
    /// True if the chat's agent has to be notified of sub-agents that have ended.
    is_to_be_told: bool,
    /// The turn in progress.
    turn: Option<TurnId>,
    /// The token that stops the job in progress.
    current: Option<CancellationToken>,
}

/// A place in a chat's queue; it is given back if it is dropped before it is filled.
pub(crate) struct Place {
    queue: Queue,
    key: Key,
}

/// The worker on a chat's queue.
pub(crate) struct Worker {
    queue: Queue,
    key: Key,
}

/// The result of an attempt to hold a queue.
pub(crate) enum Hold {
    /// The queue is held: messages that arrive meanwhile wait for this worker.
    Held(Worker),
    /// A job is in progress.
    GoesOn,
    /// A job is in progress and is being stopped.
    Ends,
}

impl Queue {
    /// Takes a place; `None` if too many turns are queued.
    pub(crate) fn reserve(&self, user: UserId, chat: &ChatId) -> Option<Place> {
        let mut lines = self.lock();
        let line = lines.entry((user, chat.clone())).or_default();
        (!line.is_full()).then(|| self.place(line, user, chat))
    }

    /// Takes a place for a turn that is already on record, regardless of the limit.
    pub(crate) fn restore(&self, user: UserId, chat: &ChatId) -> Place {
        self.place(self.lock().entry((user, chat.clone())).or_default(), user, chat)
    }

    fn place(&self, line: &mut Line, user: UserId, chat: &ChatId) -> Place {
        line.reserved += 1;
        Place { queue: self.clone(), key: (user, chat.clone()) }
    }

    /// The number of chats with a worker.
    pub(crate) fn at_work(&self) -> usize {
        self.lock().values().filter(|line| line.has_worker).count()
    }

    /// True if a chat of a user has a worker, or a place that was taken and is not filled yet.
    pub(crate) fn is_at_work_for(&self, user: UserId) -> bool {
        self.lock().iter().any(|((owner, _), line)| *owner == user && (line.has_worker || line.reserved > 0))
    }

    /// Records that a chat is to be compressed.
    pub(crate) fn compress(&self, user: UserId, chat: &ChatId) {
        let mut lines = self.lock();
        let line = lines.entry((user, chat.clone())).or_default();
        line.is_to_be_compressed = true;
    }

    /// Records that a chat's agent has to be notified of sub-agents that have ended.
    pub(crate) fn tell(&self, user: UserId, chat: &ChatId) {
        self.lock().entry((user, chat.clone())).or_default().is_to_be_told = true;
    }

    /// True if a chat is to be compressed; this call resets the request.
    pub(crate) fn take_compression(&self, user: UserId, chat: &ChatId) -> bool {
        let mut lines = self.lock();
        let line = lines.get_mut(&(user, chat.clone()));
        line.is_some_and(|line| std::mem::take(&mut line.is_to_be_compressed))
    }

    /// A worker for a chat's queue; `None` if it already has one.
    pub(crate) fn employ(&self, user: UserId, chat: &ChatId) -> Option<Worker> {
        let key = (user, chat.clone());
        let mut lines = self.lock();
        let line = lines.get_mut(&key)?;
        (!std::mem::replace(&mut line.has_worker, true)).then(|| Worker { queue: self.clone(), key })
    }

    /// A worker that holds a chat's queue, if nothing is in progress in it.
    pub(crate) fn hold(&self, user: UserId, chat: &ChatId) -> Hold {
        let key = (user, chat.clone());
        let mut lines = self.lock();
        let line = lines.entry(key.clone()).or_default();
        if line.has_worker || line.reserved > 0 || !line.waiting.is_empty() {
            return if line.ends() { Hold::Ends } else { Hold::GoesOn };
        }
        line.has_worker = true;
        Hold::Held(Worker { queue: self.clone(), key })
    }

    /// True if a turn is in progress or queued in a chat.
    pub(crate) fn is_working(&self, user: UserId, chat: &ChatId) -> bool {
        let lines = self.lock();
        let line = lines.get(&(user, chat.clone()));
        line.is_some_and(|line| line.has_worker || !line.waiting.is_empty())
    }

    /// Stops the turn in progress, or the next one if there is none; turns queued after it are not affected. Returns the number of turns
    /// that were not already stopped: one or none.
    pub(crate) fn stop(&self, user: UserId, chat: &ChatId) -> usize {
        let lines = self.lock();
        let line = lines.get(&(user, chat.clone()));
        let next =
            line.and_then(|line| line.current.as_ref().or(line.waiting.front().map(|(_, token)| token)));
        next.map_or(0, cancel)
    }

    /// Stops the turn in progress and all queued turns; returns the number that were not already stopped.
    pub(crate) fn stop_all(&self, user: UserId, chat: &ChatId) -> usize {
        let lines = self.lock();
        lines.get(&(user, chat.clone())).map_or(0, |line| line.tokens().map(cancel).sum())
    }

    /// True if no more turns can be queued in a chat.
    pub(crate) fn is_full(&self, user: UserId, chat: &ChatId) -> bool {
        self.lock().get(&(user, chat.clone())).is_some_and(Line::is_full)
    }

    /// The number of turns that are queued in a chat and not stopped.
    pub(crate) fn waiting(&self, user: UserId, chat: &ChatId) -> usize {
        let lines = self.lock();
        let Some(line) = lines.get(&(user, chat.clone())) else { return 0 };
        line.waiting.iter().filter(|(_, cancelled)| !cancelled.is_cancelled()).count()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Line>> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Queues a turn in this place, unless it is already queued or in progress.
    pub(crate) fn fill(self, waiting: Waiting) {
        if let Some(line) = self.queue.lock().get_mut(&self.key) {
            let is_known = |(other, _): &(Waiting, _)| other.turn == waiting.turn;
            if line.turn == Some(waiting.turn) || line.waiting.iter().any(is_known) {
                return;
            }
            // Turns are in the order of their records, regardless of which one gets here first.
            let later = |(other, _): &(Waiting, _)| other.turn > waiting.turn;
            let at = line.waiting.iter().position(later).unwrap_or(line.waiting.len());
            line.waiting.insert(at, (waiting, CancellationToken::new()));
        }
    }
}

impl Line {
    fn is_full(&self) -> bool {
        self.waiting.len() + self.reserved >= TURNS_QUEUED
    }

    /// True if there is work in addition to the queued turns.
    fn has_more(&self) -> bool {
        self.is_to_be_compressed || self.is_to_be_told
    }

    /// The tokens of all jobs of a chat, starting with the job in progress.
    fn tokens(&self) -> impl Iterator<Item = &CancellationToken> {
        self.current.iter().chain(self.waiting.iter().map(|(_, cancelled)| cancelled))
    }

    /// True if all jobs of a chat were stopped, so that nothing will be in progress soon.
    fn ends(&self) -> bool {
        self.reserved == 0
            && self.tokens().next().is_some()
            && self.tokens().all(CancellationToken::is_cancelled)
    }
}

/// Cancels a token; returns 1, or 0 if it was already cancelled.
fn cancel(token: &CancellationToken) -> usize {
    let is_news = !token.is_cancelled();
    token.cancel();
    usize::from(is_news)
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut lines = self.queue.lock();
        let Some(line) = lines.get_mut(&self.key) else { return };
        line.reserved -= 1;
        if line.reserved == 0 && line.waiting.is_empty() && !line.has_worker && !line.has_more() {
            lines.remove(&self.key);
        }
    }
}

impl Worker {
    /// The next job, and the token that stops it; `None` if the worker's work ends.
    pub(crate) fn next(&self) -> Option<(Job, CancellationToken)> {
        let mut lines = self.queue.lock();
        let line = lines.get_mut(&self.key)?;
        // A queued turn does the compression first.
        if let Some((waiting, cancelled)) = line.waiting.pop_front() {
            line.current = Some(cancelled.clone());
            line.turn = Some(waiting.turn);
            return Some((Job::Turn(waiting), cancelled));
        }
        line.turn = None;
        if std::mem::take(&mut line.is_to_be_compressed) {
            return Some((Job::Compress, line.current.insert(CancellationToken::new()).clone()));
        }
        if std::mem::take(&mut line.is_to_be_told) {
            return Some((Job::Tell, line.current.insert(CancellationToken::new()).clone()));
        }
        line.has_worker = false;
        line.current = None;
        if line.reserved == 0 {
            lines.remove(&self.key);
        }
        None
    }
}

impl Worker {
    /// Ends the worker's work; queued turns stay on record.
    pub(crate) fn leave(self) {
        self.queue.lock().remove(&self.key);
    }
}

impl Drop for Worker {
    /// A worker that ends early, because of a panic, leaves the rest of the work to the next one.
    fn drop(&mut self) {
        if std::thread::panicking()
            && let Some(line) = self.queue.lock().get_mut(&self.key)
        {
            line.has_worker = false;
            (line.current, line.turn) = (None, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_at_rest_is_held_up_and_goes_on_with_what_came_meanwhile() {
        let (queue, user, chat) = (Queue::default(), UserId(1), ChatId::random());
        let place = queue.reserve(user, &chat).unwrap();
        assert!(matches!(queue.hold(user, &chat), Hold::GoesOn));
        place.fill(waiting(1));
        let worker = queue.employ(user, &chat).unwrap();
        worker.next();
        assert!(matches!(queue.hold(user, &chat), Hold::GoesOn));
        queue.stop(user, &chat);
        assert!(matches!(queue.hold(user, &chat), Hold::Ends));
        assert!(worker.next().is_none());
        let Hold::Held(held) = queue.hold(user, &chat) else { panic!("nothing goes on") };
        assert!(matches!(queue.hold(user, &chat), Hold::GoesOn), "one at a time");
        queue.reserve(user, &chat).unwrap().fill(waiting(2));
        assert!(queue.employ(user, &chat).is_none(), "it waits");
        assert_eq!(held.next().unwrap().0, Job::Turn(waiting(2)));
        assert!(held.next().is_none() && queue.lock().is_empty());
    }

    fn waiting(number: i64) -> Waiting {
        Waiting {
            turn: TurnId(number),
            message: MessageId(number),
            goes_on: false,
            is_background: false,
            client: None,
        }
    }

    #[test]
    fn turns_of_a_chat_come_one_after_the_other() {
        let (queue, user, chat) = (Queue::default(), UserId(1), ChatId::random());
        queue.reserve(user, &chat).unwrap().fill(waiting(1));
        let worker = queue.employ(user, &chat).unwrap();
        assert_eq!(worker.next().unwrap().0, Job::Turn(waiting(1)));
        queue.reserve(user, &chat).unwrap().fill(waiting(2));
        assert!(queue.employ(user, &chat).is_none(), "somebody works on it");
        assert_eq!(worker.next().unwrap().0, Job::Turn(waiting(2)));
        assert!(worker.next().is_none());
        assert!(queue.lock().is_empty(), "nothing is left of a chat at rest");
    }

    #[test]
    fn a_queue_holds_32_and_a_place_that_is_not_filled_is_free_again() {
        let (queue, user, chat) = (Queue::default(), UserId(1), ChatId::random());
        let mut places: Vec<Place> = (0..32).map(|_| queue.reserve(user, &chat).unwrap()).collect();
        assert!(queue.reserve(user, &chat).is_none() && queue.is_full(user, &chat));
        assert!(queue.reserve(UserId(2), &chat).is_some());
        places.pop();
        assert!(queue.reserve(user, &chat).is_some());
        drop(places);
        assert!(queue.lock().is_empty());
    }

    #[test]
    fn a_stop_reaches_the_turn_under_way_and_what_waits_goes_on() {
        let (queue, user, chat) = (Queue::default(), UserId(1), ChatId::random());
        assert_eq!(queue.stop(user, &chat), 0);
        queue.reserve(user, &chat).unwrap().fill(waiting(1));
        queue.reserve(user, &chat).unwrap().fill(waiting(2));
        let worker = queue.employ(user, &chat).unwrap();
        let (_, first) = worker.next().unwrap();
        assert_eq!((queue.stop(user, &chat), queue.stop(user, &chat)), (1, 0));
        assert!(first.is_cancelled());
        assert!(matches!(queue.hold(user, &chat), Hold::GoesOn), "the second one is still to be answered");
        assert_eq!(queue.waiting(user, &chat), 1);
        let (job, second) = worker.next().unwrap();
        assert!(job == Job::Turn(waiting(2)) && !second.is_cancelled());
        assert!(worker.next().is_none());
    }

    #[test]
    fn a_stop_before_the_first_turn_begins_reaches_that_one() {
        let (queue, user, chat) = (Queue::default(), UserId(1), ChatId::random());
        queue.reserve(user, &chat).unwrap().fill(waiting(1));
        queue.reserve(user, &chat).unwrap().fill(waiting(2));
        let worker = queue.employ(user, &chat).unwrap();
        assert_eq!(queue.stop(user, &chat), 1);
        assert!(worker.next().unwrap().1.is_cancelled());
        assert!(!worker.next().unwrap().1.is_cancelled());
        assert!(worker.next().is_none());
    }

    #[test]
    fn a_stop_of_all_reaches_what_is_there_and_not_what_comes_later() {
        let (queue, user, chat) = (Queue::default(), UserId(1), ChatId::random());
        assert_eq!(queue.stop_all(user, &chat), 0);
        queue.reserve(user, &chat).unwrap().fill(waiting(1));
        queue.reserve(user, &chat).unwrap().fill(waiting(2));
        let worker = queue.employ(user, &chat).unwrap();
        let (_, first) = worker.next().unwrap();
        assert_eq!((queue.stop_all(user, &chat), queue.stop_all(user, &chat)), (2, 0));
        assert!(matches!(queue.hold(user, &chat), Hold::Ends));
        queue.reserve(user, &chat).unwrap().fill(waiting(4));
        assert!(first.is_cancelled() && worker.next().unwrap().1.is_cancelled());
        assert!(!worker.next().unwrap().1.is_cancelled(), "it was posted after the stop");
        assert!(worker.next().is_none());
        queue.reserve(user, &chat).unwrap().fill(waiting(3));
        let worker = queue.employ(user, &chat).unwrap();
        assert!(!worker.next().unwrap().1.is_cancelled());
    }

    #[test]
    fn a_chat_is_compressed_once_by_whoever_comes_first() {
        let (queue, user, chat) = (Queue::default(), UserId(1), ChatId::random());
        assert!(!queue.take_compression(user, &chat));
        queue.compress(user, &chat);
        queue.compress(user, &chat);
        let worker = queue.employ(user, &chat).unwrap();
        assert_eq!(worker.next().unwrap().0, Job::Compress);
        assert!(worker.next().is_none() && queue.lock().is_empty());
        queue.reserve(user, &chat).unwrap().fill(waiting(1));
        queue.compress(user, &chat);
        let worker = queue.employ(user, &chat).unwrap();
        assert_eq!(worker.next().unwrap().0, Job::Turn(waiting(1)));
        assert!(queue.take_compression(user, &chat), "the turn does it");
        assert!(worker.next().is_none());
    }
}
