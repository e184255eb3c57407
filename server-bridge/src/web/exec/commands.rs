//! The direction from a client to its running command: input, signals and acknowledgements.
//!
//! ```text
//! socket ─▶ read ─┬─ cancel, acknowledgements, signals: at once
//!                 └─ input ─▶ queue ─▶ write ─▶ command
//! ```
//! Input for the command is queued separately from the client's acknowledgements of output: a command may take no more input
//! until its output is taken.

use std::pin::pin;
use std::sync::Arc;

use api::exec::{ClientFrame, STDIN};
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use sandbox::ExecControl;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

use super::Receiver;
use crate::limits::{EXEC_INPUT_BYTES, EXEC_INPUT_TOLD_BYTES, EXEC_SMALL_INPUT_BYTES};

/// The sending halves of the acknowledgements in both directions: see [`super::pump::Acks`].
pub(super) struct AckSenders {
    /// How much of the output the client has, in bytes.
    pub(super) received: watch::Sender<u64>,
    /// How much of the client's input the command took, in bytes.
    pub(super) input: watch::Sender<u64>,
}

/// A piece of input, empty for the end of the input, and its permit for the queue.
type Queued = (Bytes, Option<OwnedSemaphorePermit>);

/// Carries out the client's commands until it disconnects.
pub(super) async fn commands(receiver: &mut Receiver, control: &ExecControl, stdin: bool, told: &AckSenders) {
    // The queue is bounded by the permits of its pieces.
    let (queue, queued) = mpsc::unbounded_channel();
    let mut write = pin!(write(queued, control, &told.input));
    tokio::select! {
        () = read(receiver, control, stdin, &told.received, queue) => {}
        () = &mut write => return,
    }
    // Queued input that the command can take at once is passed to it even if the client has disconnected.
    let _ = write.as_mut().now_or_never();
}

/// Reads until the client disconnects. While the queue is full, nothing is read, so that a client that sends more than the command
/// takes has to wait.
async fn read(
    receiver: &mut Receiver,
    control: &ExecControl,
    stdin: bool,
    received: &watch::Sender<u64>,
    queue: mpsc::UnboundedSender<Queued>,
) {
    let room = Arc::new(Semaphore::new(EXEC_INPUT_BYTES));
    let mut takes_input = stdin;
    while let Some(Ok(message)) = receiver.next().await {
        if message.is_close() {
            return;
        }
        if message.is_text() {
            heed(message.as_payload(), control, received).await;
        } else if message.is_binary() {
            let bytes = Bytes::from(message.into_payload());
            if takes_input && bytes.first() == Some(&STDIN) {
                let input = if bytes.len() < EXEC_SMALL_INPUT_BYTES {
                    // The input is copied, because the read buffer that contains it may be much larger.
                    Bytes::copy_from_slice(&bytes[1..])
                } else {
                    bytes.slice(1..)
                };
                // An empty piece ends the input; later input is ignored.
                takes_input = !input.is_empty();
                let length = u32::try_from(input.len() + size_of::<Queued>()).unwrap_or(u32::MAX);
                let permit = Arc::clone(&room).acquire_many_owned(length).await;
                // An error means that the receiver was dropped, which ends this function anyway.
                let _ = queue.send((input, permit.ok()));
            } else {
                tracing::debug!("a binary frame of an unknown kind");
            }
        }
    }
}

/// Carries out a text frame.
async fn heed(text: &[u8], control: &ExecControl, received: &watch::Sender<u64>) {
    match serde_json::from_slice(text) {
        Ok(ClientFrame::Cancel) => control.cancel(),
        Ok(ClientFrame::Ack { offset }) => drop(received.send_replace(offset)),
        Ok(ClientFrame::Signal { signal }) => {
            if let Err(error) = control.signal(signal).await {
                tracing::debug!(%error, signal, "a signal was not delivered");
            }
        }
        Ok(ClientFrame::Resize { rows, columns }) => {
            if let Err(error) = control.resize(rows, columns).await {
                tracing::debug!(%error, "a terminal was not resized");
            }
        }
        Err(error) => tracing::debug!(%error, "a text frame of an unknown kind"),
    }
}

/// Passes input to the command, in order.
async fn write(
    mut queued: mpsc::UnboundedReceiver<Queued>,
    control: &ExecControl,
    taken: &watch::Sender<u64>,
) {
    let mut told = *taken.borrow();
    let mut offset = told;
    while let Some((input, _room)) = queued.recv().await {
        // An error means that the command reads no more, which is fine.
        if input.is_empty() {
            control.close_stdin();
        } else {
            let _ = control.write_stdin(&input).await;
        }
        offset += input.len() as u64;
        if offset - told >= EXEC_INPUT_TOLD_BYTES {
            told = offset;
            taken.send_replace(offset);
        }
    }
}

/// Waits until a client disconnects, and ignores everything that it sends.
pub(super) async fn gone(receiver: &mut Receiver) {
    while let Some(Ok(message)) = receiver.next().await {
        if message.is_close() {
            return;
        }
    }
}
