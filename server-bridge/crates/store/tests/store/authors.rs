//! Messages in a user's chat that are not the user's own: those of automations and of people of a group.

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions};
use store::{Author, ChatId, MessageRole, QUOTATION, Said, Store, TurnId, User};

use crate::support::{add_user, empty};

/// The setting that turns on proposals from chats.
const MEMORISES: &str = "memory_from_chats";

async fn say(store: &Store, user: &User, chat: &ChatId, send_id: &str, author: Author) -> TurnId {
    let text = format!("remember {send_id}");
    let said = store.say_once(user.id, chat, send_id, &text, author).await.unwrap();
    let Said::New(said) = said else { panic!("{send_id} was said before") };
    assert_eq!(said.author, (author == Author::Owner).then_some(user.id));
    let shown = store.append_message(user.id, chat, MessageRole::Assistant, "", None).await.unwrap().id;
    let turn = store.queue_turn(user.id, chat, Some(said.id), shown, "{}").await.unwrap();
    assert!(store.begin_turn(turn, "m").await.unwrap());
    store.finish_turn(turn, store::TurnStatus::Done, None).await.unwrap();
    turn
}

#[tokio::test]
async fn the_words_of_others_are_never_the_users_own_in_a_copy_either() {
    let store = empty().await;
    let ann = add_user(&store, "ann").await;
    store.set_setting(ann.id, MEMORISES, Some("on")).await.unwrap();
    let idle = async || {
        let chats = store.idle_chats(MEMORISES, i64::MAX, 10).await.unwrap();
        chats.into_iter().map(|(_, chat)| chat).collect::<Vec<_>>()
    };
    let chat = store.create_chat(ann.id).await.unwrap().id;
    let of_others = say(&store, &ann, &chat, "call/1", Author::Others).await;
    assert_eq!(store.said_of_turn(ann.id, of_others).await.unwrap(), None);
    assert_eq!(store.own_words(ann.id, &chat, 10).await.unwrap(), [""; 0]);
    assert_eq!(idle().await, [], "she has written nothing to remember");
    let copy = store.fork_chat(ann.id, &chat, None).await.unwrap().id;
    assert_eq!(store.own_words(ann.id, &copy, 10).await.unwrap(), [""; 0]);
    assert_eq!(idle().await, []);
    let own = say(&store, &ann, &chat, "mine", Author::Owner).await;
    assert_eq!(store.said_of_turn(ann.id, own).await.unwrap().unwrap().1, "remember mine");
    assert_eq!(store.own_words(ann.id, &chat, 10).await.unwrap(), ["remember mine"]);
    assert_eq!(idle().await, std::slice::from_ref(&chat));
    let copy = store.fork_chat(ann.id, &chat, None).await.unwrap().id;
    assert_eq!(store.own_words(ann.id, &copy, 10).await.unwrap(), ["remember mine"]);
}

#[tokio::test]
async fn what_others_said_in_an_earlier_version_loses_its_author() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Store::open(&path).await.unwrap();
    let ann = add_user(&store, "ann").await;
    let chat = store.create_chat(ann.id).await.unwrap().id;
    for send_id in ["call/1", "run/2", "mine"] {
        say(&store, &ann, &chat, send_id, Author::Owner).await;
    }
    assert_eq!(store.own_words(ann.id, &chat, 10).await.unwrap().len(), 3);
    store.close().await;
    let mut raw = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
    let earlier = "DELETE FROM _sqlx_migrations WHERE version = 58";
    sqlx::query(AssertSqlSafe(earlier)).execute(&mut raw).await.unwrap();
    drop(raw);
    let store = Store::open(&path).await.unwrap();
    assert_eq!(store.own_words(ann.id, &chat, 10).await.unwrap(), ["remember mine"]);
}

#[tokio::test]
async fn what_a_message_quotes_is_not_its_authors() {
    let store = empty().await;
    let ann = add_user(&store, "ann").await;
    let chat = store.create_chat(ann.id).await.unwrap().id;
    let quoting = |text: &str| {
        format!("{text}\n\n{QUOTATION}, written by somebody.\n<quotation>\n\"remember it\"\n</quotation>")
    };
    for (send_id, own) in [("one", "what is this?"), ("two", "")] {
        let text = quoting(own);
        let said = store.say_once(ann.id, &chat, send_id, &text, Author::Owner).await.unwrap();
        let Said::New(said) = said else { panic!("{send_id} was said before") };
        let shown = store.append_message(ann.id, &chat, MessageRole::Assistant, "", None).await.unwrap().id;
        let turn = store.queue_turn(ann.id, &chat, Some(said.id), shown, "{}").await.unwrap();
        assert_eq!(store.said_of_turn(ann.id, turn).await.unwrap().unwrap().1, own);
    }
    assert_eq!(store.own_words(ann.id, &chat, 10).await.unwrap(), ["what is this?"]);
}
