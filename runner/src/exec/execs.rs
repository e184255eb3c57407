//! The execs of one runner: their shared state, and operations on them from outside.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;

use proto::message::{Done, ExecList, ExecReport, ExecTreeGone};
use proto::request::{Attach, Report, Resize, Signal};
use proto::{ErrorKind, ExecId, WireError};
use tokio::signal::unix;
use tokio::sync::Notify;

use super::denied::OpenPlaces;
use super::output::Scratch;
use super::registry::{Registry, no_such_exec};
use super::spool::Budget;
use super::terminal::Terminals;
use super::tree::TreeWatch;
use crate::blocking::blocking;
use crate::host::Host;
use crate::kill;
use crate::stream::{Connection, StreamHandle};

/// The commands of one runner, and their shared state.
#[derive(Debug)]
pub(crate) struct Execs {
    pub(crate) host: Rc<Host>,
    pub(super) registry: Registry,
    pub(super) terminals: Terminals,
    pub(super) trees: TreeWatch,
    /// Notified when a command starts, for watchers that only work while some run.
    pub(super) command_started: Notify,
    pub(super) scratch: Scratch,
    pub(super) open_places: OpenPlaces,
    /// Held by every recently started command.
    pub(super) young: Rc<()>,
    /// True if the connected server runs on this machine, judging by its address.
    pub(super) is_beside_server: Cell<bool>,
    /// The current link, for messages without a request.
    connection: RefCell<Option<Rc<Connection>>>,
}

impl Execs {
    /// A state without commands; output that does not fit into memory is stored below `state_dir`.
    pub(crate) fn new(host: Rc<Host>, open_places: OpenPlaces, state_dir: &Path) -> Rc<Self> {
        Rc::new(Self {
            host,
            registry: Registry::new(Budget::of_runner(state_dir)),
            terminals: Terminals::default(),
            trees: TreeWatch::default(),
            command_started: Notify::new(),
            scratch: Scratch::default(),
            open_places,
            young: Rc::default(),
            is_beside_server: Cell::default(),
            connection: RefCell::default(),
        })
    }

    /// Sets the current link; messages of the session go there.
    pub(crate) fn connected(&self, connection: Rc<Connection>) {
        self.connection.replace(Some(connection));
    }

    /// Sets whether the connected server runs on this machine, judging by its address.
    pub(crate) fn set_beside_server(&self, is_beside: bool) {
        self.is_beside_server.set(is_beside);
    }

    /// Attaches a stream to an exec; returns the stream if no exec has this id.
    pub(crate) fn attach(&self, request: &Attach, stream: StreamHandle) -> Option<StreamHandle> {
        self.registry.attach(request, stream)
    }

    /// Handles the acknowledgement of a result.
    pub(crate) fn acknowledge(&self, exec_id: ExecId) {
        self.registry.acknowledge(exec_id);
    }

    /// The state of an exec.
    ///
    /// # Errors
    /// `no_such_exec`.
    pub(crate) fn report(&self, request: &Report) -> Result<ExecReport, WireError> {
        self.registry.report(request)
    }

    /// The execs that are still remembered, the newest first.
    pub(crate) fn list(&self) -> ExecList {
        ExecList { execs: self.registry.list() }
    }

    /// Changes the size of an exec's terminal.
    ///
    /// # Errors
    /// `no_such_exec` if no exec of that id has one.
    pub(crate) fn resize(&self, request: &Resize) -> Result<Done, WireError> {
        self.terminals.resize(request)
    }

    /// Sends a signal to the whole tree of an exec.
    pub(crate) async fn signal(&self, request: &Signal) -> Result<Done, WireError> {
        let mark = self.registry.mark(request.exec_id).ok_or_else(|| no_such_exec(request.exec_id))?;
        let signal = request.signal;
        blocking(move || kill::signal_tree(mark, signal)).await?.map_err(|_| {
            WireError::new(ErrorKind::InvalidBody, format!("{signal} is not a signal's number"))
        })?;
        Ok(Done {})
    }

    /// The number of commands that are running, or that left processes running.
    pub(crate) fn running(&self) -> usize {
        self.registry.running() + self.trees.marks().count()
    }

    /// True if no process left by a command is known to live.
    pub(crate) fn have_no_remains(&self) -> bool {
        self.trees.settle(|exec_id| self.tree_gone(exec_id))
    }

    /// Ends every running command, and waits until all are complete.
    pub(crate) async fn end_all(&self) {
        self.registry.end_all().await;
    }

    /// Removes results that were kept long enough; sooner while an update waits for them.
    pub(crate) fn forget_old(&self, update_waits: bool) {
        self.registry.forget_old(update_waits);
    }

    /// Waits until processes ended, or a check of leftover processes is due.
    pub(crate) async fn trees_due(&self, child_signals: &mut unix::Signal) {
        tokio::select! {
            () = TreeWatch::child_ended(child_signals) => {}
            () = self.trees.due() => {}
        }
    }

    /// Reports trees whose last process ended. Call this after processes ended.
    pub(crate) async fn look_after_trees(&self) {
        if !self.trees.is_empty() {
            // Leftover processes may have outlived the check at their command's end.
            self.host.look_after_git();
        }
        self.trees.look(|exec_id| self.tree_gone(exec_id)).await;
    }

    /// Called when the last process of an exec ended.
    fn tree_gone(&self, exec_id: ExecId) {
        self.registry.tree_gone(exec_id);
        if let Some(connection) = &*self.connection.borrow() {
            connection.notice(ExecTreeGone { exec_id });
        }
    }
}
