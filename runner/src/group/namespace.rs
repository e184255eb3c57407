//! A limit on processes without a control group: the largest process number of the runner's own PID namespace.
//!
//! Each namespace has its own number since Linux 6.14. Before that a write would change the machine's: so nothing is written
//! unless the new namespace shows another number than the outer one, or the kernel is new enough, and the guardian, which
//! stayed outside, checks that its own number is unchanged.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::limits::{NAMESPACE_PIDS_RESERVED, NAMESPACE_PIDS_SPARE};

const LARGEST: &str = "/proc/sys/kernel/pid_max";

/// The first version of Linux in which each namespace has its own.
const SINCE: (u32, u32) = (6, 14);

/// A namespace whose number this process has set.
#[derive(Debug)]
pub(super) struct Bound {
    file: File,
    largest: u32,
}

static BOUND: OnceLock<Bound> = OnceLock::new();

/// Set once a write in a namespace turned out to change the machine's number.
static IS_SHARED: AtomicBool = AtomicBool::new(false);

/// The number outside, for a later comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outside(u32);

impl Outside {
    /// The number of the calling process's namespace; `None` if it cannot be read, or is known to be shared.
    pub(crate) fn read() -> Option<Self> {
        let is_shared = IS_SHARED.load(Ordering::Relaxed);
        if is_shared { None } else { largest().ok().map(Self) }
    }

    /// Makes sure that the number outside is unchanged, and restores it if it is not.
    ///
    /// # Errors
    /// The number had changed: namespaces do not have their own numbers here.
    pub(crate) fn check(self) -> io::Result<()> {
        if largest()? == self.0 {
            return Ok(());
        }
        IS_SHARED.store(true, Ordering::Relaxed);
        fs::write(LARGEST, self.0.to_string())?;
        Err(io::Error::other("the largest process number is the machine's, not the namespace's"))
    }
}

/// Limits the namespace of which the calling process is init to about `most` processes and threads.
///
/// # Errors
/// The number does not belong to the namespace, or may not be changed.
pub(super) fn bind(most: u32, outside: Outside) -> io::Result<()> {
    let inside = largest()?;
    if inside == outside.0 && !is_since(&release()) {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let wanted = most.saturating_add(NAMESPACE_PIDS_RESERVED + NAMESPACE_PIDS_SPARE).min(inside);
    let mut file = OpenOptions::new().write(true).open(LARGEST)?;
    file.write_all(wanted.to_string().as_bytes())?;
    if largest()? != wanted {
        return Err(io::Error::other("setting the largest process number had no effect"));
    }
    // Set by the one process that is the namespace's init, once.
    let _ = BOUND.set(Bound { file, largest: wanted });
    Ok(())
}

/// The namespace's limit, if there is one.
pub(super) fn bound() -> Option<&'static Bound> {
    BOUND.get()
}

impl Bound {
    /// Prevents new processes.
    pub(super) fn close(&self) -> io::Result<()> {
        self.set(NAMESPACE_PIDS_RESERVED + 1)
    }

    /// Allows as many processes as before.
    pub(super) fn open(&self) -> io::Result<()> {
        self.set(self.largest)
    }

    fn set(&self, largest: u32) -> io::Result<()> {
        self.file.write_all_at(largest.to_string().as_bytes(), 0)
    }
}

fn largest() -> io::Result<u32> {
    let text = fs::read_to_string(LARGEST)?;
    text.trim().parse().map_err(|_| io::ErrorKind::InvalidData.into())
}

fn release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

fn is_since(release: &str) -> bool {
    let mut parts = release.split(|mark: char| !mark.is_ascii_digit()).map(str::parse::<u32>);
    match (parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= SINCE,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_kernels_are_known_by_their_release() {
        for (release, expected) in [
            ("6.14.0", true),
            ("6.18.44-fc", true),
            ("7.0", true),
            ("6.13.9", false),
            ("5.15.0-1", false),
            ("", false),
            ("six", false),
        ] {
            assert_eq!(is_since(release), expected, "{release}");
        }
    }

    #[test]
    fn a_number_outside_that_stayed_is_no_error_and_none_is_written_without_a_namespace() {
        let outside = Outside::read().unwrap();
        assert!(outside.check().is_ok());
        assert!(bound().is_none());
    }
}
