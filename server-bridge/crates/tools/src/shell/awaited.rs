//! A command that a call waits for, and that survives the server's stop.

use std::ops::{Deref, DerefMut};

use execs::Ledger;
use sandbox::Exec;
use store::UserId;

/// A command that a call waits for. If the server stops meanwhile, the command continues: the server's next run takes it up.
pub(super) struct Awaited {
    /// `None` only during the drop.
    exec: Option<Exec>,
    execs: Ledger,
    user: UserId,
}

/// The reason why `exec` is never `None` where it is used.
const HELD: &str = "the exec is taken out only when this is dropped";

impl Awaited {
    pub(super) fn new(exec: Exec, execs: &Ledger, user: UserId) -> Self {
        Self { exec: Some(exec), execs: execs.clone(), user }
    }

    /// Lets the command continue, although no one waits for it any more.
    pub(super) fn leave(mut self) {
        self.exec.take().expect(HELD).leave();
    }
}

impl Deref for Awaited {
    type Target = Exec;

    fn deref(&self) -> &Exec {
        self.exec.as_ref().expect(HELD)
    }
}

impl DerefMut for Awaited {
    fn deref_mut(&mut self) -> &mut Exec {
        self.exec.as_mut().expect(HELD)
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        if let Some(exec) = self.exec.take().filter(|_| self.execs.is_stopping(self.user)) {
            exec.leave();
        }
    }
}
