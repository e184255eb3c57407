//! Creating, naming, reading and deleting chats, with the events for every front end and the audit entries.

use agent::approval::Mode;
use store::{MessageId, MessageRole};

use super::Bench;
use crate::{ChatEvent, Find, Format, Page, Preferences};

impl Bench {
    /// The newest entry of the audit trail: action, target and outcome.
    async fn last_entry(&self) -> (String, String, String) {
        let entry = self.store.audit(1, None).await.unwrap().remove(0);
        assert_eq!(entry.user.as_deref(), Some("ada"));
        (entry.action, entry.target, entry.outcome)
    }
}

fn entry(action: &str, target: &str, outcome: &str) -> (String, String, String) {
    (action.to_owned(), target.to_owned(), outcome.to_owned())
}

#[tokio::test]
async fn beginning_naming_and_deleting_a_chat_are_events() {
    let mut bench = Bench::new().await;
    let (service, user) = (bench.service.clone(), bench.user.clone());
    let chat = service.create(&user).await.unwrap();
    assert_eq!(bench.next_event().await, ChatEvent::Chat(chat.clone()));
    let named = service.rename(&user, &chat.id, "  a title ").await.unwrap();
    assert_eq!(named.title, "a title");
    assert_eq!(bench.next_event().await, ChatEvent::Chat(named));
    let empty = service.rename(&user, &chat.id, " \n").await.unwrap_err();
    assert_eq!((empty.kind(), empty.message()), ("invalid", "the title is empty; enter a title".to_owned()));
    service.delete(&user, &chat.id).await.unwrap();
    assert_eq!(bench.next_event().await, ChatEvent::Removed(chat.id.clone()));
    assert_eq!(service.rename(&user, &chat.id, "late").await.unwrap_err().kind(), "not_found");
    assert!(bench.events.try_recv().is_err(), "what was refused is no event");
}

#[tokio::test]
async fn messages_come_in_pages_from_either_side() {
    let bench = Bench::new().await;
    let mut ids = Vec::new();
    for text in ["one", "two", "three"] {
        let said = bench.store.append_message(bench.user.id, &bench.chat.id, MessageRole::User, text, None);
        ids.push(said.await.unwrap().id);
    }
    let page = async |page, limit| {
        let (shown, more) = bench.service.messages(bench.user.id, &bench.chat.id, page, limit).await.unwrap();
        (shown.into_iter().map(|shown| shown.message.text).collect::<Vec<_>>(), more)
    };
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    assert_eq!(page(Page::Last, Some(2)).await, (texts(&["two", "three"]), true));
    assert_eq!(page(Page::Before(ids[1]), None).await, (texts(&["one"]), false));
    assert_eq!(page(Page::After(MessageId(0)), Some(1)).await, (texts(&["one"]), true));
    assert_eq!(page(Page::After(ids[0]), None).await, (texts(&["two", "three"]), false));
}

#[tokio::test]
async fn a_chat_is_found_by_a_word_of_a_message_and_the_match_is_shown_in_its_context() {
    let bench = Bench::new().await;
    let text = "the needle in the hay";
    let said = bench.store.append_message(bench.user.id, &bench.chat.id, MessageRole::User, text, None);
    let id = said.await.unwrap().id;
    let other = bench.service.create(&bench.user).await.unwrap();
    let found =
        bench.service.find(bench.user.id, Find { words: &["needle"], ..Find::default() }).await.unwrap();
    assert_eq!(found.len(), 1);
    let excerpt = found[0].excerpt.as_ref().unwrap();
    assert_eq!((excerpt.message, excerpt.text.as_str()), (id, text));
    let all = bench.service.find(bench.user.id, Find::default()).await.unwrap();
    assert!(all.len() == 2 && all.iter().all(|found| found.excerpt.is_none()));
    let after = Find { before: Some(&all[0].chat.id), ..Find::default() };
    let rest = bench.service.find(bench.user.id, after).await.unwrap();
    assert_eq!(rest.iter().map(|found| &found.chat.id).collect::<Vec<_>>(), [&all[1].chat.id]);
    assert!(all.iter().any(|found| found.chat.id == other.id));
}

#[tokio::test]
async fn a_users_instructions_and_forgetting_are_in_the_audit_trail() {
    let bench = Bench::new().await;
    let wanted = Preferences { language: Some("German".to_owned()), ..Preferences::default() };
    bench.service.set_preferences(&bench.user, &wanted).await.unwrap();
    assert_eq!(bench.last_entry().await, entry("settings.agent", "", "ok"));
    let nothing = bench.service.forget_memory(&bench.user, 7).await.unwrap_err();
    assert_eq!(nothing.kind(), "not_found");
    bench.ask("/memory add likes tea").await;
    bench.service.forget_memory(&bench.user, 1).await.unwrap();
    assert_eq!(bench.last_entry().await, entry("memory.forget", "1", "ok"));
    let gone = bench.service.remove_subscription(&bench.user, "mine").await.unwrap_err();
    assert_eq!(gone.kind(), "not_found");
    assert_eq!(bench.last_entry().await, entry("model.remove", "mine", "refused"));
    bench.service.choose_model(&bench.user, None, None).await.unwrap();
    assert_eq!(bench.last_entry().await, entry("settings.model", "auto", "ok"));
}

#[tokio::test]
async fn an_export_is_whole_over_all_of_its_pages() {
    let bench = Bench::new().await;
    for number in 0..crate::limits::EXPORT_PAGE_ROWS + 1 {
        let text = format!("say {number}");
        let said = bench.store.append_message(bench.user.id, &bench.chat.id, MessageRole::User, &text, None);
        said.await.unwrap();
    }
    let talk = bench.talk(Mode::Ask).await;
    let json: serde_json::Value = serde_json::from_str(&talk.exported(Format::Json).await).unwrap();
    assert_eq!(json["version"], 1);
    let messages = json["messages"].as_array().unwrap();
    assert_eq!(messages.len(), crate::limits::EXPORT_PAGE_ROWS as usize + 1);
    assert_eq!(messages[100]["text"], "say 100");
    assert!(talk.exported(Format::Markdown).await.ends_with("\n## You\n\nsay 100\n"));
}
