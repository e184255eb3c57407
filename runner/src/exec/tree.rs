//! The process trees that outlived their exec, until they have ended.
//!
//! The last process of a tree is always a child of this one (the reaper of orphans), so its end raises SIGCHLD; the code that gets
//! that calls [`TreeWatch::look`].

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::time::Duration;

use proto::ExecId;
use rustix::io::Errno;
use rustix::process::{WaitId, WaitIdOptions};
use tokio::signal::unix::Signal;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::blocking::blocking;
use crate::kill::{self, Mark};
use crate::limits::TREE_LOOK_MS;
use crate::sys;

/// The trees that are not known to have ended.
#[derive(Debug, Default)]
pub(crate) struct TreeWatch {
    trees: RefCell<Vec<Tree>>,
    /// The time of a check that was postponed because the last one was just before.
    due: Cell<Option<Instant>>,
    last_look: Cell<Option<Instant>>,
    changed: Notify,
}

/// A tree whose exec is complete.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) exec_id: ExecId,
    pub(super) mark: Mark,
}

impl TreeWatch {
    /// Watches the tree of a complete exec. Most have ended by then; this is reported a moment later: together with others, and without delaying the
    /// peer's next request.
    pub(super) fn add(&self, tree: Tree) {
        self.trees.borrow_mut().push(tree);
        self.put_off(Duration::ZERO);
    }

    /// The trees that are watched.
    pub(crate) fn marks(&self) -> impl Iterator<Item = Mark> {
        let marks: Vec<Mark> = self.trees.borrow().iter().map(|tree| tree.mark).collect();
        marks.into_iter()
    }

    /// Waits for SIGCHLD. It is blocked at all other times, because each exec raises it at the very moment when its outcome is to be sent.
    pub(crate) async fn child_ended(signals: &mut Signal) {
        let _taken = sys::ChildSignal::take();
        signals.recv().await;
    }

    /// Waits until a check is due that no SIGCHLD will trigger.
    pub(crate) async fn due(&self) {
        while self.due.get().is_none() {
            self.changed.notified().await;
        }
        if let Some(due) = self.due.get() {
            tokio::time::sleep_until(due).await;
        }
    }

    /// True if no tree is watched.
    pub(super) fn is_empty(&self) -> bool {
        self.trees.borrow().is_empty()
    }

    /// Calls `gone` with the execs whose trees have ended. Call this after processes ended.
    pub(super) async fn look(&self, gone: impl Fn(ExecId)) {
        let pause = Duration::from_millis(TREE_LOOK_MS);
        if self.is_empty() {
            return self.due.set(None);
        }
        // The common case, at the cost of one system call: no exec runs and no process was left.
        if has_no_children() {
            self.due.set(None);
            return self.trees.take().iter().for_each(|tree| gone(tree.exec_id));
        }
        if self.last_look.get().is_some_and(|last| last.elapsed() < pause) {
            return self.put_off(pause);
        }
        self.due.set(None);
        let watched: Vec<Mark> = self.trees.borrow().iter().map(|tree| tree.mark).collect();
        let looked_for: HashSet<Mark> = watched.iter().copied().collect();
        let living = blocking(move || kill::living(&watched)).await;
        self.last_look.set(Some(Instant::now()));
        // Without an answer nothing is known about any tree.
        let Ok(living) = living else { return };
        self.trees.borrow_mut().retain(|tree| {
            let is_gone = looked_for.contains(&tree.mark) && !living.contains(&tree.mark);
            if is_gone {
                gone(tree.exec_id);
            }
            !is_gone
        });
    }

    /// True if no tree is watched. If one system call shows that all have ended, `gone` is called with each; the result is then true at the next
    /// call.
    pub(super) fn settle(&self, gone: impl Fn(ExecId)) -> bool {
        if self.is_empty() {
            return true;
        }
        if has_no_children() {
            self.trees.take().iter().for_each(|tree| gone(tree.exec_id));
        }
        false
    }

    fn put_off(&self, pause: Duration) {
        if self.due.get().is_none() {
            self.due.set(Some(Instant::now() + pause));
            self.changed.notify_one();
        }
    }
}

/// True if this process has no child at all, dead or alive.
fn has_no_children() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    matches!(rustix::process::waitid(WaitId::All, options), Err(Errno::CHILD))
}
