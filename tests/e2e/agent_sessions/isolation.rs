//! Deleting chats, and ending tasks from a chat.

use rustix::process::Signal;
use tests::process;
use tests::proxy::{Fate, Proxy};

use super::*;

/// Returns a number that is on no other command line.
fn marker(number: u32) -> String {
    format!("{}", 66_000_000 + number * 1_000_000 + std::process::id() % 1_000_000)
}

#[test]
fn deleting_a_chat_during_an_answer_ends_its_commands_and_tasks() {
    let world = World::new(obeys);
    let machine = Machine::start(&world.server, &world.alice, "laptop");
    let (task, command) = (format!("sleep {}", marker(1)), format!("sleep {}", marker(2)));
    let chat = world.chat();
    chat.say(&format!("task touch begun; {task}"));
    eventually("the task runs", PATIENCE, || machine.workspace().join("begun").exists().then_some(()));
    let listed = chat.post("/tasks")["messages"][1]["text"].as_str().unwrap().to_owned();
    assert!(listed.contains("running") && listed.contains(&task) && listed.contains("(laptop)"), "{listed}");
    chat.post(&format!("shell touch ready; {command}"));
    eventually("it works", PATIENCE, || machine.workspace().join("ready").exists().then_some(()));
    chat.post("create never.txt x");
    assert_eq!(chat.send("DELETE", "", json!({})).status, 204);
    for text in ["hello", "!ls", "/undo"] {
        assert_eq!(chat.send("POST", "/messages", json!({"text": text})).status, 404, "{text}");
    }
    for command in [task, command] {
        eventually("nothing is left of it", PATIENCE, || {
            process::with_marker(&command).is_empty().then_some(())
        });
    }
    // The message that was queued after the answer was never processed, and the server continues.
    let next = world.chat();
    assert_eq!(next.say("hello")["text"], "I know 1");
    assert!(!machine.workspace().join("never.txt").exists());
}

#[test]
fn a_task_of_a_deleted_chat_ends_when_its_machine_reconnects() {
    let world = World::new(obeys);
    let proxy = Proxy::before(&world.server);
    let options = ["--reconnect-max", "0.2"];
    let machine = Machine::start_at(proxy.url(), &world.alice, "laptop", &options);
    let task = format!("sleep {}", marker(3));
    let chat = world.chat();
    chat.say(&format!("task touch begun; {task}"));
    eventually("the task runs", PATIENCE, || machine.workspace().join("begun").exists().then_some(()));
    process::signal(machine.runner_pid(), Signal::STOP);
    proxy.cut(Fate::Reset);
    eventually("it is offline", PATIENCE, || (!world.alice.is_online("laptop")).then_some(()));
    assert_eq!(chat.send("DELETE", "", json!({})).status, 204);
    assert!(!process::with_marker(&task).is_empty(), "the runner could not be informed");
    process::signal(machine.runner_pid(), Signal::CONT);
    eventually("nothing is left of it", PATIENCE, || process::with_marker(&task).is_empty().then_some(()));
}

#[test]
fn a_task_is_listed_and_ended_from_the_chat() {
    let world = World::new(obeys);
    let machine = Machine::start(&world.server, &world.alice, "laptop");
    let chat = world.chat();
    assert_eq!(chat.post("/tasks")["messages"][1]["text"], "This chat has no tasks.");
    let task = format!("sleep {}", marker(4));
    chat.say(&format!("task touch begun; {task}"));
    eventually("the task runs", PATIENCE, || machine.workspace().join("begun").exists().then_some(()));
    let listed = chat.post("/tasks")["messages"][1]["text"].as_str().unwrap().to_owned();
    let id = listed.split(' ').next().unwrap();
    assert_eq!(world.chat().post(&format!("/tasks kill {id}"))["error"], "not_found", "another chat's");
    for bad in ["/tasks kill", "/tasks kill x", "/tasks stop"] {
        assert!(chat.post(bad)["error"].is_string(), "{bad}");
    }
    assert!(chat.post(&format!("/tasks kill {id}"))["error"].is_null());
    assert!(process::with_marker(&task).is_empty());
    let listed = chat.post("/tasks")["messages"][1]["text"].as_str().unwrap().to_owned();
    assert!(listed.starts_with(id) && listed.contains("killed by signal"), "{listed}");
}
