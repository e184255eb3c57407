//! Results of execs that arrived, until the runner is informed that it may discard them.

use std::sync::Arc;
use std::time::Instant;

use proto::{ExecId, Session};

use crate::driver::stream::StreamState;
use crate::limits::ACKNOWLEDGE_DELAY;

/// Results to acknowledge once their readers took them, with the next request or after a short delay: they are not worth
/// a separate wake-up.
#[derive(Debug, Default)]
pub(super) struct Results {
    answered: Vec<(ExecId, Arc<StreamState>)>,
    /// Acknowledgements that wait for a link.
    waiting: Vec<ExecId>,
    due: Option<Instant>,
}

impl Results {
    /// Records the arrival of a result that its reader may not have taken yet.
    pub(super) fn arrived(&mut self, exec_id: ExecId, state: Arc<StreamState>, now: Instant) {
        self.answered.push((exec_id, state));
        self.due.get_or_insert(now + ACKNOWLEDGE_DELAY);
    }

    /// Acknowledges a result, now or over the next link.
    pub(super) fn acknowledge(&mut self, exec_id: ExecId, session: Option<&mut Session>) {
        match session {
            Some(session) => session.acknowledge(exec_id),
            None => self.waiting.push(exec_id),
        }
    }

    /// Acknowledges the results that waited for a link, and those that their readers took.
    pub(super) fn acknowledge_taken(&mut self, session: &mut Session, now: Instant) {
        for exec_id in self.waiting.drain(..) {
            session.acknowledge(exec_id);
        }
        if self.answered.is_empty() {
            return;
        }
        self.answered.retain(|(exec_id, state)| {
            let is_taken = state.taken().answer;
            if is_taken {
                session.acknowledge(*exec_id);
            }
            !is_taken
        });
        self.due = (!self.answered.is_empty()).then_some(now + ACKNOWLEDGE_DELAY);
    }

    /// The time at which the results are checked again.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }
}
