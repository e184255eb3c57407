//! The tools of the mode `letta`: replacing part of a core block, searching the archive, and searching earlier chats by time.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use agent::approval::Mode as Approval;
use memory::Mode;
use serde_json::{Value, json};
use store::Clock;
use tests::{Reply, ScriptedModel};

use super::talk::{Talk, answered_by};
use super::*;
use crate::MemorySettings;
use crate::models::Provider;

/// A model that makes the call at the end of its user's message, after a `|`: `words | tool {"argument": 1}`.
fn obeys() -> ScriptedModel {
    ScriptedModel::start(|asked| {
        let is_new = asked.body["messages"].as_array().unwrap().last().unwrap()["role"] == "user";
        let said = asked.last_of_user();
        let call = said.split_once(" | ").and_then(|(_, call)| call.split_once(' ')).filter(|_| is_new);
        match call {
            Some((tool, arguments)) => {
                let tool = TOOLS.into_iter().find(|known| *known == tool).unwrap();
                Reply::Call(vec![(tool, serde_json::from_str::<Value>(arguments).unwrap())])
            }
            None => Reply::Say("done".to_owned()),
        }
    })
}

const TOOLS: [&str; 4] =
    ["core_memory_replace", "archival_memory_insert", "archival_memory_search", "recall_memory_search"];

struct World {
    model: ScriptedModel,
    bench: Bench,
    talk: Talk,
    now_ms: Arc<AtomicI64>,
}

impl World {
    async fn new() -> Self {
        let model = obeys();
        let now_ms = Arc::new(AtomicI64::new(0));
        let hand = Arc::clone(&now_ms);
        let store = Store::open_in_memory().await.unwrap();
        let store = store.with_clock(Clock::from_fn(move || hand.load(Ordering::SeqCst)));
        let bench = Bench::with_models(store, answered_by(&model, Provider::OpenAi)).await;
        let wanted = MemorySettings { mode: Mode::Letta, from_chats: false };
        bench.service.set_memory_settings(&bench.user, wanted).await.unwrap();
        let talk = bench.talk(Approval::Full).await;
        Self { model, bench, talk, now_ms }
    }

    /// Moves the clock to this number of hours after the beginning of 1970.
    fn at(&self, hours: i64) {
        self.now_ms.store(hours * 60 * 60 * 1000, Ordering::SeqCst);
    }

    /// Posts a message with these words that makes the model call a tool; returns the tool's result.
    async fn called(&self, words: &str, tool: &str, arguments: Value) -> String {
        self.talk.say(&format!("{words} | {tool} {arguments}")).await;
        self.model.asked().pop().unwrap().results().pop().unwrap()
    }

    /// The text and the revision of the first memory, and the number of memories including proposals.
    async fn first(&self) -> (String, i64, usize) {
        let items = self.bench.service.memories(self.bench.user.id, None).await.unwrap();
        (items[0].text.clone(), items[0].revision, items.len())
    }
}

#[tokio::test]
async fn a_part_of_a_core_block_is_replaced_if_its_user_asks_and_is_proposed_otherwise() {
    let world = World::new().await;
    world.bench.keep(MemoryKind::Core, "user", "Lives in Bergen.\nHas a dog.").await;
    let replace = async |words: &str, block: &str, old: &str, new: &str| {
        let arguments = json!({"block": block, "old_text": old, "new_text": new});
        world.called(words, "core_memory_replace", arguments).await
    };
    let asks = "Please remember that I have a dog, and that one lives in Oslo now:";
    for (block, old) in [("user", "Paris"), ("user", ""), ("persona", "Bergen"), ("project", "Bergen")] {
        let told = replace(asks, block, old, "Oslo").await;
        assert!(told.contains("does not contain this old_text"), "{block} {old}: {told}");
    }
    assert_eq!(world.first().await, ("Lives in Bergen.\nHas a dog.".to_owned(), 1, 1));
    // The name that other programs use for the block works too.
    assert_eq!(replace(asks, "human", "Bergen", "Oslo").await, "#1 was updated");
    assert_eq!(world.first().await, ("Lives in Oslo.\nHas a dog.".to_owned(), 2, 1));
    let told = replace("What a day:", "user", "Oslo", "Rome").await;
    assert!(told.contains("proposed as #2"), "{told}");
    assert_eq!(world.first().await, ("Lives in Oslo.\nHas a dog.".to_owned(), 2, 2));
    let long = "x".repeat(2_001);
    assert!(replace(asks, "user", "Oslo", &long).await.contains("at most 2000 are allowed"));
    // A chat that begins after the change has the new text in its prompt.
    let talk = world.bench.other_talk().await;
    talk.say("hello").await;
    let system = world.model.asked().pop().unwrap().system();
    assert!(system.contains("user (#1):\n> Lives in Oslo.\n> Has a dog."), "{system}");
    // An empty text removes the part.
    replace("Remember that one lives in Oslo, and forget the dog:", "user", "\nHas a dog.", "").await;
    assert_eq!(world.first().await.0, "Lives in Oslo.");
}

#[tokio::test]
async fn the_archive_gives_back_what_was_put_there_the_best_match_first() {
    let world = World::new().await;
    world.bench.keep(MemoryKind::Semantic, "", "The boat is blue").await;
    world.bench.keep(MemoryKind::Core, "persona", "Speak of boats like a sailor").await;
    let text = "The boat lies in the harbour of Lisbon";
    let words = "Remember that the boat lies in the harbour of Lisbon:";
    let told = world.called(words, "archival_memory_insert", json!({"text": text})).await;
    assert!(told.starts_with("kept as #3"), "{told}");
    let found =
        async |query: &str| world.called("Look:", "archival_memory_search", json!({"query": query})).await;
    let lines = found("Where is the harbour with my boat?").await;
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines[..2], [&format!("- #3 semantic: \"{text}\""), "- #1 semantic: \"The boat is blue\""]);
    assert_eq!(found("giraffes").await, "no memory has these words or this meaning");
}

#[tokio::test]
async fn earlier_chats_are_searched_from_one_time_up_to_another() {
    let world = World::new().await;
    let other = world.bench.other_talk().await;
    other.say("hello").await;
    // 10 January 1970, 08:00.
    world.at(9 * 24 + 8);
    other.say("The lighthouse is red").await;
    world.at(19 * 24 + 8);
    other.say("The lighthouse, the lighthouse is white").await;
    world.at(40 * 24);
    let found = async |since: Option<&str>, until: Option<&str>| {
        // The time limit excludes the messages of this search itself.
        let until = until.unwrap_or("1970-02-01");
        let mut arguments = json!({"query": "where is that lighthouse", "until": until});
        if let Some(since) = since {
            arguments["since"] = json!(since);
        }
        world.called("Look:", "recall_memory_search", arguments).await
    };
    let is = |text: &str, colours: &[&str]| {
        let all = ["red", "white"];
        let found: Vec<&str> =
            all.into_iter().filter(|colour| text.contains(&format!("is {colour}"))).collect();
        assert_eq!(found, colours, "{text}");
    };
    let all = found(None, None).await;
    is(&all, &["red", "white"]);
    assert!(all.contains("1970-01-10 08:00 user in \"hello\": The lighthouse is red"), "{all}");
    is(&found(Some("1970-01-10T08:00"), None).await, &["red", "white"]);
    is(&found(Some("1970-01-10T08:01"), None).await, &["white"]);
    is(&found(None, Some("1970-01-20T08:00")).await, &["red"]);
    is(&found(None, Some("1970-01-20 08:01")).await, &["red", "white"]);
    is(&found(Some("1970-01-11"), Some("1970-01-20")).await, &[]);
    assert_eq!(found(Some("1970-01-21"), None).await, "no message was found");
    let told = found(Some("last week"), None).await;
    assert!(told.contains("\"last week\" is not a time; write it like 2026-01-31"), "{told}");
    let only =
        world.called("Look:", "recall_memory_search", json!({"query": "zeppelin", "until": "1970-02-01"}));
    assert_eq!(only.await, "no message was found");
}
