//! Forgetting a memory removes all text that chats showed of it, and leaves everything else in them unchanged.

use agent::approval::Mode as Approval;
use memory::Mode;
use serde_json::{Value, json};
use store::MessageSearch;
use tests::{Asked, Reply, ScriptedModel};

use super::*;
use crate::{Format, MemorySettings};

/// A word in the memories that are forgotten; it is never written in a chat.
const SECRET: &str = "wolfram";

const TOOLS: [&str; 6] = [
    "memory_list",
    "memory_search",
    "memory_write",
    "archival_memory_search",
    "recall_memory_search",
    "ChatHistory",
];

/// A model that calls the tool that the user names, and never repeats its output.
fn shows() -> ScriptedModel {
    ScriptedModel::start(|asked| {
        let said = asked.last_of_user();
        let named = |tool: &&&str| said.split_whitespace().last() == Some(**tool);
        let Some(tool) = TOOLS.iter().find(named) else { return Reply::Say("done".to_owned()) };
        let arguments = match *tool {
            "memory_list" => json!({}),
            "recall_memory_search" | "ChatHistory" => json!({"query": "barks"}),
            "memory_write" => json!({"text": "Mina has another dog"}),
            _ => json!({"query": "dog Mina"}),
        };
        match asked.body["messages"].as_array().unwrap().last().unwrap()["role"] == "user" {
            true => Reply::Call(vec![(*tool, arguments)]),
            false => Reply::Say("done".to_owned()),
        }
    })
}

fn messages(asked: &Asked) -> &[Value] {
    asked.body["messages"].as_array().unwrap()
}

async fn set_mode(bench: &Bench, mode: Mode) {
    let wanted = MemorySettings { mode, from_chats: false };
    bench.service.set_memory_settings(&bench.user, wanted).await.unwrap();
}

#[tokio::test]
async fn a_forgotten_memory_is_gone_from_prompts_tools_searches_and_exports_of_the_chats_that_showed_it() {
    let model = shows();
    let bench = Bench::played(&model).await;
    let dog = bench
        .keep(MemoryKind::Semantic, "", &format!("The dog of Mina is called \"{SECRET}\"\nand barks"))
        .await;
    let boat = bench.keep(MemoryKind::Semantic, "", "The boat of Mina is a dog of a boat").await;
    // There are so many memories that their list is put aside and its card shows only its head and tail.
    for number in 0..80 {
        bench.keep(MemoryKind::Semantic, "", &format!("Number {number} is {}", "long ".repeat(30))).await;
    }
    bench
        .keep(
            MemoryKind::Semantic,
            "",
            &format!("The dog of Mina eats{} {SECRET}", " nothing else".repeat(290)),
        )
        .await;
    let talk = bench.talk(Approval::Full).await;
    talk.say("How is the dog of Mina called?").await;
    assert!(talk.told("/context").await.contains(SECRET));
    assert!(talk.told("/memory").await.contains(SECRET));
    for tool in ["memory_list", "memory_search", "memory_write", "ChatHistory"] {
        talk.say(&format!("show it with {tool}")).await;
        assert!(model.asked().pop().unwrap().results().pop().unwrap().contains(SECRET), "{tool}");
    }
    set_mode(&bench, Mode::Letta).await;
    for tool in ["archival_memory_search", "recall_memory_search"] {
        talk.say(&format!("show it with {tool}")).await;
        assert!(model.asked().pop().unwrap().results().pop().unwrap().contains(SECRET), "{tool}");
    }
    set_mode(&bench, Mode::Typed).await;
    talk.say("And what else?").await;
    let before = model.asked();
    for pair in before.windows(2) {
        assert_eq!(
            messages(&pair[0]),
            &messages(&pair[1])[..messages(&pair[0]).len()],
            "the beginning stays"
        );
    }
    let fork = bench.store.fork_chat(bench.user.id, &talk.id, None).await.unwrap().id;
    let fork = talk::Talk::open(&bench, &bench.user, fork, Approval::Full).await;
    for chat in [&talk, &fork] {
        assert!(chat.exported(Format::Json).await.contains(SECRET));
    }

    assert_eq!(bench.service.forget_about(&bench.user, None, SECRET).await.unwrap(), 2);
    for chat in [&talk, &fork] {
        chat.say("And now?").await;
        let asked = model.asked().pop().unwrap();
        assert!(!asked.raw.contains(SECRET), "{}", asked.raw);
        assert!(asked.raw.contains(&format!("- #{dog} (forgotten)\\n")), "{}", asked.raw);
        assert!(asked.raw.contains(&format!("- #{boat} semantic (from person; found by ")), "{}", asked.raw);
        // Only lines with the memory have changed.
        let (was, is) = (messages(before.last().unwrap()), messages(&asked));
        for (was, is) in was.iter().zip(is).skip(1) {
            assert_eq!(was.to_string().contains(SECRET), was != is, "{was} became {is}");
        }
        for tool in ["memory_list", "memory_search", "ChatHistory"] {
            chat.say(&format!("show it with {tool}")).await;
            assert!(!model.asked().pop().unwrap().raw.contains(SECRET), "{tool}");
        }
        for format in [Format::Json, Format::Markdown] {
            assert!(!chat.exported(format).await.contains(SECRET));
        }
        assert!(!serde_json::to_string(&chat.messages().await).unwrap().contains(SECRET));
        for command in ["/memory", "/context"] {
            assert!(!chat.told(command).await.contains(SECRET), "{command}");
        }
    }
    let all = MessageSearch {
        words: &[SECRET],
        chat: None,
        from_ms: 0,
        until_ms: i64::MAX,
        before: None,
        limit: 1_000,
    };
    assert_eq!(bench.store.search_messages(bench.user.id, &all).await.unwrap(), []);
}
