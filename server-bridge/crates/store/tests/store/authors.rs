//! Messages in a user's chat that are not the user's own: those of automations and of people of a group.

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions};
use store::{Author, ChatId, MessageRole, QUOTATION, Said, Store, TurnId, User};

use crate::support::{START_MS, add_user, empty, store};

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
    assert_eq!(store.own_words(ann.id, &chat, 0, 10).await.unwrap(), [""; 0]);
    assert_eq!(idle().await, [], "there is nothing of hers to remember");
    let copy = store.fork_chat(ann.id, &chat, None).await.unwrap().id;
    assert_eq!(store.own_words(ann.id, &copy, 0, 10).await.unwrap(), [""; 0]);
    assert_eq!(idle().await, []);
    let own = say(&store, &ann, &chat, "mine", Author::Owner).await;
    assert_eq!(store.said_of_turn(ann.id, own).await.unwrap().unwrap().1, "remember mine");
    assert_eq!(store.own_words(ann.id, &chat, 0, 10).await.unwrap(), ["remember mine"]);
    assert_eq!(idle().await, std::slice::from_ref(&chat));
    a_chat_is_read_once_while_it_goes_on_and_once_when_it_is_over(&store, &ann, &chat).await;
    let copy = store.fork_chat(ann.id, &chat, None).await.unwrap().id;
    assert_eq!(store.own_words(ann.id, &copy, 0, 10).await.unwrap(), ["remember mine"]);
}

/// What its user wrote before the first time is not read again.
async fn a_chat_is_read_once_while_it_goes_on_and_once_when_it_is_over(
    store: &Store,
    ann: &User,
    chat: &ChatId,
) {
    let until = async |is_over| store.memorised_until(ann.id, chat, is_over).await.unwrap();
    let claim = async |is_over, at_ms| store.claim_memorising(ann.id, chat, is_over, at_ms).await.unwrap();
    let idle = async || store.idle_chats(MEMORISES, i64::MAX, 10).await.unwrap().len();
    let words = async |after_ms| store.own_words(ann.id, chat, after_ms, 10).await.unwrap();
    assert_eq!((until(false).await, until(true).await, idle().await), (Some(0), Some(0), 1));
    let (before, _) = store.messages(ann.id, chat, None, 10).await.unwrap();
    let first_ms = before.iter().map(|message| message.created_at_ms).max().unwrap();
    assert!(claim(false, first_ms).await && !claim(false, first_ms).await);
    assert_eq!((until(false).await, until(true).await), (None, Some(first_ms)));
    assert!(idle().await == 0 && words(first_ms).await.is_empty(), "there is nothing new");
    assert!(claim(true, first_ms).await && !claim(true, first_ms).await && !claim(false, first_ms).await);
    assert_eq!((until(false).await, until(true).await), (None, None));
    let unclaim = async |at_ms, since_ms| {
        store.unclaim_memorising(ann.id, chat, at_ms, 0, since_ms).await.unwrap();
        until(true).await
    };
    assert_eq!(unclaim(first_ms + 1, 0).await, None, "that is another claim");
    assert_eq!(unclaim(first_ms, i64::MAX).await, None, "the chat is too old");
    assert_eq!((unclaim(first_ms, 0).await, until(false).await), (Some(0), None));
    assert!(idle().await == 1 && claim(true, first_ms).await, "it is read again when it is over");
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
    assert_eq!(store.own_words(ann.id, &chat, 0, 10).await.unwrap().len(), 3);
    store.close().await;
    let mut raw = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
    let earlier = "DELETE FROM _sqlx_migrations WHERE version = 58";
    sqlx::query(AssertSqlSafe(earlier)).execute(&mut raw).await.unwrap();
    drop(raw);
    let store = Store::open(&path).await.unwrap();
    assert_eq!(store.own_words(ann.id, &chat, 0, 10).await.unwrap(), ["remember mine"]);
}

#[tokio::test]
async fn what_a_message_quotes_is_not_its_authors() {
    let store = empty().await;
    let ann = add_user(&store, "ann").await;
    let chat = store.create_chat(ann.id).await.unwrap().id;
    let quoting = |text: &str| {
        format!("{text}\n\n{QUOTATION}, written by somebody.\n<quotation>\n\"remember it\"\n</quotation>")
    };
    for (send_id, own) in
        [("one", "what is this?"), ("two", ""), ("three", "/undo"), ("four", "/agent scout I like tea")]
    {
        let text = quoting(own);
        let said = store.say_once(ann.id, &chat, send_id, &text, Author::Owner).await.unwrap();
        let Said::New(said) = said else { panic!("{send_id} was said before") };
        let shown = store.append_message(ann.id, &chat, MessageRole::Assistant, "", None).await.unwrap().id;
        let turn = store.queue_turn(ann.id, &chat, Some(said.id), shown, "{}").await.unwrap();
        assert_eq!(store.said_of_turn(ann.id, turn).await.unwrap().unwrap().1, own);
    }
    assert_eq!(store.own_words(ann.id, &chat, 0, 10).await.unwrap(), ["what is this?", "scout I like tea"]);
}

#[tokio::test]
async fn an_idle_chat_without_new_words_is_left_out() {
    let (store, clock) = store().await;
    let ann = add_user(&store, "ann").await;
    store.set_setting(ann.id, MEMORISES, Some("on")).await.unwrap();
    let chat = store.create_chat(ann.id).await.unwrap().id;
    say(&store, &ann, &chat, "mine", Author::Owner).await;
    let idle = async || store.idle_chats(MEMORISES, i64::MAX, 10).await.unwrap().len();
    assert_eq!(idle().await, 1);
    assert!(store.claim_memorising(ann.id, &chat, false, START_MS).await.unwrap());
    clock.advance(1);
    let quotation = format!("\n\n{QUOTATION}, written by somebody.");
    let texts = ["/new", "!ls", "/AGENT scout look", quotation.as_str()];
    for (send_id, text) in ["1", "2", "3", "4"].into_iter().zip(texts) {
        store.say_once(ann.id, &chat, send_id, text, Author::Owner).await.unwrap();
    }
    assert_eq!(idle().await, 0, "there is nothing to read");
    assert_eq!(store.own_words(ann.id, &chat, START_MS, 10).await.unwrap(), [""; 0]);
    store.say_once(ann.id, &chat, "5", "/agent scout I like tea", Author::Owner).await.unwrap();
    assert_eq!(idle().await, 1);
    assert_eq!(store.own_words(ann.id, &chat, START_MS, 10).await.unwrap(), ["scout I like tea"]);
}
