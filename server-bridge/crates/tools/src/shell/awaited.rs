//! A command that is awaited.

use std::ops::{Deref, DerefMut};

use execs::Ledger;
use sandbox::Exec;
use store::UserId;

/// A command that is awaited. If the server stops meanwhile, it goes on: the server's next run takes it up.
pub(super) struct Awaited {
    /// `None` only while it is dropped.
    exec: Option<Exec>,
    execs: Ledger,
    user: UserId,
}

/// The reason why it is there.
const HELD: &str = "it is taken out only when this is dropped";

impl Awaited {
    pub(super) fn new(exec: Exec, execs: &Ledger, user: UserId) -> Self {
        Self { exec: Some(exec), execs: execs.clone(), user }
    }

    /// Lets it go on without anybody who awaits it.
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
