//! `!command`s when the server ends, whether in an orderly way or not.

mod background;
mod denials;
mod life;
mod sub_agents;

use std::path::Path;

use super::runner::fill;
use super::*;
use crate::limits::{OUTPUT_HEAD_CHARS, OUTPUT_TAIL_CHARS, RECOVER_NOTE_MS, RECOVER_TIMEOUT_S};
use life::{HeldClock, Life};

impl Bench {
    async fn of(database: &Path) -> Self {
        Self::with_store(Store::open(database).await.unwrap()).await
    }

    /// Creates the record that a killed server leaves of a command that it had sent, or was about to send, to this runner.
    async fn left_behind(&self, runner: Option<&str>, status: &str) -> MessageId {
        let exec_id = store::ExecId::from_bytes([7; 16]);
        let mut document = crate::exec_document::running(&exec_id, "make", runner.map(str::to_owned));
        document.status = status.into();
        let (user, chat, json) = (self.user.id, &self.chat.id, crate::exec_document::to_json(&document));
        let message =
            self.store.append_message(user, chat, MessageRole::Exec, "so far", Some(&json)).await.unwrap();
        let start = store::ExecRequest {
            exec_id,
            kind: store::ExecKind::Chat,
            user,
            chat: Some(chat.clone()),
            message: Some(message.id),
            request_hash: String::new(),
            runner: runner.map(str::to_owned),
            command: "make".to_owned(),
            audited: None,
            detached: true,
            linger_ms: None,
        };
        self.store.start_exec(&start).await.unwrap();
        message.id
    }

    /// Waits until a command has written something.
    async fn wrote(&mut self) {
        while !matches!(self.next_event().await, ChatEvent::Output { .. }) {}
    }
}

#[tokio::test]
async fn a_killed_servers_command_goes_on_in_the_next_one_and_its_output_is_there_once() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("database");
    let mut life = Life::begin(&database).await;
    let mut runner = life.bench.connect("laptop").await;
    let id = life.post("!out:before wait out:after err:! exit:3").await;
    life.bench.wrote().await;
    life.kill(&runner).await;

    let mut next = Bench::of(&database).await;
    assert_eq!(next.service.recover().await.unwrap(), 1);
    next.take_over(&mut runner, "laptop").await;
    let shown = next.told_running(id).await;
    assert_eq!((shown.text.as_str(), document(&shown).error), ("before", None));
    runner.release();
    let (message, document, told) = next.ended(id).await;
    assert_eq!((message.text.as_str(), told.as_str()), ("beforeafter!", "after!"));
    assert_eq!((document.status.as_str(), document.exit_code), ("exited", Some(3)));
    assert_eq!((document.stdout_bytes, document.stderr_bytes, document.truncated), (11, 1, false));
    let record = next.record(&document).await;
    assert_eq!((record.status, record.exit_code), (ExecStatus::Exited, Some(3)));
    let acknowledged = store::ExecId::from_bytes(runner.acknowledged.recv().await.unwrap().0);
    assert_eq!(acknowledged, record.exec_id);
    let audit = next.store.audit(10, None).await.unwrap();
    assert_eq!(audit.iter().filter(|entry| entry.action == "exec").count(), 1);
    assert!(runner.started.recv().await.is_some() && runner.started.try_recv().is_err(), "it ran once");
    assert_eq!(next.service.recover().await.unwrap(), 0);
}

#[tokio::test]
async fn a_command_that_ended_while_no_server_was_there_is_recorded_by_the_next_one() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("database");
    let life = Life::begin(&database).await;
    let mut runner = life.bench.connect("laptop").await;
    let id = life.post("!out:before wait out:after exit:4").await;
    runner.started.recv().await.unwrap();
    life.kill(&runner).await;
    runner.release();

    let mut next = Bench::of(&database).await;
    assert_eq!(next.service.recover().await.unwrap(), 1);
    next.take_over(&mut runner, "laptop").await;
    let (message, document, _) = next.ended(id).await;
    assert_eq!((message.text.as_str(), document.exit_code), ("beforeafter", Some(4)));
    assert_eq!(document.duration_ms, Some(1));
}

#[tokio::test]
async fn a_long_output_is_kept_whole_over_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("database");
    let life = Life::begin(&database).await;
    let mut runner = life.bench.connect("laptop").await;
    let id = life.post("!fill:700000 wait out:end").await;
    runner.started.recv().await.unwrap();
    life.kill(&runner).await;

    let mut next = Bench::of(&database).await;
    next.service.recover().await.unwrap();
    next.take_over(&mut runner, "laptop").await;
    runner.release();
    let (message, document, _) = next.ended(id).await;
    let whole = String::from_utf8(fill(700_000)).unwrap() + "end";
    let path = document.output_path.clone().unwrap();
    assert!(runner.files.written.lock().unwrap()[&path] == whole.as_bytes());
    assert!(message.text.starts_with(&whole[..OUTPUT_HEAD_CHARS]));
    assert!(message.text.ends_with(&whole[whole.len() - OUTPUT_TAIL_CHARS..]));
    assert!(!document.truncated);
}

#[tokio::test]
async fn output_that_the_runner_does_not_keep_any_more_is_shown_as_a_gap() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("database");
    let life = Life::begin(&database).await;
    let mut runner = life.bench.connect("laptop").await;
    let id = life.post("!out:before forget wait out:after").await;
    runner.started.recv().await.unwrap();
    life.kill(&runner).await;

    let mut next = Bench::of(&database).await;
    next.service.recover().await.unwrap();
    next.take_over(&mut runner, "laptop").await;
    runner.release();
    let (message, document, _) = next.ended(id).await;
    assert_eq!(message.text, "\n… 6 bytes of output were lost here …\nafter");
    assert!(document.truncated && document.exit_code == Some(0));
}

#[tokio::test]
async fn a_cancel_after_a_restart_reaches_the_command_before_and_after_its_runner_is_back() {
    for is_back in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("database");
        let life = Life::begin(&database).await;
        let mut runner = life.bench.connect("laptop").await;
        let id = life.post("!out:before wait").await;
        runner.started.recv().await.unwrap();
        life.kill(&runner).await;

        let mut next = Bench::of(&database).await;
        next.service.recover().await.unwrap();
        if is_back {
            next.take_over(&mut runner, "laptop").await;
            next.told_running(id).await;
        }
        assert!(next.ask("/cancel").await.text.contains("is being stopped"));
        if !is_back {
            next.take_over(&mut runner, "laptop").await;
        }
        let (message, document, _) = next.ended(id).await;
        assert_eq!((message.text.as_str(), document.status.as_str()), ("before", "cancelled"));
        assert_eq!(document.error, None);
    }
}

#[tokio::test]
async fn a_command_whose_runner_was_started_anew_is_lost_with_the_output_that_was_stored() {
    let mut bench = Bench::new().await;
    let id = bench.left_behind(Some("laptop"), "running").await;
    let _runner = bench.connect("laptop").await;
    assert_eq!(bench.service.recover().await.unwrap(), 1);
    let (message, document, _) = bench.ended(id).await;
    assert_eq!((message.text.as_str(), document.status.as_str()), ("so far", "lost"));
    let error = document.error.as_deref().unwrap();
    assert!(error.contains("restarted") && error.contains("look at the machine"), "{error}");
    assert_eq!(bench.record(&document).await.status, ExecStatus::Lost);
}

#[tokio::test]
async fn a_command_without_a_place_is_lost_at_once() {
    for place in [None, Some("elsewhere")] {
        let mut bench = Bench::new().await;
        let id = bench.left_behind(place, "running").await;
        bench.service.recover().await.unwrap();
        let (message, document, _) = bench.ended(id).await;
        assert_eq!((message.text.as_str(), document.status.as_str()), ("so far", "lost"), "{place:?}");
    }
}

#[tokio::test]
async fn a_runner_that_never_comes_back_makes_a_command_lost_in_the_end() {
    let mut bench = Bench::new().await;
    bench.store.add_runner(bench.user.id, &RunnerName::parse("laptop").unwrap()).await.unwrap();
    let id = bench.left_behind(Some("laptop"), "running").await;
    let clock = HeldClock::hold();
    bench.service.recover().await.unwrap();
    let shown = clock.until_told(&mut bench, Duration::from_millis(2 * RECOVER_NOTE_MS)).await;
    assert_eq!((shown.id, shown.text.as_str()), (id, "so far"));
    assert!(document(&shown).error.unwrap().contains("as soon as laptop is connected"));
    let message = clock.until_told(&mut bench, Duration::from_secs(2 * RECOVER_TIMEOUT_S)).await;
    let document = document(&message);
    assert_eq!((message.text.as_str(), document.status.as_str()), ("so far", "lost"));
    assert!(document.error.unwrap().contains("laptop did not come back within 10 min"));
}

#[tokio::test]
async fn an_end_that_only_the_message_tells_of_is_recorded() {
    let bench = Bench::new().await;
    let id = bench.left_behind(Some("laptop"), "timed_out").await;
    assert_eq!(bench.service.recover().await.unwrap(), 0);
    let message = bench.store.message(bench.user.id, id).await.unwrap();
    assert_eq!(bench.record(&document(&message)).await.status, ExecStatus::TimedOut);
}

#[tokio::test]
async fn a_message_says_while_its_runner_is_away() {
    let mut bench = Bench::new().await;
    let mut runner = bench.connect("laptop").await;
    let id = bench.post("!out:before wait out:after").await.messages[1].id;
    bench.wrote().await;
    let clock = HeldClock::hold();
    runner.cut();
    let away = clock.until_told(&mut bench, Duration::from_secs(60)).await;
    assert_eq!((away.id, away.text.as_str()), (id, "before"));
    assert!(document(&away).error.unwrap().contains("laptop is not connected"));
    bench.take_over(&mut runner, "laptop").await;
    let back = bench.told_running(id).await;
    assert_eq!((back.text.as_str(), document(&back).error), ("before", None));
    runner.release();
    let (message, document, _) = bench.ended(id).await;
    assert_eq!((message.text.as_str(), document.error), ("beforeafter", None));
}

#[tokio::test]
async fn a_server_that_stops_leaves_what_goes_on_without_it_to_the_next_one() {
    let mut bench = Bench::new().await;
    let mut runner = bench.connect("laptop").await;
    let id = bench.post("!out:before wait out:after").await.messages[1].id;
    bench.wrote().await;
    bench.service.shutdown().await;
    let stored = bench.store.message(bench.user.id, id).await.unwrap();
    assert_eq!((stored.text.as_str(), document(&stored).status.as_str()), ("before", "running"));
    assert_eq!(bench.record(&document(&stored)).await.status, ExecStatus::Running);

    let mut next = Bench::with_store(bench.store.clone()).await;
    assert_eq!(next.service.recover().await.unwrap(), 1);
    next.service.shutdown().await;
    assert_eq!(bench.record(&document(&stored)).await.status, ExecStatus::Running, "left once more");

    let mut last = Bench::with_store(bench.store.clone()).await;
    assert_eq!(last.service.recover().await.unwrap(), 1);
    last.take_over(&mut runner, "laptop").await;
    runner.release();
    let (message, document, _) = last.ended(id).await;
    assert_eq!((message.text.as_str(), document.exit_code), ("beforeafter", Some(0)));
    assert!(next.events.try_recv().is_err(), "the one between had nothing to tell");
}
