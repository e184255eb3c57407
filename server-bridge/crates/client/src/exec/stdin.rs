//! Standard input, read on a separate thread with a small read-ahead.

use std::collections::VecDeque;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::stdin_frame;
use crate::failure::Failure;
use crate::limits::{STDIN_AHEAD_BYTES, STDIN_CHUNK_BYTES, STDIN_KEPT_BYTES, STDIN_QUEUE};

/// Standard input as frames; the last one is empty and ends the command's input. The last sent frames are kept, to be sent
/// again over another connection.
pub(crate) struct Stdin {
    frames: Option<mpsc::Receiver<Bytes>>,
    sent: VecDeque<Bytes>,
    /// The number of bytes of input that were sent before the frames in `sent`.
    forgotten_bytes: u64,
    sent_bytes: u64,
    has_ended: bool,
    /// Frames to be sent again, before anything new.
    again: VecDeque<Bytes>,
    /// The offset up to which the server accepted the input on this connection, in bytes.
    taken: u64,
    /// The offset up to which the input was sent on this connection, in bytes.
    offset: u64,
}

impl Stdin {
    /// No standard input.
    pub(crate) fn none() -> Self {
        Self::of(None)
    }

    fn of(frames: Option<mpsc::Receiver<Bytes>>) -> Self {
        Self {
            frames,
            sent: VecDeque::new(),
            forgotten_bytes: 0,
            sent_bytes: 0,
            has_ended: false,
            again: VecDeque::new(),
            taken: 0,
            offset: 0,
        }
    }

    /// Begins to read.
    pub(crate) fn start() -> Result<Self, Failure> {
        let (sender, frames) = mpsc::channel(STDIN_QUEUE);
        // The thread may be blocked in a read forever (a terminal); the end of the process ends it.
        std::thread::Builder::new()
            .name("stdin".to_owned())
            .spawn(move || read(&sender))
            .map_err(|error| Failure::other("io", format!("cannot read standard input: {error}")))?;
        Ok(Self::of(Some(frames)))
    }

    /// True until the last frame was sent.
    pub(crate) fn is_open(&self) -> bool {
        self.frames.is_some() || !self.again.is_empty()
    }

    /// True if more input may be sent before the server accepts what was sent.
    pub(crate) fn may_go_ahead(&self) -> bool {
        self.offset.saturating_sub(self.taken) < STDIN_AHEAD_BYTES
    }

    /// Records that the server accepted the input up to this offset, in bytes.
    pub(crate) fn taken(&mut self, offset: u64) {
        self.taken = offset;
    }

    /// Stops the input: nothing more is sent.
    pub(crate) fn close(&mut self) {
        self.frames = None;
        self.again.clear();
    }

    /// Begins again at `offset`, on another connection; `false` if the input from there on is no longer kept.
    pub(crate) fn rewind(&mut self, offset: u64) -> bool {
        if offset < self.forgotten_bytes {
            return false;
        }
        (self.taken, self.offset) = (offset, offset);
        self.again.clear();
        let mut at = self.forgotten_bytes;
        for piece in &self.sent {
            let end = at + piece.len() as u64;
            if end > offset {
                let from = usize::try_from(offset.saturating_sub(at)).unwrap_or(usize::MAX);
                self.again.push_back(piece.slice(from..));
            }
            at = end;
        }
        if self.has_ended {
            self.again.push_back(Bytes::new());
        }
        true
    }

    /// The next frame; the last one, once there is no more.
    pub(crate) async fn next(&mut self) -> Bytes {
        if let Some(piece) = self.again.pop_front() {
            self.offset += piece.len() as u64;
            return stdin_frame(&piece);
        }
        if let Some(frames) = &mut self.frames
            && let Some(piece) = frames.recv().await
        {
            self.keep(&piece);
            self.offset += piece.len() as u64;
            return stdin_frame(&piece);
        }
        self.frames = None;
        self.has_ended = true;
        stdin_frame(&[])
    }

    fn keep(&mut self, piece: &Bytes) {
        self.sent_bytes += piece.len() as u64;
        self.sent.push_back(piece.clone());
        while self.sent_bytes - self.forgotten_bytes > STDIN_KEPT_BYTES
            && let Some(oldest) = self.sent.pop_front()
        {
            self.forgotten_bytes += oldest.len() as u64;
        }
    }
}

fn read(frames: &mpsc::Sender<Bytes>) {
    let mut buffer = vec![0; STDIN_CHUNK_BYTES];
    loop {
        match rustix::io::read(std::io::stdin(), &mut buffer[..]) {
            Ok(0) => return,
            Ok(read) => {
                if frames.blocking_send(Bytes::copy_from_slice(&buffer[..read])).is_err() {
                    return;
                }
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => wait_readable(),
            Err(_) => return,
        }
    }
}

fn wait_readable() {
    let stdin = std::io::stdin();
    let mut wanted = [rustix::event::PollFd::new(&stdin, rustix::event::PollFlags::IN)];
    let _ = rustix::event::poll(&mut wanted, None);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_was_sent_is_sent_again_from_where_it_is_wanted() {
        let (sender, frames) = mpsc::channel(4);
        let mut stdin = Stdin::of(Some(frames));
        for piece in ["one", "two"] {
            sender.send(Bytes::from_static(piece.as_bytes())).await.unwrap();
            assert_eq!(stdin.next().await, stdin_frame(piece.as_bytes()));
        }
        drop(sender);
        assert_eq!(stdin.next().await, stdin_frame(b""));
        assert!(!stdin.is_open());
        assert!(stdin.rewind(4));
        assert_eq!((stdin.next().await, stdin.next().await), (stdin_frame(b"wo"), stdin_frame(b"")));
        assert!(!stdin.is_open());
        assert!(stdin.may_go_ahead());
        stdin.offset += STDIN_AHEAD_BYTES;
        assert!(!stdin.may_go_ahead());
        stdin.taken(STDIN_AHEAD_BYTES);
        assert!(stdin.may_go_ahead());
        stdin.forgotten_bytes = 3;
        assert!(!stdin.rewind(2), "it is not kept any more");
    }
}
