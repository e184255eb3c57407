//! The commands' copy of `/etc/resolv.conf`.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};

/// The name under which a new `resolv.conf` is written before it replaces the old one.
const NEW_RESOLVER: &str = ".resolv.conf.new";

/// A handle on the commands' own `/etc`, if they have one; for threads that see the machine's.
#[derive(Clone, Debug)]
pub(crate) struct Resolver(Option<Arc<OwnedFd>>);

impl Resolver {
    pub(super) fn new(etc: Option<OwnedFd>) -> Self {
        Self(etc.map(Arc::new))
    }

    /// Updates the copy; call this from an unconfined thread.
    pub(crate) fn refresh(&self) -> io::Result<()> {
        let Some(etc) = &self.0 else { return Ok(()) };
        let content = fs::read("/etc/resolv.conf")?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(etc, NEW_RESOLVER, flags, Mode::from_raw_mode(0o644))?;
        File::from(file).write_all(&content)?;
        Ok(rustix::fs::renameat(etc, NEW_RESOLVER, etc, "resolv.conf")?)
    }
}
