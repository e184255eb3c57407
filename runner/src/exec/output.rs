//! Passes data from one of the command's output pipes to the [`Outlet`].
//!
//! The pipe is read as far as the outlet has room; without room it fills, and the command waits.

use std::cell::RefCell;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use proto::limits::MAX_DATA_BYTES;
use proto::{Channel, DataBuf};
use tokio::net::unix::pipe;

use super::denied::Tail;
use super::outlet::Outlet;
use crate::limits::{BULK_PIPE_BYTES, HAND_OVER_BYTES, READS_PER_TURN};

/// The buffer all pipes are read into; a full one is handed over and replaced.
#[derive(Debug, Default)]
pub(crate) struct Scratch(RefCell<Option<DataBuf>>);

impl Scratch {
    fn take(&self) -> DataBuf {
        self.0.take().unwrap_or_else(|| DataBuf::with_capacity(MAX_DATA_BYTES))
    }

    /// Cuts data that was read out of a buffer.
    fn cut(&self, buffer: DataBuf) -> DataBuf {
        if buffer.len() >= HAND_OVER_BYTES {
            return buffer;
        }
        let copy = DataBuf::copy_from(buffer.as_slice());
        self.put_back(buffer);
        copy
    }

    fn put_back(&self, mut buffer: DataBuf) {
        buffer.truncate(0);
        self.0.replace(Some(buffer));
    }
}

/// The state that the outputs of one exec share.
#[derive(Debug)]
pub(super) struct Account {
    /// How much more may be sent in total.
    pub(super) allowance: Option<u64>,
    /// Bytes that were not sent because of the allowance.
    pub(super) dropped_bytes: u64,
}

impl Account {
    fn is_closed(&self) -> bool {
        self.allowance == Some(0)
    }
}

/// The outcome of one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Turn {
    /// True if bytes were read from the pipe.
    pub(super) moved: bool,
    /// True if there may be data to read, but no room for it.
    pub(super) blocked: bool,
}

/// One output pipe of a command.
#[derive(Debug)]
pub(super) struct Output {
    channel: Channel,
    pipe: Option<pipe::Receiver>,
    written_bytes: u64,
    /// True if the pipe was made larger, or refused to be.
    is_grown: bool,
    tail: Option<Tail>,
}

impl Output {
    /// Takes the runner's end of the pipe, which must be non-blocking.
    pub(super) fn new(pipe: OwnedFd, channel: Channel, keep_tail: bool) -> io::Result<Self> {
        Ok(Self {
            channel,
            pipe: Some(pipe::Receiver::from_owned_fd_unchecked(pipe)?),
            written_bytes: 0,
            is_grown: false,
            tail: keep_tail.then(Tail::default),
        })
    }

    /// The length of the command's output, as far as it was read.
    pub(super) fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// True if it may still have a writer.
    pub(super) fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// True if the pipe holds unread data.
    pub(super) fn holds_something(&self) -> bool {
        let waiting = self.pipe.as_ref().map(rustix::io::ioctl_fionread);
        waiting.is_some_and(|bytes| bytes.is_ok_and(|bytes| bytes > 0))
    }

    /// True if the end of the output indicates a denial.
    pub(super) fn tells_a_denial(&self, is_open: impl Fn(&Path) -> bool) -> bool {
        self.tail.as_ref().is_some_and(|tail| tail.tells_a_denial(is_open))
    }

    /// The end of the output, if it is kept.
    pub(super) fn tail(&self) -> Option<&Tail> {
        self.tail.as_ref()
    }

    /// True if reading makes sense: the pipe is open, and its data can be stored.
    pub(super) fn may_read(&self, outlet: &Outlet, account: &Account) -> bool {
        self.is_open() && room(outlet, account) > 0
    }

    /// Waits until there is data to read; forever, if the pipe has ended.
    pub(super) async fn readable(&self) {
        match &self.pipe {
            // The following read reports an error.
            Some(pipe) => drop(pipe.readable().await),
            None => std::future::pending().await,
        }
    }

    /// The command ended: reads all remaining data, regardless of room. A pipe holds no more than its own size.
    pub(super) fn command_ended(&mut self, outlet: &Outlet, account: &mut Account) {
        // The kernel may have data in the pipe that its event has not reported yet.
        let mut left = self.pipe.as_ref().and_then(|pipe| rustix::io::ioctl_fionread(pipe).ok()).unwrap_or(0);
        while left > 0 {
            let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(MAX_DATA_BYTES);
            let Some(buffer) = self.read_untold(wanted) else { return };
            left = left.saturating_sub(buffer.len() as u64);
            self.deliver(buffer, outlet, account);
        }
        // After that the output usually ends.
        if let Some(buffer) = self.read_untold(1) {
            self.deliver(buffer, outlet, account);
        }
    }

    /// Adds a text of the runner to the command's output.
    pub(super) fn add(&mut self, text: &str, outlet: &Outlet, account: &mut Account) {
        self.written_bytes += text.len() as u64;
        self.deliver(DataBuf::copy_from(text.as_bytes()), outlet, account);
    }

    /// Moves what can be moved now, bounded for fairness to others.
    pub(super) fn pump(&mut self, outlet: &Outlet, account: &mut Account, scratch: &Scratch) -> Turn {
        let mut turn = Turn::default();
        for _ in 0..READS_PER_TURN {
            if self.pipe.is_none() {
                break;
            }
            let room = room(outlet, account);
            if room == 0 {
                turn.blocked = true;
                break;
            }
            let mut buffer = scratch.take();
            if !self.read(&mut buffer, room) {
                scratch.put_back(buffer);
                break;
            }
            turn.moved = true;
            if buffer.len() == MAX_DATA_BYTES {
                self.grow();
            }
            self.deliver(scratch.cut(buffer), outlet, account);
        }
        turn
    }

    /// Reads and discards until every writer has closed the pipe, so that none is affected by a closed pipe.
    pub(super) async fn discard(&mut self, scratch: &Scratch) {
        while self.pipe.is_some() {
            self.readable().await;
            let mut buffer = scratch.take();
            while self.read(&mut buffer, MAX_DATA_BYTES) {
                buffer.truncate(0);
                tokio::task::consume_budget().await;
            }
            scratch.put_back(buffer);
        }
    }

    /// Reads once into an empty buffer, at most `room` bytes; `false` if there is nothing now, or nothing any more.
    fn read(&mut self, buffer: &mut DataBuf, room: usize) -> bool {
        self.read_by(|pipe| pipe.try_read_buf(&mut buffer.unfilled(room))).is_some()
    }

    /// Reads once into an empty buffer, without waiting for the reactor.
    fn read_untold(&mut self, room: usize) -> Option<DataBuf> {
        let mut buffer = DataBuf::zeroed(room);
        let length = self.read_by(|pipe| Ok(rustix::io::read(pipe, buffer.as_mut_slice())?))?;
        buffer.truncate(length);
        Some(buffer)
    }

    fn read_by(&mut self, mut read: impl FnMut(&pipe::Receiver) -> io::Result<usize>) -> Option<usize> {
        loop {
            match read(self.pipe.as_ref()?) {
                Ok(length) if length > 0 => {
                    self.written_bytes += length as u64;
                    return Some(length);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The last writer has closed the pipe.
                Ok(_) | Err(_) => {
                    self.pipe = None;
                    return None;
                }
            }
        }
    }

    /// Lets the command write ahead once it is found to write a lot: that means fewer context switches per megabyte.
    fn grow(&mut self) {
        if let Some(pipe) = self.pipe.as_ref().filter(|_| !std::mem::replace(&mut self.is_grown, true)) {
            // A terminal is not a pipe, and a user may have too many large ones: then it stays as it is.
            let _ = rustix::pipe::fcntl_setpipe_size(pipe, BULK_PIPE_BYTES);
        }
    }

    fn deliver(&mut self, mut bytes: DataBuf, outlet: &Outlet, account: &mut Account) {
        if let Some(tail) = &mut self.tail {
            tail.push(bytes.as_slice());
        }
        let allowed = usize::try_from(account.allowance.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
        let kept = bytes.len().min(allowed);
        account.dropped_bytes += (bytes.len() - kept) as u64;
        bytes.truncate(kept);
        account.allowance = account.allowance.map(|allowance| allowance.saturating_sub(kept as u64));
        if !bytes.is_empty() {
            outlet.push(self.channel, bytes);
        }
    }
}

/// How much may be read now.
fn room(outlet: &Outlet, account: &Account) -> usize {
    if account.is_closed() { MAX_DATA_BYTES } else { outlet.room() }
}
