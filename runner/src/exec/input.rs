//! From the peer to the command's standard input.

use std::io;
use std::os::fd::OwnedFd;

use bytes::Buf;
use tokio::net::unix::pipe;

use super::outlet::{self, Outlet};

/// Writes what arrives to the command; what it does not want is discarded, so that the sender is never stuck.
#[derive(Debug)]
pub(super) struct Input {
    pipe: Option<pipe::Sender>,
    front: Option<outlet::Input>,
}

impl Input {
    /// Takes our end of the pipe, which must be non-blocking.
    pub(super) fn new(pipe: Option<OwnedFd>) -> io::Result<Self> {
        let pipe = pipe.map(pipe::Sender::from_owned_fd_unchecked).transpose()?;
        Ok(Self { pipe, front: None })
    }

    /// Writes what can be written now.
    pub(super) fn pump(&mut self, outlet: &Outlet) {
        // What came on a stream that is gone comes again on the next one, as far as it was not taken.
        self.front.take_if(|front| !outlet.is_current(front.generation));
        while let Some(mut front) = self.front.take().or_else(|| outlet.take_input()) {
            let length = front.bytes.len();
            let written = match self.pipe.as_ref().map(|pipe| pipe.try_write(&front.bytes)) {
                None => length,
                Some(Ok(written)) => written,
                Some(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.front = Some(front);
                    return;
                }
                Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => 0,
                // The command closed its input; the rest is for nobody.
                Some(Err(_)) => {
                    self.pipe = None;
                    length
                }
            };
            front.bytes.advance(written);
            outlet.input_taken(front.generation, written);
            if !front.bytes.is_empty() {
                self.front = Some(front);
            }
        }
        if self.pipe.is_some() && outlet.input_ended() {
            self.pipe = None;
        }
    }

    /// Waits until more can be written; never, when nothing waits to be.
    pub(super) async fn writable(&self) {
        match &self.pipe {
            // An error shows in the write that follows.
            Some(pipe) if self.front.is_some() => drop(pipe.writable().await),
            _ => std::future::pending().await,
        }
    }
}
