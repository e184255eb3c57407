//! Sub-agents with a model by script.

mod admission;
mod prompt;

use std::fs;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Asked, Machine, Person, Reply, ScriptedModel, Server, eventually, process};

use crate::agent::{messages, new_chat, say};

/// How long anything here may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server with a user, a machine and a chat.
struct World {
    server: Server,
    alice: Person,
    machine: Machine,
    client: Client,
    chat: String,
}

impl World {
    fn new(model: &ScriptedModel, mode: &str) -> Self {
        let server = Server::start_with(&[&["--docker", "off"], &model.options("openai")[..]].concat());
        let alice = server.person("alice");
        let machine = Machine::start_with(&server, &alice, "laptop", &["--reconnect-max", "0.2"]);
        let client = Client::login(&server, "alice");
        let chat = new_chat(&client, mode);
        Self { server, alice, machine, client, chat }
    }

    fn say(&self, text: &str) {
        say(&self.client, &self.chat, text);
    }

    /// What came of the chat's last message.
    fn answer(&self) -> Value {
        ended(&self.client, &self.chat)
    }

    fn agents(&self) -> Vec<Value> {
        self.client.call("GET", &format!("/chats/{}/agents", self.chat)).json().as_array().unwrap().clone()
    }

    fn workspace(&self) -> &Path {
        self.machine.workspace()
    }

    fn put(&self, path: &str, content: &str) {
        let path = self.workspace().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// The message that stands for the answer to the chat's last message, once that is over.
fn ended(client: &Client, chat: &str) -> Value {
    eventually("the answer is over", PATIENCE, || {
        let messages = messages(client, chat);
        let at = messages.iter().rposition(|message| message["role"] == "user")?;
        let handle = messages.get(at + 1)?.clone();
        let status = handle["agent"]["status"].as_str()?;
        (!["queued", "running"].contains(&status)).then_some(handle)
    })
}

fn cards(client: &Client, chat: &str, tool: &str) -> Vec<Value> {
    let messages = messages(client, chat).into_iter();
    messages.filter(|message| message["agent"]["tool"] == tool).collect()
}

fn agent(task: &str) -> (&'static str, Value) {
    ("SubAgent", json!({"task": task}))
}

fn is_child(asked: &Asked) -> bool {
    asked.system().contains("You are a sub-agent")
}

#[test]
fn sub_agents_of_one_answer_work_at_once_three_at_a_time() {
    let (began, beginnings) = mpsc::channel();
    let (mut at_work, mut most) = (0_usize, 0);
    let model = ScriptedModel::start(move |asked| {
        if !is_child(asked) {
            if asked.results().is_empty() {
                return Reply::Call(["a", "b", "c", "d"].map(agent).to_vec());
            }
            return Reply::Say(asked.results().join(" | "));
        }
        let task = asked.last_of_user();
        if asked.results().is_empty() {
            at_work += 1;
            most = most.max(at_work);
            began.send(task.clone()).unwrap();
            // The first three meet here, or wait for each other in vain.
            let command = if task == "d" {
                "true".to_owned()
            } else {
                format!("touch {task}; until [ -e a -a -e b -a -e c ]; do sleep 0.02; done")
            };
            return Reply::Call(vec![("Shell", json!({"command": command, "timeout": 20}))]);
        }
        at_work -= 1;
        Reply::Say(format!("{task} is done, {most} at once at most"))
    });
    let world = World::new(&model, "full");
    world.say("all of it");
    let answer = world.answer();
    assert_eq!(answer["agent"]["status"], "done", "{answer}");
    let said = messages(&world.client, &world.chat).pop().unwrap()["text"].as_str().unwrap().to_owned();
    for task in ["a is done", "b is done", "c is done", "d is done, 3 at once at most"] {
        assert!(said.contains(task), "{said}");
    }
    let mut first: Vec<String> = beginnings.try_iter().collect();
    assert_eq!(first.pop().as_deref(), Some("d"), "it waited for one of the others");
    // Each has a chat of its own, which is in no list, and a card that leads there.
    let cards = cards(&world.client, &world.chat, "SubAgent");
    let agents = world.agents();
    assert_eq!((cards.len(), agents.len()), (4, 4));
    for card in &cards {
        // They began side by side, in any order.
        let agent = agents.iter().find(|agent| agent["message_id"] == card["id"]).unwrap();
        assert_eq!((&card["agent"]["status"], &agent["status"]), (&json!("done"), &json!("done")));
        let shown = &card["agent"]["sub_agent"];
        assert_eq!((&shown["chat_id"], &shown["steps"]), (&agent["chat_id"], &json!(1)), "{card}");
        assert_eq!(shown["usage"]["input_tokens"], 200, "{card}");
        assert!(shown["doing"].as_str().is_none_or(|doing| doing.starts_with("Shell touch")), "{card}");
        let own = messages(&world.client, agent["chat_id"].as_str().unwrap());
        assert_eq!((&own[0]["role"], &own[0]["text"]), (&json!("user"), &agent["title"]));
        assert!(own.iter().any(|message| message["agent"]["tool"] == "Shell"), "{own:?}");
    }
    let chats = world.client.call("GET", "/chats").json();
    assert_eq!(chats.as_array().unwrap().len(), 1);
    let child = agents[0]["chat_id"].as_str().unwrap().to_owned();
    let body = json!({"text": "hello"}).to_string();
    assert_eq!(world.client.send("POST", &format!("/chats/{child}/messages"), body.as_bytes()).status, 400);
    world.server.person("eve");
    let eve = Client::login(&world.server, "eve");
    for path in [format!("/chats/{}/agents", world.chat), format!("/chats/{child}/messages")] {
        assert_eq!(eve.call("GET", &path).status, 404);
    }
    assert_eq!(world.client.call("DELETE", &format!("/chats/{}", world.chat)).status, 204);
    assert_eq!(world.client.call("GET", &format!("/chats/{child}/messages")).status, 404);
}

#[test]
fn a_cancel_reaches_sub_agents_and_leaves_nothing() {
    let marker = format!("{}", 56_000_000 + std::process::id());
    let sleep = format!("touch ready-$$; sleep {marker}");
    let model = ScriptedModel::start(move |asked| match (is_child(asked), asked.results().len()) {
        (false, 0 | 2) => Reply::Call(vec![agent("a"), agent("b")]),
        (true, 0) => Reply::Call(vec![("Shell", json!({"command": sleep}))]),
        _ => Reply::Say("on we go".to_owned()),
    });
    let world = World::new(&model, "full");
    world.say("begin");
    let both = || {
        fs::read_dir(world.workspace())
            .unwrap()
            .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("ready-"))
            .count()
            == 2
    };
    eventually("both work", PATIENCE, || both().then_some(()));
    let told_at = Instant::now();
    assert_eq!(world.client.call("POST", &format!("/chats/{}/cancel", world.chat)).json()["cancelled"], 1);
    assert_eq!(world.answer()["agent"]["status"], "cancelled");
    assert!(told_at.elapsed() < Duration::from_secs(30), "{:?}", told_at.elapsed());
    let statuses: Vec<Value> = world.agents().iter().map(|agent| agent["status"].clone()).collect();
    assert_eq!(statuses, ["cancelled", "cancelled"]);
    eventually("nothing is left", Duration::from_secs(60), || {
        process::with_marker(&format!("sleep {marker}")).is_empty().then_some(())
    });
    // One by itself: its parent goes on without it.
    world.say("begin again");
    eventually("both work again", PATIENCE, || {
        (process::with_marker(&format!("sleep {marker}")).len() >= 2).then_some(())
    });
    for agent in &world.agents()[2..] {
        let path = format!("/chats/{}/cancel", agent["chat_id"].as_str().unwrap());
        assert_eq!(world.client.call("POST", &path).json()["cancelled"], 1);
    }
    assert_eq!(world.answer()["agent"]["status"], "done");
    let results = model.asked().pop().unwrap().results();
    assert!(results.iter().rev().take(2).all(|result| result.contains("the user stopped it")), "{results:?}");
}

#[test]
fn what_a_sub_agent_asks_is_asked_in_the_users_chat() {
    let model = ScriptedModel::start(|asked| match (is_child(asked), asked.results().len()) {
        (false, 0) => Reply::Call(vec![("SubAgent", json!({"task": "write", "instance": "scribe"}))]),
        (true, 0) => Reply::Call(vec![
            ("Shell", json!({"command": "echo ran >> log"})),
            ("Shell", json!({"command": "echo ran >> log"})),
            ("FileCreate", json!({"path": "new", "content": "x"})),
            ("Shell", json!({"command": "echo more >> log"})),
        ]),
        _ => Reply::Say(asked.results().join(" / ")),
    });
    let world = World::new(&model, "ask");
    let log = || fs::read_to_string(world.workspace().join("log")).unwrap_or_default();
    world.say("begin");
    let asked = |hint: &str| {
        eventually(hint, PATIENCE, || {
            let found = messages(&world.client, &world.chat).into_iter();
            found
                .into_iter()
                .find(|message| message["agent"]["status"] == "asking" && message["agent"]["hint"] == hint)
        })
    };
    let answer = |id: &Value, allow: bool, always: bool| {
        let body = json!({"message_id": id, "allow": allow, "always": always}).to_string();
        let path = format!("/chats/{}/approvals", world.chat);
        assert_eq!(world.client.send("POST", &path, body.as_bytes()).status, 204);
    };
    let first = asked("echo ran >> log");
    assert_eq!(first["agent"]["asked_by"], "scribe");
    let detail = first["agent"]["detail"].as_str().unwrap();
    assert!(detail.starts_with("The sub-agent scribe asks for this:\nruns a command\nmachine: "), "{detail}");
    assert!(detail.contains("\ncommand:\n  | echo ran >> log\n"), "{detail}");
    assert_eq!(log(), "");
    answer(&first["id"], true, true);
    // The same again is not asked for: what is allowed for good is the chat's.
    let file = asked("new");
    assert_eq!(log(), "ran\nran\n");
    answer(&file["id"], false, false);
    // The mode is the user's chat's, at any moment.
    let last = asked("echo more >> log");
    let body = json!({"mode": "plan"}).to_string();
    assert_eq!(
        world.client.send("PUT", &format!("/chats/{}/approval", world.chat), body.as_bytes()).status,
        200
    );
    answer(&last["id"], true, false);
    assert_eq!(world.answer()["agent"]["status"], "done");
    assert!(
        !world.workspace().join("new").exists() && log() == "ran\nran\n",
        "plan mode holds for what was begun before"
    );
    let told = model.asked().pop().unwrap().results();
    assert!(told[0].contains("does not allow this"), "{told:?}");
    let statuses: Vec<Value> = messages(&world.client, &world.chat)
        .iter()
        .filter(|message| message["agent"]["asked_by"] == "scribe")
        .map(|message| message["agent"]["status"].clone())
        .collect();
    assert_eq!(statuses, ["done", "denied", "done"]);
}

#[test]
fn a_sub_agent_with_a_name_remembers_and_keeps_its_role_and_its_directory() {
    let model = ScriptedModel::start(|asked| {
        let (said, results) = (asked.last_of_user(), asked.results());
        if is_child(asked) {
            return match said.as_str() {
                "the number is 7" => match results.len() {
                    0 => Reply::Call(vec![("Cd", json!({"path": "src"}))]),
                    _ => Reply::Say("noted".to_owned()),
                },
                _ if results.len() == 1 => Reply::Call(vec![("Shell", json!({"command": "pwd"}))]),
                _ => Reply::Say(format!(
                    "knows: {}, in {}",
                    asked.raw.contains("the number is 7"),
                    results[results.len() - 1]
                )),
            };
        }
        let call = |task: &str, more: Value| {
            let mut arguments = json!({"task": task, "instance": "x"});
            arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            Reply::Call(vec![("SubAgent", arguments)])
        };
        match (said.as_str(), results.len()) {
            ("first", 0) => call("the number is 7", json!({"role": "looker"})),
            ("second", 1) => call("which number?", json!({})),
            ("second", 2) => Reply::Call(vec![
                ("SubAgent", json!({"task": "who?", "instance": "x", "role": "other"})),
                ("SubAgent", json!({"task": "who?", "role": "nobody"})),
            ]),
            ("twice", 4) => Reply::Call(vec![
                ("SubAgent", json!({"task": "again", "instance": "x"})),
                ("SubAgent", json!({"task": "again", "instance": "x"})),
            ]),
            _ => Reply::Say(results.join(" | ")),
        }
    });
    let world = World::new(&model, "full");
    world.put("src/a", "");
    world.put(
        ".sandbridge/agents/looker.md",
        "---\nname: looker\ndescription: Looks and tells\ntools: Read, Cd, Shell\n---\nYou only look.\n",
    );
    world.put(".sandbridge/agents/notes.txt", "no role");
    world.say("first");
    assert_eq!(world.answer()["agent"]["status"], "done");
    world.say("second");
    assert_eq!(world.answer()["agent"]["status"], "done");
    let results = model.asked().pop().unwrap().results();
    assert!(results[0].contains("noted"), "{results:?}");
    assert!(results[1].contains("knows: true, in ") && results[1].contains("/src"), "{results:?}");
    assert!(results[2].contains("has the role looker"), "{results:?}");
    assert!(results[3].contains("there is no role \"nobody\""), "{results:?}");
    world.say("twice");
    assert_eq!(world.answer()["agent"]["status"], "done");
    let results = model.asked().pop().unwrap().results();
    assert_eq!(
        results.iter().filter(|result| result.contains("is at work already")).count(),
        1,
        "{results:?}"
    );
    assert_eq!(world.agents().len(), 1, "all calls are one sub-agent's");
    let child = model.asked().into_iter().find(is_child).unwrap();
    assert_eq!(child.tools(), ["Shell", "Read", "Cd"]);
    assert!(child.system().contains("# Your role\n\nYou only look."));
    let parent = &model.asked()[0];
    assert!(parent.system().contains("- looker: Looks and tells") && !parent.system().contains("notes"));
}

#[test]
fn a_sub_agent_knows_in_a_fork_what_it_knew_and_forgets_what_is_taken_back() {
    let model = ScriptedModel::start(|asked| {
        if is_child(asked) {
            return Reply::Say(format!("knows: {}", asked.raw.contains("the number is 7")));
        }
        let call = |task: &str| Reply::Call(vec![("SubAgent", json!({"task": task, "instance": "x"}))]);
        match (asked.last_of_user().as_str(), asked.results().len()) {
            ("first", 0) => call("the number is 7"),
            ("second", 1) | ("third", 0) => call("which number?"),
            _ => Reply::Say(asked.results().pop().unwrap_or_default()),
        }
    });
    let world = World::new(&model, "full");
    let said = |chat: &str| ended(&world.client, chat)["agent"]["status"] == "done";
    let last = || model.asked().pop().unwrap().results().pop().unwrap();
    world.say("first");
    assert!(said(&world.chat));
    let fork = world.client.send("POST", &format!("/chats/{}/fork", world.chat), b"{}").json();
    let fork = fork["id"].as_str().unwrap().to_owned();
    let undone = world.client.send("POST", &format!("/chats/{}/undo", world.chat), b"{}");
    assert_eq!(undone.json()["text"], "first", "{undone:?}");
    say(&world.client, &fork, "second");
    assert!(said(&fork));
    assert!(last().contains("knows: true"), "{}", last());
    world.say("third");
    assert!(said(&world.chat));
    assert!(last().contains("knows: false"), "{}", last());
}

#[test]
fn a_killed_server_tells_of_sub_agents_too() {
    let model = ScriptedModel::start(|asked| match (is_child(asked), asked.last_of_user().as_str()) {
        (false, "begin") => Reply::Call(vec![("SubAgent", json!({"task": "work", "instance": "x"}))]),
        (true, "work") => Reply::Hang("I was about".to_owned()),
        (true, _) => Reply::Say("I am here".to_owned()),
        (false, _) if asked.results().len() == 1 => {
            Reply::Call(vec![("SubAgent", json!({"task": "go on", "instance": "x"}))])
        }
        _ => Reply::Say(asked.results().join(" | ")),
    });
    let options = [&["--docker", "off"], &model.options("openai")[..]].concat();
    let mut world = World::new(&model, "full");
    world.say("begin");
    eventually("it works", PATIENCE, || (model.asked().len() == 2).then_some(()));
    world.server.kill();
    world.server.restart(&options);
    world.machine.wait_online(&world.alice, "laptop");
    let answer = world.answer();
    assert_eq!(answer["agent"]["status"], "interrupted", "{answer}");
    let agents = world.agents();
    assert_eq!((agents.len(), &agents[0]["status"]), (1, &json!("interrupted")));
    let child = agents[0]["chat_id"].as_str().unwrap();
    for message in [messages(&world.client, &world.chat), messages(&world.client, child)].concat() {
        assert!(
            !["asking", "running"].contains(&message["agent"]["status"].as_str().unwrap_or_default()),
            "{message}"
        );
    }
    world.say("go on");
    assert_eq!(world.answer()["agent"]["status"], "done");
    let results = model.asked().pop().unwrap().results();
    assert!(results[0].contains("interrupted") && results[1].contains("I am here"), "{results:?}");
}
