//! Lines of work (lanes). A line is the messages from one person in one conversation, or the messages to one conversation. Each line has at most one
//! task.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use store::ChannelLane;
use tokio::sync::Notify;

/// The lines that have a task. Cheap to clone; all clones share the same state.
#[derive(Clone, Debug)]
pub(crate) struct Lanes {
    /// The lines that have a task; the value is true if the line was requested again while its task ran.
    busy: Arc<Mutex<HashMap<ChannelLane, bool>>>,
    wake: Arc<Notify>,
}

/// The exclusive right to work on a line, until it is dropped.
pub(crate) struct Working {
    lanes: Lanes,
    lane: ChannelLane,
}

impl Lanes {
    /// Creates an empty set; `wake` is notified when a task ends whose line was requested again in the meantime.
    pub(crate) fn new(wake: &Arc<Notify>) -> Self {
        Self { busy: Arc::default(), wake: Arc::clone(wake) }
    }

    /// Takes a line. Returns `None` if the line has a task; when that task ends, the line is started again.
    pub(crate) fn begin(&self, lane: &ChannelLane) -> Option<Working> {
        let mut busy = self.lock();
        if let Some(is_wanted) = busy.get_mut(lane) {
            *is_wanted = true;
            return None;
        }
        busy.insert(lane.clone(), false);
        Some(Working { lanes: self.clone(), lane: lane.clone() })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ChannelLane, bool>> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        let is_wanted = self.lanes.lock().remove(&self.lane);
        if is_wanted == Some(true) {
            self.lanes.wake.notify_one();
        }
    }
}
