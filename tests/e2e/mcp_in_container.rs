//! Published MCP servers in a container whose image has Node.js, Python, git and the servers, as a team would build it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use tempfile::TempDir;
use tests::docker::{IMAGE, docker, ready};
use tests::{Asked, Person, Reply, ScriptedModel, Server, binaries, eventually, process};

use crate::docker::Cleanup;
use crate::mcp_python::site_packages;
use crate::world::put;

/// The image of the other container tests, with these programs and servers added.
const WITH_SERVERS: &str = "sandbridge-test:mcp";

const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a program that must succeed; returns its output.
fn told(program: &Path, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program:?} {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The path of a program of this machine, without links.
fn program(name: &str) -> PathBuf {
    let found = told(Path::new("sh"), &["-c", &format!("command -v {name}")]);
    Path::new(found.trim()).canonicalize().unwrap()
}

/// The files of the image, each at the same path as on this machine, except for the servers, which are in `/opt`.
struct Root(TempDir);

impl Root {
    fn path(&self) -> &str {
        self.0.path().to_str().unwrap()
    }

    /// Copies files and directories to the same paths.
    fn add<'a>(&self, paths: impl IntoIterator<Item = &'a Path>) {
        let paths = paths.into_iter().map(|path| path.to_str().unwrap());
        let arguments: Vec<&str> =
            ["-rL", "--parents"].into_iter().chain(paths).chain([self.path()]).collect();
        told(Path::new("cp"), &arguments);
    }

    /// Copies the contents of a directory, except for `left_out`, to a directory in `/opt`.
    fn add_to_opt(&self, from: &Path, name: &str, left_out: &[&str]) {
        let target = self.0.path().join("opt").join(name);
        fs::create_dir_all(&target).unwrap();
        let parts = parts(from, left_out);
        let parts = parts.iter().map(|part| part.to_str().unwrap());
        let arguments: Vec<&str> = ["-r"].into_iter().chain(parts).chain(target.to_str()).collect();
        told(Path::new("cp"), &arguments);
    }

    /// Copies the libraries that these programs and libraries load.
    fn add_libraries_of(&self, files: &BTreeSet<PathBuf>) {
        let mut libraries = BTreeSet::new();
        for file in files {
            let list = Command::new("ldd").arg(file).output().unwrap();
            let list = String::from_utf8_lossy(&list.stdout).into_owned();
            libraries.extend(list.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from));
        }
        self.add(libraries.iter().map(PathBuf::as_path).filter(|library| library.is_file()));
    }
}

/// The entries of a directory, except for `left_out`.
fn parts(directory: &Path, left_out: &[&str]) -> Vec<PathBuf> {
    let parts = fs::read_dir(directory).unwrap().map(|part| part.unwrap());
    parts
        .filter(|part| !left_out.contains(&part.file_name().to_str().unwrap()))
        .map(|part| part.path())
        .collect()
}

/// The native libraries below a directory.
fn native(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let found = told(Path::new("find"), &[directory.to_str().unwrap(), "-name", "*.so*", "-type", "f"]);
    found.lines().map(PathBuf::from).collect::<Vec<_>>().into_iter()
}

/// Builds the image once; returns the path of its Python.
fn image() -> PathBuf {
    static ONCE: Once = Once::new();
    ready();
    let python = binaries::directory().join("../third-party/mcp-server-time/bin/python3");
    let python =
        python.canonicalize().expect("mcp-server-time is not installed: run the tests through scripts/test");
    ONCE.call_once(|| build(&python));
    python
}

fn build(python: &Path) {
    let root = Root(TempDir::new().unwrap());
    let library = told(python, &["-c", "import os; print(os.path.dirname(os.__file__))"]);
    let library = Path::new(library.trim());
    let programs = [python.to_owned(), program("node"), program("git")];
    let mut loading = BTreeSet::from(programs.clone());
    loading.extend(native(&library.join("lib-dynload")));
    for name in ["mcp-server-time", "mcp-server-git"] {
        let site = site_packages(name);
        loading.extend(native(&site));
        root.add_to_opt(&site, name, &["pip", "setuptools", "pkg_resources"]);
    }
    root.add_libraries_of(&loading);
    root.add(programs.iter().map(PathBuf::as_path));
    // Leaves out the tests of Python's library, and packages that are installed on this machine.
    let parts = parts(library, &["site-packages", "dist-packages", "test", "__pycache__"]);
    root.add(parts.iter().map(PathBuf::as_path));
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("mcp/node_modules");
    // The package `node` contains another Node.js, which is not needed.
    root.add_to_opt(&installed, "node_modules", &["node", "@octokit"]);
    put(&root.0.path().join("Dockerfile"), &format!("FROM {IMAGE}\nCOPY . /\nRUN rm /Dockerfile\n"));
    docker(&["build", "-q", "-t", WITH_SERVERS, root.path()]).expect("the image is built");
}

/// The ids, on this machine, of the processes in a container whose command line contains this text.
fn running(container: &str, part: &str) -> Vec<i32> {
    let list = docker(&["top", container, "-eo", "pid,args"]).unwrap();
    let found = list.lines().filter(|line| line.contains(part));
    found.map(|line| line.split_whitespace().next().unwrap().parse().unwrap()).collect()
}

fn run(person: &Person, arguments: &[&str]) {
    let output = person.run(arguments);
    assert_eq!(output.code, 0, "{arguments:?}: {output:?}");
}

#[test]
fn published_servers_work_in_a_container_and_a_killed_one_is_restarted() {
    let python = image();
    let python = python.to_str().unwrap();
    let script = [
        ("search_tools", json!({"query": "add two numbers"})),
        ("mcp__everything__get-sum", json!({"a": 2, "b": 40})),
        (
            "mcp__memory__create_entities",
            json!({"entities": [{"name": "Ada", "entityType": "person", "observations": ["likes tea"]}]}),
        ),
        ("mcp__memory__search_nodes", json!({"query": "tea"})),
        ("mcp__files__read_text_file", json!({"path": "repo/notes.txt"})),
        (
            "mcp__time__convert_time",
            json!({"source_timezone": "Asia/Shanghai", "time": "16:30", "target_timezone": "UTC"}),
        ),
        ("mcp__git__git_log", json!({"repo_path": "repo", "max_count": 1})),
    ];
    let model = ScriptedModel::start(move |asked: &Asked| match script.get(asked.results().len()) {
        Some(call) => Reply::Call(vec![call.clone()]),
        None => Reply::Say("that is all".to_owned()),
    });
    let backend = ["--docker", "on", "--docker-image", WITH_SERVERS];
    let server = Server::start_with(&[&backend[..], &model.options("openai")[..]].concat());
    let alice = server.person("alice");
    run(&alice, &["use", "__docker__"]);
    let cleanup = Cleanup::of(&server);
    let repo = "mkdir repo && cd repo && echo eins > notes.txt && git init --quiet && git add . \
        && git -c user.name=Ada -c user.email=ada@example.com commit --quiet -m 'Add the notes'";
    let git = program("git");
    let path = format!("PATH={}:$PATH; {repo}", git.parent().unwrap().display());
    run(&alice, &["exec", "--", "sh", "-c", &path]);
    let workspace = alice.run(&["exec", "--", "pwd"]).stdout;
    let memories = format!("MEMORY_FILE_PATH={}/memories.jsonl", workspace.trim_end());
    let node = program("node");
    let node = node.to_str().unwrap();
    for (name, argument) in [("everything", "stdio"), ("memory", "x"), ("files", ".")] {
        let package = if name == "files" { "filesystem" } else { name };
        let file = format!("/opt/node_modules/@modelcontextprotocol/server-{package}/dist/index.js");
        run(&alice, &["mcp-server", "add", name, "--env", &memories, "--", node, &file, argument]);
    }
    for name in ["time", "git"] {
        let sites = format!("PYTHONPATH=/opt/mcp-server-{name}");
        let git = format!("GIT_PYTHON_GIT_EXECUTABLE={}", git.display());
        let module = format!("mcp_server_{name}");
        let add = ["mcp-server", "add", name, "--env", &sites, "--env", &git, "--", python, "-m", &module];
        run(&alice, &add);
    }
    let works = |created: &str| {
        run(&alice, &["chat", "--new", "--json", "--approval", "full", "go"]);
        let results = model.asked().pop().unwrap().results();
        for (at, part) in [
            (0, "mcp__everything__get-sum"),
            (1, "42"),
            (2, created),
            (3, "likes tea"),
            (4, "eins"),
            (5, "08:30"),
            (6, "Add the notes"),
        ] {
            assert!(results[at].contains(part), "{at}: {part}: {}", results[at]);
        }
    };
    works("Ada");
    let container = cleanup.containers().pop().unwrap();
    let marks =
        ["server-everything", "server-memory", "server-filesystem", "mcp_server_time", "mcp_server_git"];
    for mark in marks {
        let processes = running(&container, mark);
        assert_eq!(processes.len(), 1, "{mark}");
        process::signal(processes[0], Signal::KILL);
        eventually("it is killed", PATIENCE, || running(&container, mark).is_empty().then_some(()));
    }
    // The memories that were stored before the kill are still there.
    works("[]");
    for mark in marks {
        assert_eq!(running(&container, mark).len(), 1, "{mark}");
    }
    drop(server);
    assert_eq!(docker(&["inspect", "-f", "{{.State.Running}}", &container]).unwrap().trim(), "false");
}
