//! Execs on record, and the audit trail.

use store::{
    AuditEntry, Error, ExecId, ExecOutcome, ExecRequest, ExecStart, ExecStatus, MessageRole, UserId,
};

use crate::support::{START_MS, add_user, store};

fn request(user: UserId, exec_id: &ExecId, request_hash: &str) -> ExecRequest {
    ExecRequest {
        exec_id: exec_id.clone(),
        user,
        chat: None,
        message: None,
        request_hash: request_hash.to_owned(),
        runner: Some("laptop".to_owned()),
        command: "sh -c pwd".to_owned(),
        detached: false,
    }
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
    assert!(store.finish_exec(ann, &id, &outcome(ExecStatus::Exited, Some(3))).await.unwrap());
    assert!(!store.finish_exec(ann, &id, &outcome(ExecStatus::Cancelled, None)).await.unwrap());
    let exec = store.exec(ann, &id).await.unwrap();
    assert_eq!((exec.status, exec.exit_code, exec.signal), (ExecStatus::Exited, Some(3), None));
    assert_eq!((exec.stdout_bytes, exec.stderr_bytes), (1 << 40, 7));
    assert!(exec.sandbox_denied && exec.truncated);
    assert_eq!(exec.finished_at_ms, Some(START_MS + 250));
    assert_eq!(exec.error.unwrap(), "ä".repeat(2048));
    assert!(matches!(
        store.finish_exec(ann, &id, &outcome(ExecStatus::Running, None)).await,
        Err(Error::Invalid { .. })
    ));
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
        assert!(store.finish_exec(ann, &id, &outcome(status, None)).await.unwrap());
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
    store.finish_exec(ann, &done, &outcome(ExecStatus::Exited, Some(0))).await.unwrap();
    let mut found = store.running_execs().await.unwrap();
    found.sort_by_key(|exec| exec.user);
    assert_eq!(found.iter().map(|exec| &exec.exec_id).collect::<Vec<_>>(), [&running, &bobs]);
    assert_eq!((found[0].chat.as_ref(), found[0].message), (Some(&chat.id), Some(message.id)));
    assert!(store.finish_exec(ann, &running, &outcome(ExecStatus::Lost, None)).await.unwrap());
    assert!(store.finish_exec(ann, &running, &outcome(ExecStatus::Exited, Some(0))).await.unwrap());
    assert!(!store.finish_exec(ann, &running, &outcome(ExecStatus::Lost, None)).await.unwrap());
    assert_eq!(store.exec(ann, &running).await.unwrap().status, ExecStatus::Exited);
}

#[tokio::test]
async fn another_users_exec_does_not_exist() {
    let (store, _) = store().await;
    let (ann, bob) = (add_user(&store, "ann").await.id, add_user(&store, "bob").await.id);
    let id = ExecId::random();
    store.start_exec(&request(ann, &id, "hash")).await.unwrap();
    assert!(matches!(store.exec(bob, &id).await, Err(Error::NotFound { .. })));
    let ended = store.finish_exec(bob, &id, &outcome(ExecStatus::Exited, Some(0))).await;
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
