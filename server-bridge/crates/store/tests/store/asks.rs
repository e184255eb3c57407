//! Questions to people: answered once, audited in the same step.

use store::{
    AskAnswered, AuditEntry, AuditSearch, ChatId, GivenAnswer, MessageId, MessageRole, Name, Store, UserId,
};

use crate::support::empty;

const MINUTE_MS: i64 = 60_000;

async fn asked(store: &Store, name: &str) -> (UserId, ChatId, MessageId) {
    let user = store.add_user(&Name::parse(name).unwrap(), "correct horse", false).await.unwrap().id;
    let chat = store.create_chat(user).await.unwrap().id;
    let message = store.append_message(user, &chat, MessageRole::Assistant, "", None).await.unwrap().id;
    store.put_ask(user, message, "approval", MINUTE_MS).await.unwrap();
    (user, chat, message)
}

fn given(answer: &str, surface: &str) -> GivenAnswer {
    GivenAnswer { answer_json: answer.to_owned(), surface: surface.to_owned() }
}

fn audit() -> AuditEntry {
    AuditEntry { user: Some("ada".to_owned()), action: "approval".to_owned(), ..AuditEntry::default() }
}

async fn audited(store: &Store) -> usize {
    store
        .search_audit(&AuditSearch { action: "approval", limit: 10, ..AuditSearch::default() })
        .await
        .unwrap()
        .len()
}

#[tokio::test]
async fn of_two_answers_the_first_counts_and_leaves_the_only_trace() {
    let store = empty().await;
    let (ada, _, message) = asked(&store, "ada").await;
    let (eve, ..) = asked(&store, "eve").await;
    let answer = async |user, kind, answer: &GivenAnswer| {
        store.answer_ask(user, message, kind, answer, &audit()).await.unwrap()
    };
    let (yes, no) = (given("\"allow\"", "page"), given("\"deny\"", "cli"));
    assert_eq!(answer(eve, "approval", &yes).await, AskAnswered::Gone, "another user's");
    assert_eq!(answer(ada, "words", &yes).await, AskAnswered::Gone, "another kind");
    let (one, other) = tokio::join!(answer(ada, "approval", &yes), answer(ada, "approval", &no));
    let expected = match &one {
        AskAnswered::Now => (AskAnswered::Now, AskAnswered::Before(yes.clone())),
        _ => (AskAnswered::Before(no.clone()), AskAnswered::Now),
    };
    assert_eq!((one, other), expected);
    assert_eq!(audited(&store).await, 1);
}

#[tokio::test]
async fn what_was_asked_again_or_withdrawn_or_is_over_takes_no_answer() {
    let store = empty().await;
    let (ada, chat, message) = asked(&store, "ada").await;
    let answer =
        async || store.answer_ask(ada, message, "approval", &given("1", "page"), &audit()).await.unwrap();
    store.put_ask(ada, message, "approval", 0).await.unwrap();
    assert_eq!(answer().await, AskAnswered::Gone, "it has expired, and the earlier question was withdrawn");
    let said = store.append_message(ada, &chat, MessageRole::User, "x", None).await.unwrap().id;
    let turn = store.queue_turn(ada, &chat, Some(said), message, "{}").await.unwrap();
    store.put_ask(ada, message, "approval", MINUTE_MS).await.unwrap();
    store.withdraw_asks(turn).await.unwrap();
    assert_eq!(answer().await, AskAnswered::Gone, "the questions of its turn were withdrawn");
    assert_eq!(audited(&store).await, 0);
    let eve = store.add_user(&Name::parse("eve").unwrap(), "correct horse", false).await.unwrap().id;
    assert!(store.put_ask(eve, message, "approval", MINUTE_MS).await.is_err(), "another user's message");
    store.delete_chat(ada, &chat).await.unwrap();
    assert_eq!(answer().await, AskAnswered::Gone);
}
