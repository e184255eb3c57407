//! Changes to files, each made once even if the request is repeated.
//!
//! A request whose link was lost is sent again with the same id; the remembered answer is then sent again.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use proto::{ErrorKind, ExecId, Message, Request, WireError};
use tokio::sync::Notify;

use crate::limits::KEPT_ANSWERS;

/// The answer of a change.
pub(crate) type Answer = Result<Message, WireError>;

/// The changes in progress, and the answers of the last [`KEPT_ANSWERS`].
#[derive(Debug, Default)]
pub(crate) struct Changes {
    known: RefCell<HashMap<ExecId, Rc<Change>>>,
    order: RefCell<VecDeque<ExecId>>,
}

/// A change in progress, or its remembered answer.
#[derive(Debug)]
pub(crate) struct Change {
    request: Request,
    answer: RefCell<Option<Answer>>,
    settled: Notify,
}

/// The decision about a change: carry it out, or wait for its answer.
pub(crate) enum Begin {
    /// Carry out the change, then store its answer.
    New(Rc<Change>),
    /// The change was requested before; wait for its answer.
    Known(Rc<Change>),
}

impl Changes {
    /// Accepts a request for a change.
    ///
    /// # Errors
    /// `conflict` if the id was used for another request.
    pub(crate) fn begin(&self, id: ExecId, request: &Request) -> Result<Begin, WireError> {
        if let Some(known) = self.get(id) {
            if known.request == *request {
                return Ok(Begin::Known(known));
            }
            let text = format!("{id} belongs to another request: choose a new id");
            return Err(WireError::new(ErrorKind::Conflict, text));
        }
        let answer = RefCell::default();
        let change = Rc::new(Change { request: request.clone(), answer, settled: Notify::new() });
        self.known.borrow_mut().insert(id, Rc::clone(&change));
        let mut order = self.order.borrow_mut();
        order.push_back(id);
        if order.len() > KEPT_ANSWERS
            && let Some(oldest) = order.pop_front()
        {
            self.known.borrow_mut().remove(&oldest);
        }
        Ok(Begin::New(change))
    }

    /// A requested change.
    pub(crate) fn get(&self, id: ExecId) -> Option<Rc<Change>> {
        self.known.borrow().get(&id).cloned()
    }

    /// Removes a change that was not made because its data did not arrive.
    pub(crate) fn forget(&self, id: ExecId) {
        self.known.borrow_mut().remove(&id);
    }
}

impl Change {
    /// Gives the answer to all waiting requests.
    pub(crate) fn settle(&self, answer: Answer) {
        self.answer.replace(Some(answer));
        self.settled.notify_waiters();
    }

    /// The answer, once there is one.
    pub(crate) async fn answer(&self) -> Answer {
        loop {
            let settled = self.settled.notified();
            if let Some(answer) = &*self.answer.borrow() {
                return answer.clone();
            }
            settled.await;
        }
    }
}
