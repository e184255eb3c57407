//! Standard input, read on a thread of its own and never further ahead than a little.

use bytes::Bytes;
use tokio::sync::mpsc;

use super::stdin_frame;
use crate::cli::failure::Failure;
use crate::cli::limits::{STDIN_CHUNK_BYTES, STDIN_QUEUE};

/// Standard input as frames; the last one is empty and ends the command's input.
pub(in crate::cli) struct Stdin {
    frames: Option<mpsc::Receiver<Bytes>>,
}

impl Stdin {
    /// No standard input.
    pub(in crate::cli) fn none() -> Self {
        Self { frames: None }
    }

    /// Begins to read.
    pub(in crate::cli) fn start() -> Result<Self, Failure> {
        let (sender, frames) = mpsc::channel(STDIN_QUEUE);
        // The thread may be in a read for ever (a terminal); the end of the process ends it.
        std::thread::Builder::new()
            .name("stdin".to_owned())
            .spawn(move || read(&sender))
            .map_err(|error| Failure::other("io", format!("cannot read standard input: {error}")))?;
        Ok(Self { frames: Some(frames) })
    }

    /// True until the last frame was taken.
    pub(in crate::cli) fn is_open(&self) -> bool {
        self.frames.is_some()
    }

    /// Takes no more.
    pub(in crate::cli) fn close(&mut self) {
        self.frames = None;
    }

    /// The next frame; the last one, once there is no more.
    pub(in crate::cli) async fn next(&mut self) -> Bytes {
        if let Some(frames) = &mut self.frames
            && let Some(frame) = frames.recv().await
        {
            return frame;
        }
        self.frames = None;
        stdin_frame(&[])
    }
}

fn read(frames: &mpsc::Sender<Bytes>) {
    let mut buffer = vec![0; STDIN_CHUNK_BYTES];
    loop {
        match rustix::io::read(std::io::stdin(), &mut buffer[..]) {
            Ok(0) => return,
            Ok(read) => {
                if frames.blocking_send(stdin_frame(&buffer[..read])).is_err() {
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
