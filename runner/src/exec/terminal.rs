//! Execs with a terminal: their start, and resizing the terminal.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::{Rc, Weak};

use proto::message::Done;
use proto::request::{Pty, Resize};
use proto::{ErrorKind, ExecId, WireError};

use crate::blocking::blocking;
use crate::host::{CommandUser, Host};
use crate::layers::Profile;
use crate::limits::TERMINAL_NAME_BYTES;
use crate::spawn::{SpawnError, SpawnRequest, Spawned, Terminal, TerminalSize, start_on_terminal};

/// The terminals of execs whose output has not ended.
#[derive(Debug, Default)]
pub(crate) struct Terminals(RefCell<HashMap<ExecId, Weak<Terminal>>>);

impl Terminals {
    /// Records an exec's terminal, as long as it is held elsewhere.
    pub(super) fn add(&self, exec_id: ExecId, terminal: &Rc<Terminal>) {
        let mut terminals = self.0.borrow_mut();
        terminals.retain(|_, terminal| terminal.strong_count() > 0);
        terminals.insert(exec_id, Rc::downgrade(terminal));
    }

    /// Changes the size of an exec's terminal; the programs in it get a signal.
    ///
    /// # Errors
    /// `no_such_exec` if no exec of that id has one.
    pub(crate) fn resize(&self, request: &Resize) -> Result<Done, WireError> {
        let exec_id = request.exec_id;
        let terminal = self.0.borrow().get(&exec_id).and_then(Weak::upgrade).ok_or_else(|| {
            WireError::new(ErrorKind::NoSuchExec, format!("no exec {exec_id} with a terminal runs here"))
        })?;
        let size = TerminalSize { rows: request.rows, columns: request.columns };
        terminal.resize(size).map_err(|error| WireError::new(ErrorKind::Io, error))?;
        Ok(Done {})
    }
}

/// The name and the value of a variable.
type Variable = (Vec<u8>, Vec<u8>);

/// The variable that names a terminal's type; none if the request names none.
///
/// # Errors
/// `invalid_body` for an invalid name.
pub(super) fn variable(pty: &Pty) -> Result<Option<Variable>, WireError> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.+".contains(&byte);
    if pty.term.len() > TERMINAL_NAME_BYTES || !pty.term.bytes().all(fits) {
        let text = "the terminal's kind is not a name like xterm-256color";
        return Err(WireError::new(ErrorKind::InvalidBody, text));
    }
    let named = !pty.term.is_empty();
    Ok(named.then(|| (b"TERM".to_vec(), pty.term.clone().into_bytes())))
}

/// Starts a command on a new terminal.
pub(super) async fn start(
    host: &Host,
    profile: Profile,
    user: CommandUser,
    order: SpawnRequest,
    pty: &Pty,
) -> Result<Spawned, SpawnError> {
    let (ground, policy) = (host.ground(profile, user).await?, host.policy_of(user).clone());
    let size = TerminalSize { rows: pty.rows, columns: pty.columns };
    let started = blocking(move || start_on_terminal(&ground, &policy, order, size)).await;
    started.map_err(|_| SpawnError::Stopped)?
}
