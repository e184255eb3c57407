//! The full-screen chat, as a person at a terminal uses it.

use std::time::Duration;

use serde_json::json;
use tests::process;
use tests::tmux::Tmux;
use tests::{Asked, Machine, Reply, ScriptedModel, Server, eventually};

use crate::world::World;

const PATIENCE: Duration = Duration::from_secs(60);

/// A model that follows its instructions, and reports what it did.
fn obeys(asked: &Asked) -> Reply {
    let said = asked.last_of_user();
    match said.strip_prefix("run ") {
        Some(command) if asked.results().iter().all(|result| !result.contains("made by hand")) => {
            Reply::Call(vec![("Shell", json!({"command": command}))])
        }
        Some(_) => Reply::Say("It is **done**.".to_owned()),
        None => Reply::Say(format!("you said {said}")),
    }
}

#[test]
fn a_person_chats_approves_a_command_switches_the_runner_and_quits() {
    let model = ScriptedModel::start(obeys);
    let server = Server::start_with(&[&["--docker", "off"], &model.options("openai")[..]].concat());
    let alice = server.person("alice");
    let laptop = Machine::start(&server, &alice, "laptop");
    let work = Machine::start(&server, &alice, "work");
    assert_eq!(alice.run(&["use", "laptop"]).code, 0);
    let tmux = Tmux::start(100, 30);
    tmux.runs("", &alice, &["chat", "--new", "--approval", "ask"]);
    tmux.sees("● laptop online · workspace");

    // Output appears while the command runs.
    tmux.types(
        "!echo first; until [ -e go ]; do sleep 0.05; done; printf '\\033[31msecond\\033[0m\\n'; exit 3",
    );
    tmux.press(&["Enter"]);
    let screen = tmux.sees("│ first");
    assert!(!screen.contains("│ second") && screen.contains("running"), "{screen}");
    std::fs::write(laptop.workspace().join("go"), "").unwrap();
    let screen = tmux.sees("exit 3 ·");
    assert!(screen.contains("│ second") && screen.contains("on laptop"), "{screen}");

    // An approval names the machine, and a key answers it after Tab selected it.
    tmux.types("run echo made by hand > made; cat made");
    tmux.press(&["Enter"]);
    let screen = tmux.sees("Shell wants to run on  laptop");
    assert!(screen.contains("Tab: answer it"), "{screen}");
    tmux.press(&["Tab"]);
    tmux.sees("a allow once");
    assert!(!laptop.workspace().join("made").exists());
    eventually("it is allowed", PATIENCE, || {
        tmux.press(&["a"]);
        (!tmux.screen().contains("wants to run")).then_some(())
    });
    tmux.sees("It is done.");
    assert!(laptop.workspace().join("made").exists());

    // The palette switches the runner; the next command runs there.
    tmux.press(&["C-u", "C-k"]);
    tmux.sees("Enter chooses");
    tmux.types("switch runner");
    tmux.press(&["Enter"]);
    tmux.sees("Where commands run");
    tmux.types("work");
    tmux.press(&["Enter"]);
    tmux.sees("● work online");
    tmux.types("!touch here");
    tmux.press(&["Enter"]);
    tmux.sees("on work");
    eventually("it ran there", PATIENCE, || work.workspace().join("here").exists().then_some(()));

    // Quitting asks first, and restores the terminal.
    tmux.resizes(60, 20);
    tmux.leaves_chat();
    tmux.sees("ended 0");
    sane(&tmux);
}

/// Checks that the terminal is in the mode that a shell needs.
fn sane(tmux: &Tmux) {
    for fact in ["alternate_on", "mouse_any_flag"] {
        assert_eq!(tmux.fact(fact), "0", "{fact}");
    }
    assert_eq!(tmux.fact("cursor_flag"), "1");
    // Removes what an extra key press may have left on the line.
    tmux.press(&["C-u"]);
    tmux.types("clear; stty -a; echo looked");
    tmux.press(&["Enter"]);
    let screen = tmux.becomes("the output of stty", |screen| screen.contains("\nlooked"));
    for mode in [" icanon", " echo", " isig", " opost"] {
        assert!(screen.replace('\n', " ").contains(mode), "{mode} in {screen}");
    }
}

#[test]
fn chats_are_created_found_and_renamed_and_a_command_is_cancelled() {
    let server = Server::start();
    let alice = server.person("alice");
    let _laptop = Machine::start(&server, &alice, "laptop");
    let tmux = Tmux::start(100, 30);
    tmux.runs("", &alice, &["chat", "--new"]);
    tmux.sees("● laptop online");
    let marker = format!("{}", 66_000_000 + std::process::id());
    tmux.pastes(&format!("!echo begun;\nsleep {marker}"));
    tmux.sees(&format!("sleep {marker}"));
    tmux.press(&["Enter"]);
    tmux.sees("│ begun");
    tmux.press(&["Escape"]);
    tmux.sees("cancelled");
    eventually("nothing is left of it", PATIENCE, || {
        process::with_marker(&format!("sleep {marker}")).is_empty().then_some(())
    });

    tmux.press(&["C-n"]);
    tmux.sees("There are no messages yet");
    tmux.types("!echo in the second one");
    tmux.press(&["Enter"]);
    tmux.sees("│ in the second one");
    tmux.press(&["C-o"]);
    tmux.sees("Ctrl+E rename");
    tmux.types("begun");
    tmux.press(&["C-e"]);
    tmux.sees("Enter renames");
    tmux.press(&["C-u"]);
    tmux.types("漢字 first");
    tmux.press(&["Enter"]);
    eventually("it is renamed", PATIENCE, || {
        let chats = alice.json(&["chat", "list", "--json"]);
        chats.as_array().unwrap().iter().any(|chat| chat["title"] == "漢字 first").then_some(())
    });
    tmux.press(&["C-o"]);
    tmux.sees("Ctrl+E rename");
    tmux.types("first");
    tmux.press(&["Enter"]);
    let screen = tmux.sees("│ begun");
    assert!(screen.contains("漢字 first") && !screen.contains("in the second one"), "{screen}");
}

#[test]
fn a_draft_survives_a_server_restart_and_sigterm_restores_the_terminal() {
    let mut server = Server::start();
    let alice = server.person("alice");
    let _laptop = Machine::start(&server, &alice, "laptop");
    let tmux = Tmux::start(100, 30);
    tmux.runs("NO_COLOR=1", &alice, &["chat", "--new"]);
    tmux.sees("● laptop online");
    tmux.types("!echo before");
    tmux.press(&["Enter"]);
    tmux.sees("│ before");
    tmux.types("!echo not sent yet");
    server.kill();
    tmux.sees("Not connected");
    tmux.press(&["Enter"]);
    tmux.sees("what you wrote stays here");
    server.restart(&["--docker", "off"]);
    tmux.loses("Not connected");
    tmux.sees("● laptop online");
    let screen = tmux.screen();
    assert!(screen.contains("│ before") && screen.contains("!echo not sent yet"), "{screen}");
    tmux.press(&["Enter"]);
    tmux.sees("│ not sent yet");

    let home = alice.home();
    let chats = process::with_marker("chat --new").into_iter().filter(|pid| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(home.to_str().unwrap())
    });
    chats.for_each(|pid| process::signal(pid, rustix::process::Signal::TERM));
    tmux.sees("ended 143");
    sane(&tmux);

    // Where a full-screen chat is impossible or switched off, the chat reads lines.
    for (variables, arguments) in [("TERM=dumb", &["chat"][..]), ("", &["chat", "--lines"])] {
        tmux.runs(variables, &alice, arguments);
        tmux.sees("/help lists the rest, Ctrl-D quits.");
        tmux.types("!echo by lines");
        tmux.press(&["Enter"]);
        tmux.sees("exit 0 ·");
        tmux.press(&["C-d"]);
        tmux.sees("ended 0");
    }
}

#[test]
fn a_tool_of_a_published_mcp_server_is_approved_and_its_result_shown() {
    let script = |asked: &Asked| match asked.results().last() {
        None => Reply::Call(vec![("mcp__everything__get-sum", json!({"a": 2, "b": 40}))]),
        Some(result) => Reply::Say(format!("It told me: {result}")),
    };
    let world = World::new(script);
    world.npm();
    let everything = "mcp/node_modules/@modelcontextprotocol/server-everything/dist/index.js";
    world.run(&["mcp-server", "add", "everything", "--", "node", everything, "stdio"]);
    let tmux = Tmux::start(100, 30);
    tmux.runs("", &world.alice, &["chat", "--new", "--approval", "ask"]);
    tmux.sees("● laptop online");
    tmux.types("add 2 and 40");
    tmux.press(&["Enter"]);
    tmux.sees("get-sum wants to run");
    assert_eq!(world.model.asked().len(), 1, "nothing ran before it was allowed");
    tmux.press(&["Tab"]);
    tmux.sees("a allow once");
    eventually("it is allowed", PATIENCE, || {
        tmux.press(&["a"]);
        (!tmux.screen().contains("wants to run")).then_some(())
    });
    tmux.sees("It told me: ");
    let result = world.last_result();
    assert!(result.contains("42"), "{result}");
    tmux.sees("42");
}
