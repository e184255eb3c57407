//! Gate questions in the conversations of a group: the end of each question is reported once, whenever it happens.

use super::*;
use crate::{NewGate, NewRunOfChain, RunEnd};

const DAY_MS: i64 = 24 * 3_600_000;

/// Begins a run in a group, with a gate that asks this question; returns the ids of both.
async fn asks(store: &Store, group: i64, user: UserId, question: &str) -> (i64, i64) {
    let run = NewRunOfChain {
        group,
        chain: "story",
        document_json: "{}",
        request: "rain",
        user,
        user_name: "ada",
        send_id: None,
        gate: Some(NewGate { step: 0, attempt: 1, kind: "review", question }),
    };
    let run = store.begin_run(run).await.unwrap();
    (run, store.gates(run).await.unwrap()[0].id)
}

/// The question of a gate as a conversation shows it, with one button.
fn asking(binding: &ChannelBinding, gate: i64) -> NewOutgoing {
    let press = NewPress {
        token_sha256: format!("{}/{gate}", binding.mark),
        place: 1,
        label: "Approve".to_owned(),
        reply_json: "{}".to_owned(),
        expires_at_ms: i64::MAX,
    };
    let source = format!("log/{}/gate/{gate}", binding.mark);
    NewOutgoing { gate: Some(gate), source, presses: vec![press], ..outgoing(0) }
}

#[tokio::test]
async fn the_end_of_a_gates_question_is_told_once_in_each_conversation_however_late() {
    let now = Arc::new(AtomicI64::new(1_000_000));
    let read = Arc::clone(&now);
    let store = testing::empty().await.with_clock(Clock::from_fn(move || read.load(Ordering::SeqCst)));
    let ada = user(&store, "ada", false).await;
    let account = store.put_channel(ada, draft("tg")).await.unwrap();
    let group = store.create_group(ada, "Work").await.unwrap();
    let other = store.create_group(ada, "Other").await.unwrap();
    for (conversation, of) in [("c", group), ("d", group), ("e", other)] {
        let mark = format!("00000000000000{conversation}1");
        store.bind_conversation(&account, conversation, of, &mark).await.unwrap();
    }
    let (_, gate) = asks(&store, group, ada, "go on?").await;
    let (ending, unanswered) = asks(&store, group, ada, "and now?").await;
    let behind = store.bindings_behind(9, 9).await.unwrap();
    assert_eq!(behind.iter().map(|one| one.conversation.as_str()).collect::<Vec<_>>(), ["c", "d"]);
    for binding in &behind {
        let rows = [asking(binding, gate), asking(binding, unanswered)];
        let shown =
            ShownLog { entry: binding.shown_entry, gate: unanswered, outgoing: &rows, ..ShownLog::default() };
        assert!(store.show_log(&account, binding, shown).await.unwrap());
    }
    assert!(store.bindings_behind(9, 9).await.unwrap().is_empty(), "both wait");
    assert!(store.open_asks(9).await.unwrap().is_empty(), "they are not questions to one user");
    while let Some(row) = store.next_outgoing(&lane(&account)).await.unwrap() {
        store.mark_sent(row.id, &format!("m{}", row.id)).await.unwrap();
    }
    // The question is kept for longer than other sent messages are.
    now.fetch_add(30 * DAY_MS, Ordering::SeqCst);
    store.purge_channels(store.now_ms() - 8 * DAY_MS).await.unwrap();
    let token = format!("{}/{gate}", behind[0].mark);
    assert!(store.channel_press(&token).await.unwrap().is_some(), "its button still answers");

    assert!(store.answer_gate(group, gate, "approve", "", "bob").await.unwrap());
    assert_eq!(store.bindings_behind(9, 9).await.unwrap().len(), 2, "both have an answer to report");
    assert!(store.end_chain_run(group, ending, RunEnd::Stopped, "stopped").await.unwrap());
    let behind = store.bindings_behind(9, 9).await.unwrap();
    assert_eq!(behind.iter().map(|one| one.conversation.as_str()).collect::<Vec<_>>(), ["c", "d"]);
    let ended = store.ended_questions(&behind[0]).await.unwrap();
    let shown: Vec<_> =
        ended.iter().map(|one| (one.gate, one.reply.as_deref(), one.answered_by.as_deref())).collect();
    assert_eq!(shown, [(gate, Some("approve"), Some("bob")), (unanswered, None, None)]);
    assert!(ended.iter().all(|one| one.has_buttons && one.part == 0 && one.chain == "story"), "{ended:?}");
    let told: Vec<i64> = ended.iter().map(|one| one.outbox_id).collect();
    let line = [NewOutgoing { source: "log/line".to_owned(), ..outgoing(0) }];
    let shown = ShownLog { entry: i64::MAX, gate: unanswered, outgoing: &line, told: &told };
    assert!(store.show_log(&account, &behind[0], shown).await.unwrap());
    assert!(store.ended_questions(&behind[0]).await.unwrap().is_empty());
    assert!(
        store.channel_press(&token).await.unwrap().unwrap().used_at_ms.is_some(),
        "the question accepts no more answers"
    );
    assert_eq!(
        store.ended_questions(&behind[1]).await.unwrap().len(),
        2,
        "the other conversation has not reported them"
    );
    // The end is not reported in a conversation that by now shows another group.
    store.bind_conversation(&account, "d", other, "00000000000000d2").await.unwrap();
    let bound = store.channel_binding(account.id, "d").await.unwrap().unwrap();
    assert!(store.ended_questions(&bound).await.unwrap().is_empty());
    // Questions whose end was reported are deleted like other messages.
    store.purge_channels(store.now_ms() - 8 * DAY_MS).await.unwrap();
    assert!(store.channel_press(&token).await.unwrap().is_none());
}
