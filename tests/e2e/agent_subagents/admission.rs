//! Who waits while others are answered, and is told so.

use super::*;

#[test]
fn a_person_is_told_why_an_answer_does_not_begin_yet() {
    let (go, gate) = mpsc::channel::<()>();
    let model = ScriptedModel::start(move |asked| {
        if asked.last_of_user() == "first" {
            gate.recv_timeout(PATIENCE).unwrap();
        }
        Reply::Say("all done".to_owned())
    });
    let one = ["--docker", "off", "--turns-at-once", "1"];
    let server = Server::start_with(&[&one, &model.options("openai")[..]].concat());
    let alice = server.person("alice");
    let client = Client::login(&server, "alice");
    let chat = new_chat(&client, "ask");
    say(&client, &chat, "first");
    eventually("the first one is asked", PATIENCE, || (!model.asked().is_empty()).then_some(()));
    let held_up = std::thread::spawn(move || alice.run(&["chat", "--new", "second"]));
    eventually("it waits", PATIENCE, || {
        let chats = client.call("GET", "/chats").json();
        let ids = chats.as_array().unwrap().iter().filter_map(|chat| chat["id"].as_str().map(str::to_owned));
        ids.into_iter()
            .find(|id| messages(&client, id).iter().any(|message| message["agent"]["waits"] == true))
    });
    go.send(()).unwrap();
    let output = held_up.join().unwrap();
    assert!(output.code == 0 && output.stdout.contains("Other answers are under way"), "{output:?}");
    assert!(output.stdout.contains("all done"), "{output:?}");
}
