//! Unknown requests, lost links, and shutdown.

use std::time::{Duration, Instant};

use proto::frame::{Header, Kind};
use proto::message::ExitStatus;
use proto::request::{ReadFile, Stat};
use proto::session::CloseCode;
use proto::{ErrorKind, Event, StreamId};
use runner::limits::SHUTDOWN_MS;
use runner::link::memory::pair;
use runner::serve::Ended;

use crate::world::{Peer, World, eventually, id, is_alive, shell};

/// Runs a command in the background of the test until it has printed its pid.
async fn sleeper(world: &mut World) -> u32 {
    let stream = world.peer.open(shell("setsid sleep 60 & echo $!; wait"));
    loop {
        if let Event::Data(_, _, bytes) = world.peer.event(stream).await {
            return String::from_utf8_lossy(&bytes).trim().parse().unwrap();
        }
    }
}

#[test]
fn an_unknown_request_and_a_bad_body_fail_alone() {
    World::run(async |world| {
        for (stream, type_number, body, kind) in
            [(1, 999, &b""[..], ErrorKind::UnknownRequest), (2, 12, b"\xff\xff", ErrorKind::InvalidBody)]
        {
            let header = Header { type_number, ..Header::new(Kind::Open, StreamId(stream)) };
            // Our own session must know the stream to accept the answer.
            assert_eq!(world.peer.session.open(&Stat { path: ".".into() }.into()).unwrap(), StreamId(stream));
            while world.peer.session.poll_transmit(Instant::now()).is_some() {}
            world.peer.send_raw(header.frame(body)).await;
            assert_eq!(world.peer.answer(StreamId(stream)).await.unwrap_err().kind, kind);
        }
        assert_eq!(world.shell("echo alive").await.text(), "alive\n");
    });
}

#[test]
fn broken_framing_closes_the_link_with_a_code() {
    World::run(async |world| {
        world.peer.send_raw(Header::new(Kind::Data, StreamId(77)).frame(b"x")).await;
        let events = world.peer.until_closed().await;
        assert!(
            matches!(&events[..], [Event::Closed(close)] if close.code == CloseCode::Protocol),
            "{events:?}"
        );
        assert!(matches!((&mut world.served).await.unwrap(), Ended::Broken(_)));
    });
}

#[test]
fn a_lost_link_leaves_no_half_written_file() {
    World::run(async |world| {
        let request = proto::request::WriteFile {
            id: id(),
            path: "f".into(),
            mode: None,
            parents: false,
            size_bytes: None,
            if_match: None,
        };
        let stream = world.peer.open(request);
        world.peer.upload(stream, &[7; 100_000]).await;
        world.peer = Peer::new(pair().0);
        (&mut world.served).await.unwrap();
        let workspace = world.workspace.clone();
        eventually("nothing is left", || std::fs::read_dir(&workspace).unwrap().count() == 0).await;
    });
}

#[test]
fn shutdown_says_goodbye_and_leaves_nothing() {
    World::run(async |world| {
        let sleeper = sleeper(world).await;
        std::fs::write(world.path("f"), vec![0; 1 << 20]).unwrap();
        let stalled = world.peer.open(ReadFile { path: "f".into(), offset: 0, length: None });
        world.peer.flush().await;
        let begun = Instant::now();
        world.shutdown.cancel();
        let events = world.peer.until_closed().await;
        assert!(
            matches!(events.last(), Some(Event::Closed(close)) if close.code == CloseCode::GoingAway),
            "{events:?}"
        );
        let is_told = |event: &Event| matches!(event, Event::Failed(stream, error) if *stream == stalled && error.kind == ErrorKind::ShuttingDown);
        assert!(events.iter().any(is_told), "{events:?}");
        assert!(matches!((&mut world.served).await.unwrap(), Ended::Shutdown));
        world.stop_executor();
        assert!(!is_alive(sleeper));
        assert!(begun.elapsed() < 2 * Duration::from_millis(SHUTDOWN_MS), "{:?}", begun.elapsed());
    });
}

/// Starts a command and waits for its first output.
async fn start(world: &mut World, line: &str) -> StreamId {
    let stream = world.peer.open(shell(line));
    while !matches!(world.peer.event(stream).await, Event::Data(..)) {}
    stream
}

#[test]
fn at_shutdown_commands_are_ended_and_what_they_came_to_is_told() {
    World::run(async |world| {
        let polite =
            start(world, "trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.05; done").await;
        let deaf = start(world, "trap '' TERM; echo up; while :; do sleep 0.05; done").await;
        let begun = Instant::now();
        world.shutdown.cancel();
        let outcome = world.peer.outcome(polite).await;
        assert_eq!((outcome.text(), outcome.status()), ("bye\n", ExitStatus::Code(3)));
        assert!(outcome.exited().cancelled);
        let refused = world.peer.ask(Stat { path: ".".into() }).await.unwrap_err();
        assert_eq!(refused.kind, ErrorKind::ShuttingDown, "{refused}");
        let outcome = world.peer.outcome(deaf).await;
        assert_eq!((outcome.exited().cancelled, outcome.status()), (true, ExitStatus::Signal(9)));
        let events = world.peer.until_closed().await;
        assert!(
            matches!(&events[..], [.., Event::Closed(close)] if close.code == CloseCode::GoingAway),
            "{events:?}"
        );
        assert!(begun.elapsed() < Duration::from_millis(SHUTDOWN_MS), "{:?}", begun.elapsed());
    });
}

#[test]
fn a_command_nobody_is_attached_to_has_its_grace_too() {
    World::run(async |world| {
        start(world, "trap 'sleep 0.3; touch tidied; exit' TERM; echo up; while :; do sleep 0.05; done")
            .await;
        world.cut().await;
        world.shutdown.cancel();
        world.peer.until_closed().await;
        assert!(world.path("tidied").exists());
    });
}

#[test]
fn an_idle_runner_stops_at_once() {
    World::run(async |world| {
        assert_eq!(world.shell("echo done").await.text(), "done\n");
        let begun = Instant::now();
        world.shutdown.cancel();
        world.peer.until_closed().await;
        assert!(begun.elapsed() < Duration::from_millis(SHUTDOWN_MS / 4), "{:?}", begun.elapsed());
    });
}
