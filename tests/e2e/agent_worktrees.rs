//! Worktrees of agents and sub-agents, and sub-agents on another machine, with a scripted model.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use tests::http::Client;
use tests::random::count;
use tests::{Asked, Machine, Person, Reply, ScriptedModel, Server, eventually};

use crate::agent::{messages, new_chat, say};

/// The timeout for every step.
const PATIENCE: Duration = Duration::from_secs(120);

/// A server with a user, a machine whose workspace contains a repository, and a chat.
struct World {
    server: Server,
    alice: Person,
    machine: Machine,
    client: Client,
    chat: String,
}

impl World {
    fn new(model: &ScriptedModel, mode: &str) -> Self {
        Self::with(model, mode, repository)
    }

    fn with(model: &ScriptedModel, mode: &str, prepare: impl FnOnce(&Path)) -> Self {
        let server = Server::start_with(&[&["--docker", "off"], &model.options("openai")[..]].concat());
        let alice = server.person("alice");
        let workspace = tempfile::tempdir().unwrap().keep();
        prepare(&workspace);
        let machine = Machine::start_in(&server, &alice, "laptop", &workspace);
        let client = Client::login(&server, "alice");
        let chat = new_chat(&client, mode);
        Self { server, alice, machine, client, chat }
    }

    fn workspace(&self) -> &Path {
        self.machine.workspace()
    }

    /// Posts a message, and waits for the end of the answer; returns the tool results in the model's last request.
    fn ask(&self, model: &ScriptedModel, text: &str) -> Vec<String> {
        say(&self.client, &self.chat, text);
        let answer = self.answer();
        assert_eq!(answer["agent"]["status"], "done", "{answer}");
        model.asked().iter().rev().find(|asked| !is_child(asked)).unwrap().results()
    }

    /// The answer to the chat's last message.
    fn answer(&self) -> Value {
        eventually("the answer is over", PATIENCE, || {
            let messages = messages(&self.client, &self.chat);
            let at = messages.iter().rposition(|message| message["role"] == "user")?;
            let handle = messages.get(at + 1)?.clone();
            let status = handle["agent"]["status"].as_str()?;
            (!["queued", "running"].contains(&status)).then_some(handle)
        })
    }

    /// Checks that nothing of any worktree is left, and that the repository is intact.
    fn assert_nothing_is_left(&self) {
        let left = fs::read_dir(self.workspace().join(".sandbridge/worktrees")).unwrap();
        let names: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, [".gitignore"]);
        let own = fs::read_dir(self.workspace().join(".git/worktrees")).unwrap();
        assert_eq!(own.count(), 0);
        assert_eq!(git(self.workspace(), &["branch", "--list", "sandbridge/*"]), "");
        assert_eq!(git(self.workspace(), &["status", "--porcelain"]), "");
        git(self.workspace(), &["fsck"]);
    }
}

fn is_child(asked: &Asked) -> bool {
    asked.system().contains("You are a sub-agent")
}

/// Runs git as the user does, outside of the sandbox.
fn git(place: &Path, words: &[&str]) -> String {
    let output = Command::new("git").current_dir(place).args(words).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn repository(place: &Path) {
    git(place, &["init", "-q", "-b", "main"]);
    for (name, value) in [("user.name", "n"), ("user.email", "e@example.com")] {
        git(place, &["config", name, value]);
    }
    fs::write(place.join("file"), "text\n").unwrap();
    git(place, &["add", "file"]);
    git(place, &["commit", "-qm", "first"]);
}

fn agent(task: &str) -> (&'static str, Value) {
    ("SubAgent", json!({"task": task, "worktree": true}))
}

fn shell(command: &str) -> Reply {
    Reply::Call(vec![("Shell", json!({"command": command}))])
}

fn worktree(action: &str, name: &str) -> (&'static str, Value) {
    ("Worktree", json!({"action": action, "name": name}))
}

#[test]
fn eight_sub_agents_work_in_eight_worktrees_and_none_is_left() {
    const TASKS: [&str; 8] = ["1", "2", "3", "4", "5", "6", "7", "8"];
    let model = ScriptedModel::start(|asked| match (is_child(asked), asked.results().len()) {
        (true, 0) => shell(
            "pwd && git branch --show-current && echo x > new && git add new && git stash -q && git stash drop -q",
        ),
        (true, _) => Reply::Say(asked.results().pop().unwrap()),
        (false, 0) => Reply::Call(TASKS.map(agent).to_vec()),
        _ => Reply::Say("so be it".to_owned()),
    });
    let mut world = World::new(&model, "full");
    for round in 1..=count("SANDBRIDGE_WORKTREE_ROUNDS", 3) {
        world.chat = new_chat(&world.client, "full");
        let results = world.ask(&model, "eight");
        let mut places: Vec<&str> = results
            .iter()
            .flat_map(|result| result.lines())
            .filter(|line| line.contains("/agent-"))
            .collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), 16, "round {round}: eight directories and eight branches: {results:?}");
        let is_gone = |result: &String| result.starts_with("(Its worktree had nothing");
        assert!(results.iter().all(is_gone), "round {round}: {results:?}");
        world.assert_nothing_is_left();
    }
}

#[test]
fn a_worktree_with_changes_is_kept_and_named_and_removed_once_merged() {
    let commit = "echo more >> file && git commit -qam 'by the sub-agent' && git rev-parse HEAD";
    let model = ScriptedModel::start(move |asked| {
        match (is_child(asked), asked.last_of_user().as_str(), asked.results().len()) {
            (true, "commit", 0) => shell(commit),
            (true, "dirty", 0) => shell("echo x > untracked"),
            (true, "again", 1) => shell("rm untracked; git branch --show-current"),
            (true, ..) => Reply::Say(format!("did it: {}", asked.results().pop().unwrap())),
            (false, _, 0) => Reply::Call(vec![
                agent("commit"),
                ("SubAgent", json!({"task": "dirty", "worktree": true, "instance": "x"})),
            ]),
            (false, _, 2) => Reply::Call(vec![("Worktree", json!({"action": "list"}))]),
            (false, _, 3) => {
                let name = asked.results()[0].lines().find_map(|line| {
                    line.split("sandbridge/agent-").nth(1).map(|rest| rest[..16].to_owned())
                });
                shell(&format!("git merge -q sandbridge/agent-{}", name.unwrap()))
            }
            // The sub-agent continues in its worktree without being told to.
            (false, _, 4) => Reply::Call(vec![("SubAgent", json!({"task": "again", "instance": "x"}))]),
            (false, _, 5) => Reply::Call(vec![("Worktree", json!({"action": "list"}))]),
            _ => Reply::Say("so be it".to_owned()),
        }
    });
    let world = World::new(&model, "full");
    let results = world.ask(&model, "begin");
    assert!(results[0].contains("is kept: 1 commit that is on no other branch"), "{results:?}");
    assert!(results[1].contains("is kept: 1 change that is not committed"), "{results:?}");
    assert!(results[2].contains("1 commit that") && results[2].contains("1 change that"), "{results:?}");
    assert!(
        results[4].contains("did it: sandbridge/agent-") && results[4].contains("was removed"),
        "{results:?}"
    );
    assert!(results[5].contains("removed, since its sub-agent has ended"), "{results:?}");
    assert_eq!(git(world.workspace(), &["log", "-1", "--format=%s"]), "by the sub-agent");
    world.assert_nothing_is_left();
}

#[test]
fn the_tool_makes_lists_and_removes_worktrees_and_refuses_invalid_names() {
    let model = ScriptedModel::start(|asked| match asked.results().len() {
        0 => Reply::Call(
            [
                ("create", "topic"),
                ("create", "topic"),
                ("create", "../x"),
                ("create", "-f"),
                ("create", "a\0b"),
                ("create", &"n".repeat(300)),
                ("create", "taken"),
                ("remove", "nothing"),
                ("list", ""),
            ]
            .map(|(action, name)| worktree(action, name))
            .to_vec(),
        ),
        9 => shell("cd .sandbridge/worktrees/topic && echo x > new && git add new"),
        10 => Reply::Call(vec![worktree("remove", "topic")]),
        11 => shell("cd .sandbridge/worktrees/topic && git reset -q --hard && git worktree remove ."),
        12 => Reply::Call(vec![worktree("remove", "topic")]),
        _ => Reply::Say("so be it".to_owned()),
    });
    let world = World::new(&model, "full");
    git(world.workspace(), &["branch", "sandbridge/taken"]);
    let results = world.ask(&model, "begin");
    assert!(results[0].contains("on laptop, on the new branch sandbridge/topic"), "{results:?}");
    assert!(results[1].contains("branch sandbridge/topic could not be made"), "{results:?}");
    for result in &results[2..6] {
        assert!(result.contains("name must have 1 to 64 letters"), "{results:?}");
    }
    assert!(results[6].contains("sandbridge/taken could not be made"), "{results:?}");
    assert!(results[7].contains("there is no worktree nothing"), "{results:?}");
    assert!(results[8].contains("topic: ") && results[8].contains("nothing of its own"), "{results:?}");
    assert!(results[10].contains("is kept, and nothing was removed: 1 change"), "{results:?}");
    assert!(results[12].contains("removed the worktree topic"), "{results:?}");
    git(world.workspace(), &["branch", "-D", "sandbridge/taken"]);
    world.assert_nothing_is_left();
}

#[test]
fn where_there_is_no_main_repository_with_a_commit_there_is_no_worktree() {
    let prepare = |place: &Path| {
        for name in ["plain", "empty", "main", "main/nested"] {
            fs::create_dir_all(place.join(name)).unwrap();
        }
        git(&place.join("empty"), &["init", "-q"]);
        repository(&place.join("main"));
        repository(&place.join("main/nested"));
        git(&place.join("main"), &["checkout", "-q", "--detach"]);
        repository(&place.join("plain/library"));
        let add =
            ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../plain/library", "module"];
        git(&place.join("main"), &add);
    };
    let cd = |to: &str| ("Cd", json!({"path": to}));
    let model = ScriptedModel::start(move |asked| match asked.results().len() {
        0 => Reply::Call(vec![
            cd("plain"),
            worktree("create", "a"),
            agent("x"),
            cd("../empty"),
            worktree("create", "b"),
        ]),
        5 => Reply::Call(vec![
            cd("../main/nested"),
            worktree("create", "c"),
            cd("../module"),
            worktree("create", "d"),
        ]),
        9 => Reply::Call(vec![
            cd(".."),
            worktree("create", "e"),
            cd(".sandbridge/worktrees/e"),
            worktree("create", "f"),
        ]),
        _ => Reply::Say("so be it".to_owned()),
    });
    let world = World::with(&model, "full", |place| {
        fs::create_dir_all(place.join("plain/library")).unwrap();
        prepare(place);
    });
    let results = world.ask(&model, "begin");
    assert!(results[1].contains("in no git repository"), "{results:?}");
    assert!(results[2].contains("got no worktree, and was not started"), "{results:?}");
    assert!(results[4].contains("has no commit yet"), "{results:?}");
    assert!(results[6].contains("main/nested/.sandbridge/worktrees/c"), "the innermost one: {results:?}");
    assert!(results[8].contains("a submodule"), "{results:?}");
    assert!(
        results[10].contains("made the worktree") && results[12].contains("main/.sandbridge/worktrees/f"),
        "{results:?}"
    );
}

#[test]
fn a_cancelled_sub_agent_and_a_killed_server_leave_no_worktree() {
    let model = ScriptedModel::start(|asked| {
        match (is_child(asked), asked.last_of_user().as_str(), asked.results().len()) {
            (true, ..) => Reply::Hang("I am about to".to_owned()),
            (false, "list", 0) => Reply::Call(vec![("Worktree", json!({"action": "list"}))]),
            (false, "delegate", 0) => Reply::Call(vec![agent("work")]),
            _ => Reply::Say("so be it".to_owned()),
        }
    });
    let options = [&["--docker", "off"], &model.options("openai")[..]].concat();
    let mut world = World::new(&model, "full");
    let trees = |world: &World| {
        let Ok(entries) = fs::read_dir(world.workspace().join(".sandbridge/worktrees")) else { return 0 };
        entries.filter(|entry| entry.as_ref().unwrap().path().join("file").exists()).count()
    };
    say(&world.client, &world.chat, "delegate");
    eventually("it works", PATIENCE, || {
        (model.asked().iter().any(is_child) && trees(&world) == 1).then_some(())
    });
    assert_eq!(world.client.call("POST", &format!("/chats/{}/cancel", world.chat)).json()["cancelled"], 1);
    assert_eq!(world.answer()["agent"]["status"], "cancelled");
    world.assert_nothing_is_left();
    // The server is killed while the sub-agent works: the sub-agent resumes in its worktree, until the server gives it up as a
    // possible cause of the crashes.
    world.chat = new_chat(&world.client, "full");
    let of_children = || model.asked().iter().filter(|asked| is_child(asked)).count();
    let asked = of_children();
    say(&world.client, &world.chat, "delegate");
    eventually("it works again", PATIENCE, || (of_children() > asked && trees(&world) == 1).then_some(()));
    let mut times = 0;
    loop {
        let asked = of_children();
        world.server.kill();
        world.server.restart(&options);
        world.machine.wait_online(&world.alice, "laptop");
        world.client = Client::login(&world.server, "alice");
        let goes_on = eventually("it goes on, or its parent has ended", PATIENCE, || {
            let is_over = messages(&world.client, &world.chat)[1]["agent"]["status"] == "interrupted";
            (is_over || of_children() > asked).then_some(!is_over)
        });
        assert_eq!(trees(&world), 1);
        if !goes_on {
            break;
        }
        times += 1;
    }
    assert_eq!(times, 3);
    world.chat = new_chat(&world.client, "full");
    let results = world.ask(&model, "list");
    assert!(results[0].contains("removed, since its sub-agent has ended"), "{results:?}");
    world.assert_nothing_is_left();
}

#[test]
fn a_worktree_is_made_only_with_permission() {
    let model = ScriptedModel::start(|asked| match asked.results().len() {
        0 => Reply::Call(vec![
            agent("work"),
            worktree("create", "topic"),
            ("Worktree", json!({"action": "list"})),
        ]),
        _ => Reply::Say("so be it".to_owned()),
    });
    let world = World::new(&model, "plan");
    let results = world.ask(&model, "begin");
    assert!(results[2].contains("has no worktrees"), "{results:?}");
    assert!(!world.workspace().join(".sandbridge/worktrees/topic").exists());
    assert!(model.asked().iter().all(|asked| !is_child(asked)));
    assert_eq!(git(world.workspace(), &["branch", "--list", "sandbridge/*"]), "");
}

#[test]
fn a_sub_agent_works_on_another_machine_of_its_user_and_of_nobody_else() {
    let model = ScriptedModel::start(|asked| {
        match (is_child(asked), asked.last_of_user().as_str(), asked.results().len()) {
            (true, _, 0) => shell("pwd; touch by-the-sub-agent; cat secret"),
            (true, ..) => Reply::Say(asked.results().pop().unwrap()),
            (false, name, 0) => Reply::Call(vec![("SubAgent", json!({"task": "go", "on": name}))]),
            _ => Reply::Say("so be it".to_owned()),
        }
    });
    let world = World::new(&model, "full");
    let mut desk = Machine::start(&world.server, &world.alice, "desk");
    let bob = world.server.person("bob");
    let foreign = Machine::start(&world.server, &bob, "bobs-box");
    assert_eq!(world.alice.run(&["use", "laptop"]).code, 0);
    let mut world = world;
    let results = world.ask(&model, "desk");
    assert!(results[0].starts_with("(It worked on desk.)"), "{results:?}");
    assert!(desk.workspace().join("by-the-sub-agent").exists());
    assert!(!world.workspace().join("by-the-sub-agent").exists());
    let cards = messages(&world.client, &world.chat);
    let card = cards.iter().find(|message| message["agent"]["tool"] == "SubAgent").unwrap();
    assert_eq!(card["agent"]["place"], "desk", "{card}");
    for name in ["bobs-box", "../desk", "nobody", "__docker__"] {
        world.chat = new_chat(&world.client, "full");
        let results = world.ask(&model, name);
        assert!(results[0].contains("has no machine named"), "{name}: {results:?}");
    }
    assert!(!foreign.workspace().join("by-the-sub-agent").exists());
    desk.stop();
    eventually("it is offline", PATIENCE, || (!world.alice.is_online("desk")).then_some(()));
    world.chat = new_chat(&world.client, "full");
    let results = world.ask(&model, "desk");
    assert!(results[0].contains("offline") && results[0].contains("not started"), "{results:?}");
    assert!(!world.workspace().join("by-the-sub-agent").exists());
}
