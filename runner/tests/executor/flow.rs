//! Credit, caps, dropping the oldest, and large outputs.

use std::time::Duration;

use proto::limits::STREAM_CREDIT_BYTES;
use proto::message::ExitStatus;
use proto::request::{Exec, Overflow};
use proto::{Channel, Event, StreamId};

use crate::world::{Peer, World, shell};

/// Prints `n` bytes at once; each is its offset modulo 251.
fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|offset| (offset % 251) as u8).collect()
}

#[test]
fn ten_megabytes_printed_just_before_exit_arrive_whole() {
    World::run(async |world| {
        let expected = pattern(10_000_000);
        std::fs::write(world.path("large"), &expected).unwrap();
        let outcome = world.shell("sleep 60 & cat large; echo $! >&2").await;
        assert!(outcome.stdout == expected, "{} of {} bytes", outcome.stdout.len(), expected.len());
        assert_eq!((outcome.closed().stdout_bytes, outcome.closed().dropped_bytes), (10_000_000, 0));
    });
}

#[test]
fn a_slow_consumer_still_gets_everything_after_the_exit() {
    World::run(async |world| {
        let expected = pattern(700_000);
        std::fs::write(world.path("large"), &expected).unwrap();
        world.peer.consumes = false;
        let stream = world.peer.open(shell("sleep 60 & cat large"));
        let (mut received, mut undrained) = (Vec::new(), 0);
        loop {
            match world.peer.event_within(stream, Duration::from_millis(400)).await {
                Some(Event::Data(_, _, bytes)) => {
                    undrained += bytes.len();
                    received.extend_from_slice(&bytes);
                }
                Some(Event::Message { fin: true, .. }) => break,
                Some(_) => {}
                // The exec was silent for longer than the idle drain, so the peer drains now.
                None => world.peer.session.consumed(stream, std::mem::take(&mut undrained)),
            }
        }
        assert!(received == expected, "{} of {} bytes", received.len(), expected.len());
    });
}

/// Takes data without draining it until none arrives for a while.
async fn until_stalled(peer: &mut Peer, stream: StreamId) -> usize {
    let mut received = 0;
    while let Some(event) = peer.event_within(stream, Duration::from_millis(300)).await {
        if let Event::Data(_, _, bytes) = event {
            received += bytes.len();
        }
    }
    received
}

#[test]
fn a_command_that_prints_without_end_waits_for_credit() {
    World::run(async |world| {
        world.peer.consumes = false;
        let stream = world.peer.open(shell("yes"));
        assert_eq!(until_stalled(&mut world.peer, stream).await, STREAM_CREDIT_BYTES as usize);
        world.peer.session.consumed(stream, STREAM_CREDIT_BYTES as usize);
        assert_eq!(until_stalled(&mut world.peer, stream).await, STREAM_CREDIT_BYTES as usize);
        world.peer.consumes = true;
        world.peer.cancel(stream).await;
        assert!(world.peer.outcome(stream).await.exited().cancelled);
    });
}

#[test]
fn a_stalled_exec_does_not_stop_another() {
    World::run(async |world| {
        world.peer.consumes = false;
        let stalled = world.peer.open(shell("yes"));
        until_stalled(&mut world.peer, stalled).await;
        assert_eq!(world.shell("echo through").await.text(), "through\n");
        world.peer.cancel(stalled).await;
        // Nothing is drained, so the rest is dropped, and this is reported.
        let outcome = world.peer.outcome(stalled).await;
        assert!(outcome.exited().cancelled && outcome.closed().dropped_bytes > 0, "{:?}", outcome.closed);
    });
}

#[test]
fn the_oldest_output_is_dropped_with_a_gap_where_that_was_asked_for() {
    World::run(async |world| {
        world.peer.consumes = false;
        let expected = pattern(4_000_000);
        std::fs::write(world.path("large"), &expected).unwrap();
        let request = Exec { overflow: Overflow::DropOldest, ..shell("cat large; touch done") };
        let stream = world.peer.open(request);
        let mut received = Vec::new();
        let mut undrained = 0;
        let mut gaps = 0;
        let closed = loop {
            match world.peer.event_within(stream, Duration::from_millis(300)).await {
                Some(Event::Data(_, Channel::Stdout, bytes)) => {
                    undrained += bytes.len();
                    received.extend_from_slice(&bytes);
                }
                Some(Event::Gap(_, _, bytes)) => gaps += bytes,
                Some(Event::Message { message: proto::Message::ExecStreamsClosed(closed), .. }) => {
                    break closed;
                }
                Some(_) => {}
                None => {
                    assert!(world.path("done").exists(), "the command waited for the consumer");
                    world.peer.session.consumed(stream, std::mem::take(&mut undrained));
                }
            }
        };
        assert!(
            gaps > 0 && closed.dropped_bytes == gaps && closed.stdout_bytes == 4_000_000,
            "{closed:?} {gaps}"
        );
        assert_eq!(received.len() as u64 + gaps, 4_000_000);
        let tail = received.len().min(190_000);
        assert!(received[received.len() - tail..] == expected[expected.len() - tail..]);
    });
}

#[test]
fn output_beyond_the_cap_is_counted_and_not_sent() {
    World::run(async |world| {
        let request = Exec { output_cap_bytes: Some(1_000), ..shell("head -c 500000 /dev/zero; exit 2") };
        let outcome = world.peer.exec(request).await;
        assert_eq!((outcome.stdout.len(), outcome.status()), (1_000, ExitStatus::Code(2)));
        assert_eq!((outcome.closed().stdout_bytes, outcome.closed().dropped_bytes), (500_000, 499_000));
    });
}

#[test]
fn many_tiny_writes_all_arrive() {
    World::run(async |world| {
        let outcome = world.shell("n=0; while [ $n -lt 3000 ]; do echo $n; n=$((n+1)); done").await;
        let expected: String = (0..3000).map(|n| format!("{n}\n")).collect();
        assert_eq!(outcome.text(), expected);
    });
}
