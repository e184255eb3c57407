//! Finding messages.

use store::{Error, MessageId, MessageRole, MessageSearch};

use crate::support::{DAY_MS, START_MS, add_user, store};

const ALL: MessageSearch<'static> =
    MessageSearch { words: &[], chat: None, from_ms: 0, until_ms: i64::MAX, before: None, limit: 10 };

#[tokio::test]
async fn only_own_messages_are_found_by_all_of_their_words() {
    let (store, _) = store().await;
    let (ann, eve) = (add_user(&store, "ann").await.id, add_user(&store, "eve").await.id);
    let mut chats = Vec::new();
    for (user, texts) in [
        (ann, &["The RED door", "100% of_it \\ done", ""][..]),
        (ann, &["a red dress"]),
        (eve, &["my red door"]),
    ] {
        let chat = store.create_chat(user).await.unwrap().id;
        for text in texts {
            store.append_message(user, &chat, MessageRole::User, text, None).await.unwrap();
        }
        chats.push(chat);
    }
    let find = async |search: MessageSearch<'_>| -> Vec<String> {
        let found = store.search_messages(ann, &search).await.unwrap();
        found.into_iter().map(|message| message.text).collect()
    };
    assert_eq!(find(ALL).await, ["a red dress", "100% of_it \\ done", "The RED door"]);
    assert_eq!(find(MessageSearch { words: &["red"], ..ALL }).await, ["a red dress", "The RED door"]);
    assert_eq!(find(MessageSearch { words: &["Door", "the"], ..ALL }).await, ["The RED door"]);
    assert_eq!(find(MessageSearch { words: &["red"], chat: Some(&chats[0]), ..ALL }).await, ["The RED door"]);
    assert!(find(MessageSearch { chat: Some(&chats[2]), ..ALL }).await.is_empty(), "another user's");
    // Special characters of a pattern match themselves.
    for word in ["100%", "of_it", "\\ d"] {
        assert_eq!(find(MessageSearch { words: &[word], ..ALL }).await, ["100% of_it \\ done"], "{word}");
    }
    assert!(find(MessageSearch { words: &["%"], chat: Some(&chats[1]), ..ALL }).await.is_empty());
    assert!(find(MessageSearch { words: &["r_d"], ..ALL }).await.is_empty());
}

#[tokio::test]
async fn what_is_found_is_paged_and_bounded_by_time() {
    let (store, clock) = store().await;
    let ann = add_user(&store, "ann").await.id;
    let chat = store.create_chat(ann).await.unwrap().id;
    for day in 0..5 {
        store.append_message(ann, &chat, MessageRole::User, &format!("day {day}"), None).await.unwrap();
        clock.advance(DAY_MS);
    }
    let first = store.search_messages(ann, &MessageSearch { limit: 2, ..ALL }).await.unwrap();
    assert_eq!(first.iter().map(|found| found.text.as_str()).collect::<Vec<_>>(), ["day 4", "day 3"]);
    let rest = MessageSearch { before: Some(first[1].id), ..ALL };
    assert_eq!(store.search_messages(ann, &rest).await.unwrap().len(), 3);
    let between = MessageSearch { from_ms: START_MS + DAY_MS, until_ms: START_MS + 3 * DAY_MS, ..ALL };
    let between = store.search_messages(ann, &between).await.unwrap();
    assert_eq!(between.iter().map(|found| found.text.as_str()).collect::<Vec<_>>(), ["day 2", "day 1"]);
    assert_eq!(between[0].title, "day 0");
    assert!(
        store
            .search_messages(ann, &MessageSearch { before: Some(MessageId(0)), ..ALL })
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn too_many_words_and_too_long_ones_are_refused() {
    let (store, _) = store().await;
    let ann = add_user(&store, "ann").await.id;
    assert!(store.search_messages(ann, &MessageSearch { words: &["x"; 8], ..ALL }).await.is_ok());
    let long = "x".repeat(201);
    for words in [&["x"; 9][..], &[&long]] {
        let refused = store.search_messages(ann, &MessageSearch { words, ..ALL }).await;
        assert!(matches!(refused, Err(Error::Invalid { .. })));
    }
}
