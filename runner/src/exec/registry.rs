//! Who runs under which exec_id, from the request until the last process of its tree ended.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use proto::request::Exec;
use proto::{ErrorKind, ExecId, WireError};

use crate::kill::Mark;

/// The execs of this runner whose tree is not gone.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    execs: RefCell<HashMap<ExecId, Entry>>,
}

#[derive(Debug)]
struct Entry {
    request: Rc<Exec>,
    mark: Option<Mark>,
}

impl Registry {
    /// Takes an exec_id for a request, until the claim is dropped.
    ///
    /// # Errors
    /// `conflict` when the id is taken.
    pub(crate) fn claim(registry: &Rc<Self>, request: &Rc<Exec>) -> Result<Claim, WireError> {
        let exec_id = request.exec_id;
        let mut execs = registry.execs.borrow_mut();
        if let Some(known) = execs.get(&exec_id) {
            let text = if *known.request == **request {
                format!("exec {exec_id} is already running")
            } else {
                format!("exec {exec_id} is another command: choose a new id")
            };
            return Err(WireError::new(ErrorKind::Conflict, text));
        }
        execs.insert(exec_id, Entry { request: Rc::clone(request), mark: None });
        Ok(Claim { registry: Rc::clone(registry), exec_id })
    }

    /// The tree of an exec, if it has started and is not gone.
    pub(crate) fn mark(&self, exec_id: ExecId) -> Option<Mark> {
        self.execs.borrow().get(&exec_id)?.mark
    }
}

/// One exec's place in the registry, given back when dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    registry: Rc<Registry>,
    exec_id: ExecId,
}

impl Claim {
    pub(crate) fn exec_id(&self) -> ExecId {
        self.exec_id
    }

    /// The command's process exists.
    pub(crate) fn started(&self, mark: Mark) {
        if let Some(entry) = self.registry.execs.borrow_mut().get_mut(&self.exec_id) {
            entry.mark = Some(mark);
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.registry.execs.borrow_mut().remove(&self.exec_id);
    }
}
