//! Conversations that are undone, forked, exported and deleted, with a scripted model and real runners.

mod headless;
mod isolation;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use serde_json::{Value, json};
use tests::http::{Answer, Client};
use tests::{Asked, Machine, Person, Reply, ScriptedModel, Server, eventually};

/// The timeout for any single answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A model that follows instructions in words: each line is `create PATH TEXT`, `replace PATH OLD NEW` or `shell COMMAND`;
/// anything else is answered with the number of user messages that it knows.
fn obeys(asked: &Asked) -> Reply {
    let messages = asked.body["messages"].as_array().unwrap();
    if messages.last().unwrap()["role"] == "tool" {
        return Reply::Say("done".to_owned());
    }
    let calls: Vec<_> = asked.last_of_user().lines().filter_map(call).collect();
    if calls.is_empty() {
        let said = messages.iter().filter(|message| message["role"] == "user").count();
        return Reply::Say(format!("I know {said}"));
    }
    Reply::Call(calls)
}

fn call(line: &str) -> Option<(&'static str, Value)> {
    let words: Vec<&str> = line.splitn(4, ' ').collect();
    match words[..] {
        ["create", path, text] => {
            Some(("FileCreate", json!({"path": path, "content": text, "rewrite": true})))
        }
        ["replace", path, old, new] => {
            Some(("FileReplace", json!({"path": path, "old_string": old, "new_string": new})))
        }
        ["shell", ..] => Some(("Shell", json!({"command": &line["shell ".len()..]}))),
        ["task", ..] => Some(("Shell", json!({"command": &line["task ".len()..], "background": true}))),
        _ => None,
    }
}

struct World {
    model: ScriptedModel,
    server: Server,
    alice: Person,
}

impl World {
    fn new(script: impl FnMut(&Asked) -> Reply + Send + 'static) -> Self {
        let model = ScriptedModel::start(script);
        let server = Server::start_with(&[&["--docker", "off"], &model.options("openai")[..]].concat());
        let alice = server.person("alice");
        Self { model, server, alice }
    }

    fn chat(&self) -> Chat {
        self.chat_of("alice")
    }

    fn chat_of(&self, name: &str) -> Chat {
        let client = Client::login(&self.server, name);
        let id = client.call("POST", "/chats").json()["id"].as_str().unwrap().to_owned();
        let chat = Chat { client, id };
        assert_eq!(chat.send("PUT", "/approval", json!({"mode": "full"})).status, 200);
        chat
    }
}

/// A chat as an API client uses it.
struct Chat {
    client: Client,
    id: String,
}

impl Chat {
    fn send(&self, method: &str, path: &str, body: Value) -> Answer {
        self.client.send(method, &format!("/chats/{}{path}", self.id), body.to_string().as_bytes())
    }

    /// Posts a message; returns the immediate response.
    fn post(&self, text: &str) -> Value {
        let answer = self.send("POST", "/messages", json!({"text": text}));
        assert_eq!(answer.status, 202, "{answer:?}");
        answer.json()
    }

    /// Posts a message to the model and waits for the end of its answer.
    fn say(&self, text: &str) -> Value {
        let posted = self.post(text);
        self.ended(posted["messages"][1]["id"].as_i64().unwrap())
    }

    fn ended(&self, id: i64) -> Value {
        eventually("the answer is over", PATIENCE, || {
            let message = self.messages().into_iter().find(|message| message["id"] == id)?;
            let is_open = ["queued", "running"].iter().any(|status| message["agent"]["status"] == *status);
            (!is_open).then_some(message)
        })
    }

    fn messages(&self) -> Vec<Value> {
        let page = self.client.call("GET", &format!("/chats/{}/messages", self.id)).json();
        page["messages"].as_array().unwrap().clone()
    }

    fn undo(&self, force: bool) -> Answer {
        self.send("POST", "/undo", json!({"force": force}))
    }
}

#[test]
fn an_undo_restores_every_file_and_forgets_the_message() {
    let world = World::new(obeys);
    let machine = Machine::start(&world.server, &world.alice, "laptop");
    let file = |name: &str| machine.workspace().join(name);
    fs::write(file("a.txt"), "one two").unwrap();
    fs::write(file("run.sh"), "old").unwrap();
    fs::set_permissions(file("run.sh"), fs::Permissions::from_mode(0o750)).unwrap();
    let chat = world.chat();
    chat.say("hello");
    let route_request = format!(
        "replace a.txt one 1\nreplace a.txt two 2\ncreate sub/new.txt fresh\ncreate {}/run.sh new\nshell touch made",
        machine.workspace().display()
    );
    chat.say(&route_request);
    assert_eq!(fs::read_to_string(file("a.txt")).unwrap(), "1 2");
    assert_eq!(fs::read_to_string(file("sub/new.txt")).unwrap(), "fresh");
    assert_eq!(fs::read_to_string(file("run.sh")).unwrap(), "new");

    let posted = chat.post("/undo");
    assert_eq!((&posted["input"], &posted["error"]), (&json!(route_request), &Value::Null), "{posted}");
    let told = posted["messages"][1]["text"].as_str().unwrap();
    for expected in ["Removed: sub/new.txt (laptop)", "a.txt (laptop)", "run.sh", "A command ran in the part"]
    {
        assert!(told.contains(expected), "{told}");
    }
    assert_eq!(fs::read_to_string(file("a.txt")).unwrap(), "one two");
    assert_eq!(fs::read_to_string(file("run.sh")).unwrap(), "old");
    assert_eq!(fs::metadata(file("run.sh")).unwrap().permissions().mode() & 0o777, 0o750);
    assert!(!file("sub/new.txt").exists() && file("made").exists());
    let undone: Vec<Value> =
        chat.messages().into_iter().filter(|message| message["undone"] == true).collect();
    assert_eq!(undone.len(), 2 + 5 + 1, "the message, its answer, five tool cards, the text after them");
    // The model's conversation contains nothing of the undone turn.
    assert_eq!(chat.say("and now?")["text"], "I know 2");
    let last = world.model.asked().pop().unwrap();
    assert!(!last.raw.contains("fresh") && last.raw.contains("hello"), "{}", last.raw);
    // An undo is not a message that can be undone: the next undo takes back the turn before it.
    let taken = chat.undo(false).json();
    assert_eq!(
        (&taken["text"], &taken["turns"], &taken["restored"]),
        (&json!("and now?"), &json!(1), &json!([]))
    );
    assert_eq!(chat.undo(false).json()["text"], "hello");
    let nothing = chat.undo(false);
    assert_eq!((nothing.status, nothing.kind().as_str()), (404, "not_found"));
}

#[test]
fn a_file_that_somebody_changed_since_is_reported_and_not_overwritten() {
    let world = World::new(obeys);
    let machine = Machine::start(&world.server, &world.alice, "laptop");
    let file = |name: &str| machine.workspace().join(name);
    fs::write(file("a.txt"), "old").unwrap();
    fs::write(file("b.txt"), "old").unwrap();
    let chat = world.chat();
    chat.say("replace a.txt old new\nreplace b.txt old new\ncreate c.txt new\ncreate d.txt new");
    fs::write(file("b.txt"), "mine").unwrap();
    fs::remove_file(file("c.txt")).unwrap();
    let refused = chat.undo(false);
    assert_eq!((refused.status, refused.kind().as_str()), (409, "conflict"), "{refused:?}");
    let why = refused.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(why.contains("b.txt") && !why.contains("a.txt") && why.contains("/undo force"), "{why}");
    // Nothing is undone partially, and the conversation is unchanged.
    assert_eq!(fs::read_to_string(file("a.txt")).unwrap(), "new");
    assert!(file("d.txt").exists());
    assert!(chat.messages().iter().all(|message| message["undone"].is_null()));
    assert_eq!(chat.post("/undo")["error"], "conflict");
    let taken = chat.undo(true).json();
    assert_eq!(taken["restored"].as_array().unwrap().len(), 4, "{taken}");
    for name in ["a.txt", "b.txt"] {
        assert_eq!(fs::read_to_string(file(name)).unwrap(), "old");
    }
    assert!(!file("c.txt").exists() && !file("d.txt").exists());
}

#[test]
fn files_are_restored_on_their_own_machine_or_not_at_all() {
    let world = World::new(obeys);
    let token = world.alice.add_runner("laptop");
    let mut machine = Machine::start_with_token(&world.server, "laptop", &token, &["--reconnect-max", "0.2"]);
    machine.wait_online(&world.alice, "laptop");
    fs::write(machine.workspace().join("a.txt"), "old").unwrap();
    let chat = world.chat();
    chat.say("replace a.txt old new");
    let other = Machine::start(&world.server, &world.alice, "other");
    fs::write(other.workspace().join("a.txt"), "new").unwrap();
    assert!(chat.post("/runner other")["error"].is_null());
    machine.stop();
    eventually("it is offline", PATIENCE, || (!world.alice.is_online("laptop")).then_some(()));
    let refused = chat.undo(true);
    assert_eq!((refused.status, refused.kind().as_str()), (503, "offline"), "{refused:?}");
    let why = refused.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(why.contains("laptop") && why.contains("Nothing was taken back"), "{why}");
    assert!(chat.messages().iter().all(|message| message["undone"].is_null()));
    machine.restart(&world.server, "laptop", &token, &[]);
    machine.wait_online(&world.alice, "laptop");
    assert_eq!(chat.undo(false).json()["restored"], json!([{"place": "laptop", "path": "a.txt"}]));
    assert_eq!(fs::read_to_string(machine.workspace().join("a.txt")).unwrap(), "old");
    assert_eq!(fs::read_to_string(other.workspace().join("a.txt")).unwrap(), "new", "another machine's file");
}

#[test]
fn a_rewind_takes_back_several_turns_and_files_only_on_request() {
    let world = World::new(obeys);
    let machine = Machine::start(&world.server, &world.alice, "laptop");
    let file = |name: &str| fs::read_to_string(machine.workspace().join(name)).unwrap_or_default();
    let chat = world.chat();
    chat.say("create a.txt 1");
    let second = chat.say("create a.txt 2\ncreate b.txt 2");
    chat.say("create a.txt 3");
    let listed = chat.post("/rewind");
    let listed = listed["messages"][1]["text"].as_str().unwrap();
    assert!(listed.contains(" 1  #") && listed.contains("create a.txt 2 create b.txt 2"), "{listed}");
    for bad in ["/rewind x", "/rewind 0", "/rewind 4", "/rewind #1000000"] {
        assert!(chat.post(bad)["error"].is_string(), "{bad}");
    }
    assert_eq!(chat.send("POST", "/rewind", json!({"turns": 1, "message_id": 1})).status, 400);
    let posted = chat.post("/rewind 1");
    assert_eq!((&posted["input"], file("a.txt").as_str()), (&json!("create a.txt 3"), "3"), "{posted}");
    chat.say("create a.txt 4");
    let taken =
        chat.send("POST", "/rewind", json!({"message_id": second["id"], "files": true, "force": true}));
    let taken = taken.json();
    assert_eq!(
        (&taken["turns"], &taken["text"]),
        (&json!(2), &json!("create a.txt 2\ncreate b.txt 2")),
        "{taken}"
    );
    assert_eq!((file("a.txt").as_str(), file("b.txt").as_str()), ("1", ""));
    assert_eq!(chat.say("how many?")["text"], "I know 2");
}

#[test]
fn an_answer_restarts_in_its_message_and_is_given_up_after_the_fourth_kill() {
    let mut asked_for = 0;
    let mut world = World::new(move |asked| {
        if asked.last_of_user() != "begin" {
            return Reply::Say(format!("known: {}", asked.raw.contains("This is try 4")));
        }
        asked_for += 1;
        Reply::Hang(format!("This is try {asked_for}"))
    });
    let chat = world.chat();
    let answer = chat.post("begin")["messages"][1]["id"].as_i64().unwrap();
    let log = world.server.home().join("sandbridge.db-wal");
    for number in 1..=4 {
        let words = format!("This is try {number}");
        eventually("the answer is restarted", PATIENCE, || {
            let shown = chat.messages().into_iter().find(|message| message["id"] == answer).unwrap();
            let live = shown["live"].as_array()?.iter().map(|piece| piece["text"].as_str().unwrap());
            (shown["text"] == "" && live.collect::<String>() == words).then_some(())
        });
        if number == 4 {
            eventually("the words are in the database", PATIENCE, || {
                let written = fs::read(&log).unwrap_or_default();
                written.windows(words.len()).any(|part| part == words.as_bytes()).then_some(())
            });
        }
        world.server.kill();
        world.server.restart(&[&["--docker", "off"], &world.model.options("openai")[..]].concat());
    }
    let ended = chat.ended(answer);
    assert_eq!((&ended["text"], &ended["agent"]["status"]), (&json!("This is try 4"), &json!("interrupted")));
    assert!(ended["agent"]["error"].as_str().unwrap().contains("the last 5 s"), "{ended}");
    let export = chat.client.call("GET", &format!("/chats/{}/export?format=markdown", chat.id));
    assert!(String::from_utf8(export.body).unwrap().contains("This is try 4"));
    assert_eq!(chat.say("go on")["text"], "known: true");
}

#[test]
fn a_fork_and_its_original_continue_separately() {
    let world = World::new(obeys);
    let machine = Machine::start(&world.server, &world.alice, "laptop");
    let chat = world.chat();
    chat.say("hello");
    chat.say("create a.txt 1");
    let posted = chat.post("/fork");
    let fork = Chat {
        client: Client::login(&world.server, "alice"),
        id: posted["chat"]["id"].as_str().unwrap().to_owned(),
    };
    assert_eq!(fork.say("here")["text"], "I know 3");
    fork.say("create a.txt fork");
    assert_eq!(chat.say("there")["text"], "I know 3");
    let last = world.model.asked().pop().unwrap();
    assert!(last.raw.contains("there") && !last.raw.contains("\"here\""), "{}", last.raw);
    // The fork restores only files that it changed itself, and the copied turn changed none.
    assert_eq!(fork.undo(false).json()["restored"].as_array().unwrap().len(), 1);
    assert_eq!(fork.undo(false).json()["text"], "here");
    assert_eq!(fork.undo(false).json()["restored"], json!([]));
    assert_eq!(fs::read_to_string(machine.workspace().join("a.txt")).unwrap(), "1");
    let part = chat.send("POST", "/fork", json!({"message_id": chat.messages()[0]["id"]})).json();
    let part =
        Chat { client: Client::login(&world.server, "alice"), id: part["id"].as_str().unwrap().to_owned() };
    let said: Vec<Value> = part.messages().into_iter().map(|message| message["text"].clone()).collect();
    assert_eq!(said, ["hello", "I know 1"]);
    let bound = |chat: &Chat| chat.client.call("GET", "/chats").json();
    assert_eq!(bound(&part).as_array().unwrap().len(), 3);
}
