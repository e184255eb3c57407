//! Hooks that never read their input, never let an answer end, or lose their machine. In each case the turn ends or continues, and nothing is left
//! running.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use tests::http::Client;
use tests::{Machine, Reply, eventually, process};

use super::{PATIENCE, calls, command};
use crate::agent::{ended, messages, new_chat, say};
use crate::world::World;

/// The size of a text that is larger than any pipe's buffer: a hook that does not read its payload leaves most of it
/// unsent.
const CONTENT_BYTES: usize = 512 * 1024;

#[test]
fn a_hook_that_never_reads_its_payload_decides_in_time_or_is_killed() {
    let world =
        World::new(calls("FileCreate", json!({"path": "large", "content": "x".repeat(CONTENT_BYTES)})));
    let marker = format!("{}", 79_000_000 + std::process::id() % 1_000_000);
    for (hook, is_made) in [
        ("echo 'not that much' >&2; exit 2".to_owned(), false),
        ("exec 0<&-; exit 0".to_owned(), true),
        (format!("sleep {marker}"), true),
    ] {
        let hooks =
            json!([{"matcher": "FileCreate", "hooks": [{"type": "command", "command": hook, "timeout": 2}]}]);
        world.hooks(json!({"PreToolUse": hooks}));
        let begun = Instant::now();
        world.chat("full");
        assert!(begun.elapsed() < Duration::from_secs(30), "{hook}");
        assert_eq!(world.path("large").exists(), is_made, "{hook}");
        assert_eq!(
            world.last_result().contains("not that much"),
            !is_made,
            "{hook}: {}",
            world.last_result()
        );
        let _ = fs::remove_file(world.path("large"));
    }
    eventually("nothing is left", PATIENCE, || process::with_marker(&marker).is_empty().then_some(()));
}

#[test]
fn a_stop_hook_that_always_objects_cannot_prevent_the_end_of_an_answer() {
    let world = World::new(|_| Reply::Say("done".to_owned()));
    world.hooks(json!({"Stop": command("", "echo x >> stops; echo 'not yet' >&2; exit 2")}));
    let output = world.run(&["chat", "--new", "--json", "--approval", "full", "go"]);
    // The model is made to continue eight times.
    assert_eq!(world.model.asked().len(), 9, "{output:?}");
    assert_eq!(fs::read_to_string(world.path("stops")).unwrap().lines().count(), 9);
}

#[test]
fn a_machine_that_dies_during_a_hook_lets_no_call_through_and_leaves_nothing() {
    let world = World::new(calls("Shell", json!({"command": "touch mark"})));
    let token = world.alice.add_runner("desk");
    let mut desk = Machine::start_with_token(&world.server, "desk", &token, &[]);
    desk.wait_online(&world.alice, "desk");
    world.run(&["use", "desk"]);
    let client = Client::login(&world.server, "alice");
    let managed = world.server.home().join("hooks.json");
    let is_running = |exec: &Value| exec["status"] == "running";
    for is_managed in [false, true] {
        let marker = format!("{}", 80_000_000 + 2 * (std::process::id() % 1_000_000) + u32::from(is_managed));
        let hook = format!("touch begun; sleep {marker}");
        let hooks =
            json!([{"matcher": "Shell", "hooks": [{"type": "command", "command": hook, "timeout": 5}]}]);
        if is_managed {
            world.run(&["hook", "clear"]);
            let document = json!({"enable_command_hooks": true, "hooks": {"PreToolUse": hooks}});
            fs::write(&managed, document.to_string()).unwrap();
        } else {
            world.hooks(json!({"PreToolUse": hooks}));
        }
        let chat = new_chat(&client, "full");
        say(&client, &chat, "go");
        eventually("the hook runs", PATIENCE, || desk.workspace().join("begun").exists().then_some(()));
        // All processes on the machine end with its guardian.
        process::signal(desk.guardian_pid(), Signal::KILL);
        let turn = ended(&client, &chat, 1);
        let shown = messages(&client, &chat);
        let says = |words: &str| shown.iter().any(|message| message.to_string().contains(words));
        match is_managed {
            // The administrator's hooks fail closed: the model gets the denial, and answers.
            true => assert!(turn["agent"]["status"] == "done" && says("denied"), "{shown:?}"),
            false => assert!(turn["agent"]["status"] == "failed" && says("A hook failed"), "{shown:?}"),
        }
        desk.restart(&world.server, "desk", &token, &[]);
        desk.wait_online(&world.alice, "desk");
        eventually("nothing is left of it", PATIENCE, || {
            process::with_marker(&marker).is_empty().then_some(())
        });
        eventually("its end is on record", PATIENCE, || {
            let execs = client.call("GET", "/execs").json();
            (!execs.as_array().unwrap().iter().any(is_running)).then_some(())
        });
        for workspace in [desk.workspace(), world.machine.workspace()] {
            assert!(!workspace.join("mark").exists(), "{is_managed}: the command did not run");
        }
        fs::remove_file(desk.workspace().join("begun")).unwrap();
    }
    fs::remove_file(&managed).unwrap();
    world.chat("full");
    assert!(desk.workspace().join("mark").exists(), "the next answer works");
}
