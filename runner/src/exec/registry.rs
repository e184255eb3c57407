//! The existing execs, the kept results, and the ids that were used before.
//!
//! ```text
//!  start ─▶ known: runs, then its result is kept ──ACK, or time──▶ tombstone ──100,000 others, or 24 h──▶ unknown
//! ```

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use proto::message::{ExecEntry, ExecReport};
use proto::request::{Attach, Exec, Report};
use proto::{ErrorKind, ExecId, WireError};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::met_limit::MetLimit;
use super::outlet::Outlet;
use super::spool::Budget;
use crate::kill::Mark;
use crate::limits::{
    LISTED_EXECS, RESULT_KEPT_MS, RETAINED_KEPT_MS, TOMBSTONE_KEPT_MS, TOMBSTONES, UPDATE_RESULTS_KEPT_MS,
};
use crate::stream::StreamHandle;

/// The execs of this process.
#[derive(Debug)]
pub(crate) struct Registry {
    known: RefCell<HashMap<ExecId, Known>>,
    tombstones: RefCell<Tombstones>,
    budget: Rc<Budget>,
    /// Notified when an exec is complete.
    completion: Notify,
}

#[derive(Debug)]
struct Known {
    request: Rc<Exec>,
    outlet: Rc<Outlet>,
    /// Present while a process of it lives.
    mark: Option<Mark>,
    completed: Option<Instant>,
}

/// The outcome of a start.
pub(super) enum Start {
    /// The exec is new: run it.
    New(Rc<Outlet>),
    /// The exec was requested before; the stream was attached, or got the reason why not.
    Known,
}

impl Registry {
    /// A registry without any exec.
    pub(crate) fn new(budget: Rc<Budget>) -> Self {
        Self { known: RefCell::default(), tombstones: RefCell::default(), budget, completion: Notify::new() }
    }

    /// Accepts a start. A repeated one attaches.
    pub(super) fn start(&self, request: &Rc<Exec>, stream: StreamHandle) -> Start {
        let exec_id = request.exec_id;
        let refuse = |kind, text| {
            stream.finish(Err::<ExecReport, _>(WireError::new(kind, text)));
            Start::Known
        };
        if let Some(known) = self.known.borrow().get(&exec_id) {
            let repeats = Exec { age_ms: known.request.age_ms, ..Exec::clone(request) } == *known.request;
            if !repeats {
                let text = format!("exec {exec_id} belongs to another command: choose a new id");
                return refuse(ErrorKind::Conflict, text);
            }
            known.outlet.begin_again(stream);
            return Start::Known;
        }
        if self.tombstones.borrow().may_hold(exec_id, request.age_ms) {
            let text = format!("exec {exec_id} may have run before, and its result is no longer kept");
            return refuse(ErrorKind::Expired, text);
        }
        let outlet = Outlet::new(request, Rc::clone(&self.budget));
        outlet.begin(stream);
        let known =
            Known { request: Rc::clone(request), outlet: Rc::clone(&outlet), mark: None, completed: None };
        self.known.borrow_mut().insert(exec_id, known);
        Start::New(outlet)
    }

    /// Attaches a stream to an exec; returns the stream if no exec has this id.
    pub(crate) fn attach(&self, request: &Attach, stream: StreamHandle) -> Option<StreamHandle> {
        match self.known.borrow().get(&request.id) {
            Some(known) => {
                known.outlet.attach(stream, request);
                None
            }
            None if self.tombstones.borrow().ids.contains(&request.id) => {
                let text = format!("the result of {} was acknowledged, or is no longer kept", request.id);
                stream.finish(Err::<ExecReport, _>(WireError::new(ErrorKind::Expired, text)));
                None
            }
            None => Some(stream),
        }
    }

    /// Records that the command's process exists.
    pub(super) fn started(&self, exec_id: ExecId, mark: Mark) {
        if let Some(known) = self.known.borrow_mut().get_mut(&exec_id) {
            known.mark = Some(mark);
        }
    }

    /// Records that the last process of an exec has ended.
    pub(crate) fn tree_gone(&self, exec_id: ExecId) {
        if let Some(known) = self.known.borrow_mut().get_mut(&exec_id) {
            known.mark = None;
        }
    }

    /// Records that no more output will come: the result is kept from now on.
    pub(super) fn completed(&self, exec_id: ExecId) {
        if let Some(known) = self.known.borrow_mut().get_mut(&exec_id) {
            known.completed = Some(Instant::now());
        }
        self.completion.notify_waiters();
    }

    /// Ends every running command, and waits until all are complete.
    pub(crate) async fn end_all(&self) {
        let running = || self.known.borrow().values().any(|known| known.completed.is_none());
        for known in self.known.borrow().values().filter(|known| known.completed.is_none()) {
            known.outlet.cancel();
        }
        while running() {
            self.completion.notified().await;
        }
    }

    /// Removes a result that was acknowledged. An incomplete exec has no result.
    pub(crate) fn acknowledge(&self, exec_id: ExecId) {
        let mut known = self.known.borrow_mut();
        if known.get(&exec_id).is_some_and(|known| known.completed.is_some())
            && let Some(gone) = known.remove(&exec_id)
        {
            gone.outlet.forget();
            self.tombstones.borrow_mut().add(exec_id);
        }
    }

    /// Removes results that were kept long enough; sooner while an update waits for them.
    pub(crate) fn forget_old(&self, update_waits: bool) {
        let kept = |known: &Known| match known.outlet.is_retained() {
            true if update_waits => UPDATE_RESULTS_KEPT_MS,
            true => RETAINED_KEPT_MS,
            false => RESULT_KEPT_MS,
        };
        let is_old = |known: &Known| {
            known.completed.is_some_and(|at| at.elapsed() >= Duration::from_millis(kept(known)))
        };
        let known = self.known.borrow();
        let old: Vec<ExecId> = known.iter().filter(|(_, known)| is_old(known)).map(|(id, _)| *id).collect();
        drop(known);
        for exec_id in old {
            self.acknowledge(exec_id);
        }
        self.tombstones.borrow_mut().forget_old();
    }

    /// The number of incomplete execs.
    pub(crate) fn running(&self) -> usize {
        self.known.borrow().values().filter(|known| known.completed.is_none()).count()
    }

    /// The tree of an exec, if it has started and has not ended.
    pub(crate) fn mark(&self, exec_id: ExecId) -> Option<Mark> {
        self.known.borrow().get(&exec_id)?.mark
    }

    /// The trees of execs that are still remembered and have not ended.
    pub(crate) fn marks(&self) -> impl Iterator<Item = Mark> {
        let marks: Vec<Mark> = self.known.borrow().values().filter_map(|known| known.mark).collect();
        marks.into_iter()
    }

    /// Records that a tree is ended for a limit; returns true if an incomplete exec will report that.
    pub(super) fn met_limit(&self, mark: Mark, limit: MetLimit) -> bool {
        let known = self.known.borrow();
        let exec = known.values().find(|known| known.mark == Some(mark) && known.completed.is_none());
        exec.map(|known| known.outlet.meet_limit(limit)).is_some()
    }

    /// The state of an exec.
    ///
    /// # Errors
    /// `no_such_exec`.
    pub(crate) fn report(&self, request: &Report) -> Result<ExecReport, WireError> {
        let known = self.known.borrow();
        let known = known.get(&request.exec_id).ok_or_else(|| no_such_exec(request.exec_id))?;
        Ok(known.outlet.report(request.head_bytes, request.tail_bytes))
    }

    /// The execs that are still remembered, the newest first.
    pub(crate) fn list(&self) -> Vec<ExecEntry> {
        let mut execs: Vec<_> = self
            .known
            .borrow()
            .iter()
            .map(|(id, known)| (known.outlet.born(), known.outlet.entry(*id)))
            .collect();
        execs.sort_by_key(|(born, _)| std::cmp::Reverse(*born));
        execs.truncate(LISTED_EXECS);
        execs.into_iter().map(|(_, entry)| entry).collect()
    }
}

/// The error for an unknown id.
pub(crate) fn no_such_exec(exec_id: ExecId) -> WireError {
    WireError::new(ErrorKind::NoSuchExec, format!("this runner has no exec {exec_id}"))
}

/// Ids whose results were removed.
#[derive(Debug, Default)]
struct Tombstones {
    ids: HashSet<ExecId>,
    order: VecDeque<(Instant, ExecId)>,
    /// Ids from before this time may have been removed.
    forgotten_until: Cell<Option<Instant>>,
}

impl Tombstones {
    fn add(&mut self, exec_id: ExecId) {
        self.ids.insert(exec_id);
        self.order.push_back((Instant::now(), exec_id));
        if self.order.len() > TOMBSTONES {
            self.forget_first();
        }
    }

    fn forget_old(&mut self) {
        let kept = Duration::from_millis(TOMBSTONE_KEPT_MS);
        while self.order.front().is_some_and(|(since, _)| since.elapsed() >= kept) {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        if let Some((since, exec_id)) = self.order.pop_front() {
            self.ids.remove(&exec_id);
            self.forgotten_until.set(Some(since));
        }
    }

    /// True if an id of this age is known to have run, or may have.
    fn may_hold(&self, exec_id: ExecId, age_ms: u64) -> bool {
        self.ids.contains(&exec_id)
            || self.forgotten_until.get().is_some_and(|until| {
                // An id from before the runner's clock began counts as from its beginning.
                Instant::now().checked_sub(Duration::from_millis(age_ms)).is_none_or(|made| made <= until)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_id_older_than_what_is_remembered_may_have_run() {
        let mut tombstones = Tombstones::default();
        let id = |number: u32| {
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&number.to_le_bytes());
            ExecId(bytes)
        };
        for number in 0..=TOMBSTONES as u32 {
            tombstones.add(id(number));
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        assert_eq!(tombstones.ids.len(), TOMBSTONES);
        assert!(tombstones.may_hold(id(1), 0), "remembered");
        assert!(!tombstones.may_hold(id(u32::MAX), 5_000), "new, and younger than what was forgotten");
        let age_ms = TOMBSTONES as u64 + 10;
        assert!(tombstones.may_hold(id(0), age_ms), "forgotten, and old enough to be that id");
        tokio::time::advance(Duration::from_millis(TOMBSTONE_KEPT_MS)).await;
        tombstones.forget_old();
        assert!(tombstones.ids.is_empty());
    }
}
