//! Tests of the ledger with a store in memory, and a router without machines.

use std::time::Duration;

use sandbox::{RouterConfig, SandboxRouter};
use store::{
    ChatId, EXEC_CORRECTED, ExecEnded, ExecId, ExecKind, ExecRequest, ExecStatus, Name, RunnerName, Store,
    User,
};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::{Begun, End, Ending, Error, Ledger, Request, ShownEnd};

struct Bench {
    ledger: Ledger,
    store: Store,
    user: User,
}

impl Bench {
    async fn new() -> Self {
        let store = Store::open_in_memory().await.unwrap();
        let user = store.add_user(&Name::parse("ada").unwrap(), "correct horse", false).await.unwrap();
        let ledger = Ledger::new(store.clone(), SandboxRouter::new(RouterConfig::default()));
        Self { ledger, store, user }
    }

    fn request(&self, kind: ExecKind) -> ExecRequest {
        ExecRequest {
            exec_id: ExecId::random(),
            kind,
            user: self.user.id,
            chat: None,
            message: None,
            request_hash: String::new(),
            runner: Some("laptop".to_owned()),
            command: "make".to_owned(),
            audited: Some("as dev: make".to_owned()),
            detached: true,
            linger_ms: None,
        }
    }

    /// The audit trail, oldest first: action, target and outcome.
    async fn trail(&self) -> Vec<(String, String, String)> {
        let entries = self.store.audit(100, None).await.unwrap();
        entries.into_iter().rev().map(|entry| (entry.action, entry.target, entry.outcome)).collect()
    }

    /// Waits until an exec has ended, and returns it.
    async fn over(&self, id: &ExecId) -> store::Exec {
        let over = async {
            loop {
                let exec = self.store.exec(self.user.id, id).await.unwrap();
                if exec.status != ExecStatus::Running {
                    return exec;
                }
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(Duration::from_secs(20), over).await.expect("an end in time")
    }
}

fn entry(action: &str, outcome: &str) -> (String, String, String) {
    (action.to_owned(), "as dev: make".to_owned(), outcome.to_owned())
}

#[tokio::test]
async fn a_second_end_changes_nothing_and_leaves_no_entry() {
    let bench = Bench::new().await;
    let request = bench.request(ExecKind::Client);
    bench.ledger.begin(&request).await.unwrap();
    let record = bench.store.exec(bench.user.id, &request.exec_id).await.unwrap();
    let (first, second) = (Ending::refused("cancelled", "enough"), Ending::refused("lost", "away"));
    assert!(bench.ledger.end_of_record(&bench.user, &record, &first).await.unwrap().is_new());
    let again = bench.ledger.end_of_record(&bench.user, &record, &second).await.unwrap();
    assert_eq!(again.ended, ExecEnded::Before);
    assert_eq!(bench.trail().await, [entry("exec", "cancelled")]);
    assert_eq!(bench.over(&request.exec_id).await.status, ExecStatus::Cancelled);
}

#[tokio::test]
async fn what_an_earlier_life_left_on_a_machine_that_is_gone_for_good_is_lost_at_once_with_its_entry() {
    let bench = Bench::new().await;
    for kind in [ExecKind::Tool, ExecKind::Client, ExecKind::Terminal, ExecKind::Mcp] {
        let request = bench.request(kind);
        bench.ledger.begin(&request).await.unwrap();
        assert!(bench.ledger.recover(None).await.unwrap().is_empty(), "no message shows it");
        assert_eq!(bench.over(&request.exec_id).await.status, ExecStatus::Lost, "{kind:?}");
    }
    bench.ledger.shutdown().await;
    // The name of the user account that it ran as is recorded, as in every entry.
    assert_eq!(bench.trail().await, vec![entry("exec", "lost"); 4]);
}

#[tokio::test]
async fn a_machine_that_is_away_is_waited_for_and_left_to_the_next_life() {
    let bench = Bench::new().await;
    bench.store.add_runner(bench.user.id, &RunnerName::parse("laptop").unwrap()).await.unwrap();
    let request = bench.request(ExecKind::Tool);
    bench.ledger.begin(&request).await.unwrap();
    bench.ledger.recover(None).await.unwrap();
    assert!(
        bench.ledger.is_watched(bench.user.id, &request.exec_id),
        "who looks on must not say that it is lost"
    );
    sleep(Duration::from_millis(50)).await;
    bench.ledger.shutdown().await;
    assert!(!bench.ledger.is_watched(bench.user.id, &request.exec_id));
    let exec = bench.store.exec(bench.user.id, &request.exec_id).await.unwrap();
    assert_eq!((exec.status, bench.trail().await), (ExecStatus::Running, vec![]));
}

#[tokio::test]
async fn a_machine_is_away_for_so_long_and_then_lost() {
    let bench = Bench::new().await;
    bench.store.add_runner(bench.user.id, &RunnerName::parse("laptop").unwrap()).await.unwrap();
    let request = bench.request(ExecKind::Client);
    bench.ledger.begin(&request).await.unwrap();
    let record = bench.store.exec(bench.user.id, &request.exec_id).await.unwrap();
    let followed = bench.ledger.followed(&bench.user, &record);
    let begun = Instant::now();
    let error = followed.available(begun + Duration::from_millis(100)).await.unwrap_err();
    assert_eq!(error.kind(), "lost");
    assert!(begun.elapsed() >= Duration::from_millis(100));
}

#[tokio::test]
async fn a_lost_command_that_a_message_shows_is_corrected_with_its_message() {
    let bench = Bench::new().await;
    let chat: ChatId = bench.store.create_chat(bench.user.id).await.unwrap().id;
    let request = ExecRequest { chat: Some(chat.clone()), ..bench.request(ExecKind::Chat) };
    let (running, lost) = (r#"{"status":"running","kept":1}"#, r#"{"status":"lost","kept":1}"#);
    let message = bench.ledger.begin_shown(&request, &chat, running).await.unwrap();
    let ending = Ending::refused("lost", "away");
    let end = End {
        user: &bench.user,
        exec_id: &request.exec_id,
        place: Some("laptop"),
        shown: "as dev: make",
        ending: &ending,
        message: Some(ShownEnd { id: message.id, text: "so far", document: lost }),
    };
    assert!(bench.ledger.end(end).await.unwrap().is_new());
    let record = bench.store.exec(bench.user.id, &request.exec_id).await.unwrap();
    let found = Ending::cancelled_before_it_began();
    let recorded = bench.ledger.end_of_record(&bench.user, &record, &found).await.unwrap();
    let told = recorded.message().expect("the message is corrected");
    assert_eq!(told.text, "so far");
    let document: serde_json::Value = serde_json::from_str(told.document_json.as_deref().unwrap()).unwrap();
    assert_eq!((&document["status"], &document["kept"]), (&"cancelled".into(), &1.into()));
    assert_eq!(bench.trail().await, [entry("exec", "lost"), entry(EXEC_CORRECTED, "cancelled")]);
}

#[test]
fn every_point_has_a_name_of_its_own() {
    use crate::Point::{
        Acknowledged, AfterEnd, AfterRecord, BeforeCommit, BeforeEnd, BeforeRecord, Exited, Left, Output,
        Sent, Started,
    };
    let points = [
        BeforeRecord,
        AfterRecord,
        Sent,
        Started,
        Output,
        Exited,
        Left,
        BeforeEnd,
        BeforeCommit,
        AfterEnd,
        Acknowledged,
    ];
    let names: std::collections::BTreeSet<&str> = points.iter().map(|point| point.name()).collect();
    assert_eq!(names.len(), points.len());
}

fn asked<'a>(exec_id: &'a ExecId, hash: &'a str, on: Option<&'a str>) -> Request<'a> {
    Request {
        exec_id,
        kind: ExecKind::Client,
        hash,
        on,
        shown: "make",
        run_as: None,
        goes_on: false,
        linger: None,
    }
}

#[tokio::test]
async fn a_request_made_before_is_found_and_another_under_its_id_is_a_conflict_on_record() {
    let bench = Bench::new().await;
    let stopping = CancellationToken::new();
    let known = ExecRequest { request_hash: "a".to_owned(), ..bench.request(ExecKind::Client) };
    bench.ledger.begin(&known).await.unwrap();
    let id = &known.exec_id;
    // The same request is recognised, wherever it would be sent now.
    let again = bench.ledger.request(&bench.user, &asked(id, "a", Some("gone")), &stopping).await;
    assert!(matches!(again, Ok(Begun::Known(exec)) if exec.exec_id == *id));
    assert!(bench.trail().await.is_empty());
    let other = bench.ledger.request(&bench.user, &asked(id, "b", None), &stopping).await;
    assert!(matches!(&other, Err(Error::Conflict(named)) if *named == id.to_string()), "{other:?}");
    assert_eq!(other.unwrap_err().kind(), "conflict");
    let entry = ("exec".to_owned(), "make".to_owned(), "conflict".to_owned());
    assert_eq!(bench.trail().await, [entry]);
}

#[tokio::test]
async fn a_request_without_a_place_leaves_one_entry_and_no_exec() {
    let bench = Bench::new().await;
    let (id, stopping) = (ExecId::random(), CancellationToken::new());
    bench.store.add_runner(bench.user.id, &RunnerName::parse("laptop").unwrap()).await.unwrap();
    bench.store.set_active_runner(bench.user.id, Some("laptop")).await.unwrap();
    let refused = bench.ledger.request(&bench.user, &asked(&id, "a", None), &stopping).await;
    assert_eq!(refused.unwrap_err().kind(), "offline");
    let entry = bench.store.audit(10, None).await.unwrap().remove(0);
    assert_eq!((entry.location.as_deref(), entry.outcome.as_str()), (Some("laptop"), "offline"));
    assert!(bench.ledger.known(bench.user.id, &id).await.unwrap().is_none());
}

#[tokio::test]
async fn execs_are_found_by_their_user_alone_and_tasks_are_those_without_message_and_terminal() {
    let bench = Bench::new().await;
    let (ledger, user) = (&bench.ledger, bench.user.id);
    let other = bench.store.add_user(&Name::parse("eve").unwrap(), "correct horse", false).await.unwrap();
    let task = bench.request(ExecKind::Tool);
    let terminal = ExecRequest { linger_ms: Some(1), ..bench.request(ExecKind::Terminal) };
    for request in [&task, &terminal] {
        ledger.begin(request).await.unwrap();
    }
    let (task, terminal) = (task.exec_id.to_string(), terminal.exec_id.to_string());
    assert_eq!(ledger.exec(user, &terminal).await.unwrap().exec_id.to_string(), terminal);
    assert_eq!(ledger.task(user, &task).await.unwrap().exec_id.to_string(), task);
    for (whose, id) in
        [(other.id, task.as_str()), (user, "no id"), (user, "00000000000000000000000000000000")]
    {
        let unknown = ledger.exec(whose, id).await.unwrap_err();
        assert_eq!(
            (unknown.kind(), unknown.to_string()),
            ("not_found", format!("no command has the id {id}; `sandbridge ps` lists your commands"))
        );
    }
    let unknown = ledger.task(user, &terminal).await.unwrap_err();
    assert_eq!(
        (unknown.kind(), unknown.to_string()),
        ("not_found", format!("no background task has the id {terminal}"))
    );
    assert_eq!(ledger.tasks(user, None, true, 9).await.unwrap().len(), 1);
    let foreign = bench.store.create_chat(other.id).await.unwrap().id;
    assert_eq!(ledger.tasks(user, Some(&foreign), false, 9).await.unwrap_err().kind(), "not_found");
}

#[tokio::test]
async fn of_many_execs_those_that_run_are_found_behind_those_that_ended() {
    let bench = Bench::new().await;
    let (ledger, user) = (&bench.ledger, bench.user.id);
    let running = bench.request(ExecKind::Client);
    ledger.begin(&running).await.unwrap();
    for _ in 0..3 {
        let request = bench.request(ExecKind::Client);
        ledger.begin(&request).await.unwrap();
        let exec = ledger.known(user, &request.exec_id).await.unwrap().unwrap();
        let ending = Ending::refused("failed", "no such program");
        assert!(ledger.settle(&bench.user, &exec, &ending).await.is_some());
    }
    let found = ledger.execs(user, true, 1).await.unwrap();
    assert_eq!(found.iter().map(|exec| &exec.exec_id).collect::<Vec<_>>(), [&running.exec_id]);
    assert_eq!(ledger.execs(user, false, 2).await.unwrap().len(), 2);
}

#[tokio::test]
async fn ending_what_has_ended_leaves_a_trace_and_changes_nothing() {
    let bench = Bench::new().await;
    let request = bench.request(ExecKind::Client);
    bench.ledger.begin(&request).await.unwrap();
    let exec = bench.ledger.known(bench.user.id, &request.exec_id).await.unwrap().unwrap();
    let away = bench.ledger.kill(&bench.user, &exec).await.unwrap_err();
    assert_eq!(away.kind(), "no_route", "its machine is none of its user's any more");
    let ending = Ending::refused("failed", "no such program");
    let _recorded = bench.ledger.settle(&bench.user, &exec, &ending).await.unwrap();
    let exec = bench.ledger.known(bench.user.id, &request.exec_id).await.unwrap().unwrap();
    assert!(bench.ledger.kill(&bench.user, &exec).await.unwrap().is_none());
    let last = bench.trail().await.pop().unwrap();
    assert_eq!(last, ("cancel".to_owned(), "make".to_owned(), "ok".to_owned()));
    assert_eq!(bench.ledger.known(bench.user.id, &request.exec_id).await.unwrap(), Some(exec));
}
