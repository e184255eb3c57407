//! From the peer to the command's standard input.

use std::io;
use std::os::fd::OwnedFd;

use bytes::{Buf, Bytes};
use tokio::net::unix::pipe;

use crate::stream::StreamHandle;

/// Writes what arrives to the command; what it does not want is discarded, so that the sender is never stuck.
#[derive(Debug)]
pub(super) struct Input {
    pipe: Option<pipe::Sender>,
    front: Bytes,
}

impl Input {
    /// Takes our end of the pipe, which must be non-blocking.
    pub(super) fn new(pipe: Option<OwnedFd>) -> io::Result<Self> {
        let pipe = pipe.map(pipe::Sender::from_owned_fd_unchecked).transpose()?;
        Ok(Self { pipe, front: Bytes::new() })
    }

    /// Writes what can be written now.
    pub(super) fn pump(&mut self, stream: &StreamHandle) {
        loop {
            if self.front.is_empty() {
                match stream.take_data() {
                    Some(bytes) => self.front = bytes,
                    None => break,
                }
            }
            let length = self.front.len();
            let written = match self.pipe.as_ref().map(|pipe| pipe.try_write(&self.front)) {
                None => length,
                Some(Ok(written)) => written,
                Some(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => return,
                Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => continue,
                // The command closed its input; the rest is for nobody.
                Some(Err(_)) => {
                    self.pipe = None;
                    length
                }
            };
            self.front.advance(written);
            stream.consumed(written);
        }
        if stream.data_ended() || stream.is_lost() {
            self.pipe = None;
        }
    }

    /// Waits until more can be written; never, when nothing waits to be.
    pub(super) async fn writable(&self) {
        match &self.pipe {
            // An error shows in the write that follows.
            Some(pipe) if !self.front.is_empty() => drop(pipe.writable().await),
            _ => std::future::pending().await,
        }
    }
}
