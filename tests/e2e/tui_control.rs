//! Agents operate the terminal in which they were asked, and no other.

use std::time::Duration;

use serde_json::{Value, json};
use tests::http::Client;
use tests::tmux::Tmux;
use tests::{Asked, Reply, eventually};

use crate::world::World;

const PATIENCE: Duration = Duration::from_secs(60);

/// Does what it is asked for with one call, and repeats what it was told.
fn operates(asked: &Asked) -> Reply {
    let is_told = asked.body["messages"].as_array().unwrap().last().unwrap()["role"] == "tool";
    let action = match asked.last_of_user().as_str() {
        "show my chats" => json!({"action": "show", "view": "chats"}),
        "draft a letter" => json!({"action": "write", "text": "Dear all"}),
        "open the other one" => json!({"action": "open_chat", "chat": "other"}),
        said => return Reply::Say(format!("you said {said}")),
    };
    match asked.results().pop().filter(|_| is_told) {
        Some(result) => Reply::Say(format!("I was told: {result}")),
        None => Reply::Call(vec![("tui_control", action)]),
    }
}

#[test]
fn an_agent_operates_the_terminal_in_which_it_was_asked_and_no_other() {
    let world = World::new(operates);
    let other = world.alice.json(&["chat", "list", "--json"]).as_array().unwrap().len();
    assert_eq!(other, 0);
    world.run(&["chat", "--new", "--json", "the other chat"]);
    let (one, two) = (Tmux::start(100, 30), Tmux::start(100, 30));
    one.runs("", &world.alice, &["chat", "--new"]);
    one.sees("● laptop online");
    one.types("hello");
    one.press(&["Enter"]);
    one.sees("you said hello");
    two.runs("", &world.alice, &["chat", "--resume"]);
    two.sees("you said hello");

    // Both show the chat; the list opens where the message was written.
    one.types("show my chats");
    one.press(&["Enter"]);
    let screen = one.sees("Ctrl+E rename");
    assert!(screen.contains("the agent opened the list of chats"), "{screen}");
    let screen = two.sees("I was told: done: the list is open");
    assert!(!screen.contains("Ctrl+E rename") && !screen.contains("the agent opened"), "{screen}");
    assert_eq!(world.last_result(), "done: the list is open");
    one.press(&["Escape"]);
    one.sees("I was told: done: the list is open");

    // A text waits in the input until its user sends it.
    two.types("draft a letter");
    two.press(&["Enter"]);
    let screen = two.sees("nothing is sent before you press Enter");
    assert!(screen.contains("Dear all"), "{screen}");
    one.sees("I was told: done: the text is in the input");
    assert!(!one.screen().contains("nothing is sent before"), "{}", one.screen());
    assert!(world.model.asked().iter().all(|asked| asked.last_of_user() != "Dear all"));
    eventually("it is sent", PATIENCE, || {
        two.press(&["Enter"]);
        two.screen().contains("you said Dear all").then_some(())
    });

    // The chat is named by a word of its title, which is the beginning of its first message.
    one.sees("you said Dear all");
    one.types("open the other one");
    one.press(&["Enter"]);
    let screen = one.sees("you said the other chat");
    assert!(!screen.contains("you said Dear all"), "{screen}");
    two.sees("I was told: done: the chat is open");
    assert!(two.screen().contains("you said Dear all"), "{}", two.screen());
}

#[test]
fn without_a_terminal_that_answers_the_agent_learns_so_and_nobody_answers_in_its_place() {
    let world = World::new(operates);
    // A program has no terminal to operate: the tool is not offered, and a call of it says why.
    world.run(&["chat", "--new", "--json", "show my chats"]);
    assert!(world.last_result().contains("No terminal asked for this"), "{}", world.last_result());
    let asked = world.model.asked().len();
    assert!(world.model.asked().iter().all(|asked| !asked.tools().contains(&"tui_control".to_owned())));

    let http = Client::login(&world.server, "alice");
    let chat = world.alice.json(&["chat", "list", "--json"])[0]["id"].as_str().unwrap().to_owned();
    let post = |client_id: Value| {
        let message = json!({"text": "show my chats", "client_id": client_id});
        http.send("POST", &format!("/chats/{chat}/messages"), message.to_string().as_bytes())
    };
    for wrong in [json!("page"), json!(7), json!("")] {
        let refused = post(wrong);
        assert_eq!((refused.status, refused.kind().as_str()), (400, "invalid"), "{refused:?}");
    }
    // A terminal that has gone: the agent waits a moment, and nothing was done.
    let gone = "0123456789abcdef0123456789abcdef";
    assert_eq!(post(json!(gone)).status, 202);
    eventually("the agent has given up", PATIENCE, || (world.model.asked().len() == asked + 2).then_some(()));
    assert!(world.model.asked()[asked].tools().contains(&"tui_control".to_owned()));
    assert!(world.last_result().contains("did not answer within 5 s"), "{}", world.last_result());
    let answer = json!({"client_id": gone, "call_id": "0", "state": "taken"});
    let path = format!("/chats/{chat}/tui");
    let answered = http.send("POST", &path, answer.to_string().as_bytes());
    assert_eq!((answered.status, answered.kind().as_str()), (404, "not_found"), "{answered:?}");
    let reader = world.alice.json(&["key", "add", "reader", "--scope", "read", "--json"]);
    let reader = Client::with_token(&world.server, reader["key"].as_str().unwrap());
    let answered = reader.send("POST", &path, answer.to_string().as_bytes());
    assert_eq!(answered.status, 403, "{answered:?}");
}
