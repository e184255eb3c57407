//! Recorded execs, and the audit trail.

use store::{
    AuditEntry, EXEC_CORRECTED, Error, ExecEnd, ExecEnded, ExecId, ExecKind, ExecOutcome, ExecRequest,
    ExecStart, ExecStatus, MessageRole, ShownEnd, Store, UserId,
};

use crate::support::{START_MS, add_user, store};

fn request(user: UserId, exec_id: &ExecId, request_hash: &str) -> ExecRequest {
    ExecRequest {
        exec_id: exec_id.clone(),
        kind: ExecKind::Client,
        user,
        chat: None,
        message: None,
        request_hash: request_hash.to_owned(),
        runner: Some("laptop".to_owned()),
        command: "sh -c pwd".to_owned(),
        audited: None,
        detached: false,
        linger_ms: None,
    }
}

fn entry(outcome: &ExecOutcome) -> AuditEntry {
    let outcome = outcome.status.as_str().to_owned();
    AuditEntry { user: Some("ann".to_owned()), action: "exec".to_owned(), outcome, ..AuditEntry::default() }
}

async fn end_exec(
    store: &Store,
    user: UserId,
    exec_id: &ExecId,
    outcome: &ExecOutcome,
    message: Option<ShownEnd<'_>>,
) -> store::Result<ExecEnded> {
    store.end_exec(ExecEnd { user, exec_id, outcome, audit: &entry(outcome), message }, || {}).await
}

/// Ends an exec; returns true if that changed the record.
async fn end(store: &Store, user: UserId, exec_id: &ExecId, outcome: &ExecOutcome) -> bool {
    end_exec(store, user, exec_id, outcome, None).await.unwrap() != ExecEnded::Before
}

/// The audit trail, oldest first: the action and the outcome of each entry.
async fn trail(store: &Store) -> Vec<(String, String)> {
    let entries = store.audit(100, None).await.unwrap();
    entries.into_iter().rev().map(|entry| (entry.action, entry.outcome)).collect()
}

fn outcome(status: ExecStatus, exit_code: Option<i32>) -> ExecOutcome {
    ExecOutcome {
        status,
        exit_code,
        signal: None,
        sandbox_denied: true,
        truncated: true,
        stdout_bytes: 1 << 40,
        stderr_bytes: 7,
        output_path: Some(".sandbridge/output/1.log".to_owned()),
        error: Some("ä".repeat(4096)),
    }
}

#[tokio::test]
async fn the_same_request_attaches_and_another_under_its_id_conflicts() {
    let (store, _) = store().await;
    let (ann, bob) = (add_user(&store, "ann").await.id, add_user(&store, "bob").await.id);
    let id = ExecId::random();
    assert_eq!(store.start_exec(&request(ann, &id, "hash")).await.unwrap(), ExecStart::New);
    let ExecStart::Existing(existing) = store.start_exec(&request(ann, &id, "hash")).await.unwrap() else {
        panic!("a repeated start attaches");
    };
    assert_eq!((existing.status, existing.started_at_ms), (ExecStatus::Running, START_MS));
    assert!(matches!(store.start_exec(&request(ann, &id, "other")).await, Err(Error::Conflict { .. })));
    // Another user's use of the same id neither conflicts nor shows that it was used.
    assert_eq!(store.start_exec(&request(bob, &id, "other")).await.unwrap(), ExecStart::New);
}

#[tokio::test]
async fn an_end_is_recorded_once_and_whole() {
    let (store, clock) = store().await;
    let ann = add_user(&store, "ann").await.id;
    let id = ExecId::random();
    store.start_exec(&request(ann, &id, "hash")).await.unwrap();
    clock.advance(250);
    assert!(end(&store, ann, &id, &outcome(ExecStatus::Exited, Some(3))).await);
    assert!(!end(&store, ann, &id, &outcome(ExecStatus::Cancelled, None)).await);
    let exec = store.exec(ann, &id).await.unwrap();
    assert_eq!((exec.status, exec.exit_code, exec.signal), (ExecStatus::Exited, Some(3), None));
    assert_eq!((exec.stdout_bytes, exec.stderr_bytes), (1 << 40, 7));
    assert!(exec.sandbox_denied && exec.truncated);
    assert_eq!(exec.finished_at_ms, Some(START_MS + 250));
    assert_eq!(exec.error.unwrap(), "ä".repeat(2048));
    assert!(matches!(
        end_exec(&store, ann, &id, &outcome(ExecStatus::Running, None), None).await,
        Err(Error::Invalid { .. })
    ));
}

#[tokio::test]
async fn an_end_its_audit_entry_and_its_message_are_recorded_together_and_once() {
    let (store, _) = store().await;
    let ann = add_user(&store, "ann").await.id;
    let chat = store.create_chat(ann).await.unwrap();
    let id = ExecId::random();
    let start =
        ExecRequest { kind: ExecKind::Chat, chat: Some(chat.id.clone()), ..request(ann, &id, "hash") };
    let message = store.start_shown_exec(&start, &chat.id, "{}").await.unwrap();
    assert_eq!(store.exec(ann, &id).await.unwrap().message, Some(message.id));
    assert!(matches!(store.start_shown_exec(&start, &chat.id, "{}").await, Err(Error::Conflict { .. })));
    assert_eq!(
        store.messages(ann, &chat.id, None, 10).await.unwrap().0.len(),
        1,
        "no message without its exec"
    );

    // The document is too long, so nothing about the end is recorded.
    let (exited, long) = (outcome(ExecStatus::Exited, Some(0)), "x".repeat(1 << 20));
    let shown = ShownEnd { id: message.id, text: "out", document_json: &long };
    assert!(matches!(end_exec(&store, ann, &id, &exited, Some(shown)).await, Err(Error::Invalid { .. })));
    assert_eq!(store.exec(ann, &id).await.unwrap().status, ExecStatus::Running);
    assert!(trail(&store).await.is_empty());

    let shown = ShownEnd { document_json: "{\"a\":1}", ..shown };
    let ended = end_exec(&store, ann, &id, &exited, Some(shown)).await.unwrap();
    let ExecEnded::Now(Some(told)) = ended else { panic!("{ended:?}") };
    assert_eq!((told.text.as_str(), told.document_json.as_deref()), ("out", Some("{\"a\":1}")));
    let again = end_exec(&store, ann, &id, &outcome(ExecStatus::Lost, None), Some(shown)).await.unwrap();
    assert_eq!(again, ExecEnded::Before);
    assert_eq!(trail(&store).await, [("exec".to_owned(), "exited".to_owned())]);
}

#[tokio::test]
async fn an_end_that_is_not_committed_never_happened() {
    let (store, _) = store().await;
    let ann = add_user(&store, "ann").await.id;
    let id = ExecId::random();
    store.start_exec(&request(ann, &id, "hash")).await.unwrap();
    let outcome = outcome(ExecStatus::Exited, Some(0));
    let dying = store.clone();
    let died = tokio::spawn({
        let (id, outcome) = (id.clone(), outcome.clone());
        async move {
            let audit = entry(&outcome);
            let end = ExecEnd { user: ann, exec_id: &id, outcome: &outcome, audit: &audit, message: None };
            dying.end_exec(end, || panic!("the process dies here")).await
        }
    });
    assert!(died.await.unwrap_err().is_panic());
    assert_eq!(store.exec(ann, &id).await.unwrap().status, ExecStatus::Running);
    assert!(trail(&store).await.is_empty());
    assert!(end(&store, ann, &id, &outcome).await);
    assert_eq!(trail(&store).await.len(), 1);
}

#[tokio::test]
async fn a_message_that_is_gone_keeps_no_end_from_being_recorded() {
    let (store, _) = store().await;
    let ann = add_user(&store, "ann").await.id;
    let chat = store.create_chat(ann).await.unwrap();
    let id = ExecId::random();
    let message = store.start_shown_exec(&request(ann, &id, "hash"), &chat.id, "{}").await.unwrap();
    store.delete_chat(ann, &chat.id).await.unwrap();
    let shown = ShownEnd { id: message.id, text: "out", document_json: "{}" };
    let ended = end_exec(&store, ann, &id, &outcome(ExecStatus::Exited, Some(0)), Some(shown)).await.unwrap();
    assert_eq!(ended, ExecEnded::Now(None));
    assert_eq!(trail(&store).await.len(), 1);
}

#[tokio::test]
async fn every_status_reads_back() {
    let (store, _) = store().await;
    let ann = add_user(&store, "ann").await.id;
    for status in [
        ExecStatus::Exited,
        ExecStatus::Signaled,
        ExecStatus::TimedOut,
        ExecStatus::Cancelled,
        ExecStatus::Failed,
        ExecStatus::Lost,
    ] {
        let id = ExecId::random();
        store.start_exec(&request(ann, &id, "hash")).await.unwrap();
        assert!(end(&store, ann, &id, &outcome(status, None)).await);
        assert_eq!(store.exec(ann, &id).await.unwrap().status, status);
    }
}

#[tokio::test]
async fn at_a_start_what_was_running_is_found_and_what_was_lost_may_still_be_told() {
    let (store, _) = store().await;
    let (ann, bob) = (add_user(&store, "ann").await.id, add_user(&store, "bob").await.id);
    let chat = store.create_chat(ann).await.unwrap();
    let message = store.append_message(ann, &chat.id, MessageRole::Exec, "", None).await.unwrap();
    let (running, done, bobs) = (ExecId::random(), ExecId::random(), ExecId::random());
    let of_chat = ExecRequest {
        chat: Some(chat.id.clone()),
        message: Some(message.id),
        ..request(ann, &running, "hash")
    };
    store.start_exec(&of_chat).await.unwrap();
    store.start_exec(&request(ann, &done, "hash")).await.unwrap();
    store.start_exec(&request(bob, &bobs, "hash")).await.unwrap();
    assert!(end(&store, ann, &done, &outcome(ExecStatus::Exited, Some(0))).await);
    let mut found = store.running_execs(None).await.unwrap();
    found.sort_by_key(|exec| exec.user);
    assert_eq!(found.iter().map(|exec| &exec.exec_id).collect::<Vec<_>>(), [&running, &bobs]);
    assert_eq!((found[0].chat.as_ref(), found[0].message), (Some(&chat.id), Some(message.id)));
    assert!(end(&store, ann, &running, &outcome(ExecStatus::Lost, None)).await);
    assert!(end(&store, ann, &running, &outcome(ExecStatus::Exited, Some(0))).await);
    assert!(!end(&store, ann, &running, &outcome(ExecStatus::Lost, None)).await);
    assert_eq!(store.exec(ann, &running).await.unwrap().status, ExecStatus::Exited);
    let actions: Vec<_> = trail(&store).await.into_iter().map(|(action, _)| action).collect();
    assert_eq!(actions, ["exec", "exec", EXEC_CORRECTED], "one entry `exec` per exec");
}

#[tokio::test]
async fn another_users_exec_does_not_exist() {
    let (store, _) = store().await;
    let (ann, bob) = (add_user(&store, "ann").await.id, add_user(&store, "bob").await.id);
    let id = ExecId::random();
    store.start_exec(&request(ann, &id, "hash")).await.unwrap();
    assert!(matches!(store.exec(bob, &id).await, Err(Error::NotFound { .. })));
    let ended = end_exec(&store, bob, &id, &outcome(ExecStatus::Exited, Some(0)), None).await;
    assert!(matches!(ended, Err(Error::NotFound { .. })));
    assert!(store.execs(bob, 10).await.unwrap().is_empty());
    assert_eq!(store.exec(ann, &id).await.unwrap().status, ExecStatus::Running);
}

#[tokio::test]
async fn recent_execs_come_newest_first_and_outlive_their_conversation() {
    let (store, clock) = store().await;
    let ann = add_user(&store, "ann").await.id;
    let chat = store.create_chat(ann).await.unwrap();
    let (first, second) = (ExecId::random(), ExecId::random());
    let long_command = ExecRequest {
        chat: Some(chat.id.clone()),
        command: "x".repeat(1 << 20),
        ..request(ann, &first, "hash")
    };
    store.start_exec(&long_command).await.unwrap();
    clock.advance(1);
    store.start_exec(&request(ann, &second, "hash")).await.unwrap();
    store.delete_chat(ann, &chat.id).await.unwrap();
    let execs = store.execs(ann, 10).await.unwrap();
    assert_eq!(execs.iter().map(|exec| &exec.exec_id).collect::<Vec<_>>(), [&second, &first]);
    assert_eq!((execs[1].chat.as_ref(), execs[1].command.len()), (None, 4096));
    assert_eq!(store.execs(ann, 1).await.unwrap().len(), 1);
}

#[tokio::test]
async fn the_audit_trail_is_paged_newest_first_and_outlives_the_account() {
    let (store, _) = store().await;
    add_user(&store, "ann").await;
    for number in 0..5 {
        let entry = AuditEntry {
            user: Some("ann".to_owned()),
            action: "exec".to_owned(),
            location: Some("laptop".to_owned()),
            target: number.to_string(),
            outcome: "ok".to_owned(),
        };
        store.append_audit(&entry).await.unwrap();
    }
    store.append_audit(&AuditEntry { target: "ä".repeat(1 << 16), ..AuditEntry::default() }).await.unwrap();
    store.remove_user("ann").await.unwrap();
    let last = store.audit(2, None).await.unwrap();
    assert_eq!((last[0].user.as_deref(), last[0].target.len()), (None, 4096));
    assert_eq!((last[1].target.as_str(), last[1].at_ms), ("4", START_MS));
    let before = store.audit(100, Some(last[1].id)).await.unwrap();
    assert_eq!(before.iter().map(|record| record.target.as_str()).collect::<Vec<_>>(), ["3", "2", "1", "0"]);
    assert_eq!((before[0].user.as_deref(), before[0].location.as_deref()), (Some("ann"), Some("laptop")));
}
