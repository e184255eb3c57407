//! The ledger over a store in memory, and a router without machines.

use std::time::Duration;

use sandbox::{RouterConfig, SandboxRouter};
use store::{
    ChatId, EXEC_CORRECTED, ExecEnded, ExecId, ExecKind, ExecRequest, ExecStatus, Name, RunnerName, Store,
    User,
};
use tokio::time::{Instant, sleep, timeout};

use crate::{End, Ending, Ledger, ShownEnd};

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

    /// Waits until an exec is over.
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
        assert!(bench.ledger.recover().await.unwrap().is_empty(), "no message shows it");
        assert_eq!(bench.over(&request.exec_id).await.status, ExecStatus::Lost, "{kind:?}");
    }
    bench.ledger.shutdown().await;
    // The name of the user it ran as is there, as in every entry.
    assert_eq!(bench.trail().await, vec![entry("exec", "lost"); 4]);
}

#[tokio::test]
async fn a_machine_that_is_away_is_waited_for_and_left_to_the_next_life() {
    let bench = Bench::new().await;
    bench.store.add_runner(bench.user.id, &RunnerName::parse("laptop").unwrap()).await.unwrap();
    let request = bench.request(ExecKind::Tool);
    bench.ledger.begin(&request).await.unwrap();
    bench.ledger.recover().await.unwrap();
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
    let document: serde_json::Value = serde_json::from_str(told.exec_json.as_deref().unwrap()).unwrap();
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
