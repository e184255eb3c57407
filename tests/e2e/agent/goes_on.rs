//! Turns that resume after a restart of the server, however the previous server ended.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::time::Duration;

use serde_json::{Value, json};
use tests::http::Client;
use tests::random::{Random, count};
use tests::{Asked, Machine, Person, Reply, ScriptedModel, Server, eventually, process};

use super::{PATIENCE, ended, messages, new_chat, say};

struct World {
    model: ScriptedModel,
    server: Server,
    alice: Person,
    machine: Machine,
    client: Client,
}

impl World {
    fn new(script: impl FnMut(&Asked) -> Reply + Send + 'static) -> Self {
        let model = ScriptedModel::start(script);
        let server = Server::start_with(&options(&model));
        let alice = server.person("alice");
        let machine = Machine::start_with(
            &server,
            &alice,
            "laptop",
            &["--reconnect-max", "0.2", "--download-allow", "127.0.0.1"],
        );
        let client = Client::login(&server, "alice");
        Self { model, server, alice, machine, client }
    }

    /// Kills the server, and starts it again.
    fn kill(&mut self) {
        self.server.kill();
        self.restart();
    }

    /// Stops the server gracefully unless it has ended, and starts it again.
    fn restart(&mut self) {
        self.server.restart(&options(&self.model));
        self.machine.wait_online(&self.alice, "laptop");
    }

    /// The lines of the file that the commands write to.
    fn log(&self) -> Vec<String> {
        let log = fs::read_to_string(self.machine.workspace().join("log")).unwrap_or_default();
        log.lines().map(str::to_owned).collect()
    }

    /// The cards of calls in a chat, as "tool status".
    fn cards(&self, chat: &str) -> Vec<String> {
        let shown = messages(&self.client, chat).into_iter();
        let cards = shown.filter(|message| message["agent"]["kind"] == "tool");
        let word = |message: &Value, field: &str| message["agent"][field].as_str().unwrap().to_owned();
        cards.map(|card| format!("{} {}", word(&card, "tool"), word(&card, "status"))).collect()
    }
}

fn options(model: &ScriptedModel) -> Vec<&str> {
    [&["--docker", "off"], &model.options("openai")[..]].concat()
}

fn shell(command: &str) -> Reply {
    Reply::Call(vec![("Shell", json!({"command": command}))])
}

#[test]
fn a_killed_server_loses_no_message_and_does_nothing_twice() {
    const COMMANDS: usize = 5;
    let mut random = Random::seeded();
    let mut world = World::new(|asked| {
        let (last, results) = (asked.last_of_user(), asked.results());
        let is_done = |result: &&String| {
            // The server may die after the runner has discarded a result and before the result is in the conversation.
            result.contains(&format!("did {last} "))
                || result.contains("It ended with exit code 0 while the server")
        };
        let done = results.iter().filter(is_done).count();
        if last == "go on" || done == COMMANDS {
            return Reply::Say(format!("done with {last}"));
        }
        shell(&format!("echo {last} {done} >> log; sleep 0.05; echo did {last} {done}"))
    });
    for round in 0..count("SANDBRIDGE_TURN_KILLS", 4) {
        let chat = new_chat(&world.client, "full");
        say(&world.client, &chat, &format!("round{round}"));
        for _ in 0..2 {
            std::thread::sleep(Duration::from_millis(random.within(0..500)));
            world.kill();
        }
        let turn = ended(&world.client, &chat, 1);
        assert_eq!(turn["agent"]["status"], "done", "{turn}");
        let shown = messages(&world.client, &chat);
        let goes_on = |message: &Value| {
            ["running", "asking"].iter().any(|status| message["agent"]["status"] == *status)
        };
        assert!(!shown.iter().any(goes_on), "nothing still looks in progress: {shown:?}");
        let cards = shown.iter().filter(|message| message["agent"]["kind"] == "tool");
        let (done, others): (Vec<_>, Vec<_>) = cards.partition(|card| card["agent"]["status"] == "done");
        assert_eq!(done.len(), COMMANDS, "each completed call has one card: {shown:?}");
        // If the server dies after it recorded a call and before the runner received the call, the outcome of the call is unknown.
        let is_unknown = |card: &&Value| card.to_string().contains("not known if it took effect");
        assert!(others.iter().all(is_unknown), "{others:?}");
        let said: Vec<_> =
            shown.iter().filter(|message| message["text"] == format!("done with round{round}")).collect();
        assert_eq!(said.len(), 1, "{shown:?}");
        say(&world.client, &chat, "go on");
        assert_eq!(ended(&world.client, &chat, 2)["text"], "done with go on");
        let users = messages(&world.client, &chat).into_iter().filter(|message| message["role"] == "user");
        assert_eq!(users.count(), 2, "no message is lost or duplicated");
        let log = world.log();
        let did: Vec<_> = log.iter().filter(|line| line.starts_with(&format!("round{round} "))).collect();
        let expected: Vec<_> = (0..COMMANDS).map(|number| format!("round{round} {number}")).collect();
        assert!(did.iter().copied().eq(&expected), "{did:?}");
    }
}

#[test]
fn a_command_continues_while_its_server_stops_and_its_output_reaches_the_model() {
    let mut world = World::new(|asked| match asked.results().first() {
        None => shell("echo begun >> log; echo one; while [ ! -e go ]; do sleep 0.05; done; echo two"),
        Some(result) => Reply::Say(format!("it said: {result}")),
    });
    for (number, is_killed) in [false, true].into_iter().enumerate() {
        let go = world.machine.workspace().join("go");
        let chat = new_chat(&world.client, "full");
        say(&world.client, &chat, "work");
        eventually("it runs", PATIENCE, || (world.log().len() == number + 1).then_some(()));
        if is_killed {
            world.kill()
        } else {
            world.restart()
        }
        let wait = ended_status(&world, &chat);
        assert_eq!(wait, "running");
        fs::write(&go, "").unwrap();
        let turn = ended(&world.client, &chat, 1);
        assert_eq!(turn["agent"]["status"], "done", "{turn}");
        let shown = messages(&world.client, &chat);
        let last = shown.last().unwrap()["text"].as_str().unwrap();
        assert!(last.contains("it said: one\ntwo\n(exit code 0)"), "{last}");
        assert_eq!(world.cards(&chat), ["Shell done"]);
        assert_eq!(world.log().len(), number + 1, "it ran once");
        fs::remove_file(go).unwrap();
    }
}

/// The status of a chat's only answer.
fn ended_status(world: &World, chat: &str) -> String {
    let shown = messages(&world.client, chat);
    let answer = shown.iter().find(|message| message["agent"]["kind"] == "reply").unwrap();
    answer["agent"]["status"].as_str().unwrap().to_owned()
}

#[test]
fn a_question_that_waited_is_asked_again_in_its_place_and_the_call_runs_once() {
    let mut world = World::new(|asked| match asked.results().first() {
        None => shell("echo ran >> log"),
        Some(_) => Reply::Say("done".to_owned()),
    });
    let chat = new_chat(&world.client, "ask");
    say(&world.client, &chat, "work");
    let asks = |world: &World| {
        eventually("it asks", PATIENCE, || {
            let shown = messages(&world.client, &chat);
            shown.into_iter().find(|message| message["agent"]["status"] == "asking")
        })
    };
    let before = asks(&world)["id"].clone();
    world.kill();
    let body = json!({"message_id": before, "allow": true}).to_string();
    eventually("the answer is accepted", PATIENCE, || {
        let path = format!("/chats/{chat}/approvals");
        (world.client.send("POST", &path, body.as_bytes()).status < 300).then_some(())
    });
    assert_eq!(ended(&world.client, &chat, 1)["agent"]["status"], "done");
    assert_eq!((world.log(), world.cards(&chat)), (vec!["ran".to_owned()], vec!["Shell done".to_owned()]));
}

#[test]
fn a_stopped_answer_is_not_resumed() {
    let mut world = World::new(|_| shell("echo $$ >> log; sleep 300"));
    let chat = new_chat(&world.client, "full");
    say(&world.client, &chat, "work");
    eventually("it runs", PATIENCE, || (!world.log().is_empty()).then_some(()));
    assert_eq!(world.client.call("POST", &format!("/chats/{chat}/cancel")).json()["cancelled"], 1);
    world.kill();
    let turn = eventually("it is over", PATIENCE, || {
        let shown = messages(&world.client, &chat);
        shown.into_iter().find(|message| message["agent"]["status"] == "cancelled")
    });
    assert_eq!(turn["agent"]["status"], "cancelled");
    assert_eq!(world.log().len(), 1, "it ran once");
    let process: i32 = world.log()[0].parse().unwrap();
    eventually("its process is gone", PATIENCE, || (!process::is_alive(process)).then_some(()));
}

#[test]
fn a_call_with_unknown_outcome_is_not_repeated_and_its_model_is_informed() {
    // A download has begun once its URL is requested; no later server can find out how it ended.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/file", listener.local_addr().unwrap());
    let mut world = World::new(move |asked| match asked.results().first() {
        None => Reply::Call(vec![("DownloadFile", json!({"url": url, "path": "file"}))]),
        Some(result) => Reply::Say(result.clone()),
    });
    let chat = new_chat(&world.client, "full");
    say(&world.client, &chat, "fetch it");
    let (mut asked, _) = listener.accept().unwrap();
    world.server.kill();
    asked.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ntext").unwrap();
    world.restart();
    assert_eq!(ended(&world.client, &chat, 1)["agent"]["status"], "done");
    let said = messages(&world.client, &chat).pop().unwrap()["text"].as_str().unwrap().to_owned();
    assert!(said.contains("It is not known whether it took effect"), "{said}");
    assert_eq!(world.cards(&chat), ["DownloadFile failed"]);
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "the URL was requested once");
}

#[test]
fn a_call_with_unknown_outcome_is_repeated_only_with_approval_in_mode_ask() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/file", listener.local_addr().unwrap());
    let accepted = |listener: &TcpListener| {
        eventually("the URL is requested", PATIENCE, || listener.accept().ok().map(|(asked, _)| asked))
    };
    let mut world = World::new(move |asked| match asked.results().first() {
        None => Reply::Call(vec![("DownloadFile", json!({"url": url, "path": "file"}))]),
        Some(result) => Reply::Say(result.clone()),
    });
    for allow in [false, true] {
        let chat = new_chat(&world.client, "ask");
        say(&world.client, &chat, "fetch it");
        let asks = |world: &World| {
            eventually("it asks", PATIENCE, || {
                let shown = messages(&world.client, &chat);
                shown.into_iter().find(|message| message["agent"]["status"] == "asking")
            })
        };
        let answers = |world: &World, asked: &Value, allow: bool| {
            let body = json!({"message_id": asked["id"], "allow": allow}).to_string();
            eventually("the answer is accepted", PATIENCE, || {
                let path = format!("/chats/{chat}/approvals");
                (world.client.send("POST", &path, body.as_bytes()).status < 300).then_some(())
            });
        };
        answers(&world, &asks(&world), true);
        let mut asked = accepted(&listener);
        world.server.kill();
        asked.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ntext").unwrap();
        drop(asked);
        world.restart();
        let again = asks(&world);
        assert!(again.to_string().contains("it is not known whether it took effect"), "{again}");
        answers(&world, &again, allow);
        if allow {
            let mut asked = accepted(&listener);
            asked.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ntext").unwrap();
        }
        assert_eq!(ended(&world.client, &chat, 1)["agent"]["status"], "done");
        let said = messages(&world.client, &chat).pop().unwrap()["text"].as_str().unwrap().to_owned();
        assert_eq!(said.contains("It is not known whether it took effect"), !allow, "{said}");
        assert!(listener.accept().is_err(), "the URL was requested as often as it was allowed");
    }
}
