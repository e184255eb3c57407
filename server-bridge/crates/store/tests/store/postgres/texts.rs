//! Every text from people and programs, with a NUL in it: stored, shown and found alike on both databases.

use store::{
    AuditEntry, ExecEnd, ExecId, ExecKind, ExecOutcome, ExecRequest, ExecStatus, MessageRole, MessageSearch,
    Name, Store, Streamed, Todo, TodoStatus, TurnStatus,
};

use crate::support::{add_user, postgres_url};

/// A text in the form in which a program may write it.
const NUL: &str = "one\0two";
/// The same text in its stored form.
const SHOWN: &str = "one\u{2400}two";

/// Stores the text in every place, and returns all texts as they are read back.
async fn all_texts(store: &Store) -> Vec<String> {
    let ann = add_user(store, "ann").await;
    let chat = store.create_chat(ann.id).await.unwrap().id;
    let mut texts = Vec::new();
    let message = store.append_message(ann.id, &chat, MessageRole::User, NUL, Some(NUL)).await.unwrap();
    texts.extend([message.text, message.document_json.unwrap()]);
    texts.push(store.update_message(ann.id, message.id, NUL, None).await.unwrap().text);
    texts.push(store.chat(ann.id, &chat).await.unwrap().title);
    texts.push(store.rename_chat(ann.id, &chat, NUL).await.unwrap().title);
    store.set_chat_model(ann.id, &chat, Some(NUL)).await.unwrap();
    texts.extend(store.chat_model(ann.id, &chat).await.unwrap());
    store.say_once(ann.id, &chat, NUL, NUL, store::Author::Owner).await.unwrap();
    assert!(store.was_said(ann.id, &chat, NUL).await.unwrap(), "search terms are changed in the same way");
    let (messages, _) = store.messages(ann.id, &chat, None, 9).await.unwrap();
    texts.extend(messages.into_iter().map(|message| message.text));
    store
        .set_todos(ann.id, &chat, &[Todo { content: NUL.into(), status: TodoStatus::Pending }])
        .await
        .unwrap();
    texts.extend(store.todos(ann.id, &chat).await.unwrap().into_iter().map(|todo| todo.content));
    store.set_setting(ann.id, NUL, Some(NUL)).await.unwrap();
    texts.extend(store.setting(ann.id, NUL).await.unwrap());
    let entry = AuditEntry {
        user: Some(NUL.into()),
        action: NUL.into(),
        location: Some(NUL.into()),
        target: NUL.into(),
        outcome: NUL.into(),
    };
    store.append_audit(&entry).await.unwrap();
    let record = store.audit(1, None).await.unwrap().remove(0);
    texts.extend([
        record.user.unwrap(),
        record.action,
        record.location.unwrap(),
        record.target,
        record.outcome,
    ]);
    let name = Name::parse("model").unwrap();
    texts.push(store.add_subscription(ann.id, &name, NUL, None).await.unwrap().document_json);

    let turn = store.queue_turn(ann.id, &chat, None, message.id, NUL).await.unwrap();
    store.begin_turn(turn, NUL).await.unwrap();
    store.append_turn_item(turn, NUL).await.unwrap();
    let words = Streamed { message: message.id, text: NUL.into(), reasoning: NUL.into() };
    store.put_streamed(turn, &words).await.unwrap();
    texts.extend(
        store.streamed(turn).await.unwrap().into_iter().flat_map(|words| [words.text, words.reasoning]),
    );
    store.finish_turn(turn, TurnStatus::Failed, Some(NUL)).await.unwrap();
    let stored = store.stored_context(ann.id, &chat, turn).await.unwrap();
    texts.extend(stored.items.into_iter().map(|item| item.item_json));
    store.put_offload(ann.id, &chat, "of", NUL, None).await.unwrap();
    texts.push(store.offload(ann.id, &chat, "of").await.unwrap().unwrap().text);

    let exec_id = ExecId::from_bytes([7; 16]);
    let request = ExecRequest {
        exec_id: exec_id.clone(),
        kind: ExecKind::Client,
        user: ann.id,
        chat: Some(chat.clone()),
        message: None,
        request_hash: "hash".into(),
        runner: Some(NUL.into()),
        command: NUL.into(),
        audited: Some(NUL.into()),
        detached: false,
        linger_ms: None,
    };
    store.start_exec(&request).await.unwrap();
    let outcome = ExecOutcome {
        status: ExecStatus::Failed,
        exit_code: None,
        signal: None,
        sandbox_denied: false,
        truncated: false,
        stdout_bytes: 0,
        stderr_bytes: 0,
        output_path: Some(NUL.into()),
        error: Some(NUL.into()),
    };
    let end = ExecEnd { user: ann.id, exec_id: &exec_id, outcome: &outcome, audit: &entry, message: None };
    store.end_exec(end, || {}).await.unwrap();
    let exec = store.exec(ann.id, &exec_id).await.unwrap();
    texts.extend([exec.runner, exec.audited, exec.output_path, exec.error].into_iter().flatten());
    texts.push(exec.command);

    for words in [&[NUL][..], &[SHOWN], &["e\0t"]] {
        let search =
            MessageSearch { words, chat: None, from_ms: 0, until_ms: i64::MAX, before: None, limit: 9 };
        let found = store.search_messages(ann.id, &search).await.unwrap();
        assert_eq!(found.len(), 2, "{words:?}");
        texts.extend(found.into_iter().map(|found| found.text));
    }
    texts
}

#[tokio::test]
async fn a_nul_is_stored_shown_and_found_alike_on_both_databases() {
    let of_sqlite = all_texts(&Store::open_in_memory().await.unwrap()).await;
    let of_postgres = all_texts(&Store::connect(&postgres_url()).await.unwrap()).await;
    assert_eq!(of_sqlite, of_postgres);
    for text in &of_sqlite {
        assert_eq!(text, SHOWN);
    }
    assert!(of_sqlite.len() > 30, "{}", of_sqlite.len());
}
