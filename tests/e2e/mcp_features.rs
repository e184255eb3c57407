//! Features of MCP servers other than tools: prompts, log messages, resources that change, and requests to the user's model.

use std::time::Duration;

use serde_json::{Value, json};
use tests::http::{Client, encode};
use tests::{Asked, Reply, eventually};

use crate::agent::{ended, messages, new_chat, say};
use crate::mcp_servers::calls;
use crate::world::World;

const PATIENCE: Duration = Duration::from_secs(60);

impl World {
    /// Adds the server `everything` from npm, which runs where it is installed.
    pub(crate) fn add_everything(&self) {
        self.npm();
        let program = "mcp/node_modules/@modelcontextprotocol/server-everything/dist/index.js";
        self.run(&["mcp-server", "add", "everything", "--", "node", program, "stdio"]);
    }
}

/// Answers the question that contains this text.
fn answer(client: &Client, chat: &str, words: &str, answer: &str) -> Value {
    let card = eventually("it asks", PATIENCE, || {
        messages(client, chat).into_iter().find(|message| message.to_string().contains(words))
    });
    let said = json!({"message_id": card["id"], "text": answer}).to_string();
    let answered = client.send("POST", &format!("/chats/{chat}/answers"), said.as_bytes());
    assert_eq!(answered.status, 204);
    card
}

#[test]
fn a_prompt_of_a_server_is_a_slash_command() {
    let world = World::new(|_: &Asked| Reply::Say("done".to_owned()));
    world.add_everything();
    let client = Client::login(&world.server, "alice");
    let commands = client.call("GET", "/commands").json();
    let usage = "/everything:args-prompt city [state]";
    let listed =
        |commands: &Value| commands.as_array().unwrap().iter().any(|command| command["usage"] == usage);
    assert!(listed(&commands), "{commands}");

    let chat = new_chat(&client, "full");
    say(&client, &chat, "/everything:args-prompt 'New York' state=NY");
    ended(&client, &chat, 1);
    let asked = world.model.asked().pop().unwrap().last_of_user();
    assert!(asked.contains("What's weather in New York, NY?"), "{asked}");
    assert_eq!(messages(&client, &chat)[0]["text"], "What's weather in New York, NY?");

    // A repetition of the same message does not ask the server again.
    let repeated = json!({"text": "/everything:args-prompt Oslo", "send_id": "one"}).to_string();
    for _ in 0..2 {
        let sent = client.send("POST", &format!("/chats/{chat}/messages"), repeated.as_bytes());
        assert!(sent.status < 300, "{}", sent.json());
    }
    let oslo = |message: &Value| message["text"] == "What's weather in Oslo?";
    assert_eq!(messages(&client, &chat).iter().filter(|message| oslo(message)).count(), 1);

    let wrong = json!({"text": "/everything:args-prompt"}).to_string();
    let refused = client.send("POST", &format!("/chats/{chat}/messages"), wrong.as_bytes());
    assert!(
        refused.status >= 400 && refused.json().to_string().contains("city is missing"),
        "{}",
        refused.json()
    );
    say(&client, &chat, "/help");
    eventually("the usage is shown", PATIENCE, || {
        messages(&client, &chat).iter().any(|message| message.to_string().contains(usage)).then_some(())
    });
    let begun = encode("/everything:completable-prompt Eng");
    let found = client.call("GET", &format!("/chats/{chat}/completions?text={begun}")).json();
    assert_eq!(found, json!(["Engineering"]));
}

#[test]
fn a_server_of_either_era_can_ask_the_model_if_its_user_allows_it() {
    let is_sample = |asked: &Asked| {
        let is_ours =
            asked.raw.contains("You are a helpful test server.") || asked.raw.contains("Write a poem.");
        is_ours && !asked.raw.contains("search_tools")
    };
    let world = World::new(move |asked: &Asked| {
        if is_sample(asked) {
            return Reply::Say("sampled words".to_owned());
        }
        match (asked.results().len(), asked.last_of_user().contains("poem")) {
            (0, true) => Reply::Call(vec![("mcp__modern__recite", json!({}))]),
            (0, false) => {
                let arguments = json!({"prompt": "hi", "maxTokens": 30});
                Reply::Call(vec![("mcp__everything__trigger-sampling-request", arguments)])
            }
            _ => Reply::Say("that is all".to_owned()),
        }
    });
    world.add_everything();
    world.run(&["mcp-server", "add", "modern", "--", "node", "mcp/modern.mjs"]);
    let client = Client::login(&world.server, "alice");
    let words = "wants this answered by your model, with at most 30 tokens";
    for (text, part) in [("go", "You are a helpful test server."), ("a poem", "Write a poem.")] {
        let mut took = Vec::new();
        for (option, expected) in [("Allow it once", "sampled words"), ("Decline", "declined")] {
            let chat = new_chat(&client, "full");
            say(&client, &chat, text);
            let card = answer(&client, &chat, words, option).to_string();
            assert!(card.contains(part), "{card}");
            ended(&client, &chat, 1);
            assert!(world.last_result().contains(expected), "{text}: {}", world.last_result());
            let usage = client.call("GET", &format!("/chats/{chat}")).json()["usage"].clone();
            took.push(usage["output_tokens"].as_i64().unwrap_or_else(|| panic!("{usage}")));
        }
        // Each answer of the model counts for 10 tokens.
        assert_eq!(took[0] - took[1], 10, "{text}: the answer to the server counts as well: {took:?}");
    }
    assert_eq!(world.model.asked().iter().filter(|asked| is_sample(asked)).count(), 2);
}

#[test]
fn a_servers_log_messages_during_a_call_are_shown() {
    let world = World::new(calls(vec![("mcp__logs__work", json!({}))]));
    world.put("logs.py", include_str!("../fixtures/mcp_logs.py"));
    world.run(&["mcp-server", "add", "logs", "--", "python3", "logs.py"]);
    let lines = world.chat("full");
    let shown = |text: &str| lines.iter().any(|line| line.to_string().contains(text));
    assert!(shown("[warning] the disk is nearly full"), "{lines:?}");
    assert!(!shown("not for people"), "{lines:?}");
    assert_eq!(world.last_result(), "logged from info");
}

#[test]
fn a_change_of_a_watched_resource_is_reported_until_it_is_read() {
    let uri = "demo://resource/dynamic/text/1";
    let world = World::new(calls(vec![
        ("mcp__everything__mcp_resource", json!({"uri": uri, "watch": true})),
        ("mcp__everything__toggle-subscriber-updates", json!({})),
        ("mcp__everything__trigger-long-running-operation", json!({"duration": 1, "steps": 1})),
    ]));
    world.add_everything();
    world.chat("full");
    let asked = world.model.asked();
    let told = |asked: &Asked| {
        asked.raw.contains("resources that you watch have changed") && asked.raw.contains(uri)
    };
    assert!(!told(&asked[1]), "the resource was just read: {}", asked[1].raw);
    assert!(told(asked.last().unwrap()), "{}", asked.last().unwrap().raw);
}

#[test]
fn a_task_is_followed_to_its_end_and_a_cancel_ends_it() {
    let world =
        World::new(|asked: &Asked| match (asked.last_of_user().contains("wait"), asked.results().len()) {
            (false, 0) => Reply::Call(vec![("mcp__oven__bake", json!({}))]),
            (true, 0) => Reply::Call(vec![("mcp__oven__wait", json!({}))]),
            _ => Reply::Say("that is all".to_owned()),
        });
    world.put("task.py", include_str!("../fixtures/mcp_task.py"));
    world.run(&["mcp-server", "add", "oven", "--", "python3", "task.py"]);
    let lines = world.chat("full");
    assert_eq!(world.last_result(), "a cake");
    assert!(lines.iter().any(|line| line.to_string().contains("in the oven")), "{lines:?}");

    let client = Client::login(&world.server, "alice");
    let chat = new_chat(&client, "full");
    say(&client, &chat, "wait");
    eventually("it is in the oven", PATIENCE, || {
        messages(&client, &chat)
            .iter()
            .any(|message| message.to_string().contains("in the oven"))
            .then_some(())
    });
    assert_eq!(client.send("POST", &format!("/chats/{chat}/cancel"), b"").status, 200);
    eventually("the task is cancelled", PATIENCE, || {
        std::fs::read_to_string(world.path("cancelled.txt")).is_ok_and(|text| text == "wait\n").then_some(())
    });
}

#[test]
fn a_program_that_exits_at_the_newer_era_is_restarted_in_the_older_one() {
    let world = World::new(calls(vec![("mcp__old__echo", json!({"text": "hello"}))]));
    let (loop_head, known) = ("for line in sys.stdin:\n", include_str!("../fixtures/mcp_echo.py"));
    let note = "with open('starts', 'a') as file:\n    file.write('x')\n";
    let ends = "    if 'server/discover' in line:\n        sys.exit()\n";
    let program = known.replace(loop_head, &format!("{note}{loop_head}{ends}"));
    assert_ne!(program, known);
    world.put("old.py", &program);
    let starts = || std::fs::read_to_string(world.path("starts")).unwrap().len();
    world.run(&["mcp-server", "add", "old", "--", "python3", "old.py"]);
    assert_eq!(starts(), 2, "one start for each era");
    world.chat("full");
    assert_eq!((world.last_result().as_str(), starts()), ("hello", 3));
}
