//! A terminal with a simulated person, for programs that need one.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::pty::OpenptFlags;
use rustix::termios::{LocalModes, Winsize};

use crate::eventually;

/// How long any text may take to be shown.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program on a separate terminal.
pub struct Terminal {
    program: Child,
    master: File,
    /// Kept open, so that the output can be read completely; until no more is expected.
    slave: Option<OwnedFd>,
    output: Receiver<Vec<u8>>,
    shown: Vec<u8>,
}

impl Terminal {
    /// Starts a program on a new terminal of this size.
    pub fn start(mut program: Command, rows: u16, columns: u16) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = rustix::pty::openpt(flags).unwrap();
        rustix::pty::unlockpt(&master).unwrap();
        resize(&master, rows, columns);
        let slave = rustix::pty::ioctl_tiocgptpeer(&master, flags).unwrap();
        let side = || slave.try_clone().unwrap();
        program.stdin(side()).stdout(side()).stderr(side()).env("TERM", "xterm-256color").process_group(0);
        let program = program.spawn().unwrap();
        let (sender, output) = channel();
        let mut reader = File::from(master.try_clone().unwrap());
        std::thread::spawn(move || {
            let mut buffer = vec![0; 64 * 1024];
            while let Ok(read @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { program, master: File::from(master), slave: Some(slave), output, shown: Vec::new() }
    }

    /// The program's process id.
    pub fn pid(&self) -> i32 {
        self.program.id() as i32
    }

    /// Types these keys.
    pub fn types(&mut self, keys: impl AsRef<[u8]>) {
        self.master.write_all(keys.as_ref()).unwrap();
    }

    /// Waits until a text is shown, then drops it and everything before it, which is returned.
    ///
    /// # Panics
    /// If it is not shown in time.
    pub fn sees(&mut self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let found = self.shown.windows(text.len()).position(|window| window == text.as_bytes());
            if let Some(at) = found {
                let seen: Vec<u8> = self.shown.drain(..at + text.len()).collect();
                return String::from_utf8_lossy(&seen).into_owned();
            }
            match self.output.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.shown.extend_from_slice(&bytes),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("no {text:?} in {:?}", String::from_utf8_lossy(&self.shown))
                }
            }
        }
    }

    /// True if the text has been shown since the last wait. Does not consume it.
    pub fn shows(&mut self, text: &str) -> bool {
        self.shown.extend(self.output.try_iter().flatten());
        self.shown.windows(text.len()).any(|window| window == text.as_bytes())
    }

    /// Everything shown since the last wait. Does not consume it.
    pub fn shown(&mut self) -> String {
        self.shown.extend(self.output.try_iter().flatten());
        String::from_utf8_lossy(&self.shown).into_owned()
    }

    /// True if the program has ended.
    pub fn has_ended(&mut self) -> bool {
        self.program.try_wait().unwrap().is_some()
    }

    /// Changes the window's size, and notifies the program as the kernel would.
    pub fn resize(&self, rows: u16, columns: u16) {
        resize(&self.master, rows, columns);
        crate::process::signal(self.pid(), rustix::process::Signal::WINCH);
    }

    /// Waits until the program set the terminal to raw mode, or back from it.
    pub fn wait_raw(&self, raw: bool) {
        eventually(if raw { "the terminal is raw" } else { "the terminal is restored" }, PATIENCE, || {
            (self.is_raw() == raw).then_some(())
        });
    }

    /// True if keys reach the program one at a time.
    pub fn is_raw(&self) -> bool {
        let modes = rustix::termios::tcgetattr(&self.master).unwrap();
        !modes.local_modes.intersects(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    /// Waits for the program's end; 128 + N when signal N ended it.
    pub fn ends(&mut self) -> i32 {
        use std::os::unix::process::ExitStatusExt;
        let status = eventually("the program ends", PATIENCE, || self.program.try_wait().unwrap());
        status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
    }

    /// Everything shown after the last wait, once the program ended.
    pub fn rest(&mut self) -> String {
        // No other process has it open any more: the output ends after its last byte.
        self.slave = None;
        let deadline = Instant::now() + PATIENCE;
        while let Ok(bytes) = self.output.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            self.shown.extend_from_slice(&bytes);
        }
        String::from_utf8_lossy(&std::mem::take(&mut self.shown)).into_owned()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

fn resize(master: impl std::os::fd::AsFd, rows: u16, columns: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(master, size).unwrap();
}
