//! Unknown requests, lost links, and shutdown.

use std::time::Instant;

use proto::frame::{Header, Kind};
use proto::request::{ReadFile, Stat};
use proto::session::CloseCode;
use proto::{ErrorKind, Event, StreamId};
use runner::link::memory::pair;
use runner::serve::Ended;

use crate::world::{Peer, World, eventually, id, is_alive, shell};

/// Runs a command in the background of the test until it has told its pid.
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
        world.peer.open(ReadFile { path: "f".into(), offset: 0, length: None });
        world.peer.flush().await;
        let begun = Instant::now();
        world.shutdown.cancel();
        let events = world.peer.until_closed().await;
        assert!(
            matches!(events.last(), Some(Event::Closed(close)) if close.code == CloseCode::GoingAway),
            "{events:?}"
        );
        assert!(matches!((&mut world.served).await.unwrap(), Ended::Shutdown));
        world.stop_executor();
        assert!(!is_alive(sleeper));
        assert!(begun.elapsed().as_secs() < 5);
    });
}
