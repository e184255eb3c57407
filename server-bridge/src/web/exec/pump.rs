//! The direction from a running command to its client: output and outcome. The other direction is in `commands`.

use api::exec::{STDERR, STDOUT, ServerFrame};
use axum_tws::Message;
use bytes::{BufMut, Bytes, BytesMut};
use execs::attendance::Later;
use execs::limits::CLIENT_GRACE;
use futures_util::{FutureExt, SinkExt};
use sandbox::{Exec, ExecEvent, SandboxError};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_util::sync::CancellationToken;

use super::commands::AckSenders;
use super::{Ended, Sender, text};
use crate::limits::{EXEC_GATHER_BYTES, SOCKET_PING_INTERVAL};

/// Why serving a client ended.
pub(super) enum End {
    /// The command ended; the last of its output is not sent yet.
    Event(Ended, Option<Message>),
    /// Another client reads the output now.
    Detached(SandboxError),
    /// The client disconnected.
    ClientGone,
    /// The client's session has ended.
    LoggedOut,
    /// The server is stopping.
    Stopping,
}

/// How much of the output a client has, by its acknowledgements or by what was sent, and how much of its input the command took.
pub(super) struct Acks {
    is_manual: bool,
    received: watch::Receiver<u64>,
    input: watch::Receiver<u64>,
    counted: u64,
    later: Option<Later>,
}

/// A change that the client is informed of, or that allows more output.
enum News {
    /// The client acknowledged more output.
    Received,
    /// The command took the client's input up to this offset.
    InputTaken(u64),
    /// Another client's input is accepted from now on.
    Watching,
}

impl Acks {
    /// `offset` is the client's position in the output, and `input` the offset of its next input; the returned [`AckSenders`] sends the
    /// acknowledgements.
    pub(super) fn new(is_manual: bool, offset: u64, input: u64, later: Option<Later>) -> (AckSenders, Self) {
        let (received_sender, received) = watch::channel(offset);
        let (input_sender, input) = watch::channel(input);
        let told = AckSenders { received: received_sender, input: input_sender };
        (told, Self { is_manual, received, input, counted: offset, later })
    }

    /// Waits for the next change; never returns one for a client that does not acknowledge.
    async fn news(&mut self) -> News {
        if !self.is_manual {
            return std::future::pending().await;
        }
        tokio::select! {
            Ok(()) = self.received.changed() => News::Received,
            Ok(()) = self.input.changed() => News::InputTaken(*self.input.borrow_and_update()),
            () = later(self.later.as_mut()) => News::Watching,
            else => std::future::pending().await,
        }
    }

    /// Allows as much more output as the client has acknowledged.
    fn count(&mut self, exec: &Exec) {
        let has = if self.is_manual { *self.received.borrow_and_update() } else { exec.offset() };
        let has = has.min(exec.offset());
        if let Some(more) = has.checked_sub(self.counted).filter(|more| *more > 0) {
            self.counted = has;
            exec.consumed(usize::try_from(more).unwrap_or(usize::MAX));
        }
    }
}

/// Waits for another client to connect.
async fn later(later: Option<&mut Later>) {
    match later {
        Some(later) => later.came().await,
        None => std::future::pending().await,
    }
}

/// Sends the command's output until the command ends. Output that is ready is gathered and flushed at once.
pub(super) async fn output(
    exec: &mut Exec,
    hello: &ServerFrame,
    first: Option<ExecEvent>,
    sender: &mut Sender,
    mut acks: Acks,
) -> End {
    if sender.send(text(hello)).await.is_err() {
        return End::ClientGone;
    }
    let mut ping = interval_at(Instant::now() + SOCKET_PING_INTERVAL, SOCKET_PING_INTERVAL);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut gathered = Gathered::default();
    let mut next = first.map(Some);
    loop {
        if next.is_none() {
            next = tokio::select! {
                event = exec.next() => Some(event),
                news = acks.news() => {
                    let frame = match news {
                        News::Received => {
                            acks.count(exec);
                            continue;
                        }
                        News::InputTaken(offset) => ServerFrame::Input { offset },
                        News::Watching => ServerFrame::Watching,
                    };
                    if sender.send(text(&frame)).await.is_err() {
                        return End::ClientGone;
                    }
                    continue;
                }
                _ = ping.tick() => {
                    if sender.send(Message::ping(Bytes::new())).await.is_err() {
                        return End::ClientGone;
                    }
                    continue;
                }
            };
        }
        while let Some(event) = next.take() {
            match taken(event, &mut gathered) {
                Taken::Kept => {}
                Taken::Full(frames) => {
                    for frame in frames.into_iter().flatten() {
                        if sender.feed(frame).await.is_err() {
                            return End::ClientGone;
                        }
                    }
                }
                // Nothing is awaited from here on: the end must not be lost if this future is dropped.
                Taken::Last(Ended::Failed(error)) if error.kind() == "detached" => {
                    return End::Detached(error);
                }
                Taken::Last(ended) => return End::Event(ended, gathered.frame()),
            }
            next = exec.next().now_or_never();
        }
        if let Some(frame) = gathered.frame()
            && sender.feed(frame).await.is_err()
        {
            return End::ClientGone;
        }
        if sender.flush().await.is_err() {
            return End::ClientGone;
        }
        acks.count(exec);
    }
}

/// Lets a command without a client run for the grace period, then cancels it. Returns how it ended; `None` if a client reconnected,
/// which is served elsewhere, and when the server stops. Unacknowledged output is kept.
pub(super) async fn orphaned(exec: &mut Exec, stop: &CancellationToken) -> Option<Ended> {
    let control = exec.control();
    let ended = tokio::select! {
        ended = timeout(CLIENT_GRACE, drain(exec)) => ended,
        () = stop.cancelled() => return None,
    };
    let ended = match ended {
        Ok(ended) => ended,
        Err(_) => {
            control.cancel();
            drain(exec).await
        }
    };
    let is_detached = matches!(&ended, Ended::Failed(error) if error.kind() == "detached");
    (!is_detached).then_some(ended)
}

/// Waits for the end of a command whose output is not wanted.
async fn drain(exec: &mut Exec) -> Ended {
    let mut discarded = Gathered::default();
    loop {
        if let Taken::Last(ended) = taken(exec.next().await, &mut discarded) {
            return ended;
        }
        discarded.frame();
    }
}

enum Taken {
    Kept,
    /// Frames to send, in this order.
    Full([Option<Message>; 2]),
    Last(Ended),
}

fn taken(event: Option<ExecEvent>, gathered: &mut Gathered) -> Taken {
    event.iter().for_each(execs::seen);
    let full = match event {
        Some(ExecEvent::Stdout(bytes)) => gathered.add(STDOUT, &bytes),
        Some(ExecEvent::Stderr(bytes)) => gathered.add(STDERR, &bytes),
        Some(ExecEvent::Gap { bytes, .. }) => {
            return Taken::Full([gathered.frame(), Some(text(&ServerFrame::Gap { bytes }))]);
        }
        Some(ExecEvent::Interrupted) => {
            return Taken::Full([gathered.frame(), Some(text(&ServerFrame::Interrupted))]);
        }
        Some(ExecEvent::Resumed) => {
            return Taken::Full([gathered.frame(), Some(text(&ServerFrame::Resumed))]);
        }
        // These events are not passed on: `Finished` follows with the outcome.
        Some(ExecEvent::Started { .. } | ExecEvent::Exited(_)) => None,
        Some(ExecEvent::Finished(outcome)) => return Taken::Last(Ended::Finished(outcome)),
        Some(ExecEvent::Failed(error)) => return Taken::Last(Ended::Failed(error)),
        None => {
            let what = "nothing at all: its stream ended before the command did";
            let runner = "of this exec".to_owned();
            return Taken::Last(Ended::Failed(sandbox::SandboxError::Protocol { runner, what }));
        }
    };
    full.map_or(Taken::Kept, |frame| Taken::Full([Some(frame), None]))
}

/// Gathered output of one channel, for one frame.
#[derive(Default)]
struct Gathered(BytesMut);

impl Gathered {
    /// Adds output; returns the gathered output if the two do not belong in one frame.
    fn add(&mut self, channel: u8, bytes: &[u8]) -> Option<Message> {
        let fits = self.0.first() == Some(&channel) && self.0.len() + bytes.len() <= EXEC_GATHER_BYTES + 1;
        let before = if fits { None } else { self.frame() };
        if self.0.is_empty() {
            self.0.reserve(bytes.len() + 1);
            self.0.put_u8(channel);
        }
        self.0.extend_from_slice(bytes);
        before
    }

    fn frame(&mut self) -> Option<Message> {
        (!self.0.is_empty()).then(|| Message::binary(self.0.split()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(message: Option<Message>) -> Option<Vec<u8>> {
        let message = message?;
        assert!(message.is_binary(), "{message:?}");
        Some(message.as_payload().to_vec())
    }

    #[test]
    fn output_of_one_channel_shares_a_frame_and_keeps_its_order() {
        let mut gathered = Gathered::default();
        assert_eq!(bytes(gathered.add(STDOUT, b"a")), None);
        assert_eq!(bytes(gathered.add(STDOUT, b"b")), None);
        assert_eq!(bytes(gathered.add(STDERR, b"c")), Some(b"\x01ab".to_vec()));
        assert_eq!(bytes(gathered.frame()), Some(b"\x02c".to_vec()));
        assert_eq!(bytes(gathered.frame()), None);
    }

    #[test]
    fn a_frame_stays_within_its_size() {
        let mut gathered = Gathered::default();
        assert_eq!(bytes(gathered.add(STDOUT, &[7; EXEC_GATHER_BYTES])), None);
        assert_eq!(bytes(gathered.add(STDOUT, b"x")).map(|frame| frame.len()), Some(EXEC_GATHER_BYTES + 1));
    }
}
