//! Conversations and their messages.

use store::{ChatId, Error, MessageId, MessageRole, Store};

use crate::support::{START_MS, add_user, store};

async fn say(store: &Store, chat: &store::Chat, text: &str) -> store::Message {
    store.append_message(chat.user, &chat.id, MessageRole::User, text, None).await.unwrap()
}

#[tokio::test]
async fn the_conversation_where_something_last_happened_comes_first() {
    let (store, clock) = store().await;
    let ann = add_user(&store, "ann").await.id;
    let first = store.create_chat(ann).await.unwrap();
    assert_eq!((first.title.as_str(), first.runner.as_deref(), first.created_at_ms), ("", None, START_MS));
    clock.advance(1);
    let second = store.create_chat(ann).await.unwrap();
    let order =
        async || store.chats(ann, 10).await.unwrap().into_iter().map(|chat| chat.id).collect::<Vec<_>>();
    assert_eq!(order().await, [second.id.clone(), first.id.clone()]);
    clock.advance(1);
    say(&store, &first, "hello").await;
    assert_eq!(order().await, [first.id.clone(), second.id.clone()]);
    clock.advance(1);
    store.touch_chat(ann, &second.id).await.unwrap();
    assert_eq!(order().await, [second.id.clone(), first.id]);
    assert_eq!(store.chats(ann, 1).await.unwrap().len(), 1);
}

#[tokio::test]
async fn the_first_message_of_the_user_gives_the_title_and_a_rename_stays() {
    let (store, _) = store().await;
    let ann = add_user(&store, "ann").await.id;
    let chat = store.create_chat(ann).await.unwrap();
    store.append_message(ann, &chat.id, MessageRole::Notice, "welcome", None).await.unwrap();
    assert_eq!(store.chat(ann, &chat.id).await.unwrap().title, "");
    say(&store, &chat, "!make\n  test").await;
    say(&store, &chat, "something else").await;
    assert_eq!(store.chat(ann, &chat.id).await.unwrap().title, "!make test");
    assert_eq!(store.rename_chat(ann, &chat.id, "Builds").await.unwrap().title, "Builds");
    say(&store, &chat, "more").await;
    assert_eq!(store.chat(ann, &chat.id).await.unwrap().title, "Builds");
    assert!(matches!(store.rename_chat(ann, &chat.id, &"x".repeat(201)).await, Err(Error::Invalid { .. })));
}

#[tokio::test]
async fn a_conversation_is_bound_to_a_place_and_freed_again() {
    let (store, _) = store().await;
    let ann = add_user(&store, "ann").await.id;
    let chat = store.create_chat(ann).await.unwrap();
    let bound = store.bind_chat_runner(ann, &chat.id, Some("__docker__")).await.unwrap();
    assert_eq!(bound.runner.as_deref(), Some("__docker__"));
    assert_eq!(store.chat(ann, &chat.id).await.unwrap(), bound);
    assert_eq!(store.bind_chat_runner(ann, &chat.id, None).await.unwrap().runner, None);
}

#[tokio::test]
async fn messages_are_paged_from_the_newest_and_told_oldest_first() {
    let (store, _) = store().await;
    let ann = add_user(&store, "ann").await.id;
    let (chat, other) = (store.create_chat(ann).await.unwrap(), store.create_chat(ann).await.unwrap());
    for number in 0..5 {
        say(&store, &chat, &number.to_string()).await;
        say(&store, &other, "elsewhere").await;
    }
    let page = async |before: Option<MessageId>, limit| {
        let (messages, more) = store.messages(ann, &chat.id, before, limit).await.unwrap();
        let texts: Vec<_> = messages.iter().map(|message| message.text.clone()).collect();
        (texts.join(" "), messages.first().map(|message| message.id), more)
    };
    let (texts, oldest, more) = page(None, 2).await;
    assert_eq!((texts.as_str(), more), ("3 4", true));
    let (texts, oldest, more) = page(oldest, 2).await;
    assert_eq!((texts.as_str(), more), ("1 2", true));
    let (texts, oldest, more) = page(oldest, 2).await;
    assert_eq!((texts.as_str(), more), ("0", false));
    assert_eq!(page(oldest, 2).await, (String::new(), None, false));
    assert!(!page(None, 5).await.2);
    assert_eq!(page(None, 0).await, (String::new(), None, true));
    assert_eq!(page(None, u32::MAX).await.0, "0 1 2 3 4");
}

#[tokio::test]
async fn a_page_of_long_messages_ends_at_8_mib() {
    const MIB: usize = 1024 * 1024;
    let (store, _) = store().await;
    let ann = add_user(&store, "ann").await.id;
    let chat = store.create_chat(ann).await.unwrap();
    let mut all = Vec::new();
    for _ in 0..5 {
        // Bytes count, including those of the document: this is 2 MiB.
        let document = format!("{:?}", "x".repeat(MIB / 4 - 2));
        let message = say(&store, &chat, &"é".repeat(MIB / 2)).await;
        store.update_message(ann, message.id, &message.text, Some(&document)).await.unwrap();
        let more = say(&store, &chat, &"y".repeat(MIB * 3 / 4)).await;
        all.extend([message.id, more.id]);
    }
    let ids = |messages: Vec<store::Message>| messages.iter().map(|message| message.id).collect::<Vec<_>>();
    let (page, more) = store.messages(ann, &chat.id, None, 100).await.unwrap();
    assert_eq!((ids(page), more), (all[2..].to_vec(), true));
    let (page, more) = store.messages(ann, &chat.id, Some(all[2]), 100).await.unwrap();
    assert_eq!((ids(page), more), (all[..2].to_vec(), false));
    let (page, more) = store.messages_after(ann, &chat.id, MessageId(0), 100).await.unwrap();
    assert_eq!((ids(page), more), (all[..8].to_vec(), true));
    let (page, more) = store.messages_after(ann, &chat.id, all[7], 100).await.unwrap();
    assert_eq!((ids(page), more), (all[8..].to_vec(), false));
}

#[tokio::test]
async fn every_role_and_an_exec_document_read_back_and_an_update_replaces_them() {
    let (store, _) = store().await;
    let ann = add_user(&store, "ann").await.id;
    let chat = store.create_chat(ann).await.unwrap();
    for role in [MessageRole::User, MessageRole::Exec, MessageRole::Notice, MessageRole::Assistant] {
        let message =
            store.append_message(ann, &chat.id, role, "text\0\n\u{1f980}", Some("{}")).await.unwrap();
        assert_eq!(
            (message.role, message.text.as_str()),
            (role, "text\u{2400}\n\u{1f980}"),
            "PostgreSQL accepts no NUL"
        );
        let is_a_persons = matches!(role, MessageRole::User | MessageRole::Exec);
        assert_eq!(message.author, is_a_persons.then_some(ann), "{role:?}");
        assert_eq!(store.message(ann, message.id).await.unwrap(), message);
    }
    let exec = store.append_message(ann, &chat.id, MessageRole::Exec, "", Some(r#"{"a":1}"#)).await.unwrap();
    let updated = store.update_message(ann, exec.id, "out", Some(r#"{"a":2}"#)).await.unwrap();
    assert_eq!((updated.text.as_str(), updated.document_json.as_deref()), ("out", Some(r#"{"a":2}"#)));
    assert_eq!(store.message(ann, exec.id).await.unwrap(), updated);
    let huge = "x".repeat(1024 * 1024 + 1);
    assert!(matches!(store.update_message(ann, exec.id, &huge, None).await, Err(Error::Invalid { .. })));
}

#[tokio::test]
async fn another_users_conversation_does_not_exist() {
    let (store, _) = store().await;
    let (ann, bob) = (add_user(&store, "ann").await.id, add_user(&store, "bob").await.id);
    let chat = store.create_chat(ann).await.unwrap();
    let message = say(&store, &chat, "private").await;
    let missing = store.chat(bob, &ChatId::random()).await.unwrap_err().to_string();
    let foreign = store.chat(bob, &chat.id).await.unwrap_err().to_string();
    assert_eq!(missing.split('"').next(), foreign.split('"').next());
    let not_found = |error: Error| assert!(matches!(error, Error::NotFound { .. }), "{error}");
    not_found(store.rename_chat(bob, &chat.id, "mine").await.unwrap_err());
    not_found(store.bind_chat_runner(bob, &chat.id, Some("x")).await.unwrap_err());
    not_found(store.touch_chat(bob, &chat.id).await.unwrap_err());
    not_found(store.delete_chat(bob, &chat.id).await.unwrap_err());
    not_found(store.append_message(bob, &chat.id, MessageRole::User, "hi", None).await.unwrap_err());
    not_found(store.messages(bob, &chat.id, None, 10).await.unwrap_err());
    not_found(store.message(bob, message.id).await.unwrap_err());
    not_found(store.update_message(bob, message.id, "changed", None).await.unwrap_err());
    assert!(store.chats(bob, 10).await.unwrap().is_empty());
    assert_eq!(store.message(ann, message.id).await.unwrap(), message);
}

#[tokio::test]
async fn a_deleted_conversation_takes_its_messages_along() {
    let (store, _) = store().await;
    let ann = add_user(&store, "ann").await.id;
    let chat = store.create_chat(ann).await.unwrap();
    let message = say(&store, &chat, "hello").await;
    store.delete_chat(ann, &chat.id).await.unwrap();
    assert!(matches!(store.message(ann, message.id).await, Err(Error::NotFound { .. })));
    assert!(matches!(store.messages(ann, &chat.id, None, 10).await, Err(Error::NotFound { .. })));
    assert!(matches!(store.delete_chat(ann, &chat.id).await, Err(Error::NotFound { .. })));
}

#[tokio::test]
async fn an_automatic_title_is_replaced_and_one_that_a_person_gave_is_not() {
    let (store, clock) = store().await;
    let (ann, bob) = (add_user(&store, "ann").await.id, add_user(&store, "bob").await.id);
    let (chat, other) = (store.create_chat(ann).await.unwrap(), store.create_chat(ann).await.unwrap());
    let replace = async |user, chat: &store::Chat| {
        let replaced = store.replace_automatic_title(user, &chat.id, "Builds").await.unwrap();
        replaced.map(|chat| chat.title)
    };
    assert_eq!(replace(ann, &chat).await, None, "the chat has no message");
    say(&store, &chat, "how do I\nbuild it?").await;
    say(&store, &other, "hello").await;
    say(&store, &other, "more").await;
    assert_eq!(replace(bob, &chat).await, None, "another user's");
    let before_ms = store.chat(ann, &chat.id).await.unwrap().updated_at_ms;
    clock.advance(1);
    assert_eq!(replace(ann, &chat).await.as_deref(), Some("Builds"));
    assert_eq!(store.chat(ann, &chat.id).await.unwrap().updated_at_ms, before_ms, "it keeps its position");
    store.rename_chat(ann, &other.id, "Mine").await.unwrap();
    assert_eq!(replace(ann, &other).await, None);
    assert_eq!(store.chat(ann, &other.id).await.unwrap().title, "Mine");
}

#[tokio::test]
async fn an_empty_conversation_is_used_again_until_something_is_said_or_set_up_in_it() {
    let (store, _) = store().await;
    let (ann, bob) = (add_user(&store, "ann").await.id, add_user(&store, "bob").await.id);
    let chat = store.empty_chat(ann).await.unwrap();
    assert_eq!(store.empty_chat(ann).await.unwrap().id, chat.id);
    assert_ne!(store.empty_chat(bob).await.unwrap().id, chat.id);
    assert_eq!(store.chats(ann, 10).await.unwrap().len(), 1);
    store.set_approval(ann, &chat.id, "full").await.unwrap();
    let second = store.empty_chat(ann).await.unwrap();
    assert_ne!(second.id, chat.id, "a chat with an approval mode is not reused");
    store.bind_chat_runner(ann, &second.id, Some("laptop")).await.unwrap();
    let third = store.empty_chat(ann).await.unwrap();
    assert_ne!(third.id, second.id);
    say(&store, &third, "hello").await;
    assert_ne!(store.empty_chat(ann).await.unwrap().id, third.id);
    let (one, other) = tokio::join!(store.empty_chat(ann), store.empty_chat(ann));
    assert_eq!(one.unwrap().id, other.unwrap().id);
}
