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

/// The directory of terminals.
pub(super) const DIRECTORY: &str = "/dev/pts";

/// The size of a terminal, in character cells; 0 is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalSize {
    /// Height, in character cells.
    pub rows: u16,
    /// Width, in character cells.
    pub columns: u16,
}

/// A terminal of which both sides are open.
#[derive(Debug)]
pub(crate) struct OpenTerminal {
    /// The runner's side: reads output, writes input. Close-on-exec and non-blocking.
    pub(crate) master: OwnedFd,
    /// The command's side. While it is open, reading does not end.
    pub(crate) slave: OwnedFd,
    path: CString,
}

/// Gives the calling thread's mount namespace its own terminals; programs can open more of them.
pub(super) fn attach_file_system() -> io::Result<()> {
    let max = TERMINALS_PER_COMMAND.to_string();
    let mount = file_system(TERMINALS, &[("mode", "0600"), ("ptmxmode", "0666"), ("max", &max)])?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    Ok(rustix::mount::move_mount(mount.as_fd(), "", CWD, DIRECTORY, flags)?)
}

impl OpenTerminal {
    /// Opens a terminal in the calling thread's view. Only its user can access it, and it treats text as UTF-8.
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

    /// The terminal's path in the view of the thread that opened it.
    pub(super) fn path(&self) -> PathBuf {
        OsStr::from_bytes(self.path.to_bytes()).into()
    }
}

/// Sets the size; the programs in the terminal get SIGWINCH.
pub(crate) fn resize(master: impl AsFd, size: TerminalSize) -> io::Result<()> {
    let size = Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
    Ok(rustix::termios::tcsetwinsize(master, size)?)
}
