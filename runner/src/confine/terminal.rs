//! Opening a pseudo-terminal for one command.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::mount::MoveMountFlags;
use rustix::pty::OpenptFlags;
use rustix::termios::{InputModes, OptionalActions, Winsize};

use super::new_root::{TERMINALS, file_system};
use crate::limits::TERMINALS_PER_COMMAND;

/// Where terminals are.
pub(super) const DIRECTORY: &str = "/dev/pts";

/// How large a terminal is, in character cells; 0 is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalSize {
    /// Height.
    pub rows: u16,
    /// Width.
    pub columns: u16,
}

/// A terminal of which both sides are open.
#[derive(Debug)]
pub(crate) struct OpenTerminal {
    /// This side: reads what is shown, writes what is typed. Close-on-exec and non-blocking.
    pub(crate) master: OwnedFd,
    /// The command's side. While it is open, reading never ends.
    pub(crate) slave: OwnedFd,
    path: CString,
}

/// Gives the calling thread's mount namespace terminals of its own; programs can open more of them.
pub(super) fn attach_file_system() -> io::Result<()> {
    let max = TERMINALS_PER_COMMAND.to_string();
    let mount = file_system(TERMINALS, &[("mode", "0600"), ("ptmxmode", "0666"), ("max", &max)])?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    Ok(rustix::mount::move_mount(mount.as_fd(), "", CWD, DIRECTORY, flags)?)
}

impl OpenTerminal {
    /// Opens one where the calling thread looks. It is its user's alone, and takes text for UTF-8.
    pub(super) fn open(size: TerminalSize) -> io::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = rustix::pty::openpt(flags)?;
        rustix::pty::grantpt(&master)?;
        rustix::pty::unlockpt(&master)?;
        rustix::fs::fcntl_setfl(&master, OFlags::NONBLOCK)?;
        let path = rustix::pty::ptsname(&master, Vec::new())?;
        let slave = rustix::pty::ioctl_tiocgptpeer(&master, flags)?;
        let (named, opened) = (rustix::fs::stat(&path)?, rustix::fs::fstat(&slave)?);
        if (named.st_dev, named.st_ino) != (opened.st_dev, opened.st_ino) {
            return Err(io::Error::other("/dev/ptmx and /dev/pts do not belong together"));
        }
        rustix::fs::fchmod(&slave, Mode::from_raw_mode(0o600))?;
        let mut modes = rustix::termios::tcgetattr(&slave)?;
        modes.input_modes |= InputModes::IUTF8;
        rustix::termios::tcsetattr(&slave, OptionalActions::Now, &modes)?;
        resize(&master, size)?;
        Ok(Self { master, slave, path })
    }

    /// Its path where the thread looks that opened it.
    pub(super) fn path(&self) -> PathBuf {
        OsStr::from_bytes(self.path.to_bytes()).into()
    }
}

/// Sets the size; the programs in the terminal get SIGWINCH.
pub(crate) fn resize(master: impl AsFd, size: TerminalSize) -> io::Result<()> {
    let size = Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
    Ok(rustix::termios::tcsetwinsize(master, size)?)
}
