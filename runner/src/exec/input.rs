//! Passes data from the peer to the command's standard input.
//!
//! A terminal's input cannot be closed while it is in use. There the end of the input is typed, as a person would: with the
//! character for it (Ctrl-D, unless the command chose another), twice after an incomplete line.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use bytes::{Buf, Bytes};
use rustix::termios::SpecialCodeIndex;
use tokio::net::unix::pipe;

use super::outlet::{self, Outlet};
use crate::limits::TERMINAL_RETRY_MS;

/// The character that ends the input if the terminal names none.
const CONTROL_D: u8 = 0x04;

/// Writes incoming data to the command; data that it does not want is discarded, so that the sender is never stuck.
#[derive(Debug)]
pub(super) struct Input {
    pipe: Option<pipe::Sender>,
    front: Option<outlet::Input>,
    terminal: Option<Line>,
}

/// The last characters typed into a terminal.
#[derive(Debug, Default)]
struct Line {
    is_begun: bool,
    /// The characters that end the input, once they are due.
    end: Bytes,
}

impl Input {
    /// Takes the runner's end of the pipe, or a terminal, which must be non-blocking.
    pub(super) fn new(pipe: Option<OwnedFd>, is_terminal: bool) -> io::Result<Self> {
        let pipe = pipe.map(pipe::Sender::from_owned_fd_unchecked).transpose()?;
        Ok(Self { pipe, front: None, terminal: is_terminal.then(Line::default) })
    }

    /// Writes as much as can be written now.
    pub(super) fn pump(&mut self, outlet: &Outlet) {
        // Data from a lost stream is sent again on the next one, as far as it was not taken.
        self.front.take_if(|front| !outlet.is_current(front.generation));
        while let Some(mut front) = self.front.take().or_else(|| outlet.take_input()) {
            let length = front.bytes.len();
            let written = match self.write(&front.bytes) {
                None => length,
                Some(Ok(written)) => written,
                Some(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.front = Some(front);
                    return;
                }
                Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => 0,
                // The command closed its input; the rest is discarded.
                Some(Err(_)) => {
                    self.pipe = None;
                    length
                }
            };
            if let (Some(line), Some(last)) = (&mut self.terminal, front.bytes[..written].last()) {
                line.is_begun = !b"\r\n".contains(last);
            }
            front.bytes.advance(written);
            outlet.input_taken(front.generation, written);
            if !front.bytes.is_empty() {
                self.front = Some(front);
            }
        }
        if self.pipe.is_some() && outlet.input_ended() {
            self.end();
        }
    }

    /// Waits until more can be written; forever, if nothing waits to be.
    pub(super) async fn writable(&self) {
        let is_ending = self.terminal.as_ref().is_some_and(|line| !line.end.is_empty());
        match &self.pipe {
            Some(pipe) if self.terminal.is_some() && (is_ending || self.front.is_some()) => {
                let retry = tokio::time::sleep(Duration::from_millis(TERMINAL_RETRY_MS));
                tokio::select! {
                    _ = pipe.writable() => {}
                    () = retry => {}
                }
            }
            // The following write reports an error.
            Some(pipe) if self.front.is_some() => drop(pipe.writable().await),
            _ => std::future::pending().await,
        }
    }

    fn write(&self, bytes: &[u8]) -> Option<io::Result<usize>> {
        let pipe = self.pipe.as_ref()?;
        Some(match pipe.try_write(bytes) {
            // A terminal that accepted nothing may accept more without an event.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && self.terminal.is_some() => {
                rustix::io::write(pipe, bytes).map_err(io::Error::from)
            }
            written => written,
        })
    }

    /// The peer sends no more, and everything was written.
    fn end(&mut self) {
        if let (Some(line), Some(pipe)) = (&mut self.terminal, &self.pipe) {
            if line.end.is_empty() {
                line.end = end_characters(pipe, line.is_begun);
            }
            let end = line.end.clone();
            match self.write(&end) {
                Some(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => return,
                None | Some(_) => {}
            }
        }
        self.pipe = None;
    }
}

/// The characters that end the input: one ends a begun line, another one the input itself.
fn end_characters(terminal: &pipe::Sender, line_is_begun: bool) -> Bytes {
    let modes = rustix::termios::tcgetattr(terminal);
    let end = modes.map_or(CONTROL_D, |modes| modes.special_codes[SpecialCodeIndex::VEOF]);
    vec![end; 1 + usize::from(line_is_begun)].into()
}
