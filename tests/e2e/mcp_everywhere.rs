//! The published MCP servers (everything, memory, filesystem, git and time) on a remote runner, in a container and over HTTP; from a
//! program, the terminal and the page; and after each part was killed.

mod image;
mod services;

use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use tests::docker::docker;
use tests::tmux::Tmux;
use tests::{Asked, Machine, Person, Reply, ScriptedModel, Server, eventually, process};

use crate::agent::lines;
use crate::browser;
use crate::docker::Cleanup;
use crate::mcp_servers::results_since;
use services::Services;

const PATIENCE: Duration = Duration::from_secs(60);

/// Makes a repository with a file that nobody has committed, which says `$notes`.
const COMMITTABLE: &str = "mkdir repo && cd repo && echo \"$notes\" > notes.txt && git init --quiet \
    && git config user.name Ada && git config user.email ada@example.com";

/// A part of the command line of each server that is a program, in alphabetical order.
const PROGRAMS: [&str; 5] =
    ["mcp_server_git", "mcp_server_time", "server-everything", "server-filesystem", "server-memory"];

/// The tools of one turn, of servers whose names begin with this.
macro_rules! tools {
    ($prefix:literal) => {
        [
            concat!("mcp__", $prefix, "everything__get-sum"),
            concat!("mcp__", $prefix, "memory__create_entities"),
            concat!("mcp__", $prefix, "memory__search_nodes"),
            concat!("mcp__", $prefix, "files__read_text_file"),
            concat!("mcp__", $prefix, "time__convert_time"),
            concat!("mcp__", $prefix, "git__git_log"),
        ]
    };
}

/// The tools that the first turn with a repository calls before those of `tools!`.
macro_rules! first_tools {
    ($prefix:literal) => {
        [
            concat!("mcp__", $prefix, "time__get_current_time"),
            concat!("mcp__", $prefix, "git__git_status"),
            concat!("mcp__", $prefix, "git__git_add"),
            concat!("mcp__", $prefix, "git__git_commit"),
        ]
    };
}

/// The calls of a turn. Names and paths are the same everywhere.
fn calls(are_services: bool, is_first: bool) -> Vec<(&'static str, Value)> {
    let (first, tools) = match are_services {
        true => (first_tools!("net_"), tools!("net_")),
        false => (first_tools!(""), tools!("")),
    };
    let ada = json!({"name": "Ada", "entityType": "person", "observations": ["likes tea"]});
    let before = [
        json!({"timezone": "Nowhere/City"}),
        json!({"repo_path": "repo"}),
        json!({"repo_path": "repo", "files": ["notes.txt"]}),
        json!({"repo_path": "repo", "message": "Add the notes"}),
    ];
    let always = [
        json!({"a": 2, "b": 40}),
        json!({"entities": [ada]}),
        json!({"query": "tea"}),
        json!({"path": "repo/notes.txt"}),
        json!({"source_timezone": "Asia/Shanghai", "time": "16:30", "target_timezone": "UTC"}),
        json!({"repo_path": "repo", "max_count": 1}),
    ];
    let before = first.into_iter().zip(before).filter(|_| is_first);
    before.chain(tools.into_iter().zip(always)).collect()
}

/// Parts of the results of these calls.
const FIRST_PARTS: [&str; 4] = ["Nowhere/City", "notes.txt", "staged", "committed"];
const PARTS: [&str; 6] = ["42", "", "likes tea", "notes of the ", "08:30", "Add the notes"];

/// The word of a turn that is the first one with a repository.
const FIRST: &str = "first";

/// `programs WORD` and `services WORD` call the servers; the answer says with WORD where they are.
fn script(asked: &Asked) -> Reply {
    let said = asked.last_of_user();
    let Some((kind @ ("programs" | "services"), word)) = said.split_once(' ') else {
        return Reply::Say("hello".to_owned());
    };
    let results = asked.results();
    let results = &results[results.len() - results_since(asked)..];
    let is_first = word == FIRST;
    if results.is_empty() {
        return Reply::Call(calls(kind == "services", is_first));
    }
    let parts = FIRST_PARTS.iter().filter(|_| is_first).chain(&PARTS);
    let missing: Vec<&String> = results
        .iter()
        .zip(parts)
        .filter(|(result, part)| !result.contains(**part))
        .map(|(result, _)| result)
        .collect();
    if !missing.is_empty() {
        return Reply::Say(format!("{word}: not all answered: {missing:?}"));
    }
    let notes = results[results.len() - 3].rsplit("notes of the ").next().unwrap_or_default();
    Reply::Say(format!(
        "{word}: all five answered from the {}",
        notes.lines().next().unwrap_or_default().trim()
    ))
}

/// One server with one runner, a container and the services over HTTP; alice talks to all of them in one chat.
struct Everywhere {
    model: ScriptedModel,
    server: Server,
    alice: Person,
    laptop: Machine,
    services: Services,
    cleanup: Cleanup,
}

impl Everywhere {
    fn new() -> Self {
        image::build();
        let model = ScriptedModel::start(script);
        let server = Server::start_with(&options(&model));
        let cleanup = Cleanup::of(&server);
        let alice = server.person("alice");
        let laptop = Machine::start(&server, &alice, "laptop");
        image::copy_servers(&laptop.workspace().join("servers"));
        let everywhere = Self { model, server, alice, laptop, services: Services::start(), cleanup };
        everywhere.add_servers();
        everywhere
    }

    /// Adds the same programs for each place, and the services.
    fn add_servers(&self) {
        let (node, python, git) = (image::program("node"), image::python(), image::program("git"));
        for (name, package, argument) in
            [("everything", "everything", "stdio"), ("memory", "memory", "x"), ("files", "filesystem", ".")]
        {
            let file = format!("servers/node_modules/@modelcontextprotocol/server-{package}/dist/index.js");
            let memories = "MEMORY_FILE_PATH=${PWD}/memories.jsonl";
            let node = node.to_str().unwrap();
            self.run(&[
                "mcp-server",
                "add",
                name,
                "--no-check",
                "--env",
                memories,
                "--",
                node,
                &file,
                argument,
            ]);
        }
        let git = format!("GIT_PYTHON_GIT_EXECUTABLE={}", git.display());
        for name in ["time", "git"] {
            let (sites, module) =
                (format!("PYTHONPATH=servers/mcp-server-{name}"), format!("mcp_server_{name}"));
            let variables = ["--env", &sites, "--env", &git, "--", python.to_str().unwrap(), "-m", &module];
            self.run(&[&["mcp-server", "add", name, "--no-check"], &variables[..]].concat());
        }
        for (name, url) in self.services.addresses() {
            self.run(&["mcp-server", "add", name, "--no-check", "--url", &url]);
        }
    }

    fn run(&self, arguments: &[&str]) -> String {
        let output = self.alice.run(arguments);
        assert_eq!(output.code, 0, "{arguments:?}: {output:?}");
        output.stdout
    }

    /// Says hello in the chat, which asks the servers for their tools; waits until all of this place are known.
    fn says_hello(&self, options: &[&str]) {
        self.run(&[&["chat", "--json"], options, &["hello"]].concat());
        eventually("all have listed their tools", PATIENCE, || {
            let list = self.alice.json(&["mcp-server", "list", "--json"]);
            let servers = list["servers"].as_array().unwrap();
            servers.iter().all(|server| server["listed_at"].is_number()).then_some(())
        });
    }

    /// Says this in the chat from a program; returns the chat's id.
    fn says(&self, kind: &str, word: &str, place: &str) -> String {
        let output = self.alice.run(&["chat", "--json", &format!("{kind} {word}")]);
        assert_eq!(output.code, 0, "{output:?}");
        let lines = lines(&output);
        let texts =
            lines.iter().filter(|line| line["type"] == "text").filter_map(|line| line["text"].as_str());
        assert_eq!(texts.collect::<String>(), answer(word, place));
        lines.last().unwrap()["chat_id"].as_str().unwrap_or_else(|| panic!("{lines:?}")).to_owned()
    }

    /// The servers' processes on the runner: those that work in its workspace. Those in the container are visible here too.
    fn on_laptop(&self) -> Vec<(&'static str, i32)> {
        let workspace = self.laptop.workspace().canonicalize().unwrap();
        let is_there =
            |pid: &i32| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == workspace);
        let of = |mark: &'static str| {
            process::with_marker(mark).into_iter().filter(is_there).map(move |pid| (mark, pid))
        };
        PROGRAMS.into_iter().flat_map(of).collect()
    }

    /// The same in the container, by their ids on this machine.
    fn in_container(&self) -> Vec<(&'static str, i32)> {
        let list = docker(&["top", &self.container(), "-eo", "pid,args"]).unwrap_or_default();
        let of = |mark: &'static str| {
            let found = list.lines().filter(move |line| line.contains(mark));
            found.map(move |line| (mark, line.split_whitespace().next().unwrap().parse().unwrap()))
        };
        PROGRAMS.into_iter().flat_map(of).collect()
    }

    fn container(&self) -> String {
        self.cleanup.containers().pop().unwrap()
    }

    /// Checks that each server runs once in each of the two places; returns all their ids.
    fn each_runs_once(&self) -> Vec<i32> {
        let both = [self.on_laptop(), self.in_container()];
        for place in &both {
            assert_eq!(place.iter().map(|(mark, _)| *mark).collect::<Vec<_>>(), PROGRAMS, "{both:?}");
        }
        both.into_iter().flatten().map(|(_, pid)| pid).collect()
    }

    /// The next calls work everywhere, by other processes than these, which are gone.
    fn works_again(&self, word: &str, before: &[i32]) -> Vec<i32> {
        for (place, at) in [("laptop", "laptop"), ("__docker__", "container")] {
            self.run(&["use", place]);
            self.says("programs", word, at);
        }
        self.says("services", word, "service");
        all_gone(before);
        self.each_runs_once()
    }
}

fn options(model: &ScriptedModel) -> Vec<&str> {
    let own = ["--docker", "on", "--docker-image", image::WITH_SERVERS, "--fetch-allow", "127.0.0.1"];
    [&own[..], &model.options("openai")].concat()
}

fn answer(word: &str, place: &str) -> String {
    format!("{word}: all five answered from the {place}")
}

fn all_gone(pids: &[i32]) {
    eventually("nothing is left of them", PATIENCE, || {
        pids.iter().all(|pid| !process::is_alive(*pid)).then_some(())
    });
}

#[test]
fn the_published_servers_work_in_a_container_on_a_runner_and_over_http_and_outlive_every_kill() {
    let mut world = Everywhere::new();
    // From a program.
    world.run(&["use", "laptop"]);
    world.run(&["exec", "--", "sh", "-c", &format!("notes='notes of the laptop'; {COMMITTABLE}")]);
    world.says_hello(&["--new", "--approval", "full"]);
    world.says("programs", FIRST, "laptop");
    world.run(&["use", "__docker__"]);
    let git = image::program("git");
    let (git, notes) = (git.parent().unwrap().display(), "notes='notes of the container'");
    let prepare = format!("ln -s /{} servers; PATH={git}:$PATH; {notes}; {COMMITTABLE}", image::IN_IMAGE);
    world.run(&["exec", "--", "sh", "-c", &prepare]);
    world.says_hello(&[]);
    world.says("programs", FIRST, "container");
    let chat = world.says("services", FIRST, "service");
    let before = world.each_runs_once();

    // From the terminal, and from the page.
    let tmux = Tmux::start(100, 30);
    tmux.runs("", &world.alice, &["chat"]);
    tmux.sees(&answer(FIRST, "service"));
    let types = |line: &str, wanted: &str| {
        tmux.types(line);
        tmux.press(&["Enter"]);
        tmux.sees(wanted);
    };
    types("services seen", &answer("seen", "service"));
    types("programs there", &answer("there", "container"));
    world.run(&["use", "laptop"]);
    tmux.sees("● laptop online");
    types("programs here", &answer("here", "laptop"));
    tmux.leaves_chat();
    browser::run_with("mcp_everywhere", &[("SERVER_URL", world.server.url()), ("CHAT_ID", &chat)]);
    assert_eq!(world.each_runs_once(), before, "all three talk to the same processes");

    // The servers are killed.
    before.iter().for_each(|pid| process::signal(*pid, Signal::KILL));
    world.services.kill_and_restart();
    all_gone(&before);
    let before = world.works_again("served", &before);

    // The runners are killed.
    let init = docker(&["inspect", "-f", "{{.State.Pid}}", &world.container()]).unwrap();
    process::signal(init.trim().parse().unwrap(), Signal::KILL);
    process::signal(world.laptop.runner_pid(), Signal::KILL);
    all_gone(&before);
    for place in ["laptop", "__docker__"] {
        eventually("it is back", PATIENCE, || {
            (world.alice.run(&["exec", "--on", place, "--", "true"]).code == 0).then_some(())
        });
    }
    let before = world.works_again("ran", &before);

    // Sandbridge is killed.
    world.server.kill();
    world.server.restart(&options(&world.model));
    world.laptop.wait_online(&world.alice, "laptop");
    let before = world.works_again("bridged", &before);
    let container = world.container();
    let Everywhere { server, laptop, services, cleanup, .. } = world;
    drop(server);
    all_gone(&before);
    assert_eq!(docker(&["inspect", "-f", "{{.State.Running}}", &container]).unwrap().trim(), "false");
    drop((laptop, services, cleanup));
}
