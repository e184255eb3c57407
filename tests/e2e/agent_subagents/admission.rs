//! Who waits while others are answered, and is told so.

use super::*;

#[test]
fn others_are_answered_while_a_sub_agent_waits_for_its_user_and_whoever_waits_is_told() {
    let model = ScriptedModel::start(|asked| match (is_child(asked), asked.last_of_user().as_str()) {
        (false, "begin") if asked.results().is_empty() => Reply::Call(vec![agent("write")]),
        (true, _) if asked.results().is_empty() => {
            Reply::Call(vec![("Shell", json!({"command": "echo ran"}))])
        }
        _ => Reply::Say("all done".to_owned()),
    });
    let one = ["--docker", "off", "--turns-at-once", "1"];
    let server = Server::start_with(&[&one, &model.options("openai")[..]].concat());
    let alice = server.person("alice");
    let _machine = Machine::start(&server, &alice, "laptop");
    let client = Client::login(&server, "alice");
    let (chat, other) = (new_chat(&client, "ask"), new_chat(&client, "ask"));
    say(&client, &chat, "begin");
    let asking =
        || messages(&client, &chat).into_iter().find(|message| message["agent"]["status"] == "asking");
    let question = eventually("the sub-agent asks", PATIENCE, asking);
    say(&client, &other, "hello");
    assert_eq!(ended(&client, &other)["agent"]["status"], "done", "the place is free meanwhile");
    let body = json!({"message_id": question["id"], "allow": true, "always": false}).to_string();
    assert_eq!(client.send("POST", &format!("/chats/{chat}/approvals"), body.as_bytes()).status, 204);
    assert_eq!(ended(&client, &chat)["agent"]["status"], "done");
}

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
