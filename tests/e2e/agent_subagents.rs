//! Sub-agents whose commands are cancelled, and whose server is killed, with a scripted model.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::http::Client;
use tests::random::{Random, count};
use tests::{Asked, Machine, Person, Reply, ScriptedModel, Server, eventually, process};

use crate::agent::{messages, new_chat, say};

/// The timeout for every step.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A server with a user, a machine and a chat.
pub(crate) struct World {
    server: Server,
    alice: Person,
    machine: Machine,
    pub(crate) client: Client,
    pub(crate) chat: String,
}

impl World {
    pub(crate) fn new(model: &ScriptedModel, mode: &str) -> Self {
        let server = Server::start_with(&[&["--docker", "off"], &model.options("openai")[..]].concat());
        let alice = server.person("alice");
        let machine = Machine::start_with(&server, &alice, "laptop", &["--reconnect-max", "0.2"]);
        let client = Client::login(&server, "alice");
        let chat = new_chat(&client, mode);
        Self { server, alice, machine, client, chat }
    }

    pub(crate) fn say(&self, text: &str) {
        say(&self.client, &self.chat, text);
    }

    /// The answer to the chat's last message.
    pub(crate) fn answer(&self) -> Value {
        ended(&self.client, &self.chat)
    }

    pub(crate) fn agents(&self) -> Vec<Value> {
        self.client.call("GET", &format!("/chats/{}/agents", self.chat)).json().as_array().unwrap().clone()
    }

    pub(crate) fn workspace(&self) -> &Path {
        self.machine.workspace()
    }
}

/// The message of the answer to the chat's last message, after that answer has ended.
fn ended(client: &Client, chat: &str) -> Value {
    eventually("the answer is over", PATIENCE, || {
        let messages = messages(client, chat);
        let at = messages.iter().rposition(|message| message["role"] == "user")?;
        let handle = messages.get(at + 1)?.clone();
        let status = handle["agent"]["status"].as_str()?;
        (!["queued", "running"].contains(&status)).then_some(handle)
    })
}

fn agent(task: &str) -> (&'static str, Value) {
    ("SubAgent", json!({"task": task}))
}

pub(crate) fn is_child(asked: &Asked) -> bool {
    asked.system().contains("You are a sub-agent")
}

#[test]
fn a_cancel_reaches_sub_agents_and_leaves_no_process() {
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
    // Cancelling a single sub-agent does not stop its parent.
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

/// Kills the server, and starts it again.
pub(crate) fn kill(world: &mut World, model: &ScriptedModel) {
    world.server.kill();
    world.server.restart(&[&["--docker", "off"], &model.options("openai")[..]].concat());
    world.machine.wait_online(&world.alice, "laptop");
    world.client = Client::login(&world.server, "alice");
}

/// Checks that one sub-agent is done, and that no message is still in progress.
fn one_is_done(world: &World) {
    let agents = world.agents();
    assert_eq!((agents.len(), &agents[0]["status"]), (1, &json!("done")));
    let child = agents[0]["chat_id"].as_str().unwrap();
    for message in [messages(&world.client, &world.chat), messages(&world.client, child)].concat() {
        let status = message["agent"]["status"].as_str().unwrap_or_default();
        assert!(!["asking", "running", "queued"].contains(&status), "{message}");
    }
}

#[test]
fn a_sub_agents_command_runs_once_over_kills_and_its_parent_gets_the_answer() {
    let command = "echo once >> log; until [ -e go ]; do sleep 0.05; done; echo the end";
    let model = ScriptedModel::start(move |asked| match (is_child(asked), asked.results().len()) {
        (false, 0) => Reply::Call(vec![agent("work")]),
        (true, 0) => Reply::Call(vec![("Shell", json!({"command": command}))]),
        _ => Reply::Say(format!("it says {}", asked.results().join(" | "))),
    });
    let mut world = World::new(&model, "full");
    world.say("begin");
    let log = world.workspace().join("log");
    eventually("it works", PATIENCE, || log.exists().then_some(()));
    // The server is killed twice, since a resumed turn can be interrupted again.
    kill(&mut world, &model);
    kill(&mut world, &model);
    fs::write(world.workspace().join("go"), "").unwrap();
    let answer = world.answer();
    assert_eq!(answer["agent"]["status"], "done", "{answer}");
    let results = model.asked().pop().unwrap().results();
    assert!(
        results.len() == 1 && results[0].contains("it says") && results[0].contains("the end"),
        "{results:?}"
    );
    assert_eq!(fs::read_to_string(log).unwrap(), "once\n");
    assert_eq!(model.asked().len(), 4, "no model was asked twice");
    one_is_done(&world);
}

#[test]
fn a_sub_agent_that_was_waiting_for_its_model_at_a_kill_asks_again() {
    let mut hung = false;
    let model = ScriptedModel::start(move |asked| match (is_child(asked), asked.results().len()) {
        (false, 0) => Reply::Call(vec![("SubAgent", json!({"task": "work", "instance": "x"}))]),
        (true, 0) => Reply::Call(vec![("Shell", json!({"command": "echo once >> log; cat log"}))]),
        (true, _) if !std::mem::replace(&mut hung, true) => Reply::Hang("I was about".to_owned()),
        (true, _) => Reply::Say(format!("I read {}", asked.results().join(" | "))),
        (false, _) => Reply::Say("done".to_owned()),
    });
    let mut world = World::new(&model, "full");
    world.say("begin");
    eventually("it waits", PATIENCE, || (model.asked().len() == 3).then_some(()));
    kill(&mut world, &model);
    let answer = world.answer();
    assert_eq!((&answer["agent"]["status"], model.asked().len()), (&json!("done"), 5), "{answer}");
    let results = model.asked().pop().unwrap().results();
    assert!(
        results.len() == 1 && results[0].contains("I read") && results[0].contains("once"),
        "{results:?}"
    );
    assert_eq!(fs::read_to_string(world.workspace().join("log")).unwrap(), "once\n");
    one_is_done(&world);
}

/// The number of commands that each sub-agent runs, one after the other.
pub(crate) const COMMANDS: usize = 3;

/// A sub-agent that runs these commands, and then reports that its task is done.
pub(crate) fn runs_its_commands(asked: &Asked) -> Reply {
    let (task, results) = (asked.last_of_user(), asked.results());
    let is_done = |result: &&String| {
        // The server may die after the runner has discarded a result and before the result is in the conversation.
        result.contains(&format!("did {task} "))
            || result.contains("It ended with exit code 0 while the server")
    };
    // A call that was recorded but did not reach its runner has an unknown outcome, and the model repeats it.
    let done = results.iter().filter(is_done).count();
    if done == COMMANDS {
        return Reply::Say(format!("{task} is done"));
    }
    let command = format!("echo {task} {done} >> log; sleep 0.1; echo did {task} {done}");
    Reply::Call(vec![("Shell", json!({"command": command}))])
}

#[test]
fn kills_of_the_server_repeat_no_command_of_a_sub_agent_and_lose_no_answer() {
    let model = ScriptedModel::start(|asked| {
        if !is_child(asked) {
            let results = asked.results();
            return match results.is_empty() {
                true => Reply::Call(vec![agent("one"), agent("two")]),
                false => Reply::Say(results.join(" | ")),
            };
        }
        runs_its_commands(asked)
    });
    let mut random = Random::seeded();
    let mut world = World::new(&model, "full");
    let log = world.workspace().join("log");
    for round in 0..count("SANDBRIDGE_TURN_KILLS", 4) {
        world.chat = new_chat(&world.client, "full");
        world.say("begin");
        for _ in 0..=random.within(0..2) {
            std::thread::sleep(Duration::from_millis(random.within(0..1_200)));
            kill(&mut world, &model);
        }
        let answer = world.answer();
        assert_eq!(answer["agent"]["status"], "done", "round {round}: {answer}");
        let last = messages(&world.client, &world.chat).pop().unwrap();
        assert_eq!(last["text"], "one is done | two is done", "round {round}");
        let ran = fs::read_to_string(&log).unwrap();
        let mut ran: Vec<&str> = ran.lines().collect();
        ran.sort_unstable();
        assert_eq!(ran, ["one 0", "one 1", "one 2", "two 0", "two 1", "two 2"], "round {round}");
        fs::remove_file(&log).unwrap();
    }
}

#[test]
fn a_person_writes_to_a_named_sub_agent_even_over_a_kill() {
    let model = ScriptedModel::start(|asked| match (is_child(asked), asked.last_of_user().as_str()) {
        (true, text) if text.contains("writes to you directly") => {
            Reply::Say(format!("you said {}", text.lines().last().unwrap()))
        }
        (true, _) => Reply::Say("I am here".to_owned()),
        (false, "begin") if asked.results().is_empty() => {
            Reply::Call(vec![("SubAgent", json!({"task": "work", "instance": "x"}))])
        }
        (false, "hang") => Reply::Hang("I was about".to_owned()),
        _ => Reply::Say("so be it".to_owned()),
    });
    let options = [&["--docker", "off"], &model.options("openai")[..]].concat();
    let mut world = World::new(&model, "full");
    world.say("begin");
    assert_eq!(world.answer()["agent"]["status"], "done");
    let asked = model.asked().len();
    world.say("/agent x are you there?");
    let answer = world.answer();
    assert_eq!(
        (&answer["agent"]["status"], &answer["text"]),
        (&json!("done"), &json!("you said are you there?"))
    );
    assert_eq!(model.asked().len(), asked + 1, "the chat's own model was not asked");
    // The message is in the sub-agent's own conversation, and the chat's model sees it next.
    let child = world.agents()[0]["chat_id"].as_str().unwrap().to_owned();
    let texts = |client: &Client, chat: &str| -> Vec<String> {
        messages(client, chat).iter().map(|message| message["text"].as_str().unwrap().to_owned()).collect()
    };
    let own = texts(&world.client, &child);
    assert!(
        own.iter().any(|text| text.contains("user alice") && text.ends_with("are you there?")),
        "{own:?}"
    );
    world.say("and now?");
    world.answer();
    assert!(
        model
            .asked()
            .pop()
            .unwrap()
            .results()
            .iter()
            .any(|result| result.contains("you said are you there?"))
    );
    for (text, why) in [
        ("/agent", "/agent NAME TEXT:\nx"),
        ("/agent nobody hello", "No sub-agent of this chat"),
        ("/agent x", "Write the message after"),
    ] {
        world.say(text);
        let last = texts(&world.client, &world.chat).pop().unwrap();
        assert!(last.contains(why), "{text}: {last}");
    }
    // A message that waits while the server dies is delivered once.
    world.say("hang");
    eventually("the model hangs", PATIENCE, || {
        model.asked().last().is_some_and(|asked| asked.last_of_user() == "hang").then_some(())
    });
    world.say("/agent x still there?");
    world.server.kill();
    world.server.restart(&options);
    world.client = Client::login(&world.server, "alice");
    assert_eq!(world.client.call("POST", &format!("/chats/{}/cancel", world.chat)).status, 200);
    let answer = world.answer();
    assert_eq!(answer["text"], "you said still there?", "{answer}");
    let told = texts(&world.client, &child).iter().filter(|text| text.ends_with("\nstill there?")).count();
    assert_eq!(told, 1);
}
