//! From one of the command's output pipes to the peer.
//!
//! Where the request says `Block`, the pipe is read only as far as there is credit: it fills, and the command waits. Where
//! it says `DropOldest`, the pipe is always read and what finds no credit waits in a bounded backlog.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;

use proto::limits::MAX_DATA_BYTES;
use proto::request::Overflow;
use proto::{Channel, DataBuf};
use tokio::net::unix::pipe;

use super::denied::Tail;
use crate::limits::{BACKLOG_BYTES, HAND_OVER_BYTES, READS_PER_TURN};
use crate::stream::StreamHandle;

/// The buffer all pipes are read into; a full one is handed over and replaced.
#[derive(Debug, Default)]
pub(crate) struct Scratch(RefCell<Option<DataBuf>>);

impl Scratch {
    fn take(&self) -> DataBuf {
        self.0.take().unwrap_or_else(|| DataBuf::zeroed(MAX_DATA_BYTES))
    }

    /// The first `length` bytes of a buffer that was read into.
    fn cut(&self, mut buffer: DataBuf, length: usize) -> DataBuf {
        if length >= HAND_OVER_BYTES {
            buffer.truncate(length);
            return buffer;
        }
        let copy = DataBuf::copy_from(&buffer.as_slice()[..length]);
        self.0.replace(Some(buffer));
        copy
    }
}

/// What the outputs of one exec share.
#[derive(Debug)]
pub(super) struct Account {
    /// How much more may be sent at all.
    pub(super) allowance: Option<u64>,
    /// What was not sent.
    pub(super) dropped_bytes: u64,
    /// Nobody takes output any more: read it and forget it.
    pub(super) discards: bool,
}

impl Account {
    fn is_closed(&self) -> bool {
        self.discards || self.allowance == Some(0)
    }
}

/// What one turn came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Turn {
    /// Bytes read from the pipe or sent to the peer.
    pub(super) moved: bool,
    /// There is something to read or send, and no credit.
    pub(super) blocked: bool,
}

/// One output pipe of a command.
#[derive(Debug)]
pub(super) struct Output {
    channel: Channel,
    pipe: Option<pipe::Receiver>,
    overflow: Overflow,
    written_bytes: u64,
    /// What was in the pipe when the command ended and has not been read yet.
    owed_bytes: u64,
    backlog: VecDeque<DataBuf>,
    backlog_bytes: usize,
    /// Dropped from the backlog's front and not told yet.
    gap_bytes: u64,
    tail: Option<Tail>,
}

impl Output {
    /// Takes our end of the pipe, which must be non-blocking.
    pub(super) fn new(
        pipe: OwnedFd,
        channel: Channel,
        overflow: Overflow,
        keep_tail: bool,
    ) -> io::Result<Self> {
        Ok(Self {
            channel,
            pipe: Some(pipe::Receiver::from_owned_fd_unchecked(pipe)?),
            overflow,
            written_bytes: 0,
            owed_bytes: 0,
            backlog: VecDeque::new(),
            backlog_bytes: 0,
            gap_bytes: 0,
            tail: keep_tail.then(Tail::default),
        })
    }

    pub(super) fn channel(&self) -> Channel {
        self.channel
    }

    /// What the command wrote, as far as it was read.
    pub(super) fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Whether somebody may still write.
    pub(super) fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Whether the pipe holds something that was not read yet.
    pub(super) fn holds_something(&self) -> bool {
        let waiting = self.pipe.as_ref().map(rustix::io::ioctl_fionread);
        waiting.is_some_and(|bytes| bytes.is_ok_and(|bytes| bytes > 0))
    }

    /// Whether all that the command itself wrote has been read and sent.
    pub(super) fn is_settled(&self) -> bool {
        self.owed_bytes == 0 && self.backlog.is_empty()
    }

    /// Whether the end of the output tells a denial.
    pub(super) fn tells_a_denial(&self) -> bool {
        self.tail.as_ref().is_some_and(Tail::tells_a_denial)
    }

    /// Whether reading makes sense: the pipe is open, and what comes out of it can go somewhere.
    pub(super) fn may_read(&self, stream: &StreamHandle, account: &Account) -> bool {
        self.is_open() && self.room(stream, account) > 0
    }

    /// Waits until there is something to read; never, when the pipe has ended.
    pub(super) async fn readable(&self) {
        match &self.pipe {
            // An error shows in the read that follows.
            Some(pipe) => drop(pipe.readable().await),
            None => std::future::pending().await,
        }
    }

    /// The command ended: reads what it left, and notes what is left for want of credit.
    pub(super) fn command_ended(&mut self, stream: &StreamHandle, account: &mut Account, scratch: &Scratch) {
        // The kernel knows about the pipe what its event may not have told yet.
        self.turn(stream, account, scratch, true);
        self.owed_bytes =
            self.pipe.as_ref().and_then(|pipe| rustix::io::ioctl_fionread(pipe).ok()).unwrap_or(0);
    }

    /// Moves what can be moved now, in fairness to others not without end.
    pub(super) fn pump(&mut self, stream: &StreamHandle, account: &mut Account, scratch: &Scratch) -> Turn {
        self.turn(stream, account, scratch, false)
    }

    /// Forgets what waits to be sent.
    pub(super) fn give_up(&mut self, account: &mut Account) {
        account.dropped_bytes += std::mem::take(&mut self.backlog_bytes) as u64;
        self.backlog.clear();
        self.owed_bytes = 0;
    }

    /// Reads and forgets until every writer is gone, so that none is hurt by a closed pipe.
    pub(super) async fn discard(&mut self, scratch: &Scratch) {
        while self.pipe.is_some() {
            self.readable().await;
            let mut buffer = scratch.take();
            while self.read(&mut buffer, MAX_DATA_BYTES, false).is_some() {
                tokio::task::consume_budget().await;
            }
            scratch.cut(buffer, 0);
        }
    }

    fn turn(
        &mut self,
        stream: &StreamHandle,
        account: &mut Account,
        scratch: &Scratch,
        untold: bool,
    ) -> Turn {
        let mut turn = Turn { moved: self.send_backlog(stream, account), blocked: false };
        for _ in 0..READS_PER_TURN {
            if self.pipe.is_none() {
                break;
            }
            let room = self.room(stream, account);
            if room == 0 {
                turn.blocked = true;
                return turn;
            }
            let mut buffer = scratch.take();
            match self.read(&mut buffer, room, untold) {
                Some(length) => {
                    turn.moved = true;
                    self.deliver(scratch.cut(buffer, length), stream, account);
                }
                None => {
                    scratch.cut(buffer, 0);
                    break;
                }
            }
        }
        turn.blocked = !self.backlog.is_empty();
        turn
    }

    /// How much may be read now.
    fn room(&self, stream: &StreamHandle, account: &Account) -> usize {
        match self.overflow {
            Overflow::Block if !account.is_closed() => stream.writable().min(MAX_DATA_BYTES),
            Overflow::Block | Overflow::DropOldest => MAX_DATA_BYTES,
        }
    }

    /// Reads once; `None` when there is nothing now, or nothing any more.
    fn read(&mut self, buffer: &mut DataBuf, room: usize, untold: bool) -> Option<usize> {
        let pipe = self.pipe.as_ref()?;
        let space = &mut buffer.as_mut_slice()[..room];
        loop {
            let read = if untold {
                rustix::io::read(pipe, &mut *space).map_err(io::Error::from)
            } else {
                pipe.try_read(space)
            };
            match read {
                Ok(length) if length > 0 => {
                    self.written_bytes += length as u64;
                    self.owed_bytes = self.owed_bytes.saturating_sub(length as u64);
                    return Some(length);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The last writer is gone.
                Ok(_) | Err(_) => {
                    self.pipe = None;
                    self.owed_bytes = 0;
                    return None;
                }
            }
        }
    }

    fn deliver(&mut self, mut bytes: DataBuf, stream: &StreamHandle, account: &mut Account) {
        if let Some(tail) = &mut self.tail {
            tail.push(bytes.as_slice());
        }
        let allowed = if account.discards { 0 } else { account.allowance.unwrap_or(u64::MAX) };
        let kept = bytes.len().min(usize::try_from(allowed).unwrap_or(usize::MAX));
        account.dropped_bytes += (bytes.len() - kept) as u64;
        bytes.truncate(kept);
        account.allowance = account.allowance.map(|allowance| allowance.saturating_sub(kept as u64));
        if bytes.is_empty() {
            return;
        }
        if self.backlog.is_empty() && stream.writable() >= bytes.len() {
            stream.data(self.channel, bytes);
            return;
        }
        self.backlog_bytes += bytes.len();
        self.backlog.push_back(bytes);
        while self.backlog_bytes > BACKLOG_BYTES {
            let Some(oldest) = self.backlog.pop_front() else { break };
            self.backlog_bytes -= oldest.len();
            self.gap_bytes += oldest.len() as u64;
            account.dropped_bytes += oldest.len() as u64;
        }
    }

    /// Sends what waits as far as there is credit, the gap before it first.
    fn send_backlog(&mut self, stream: &StreamHandle, account: &mut Account) -> bool {
        if account.discards && !self.backlog.is_empty() {
            self.give_up(account);
        }
        let mut sent = false;
        while !self.backlog.is_empty() {
            let room = stream.writable();
            if room == 0 {
                break;
            }
            if self.gap_bytes > 0 {
                stream.gap(self.channel, std::mem::take(&mut self.gap_bytes));
            }
            let Some(mut bytes) = self.backlog.pop_front() else { break };
            if bytes.len() > room {
                self.backlog.push_front(bytes.split_off(room));
            }
            self.backlog_bytes -= bytes.len();
            stream.data(self.channel, bytes);
            sent = true;
        }
        sent
    }
}
