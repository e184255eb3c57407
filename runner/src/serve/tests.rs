//! A link after the machine slept: kept if it answers, given up otherwise.

use futures_util::StreamExt;
use proto::frame;
use proto::session::Session;
use proto::{Event, Side};
use tokio::task::{JoinHandle, LocalSet};

use super::*;
use crate::clock::tests::pretend_sleep;
use crate::executor::ExecutorConfig;
use crate::layers::Profile;
use crate::link::memory::{MemoryLink, pair};

/// Serves a link on a clock that jumps to the next awaited time; gives the test the other end.
fn served(test: impl AsyncFnOnce(MemoryLink, JoinHandle<Ended>)) {
    let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [workspace, state_dir] = [0, 1].map(|index: usize| directories[index].path().to_owned());
    let config = ExecutorConfig::new(workspace, state_dir, Profile::Workspace);
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        let executor = Executor::start(&config).unwrap();
        let (ours, theirs) = pair();
        let shutdown = CancellationToken::new();
        let serving = async move { serve(theirs, &executor, &shutdown).await };
        test(ours, tokio::task::spawn_local(serving)).await;
    });
}

async fn next_kind(link: &mut MemoryLink) -> Kind {
    let frame = link.next().await.unwrap().unwrap();
    frame::decode(&frame).unwrap().0.kind
}

fn seconds_since(start: tokio::time::Instant) -> u64 {
    start.elapsed().as_secs()
}

#[test]
fn a_link_that_is_silent_after_a_sleep_is_given_up_long_before_the_heartbeat_would() {
    served(async |mut link, served| {
        let start = tokio::time::Instant::now();
        tokio::task::yield_now().await;
        pretend_sleep(Duration::from_secs(60 * 60));
        assert_eq!(next_kind(&mut link).await, Kind::Ping);
        assert_eq!(seconds_since(start), SLEEP_LOOK_MS / 1_000);
        while next_kind(&mut link).await != Kind::Close {}
        let Ended::Broken(close) = served.await.unwrap() else { panic!("it is given up") };
        assert_eq!(close.code, CloseCode::Dead);
        assert_eq!(seconds_since(start), (SLEEP_LOOK_MS + AWAKE_ANSWER_MS) / 1_000);
    });
}

#[test]
fn a_link_that_answers_after_a_sleep_goes_on() {
    served(async |mut link, served| {
        let mut session = Session::new(Side::Originator, now());
        let start = tokio::time::Instant::now();
        tokio::task::yield_now().await;
        pretend_sleep(Duration::from_secs(60 * 60));
        // The time of three heartbeats.
        while seconds_since(start) < 90 {
            let due = session.next_timeout();
            tokio::select! {
                frame = link.next() => {
                    let event = session.receive(&frame.unwrap().unwrap(), now()).unwrap();
                    assert!(!matches!(event, Some(Event::Closed(_))), "{event:?}");
                }
                () = tokio::time::sleep_until(due.into()) => session.handle_timeout(now()).unwrap(),
            }
            while let Some(frame) = session.poll_transmit(now()) {
                link.send(frame).await.unwrap();
            }
        }
        assert!(!served.is_finished());
    });
}

#[test]
fn without_a_sleep_only_the_heartbeat_counts() {
    served(async |mut link, served| {
        let start = tokio::time::Instant::now();
        while next_kind(&mut link).await != Kind::Close {}
        assert!(matches!(served.await.unwrap(), Ended::Broken(_)));
        assert_eq!(seconds_since(start), 30);
    });
}
