//! Published MCP servers in Python from PyPI, on a remote runner; `scripts/test` installs them once.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;
use tests::{Asked, Reply, binaries};

use crate::world::World;

/// The directory of a package from PyPI and its dependencies, as `scripts/test` installed them.
pub(crate) fn site_packages(package: &str) -> PathBuf {
    let lib = binaries::directory().join(format!("../third-party/{package}/lib"));
    let version = fs::read_dir(&lib).ok().and_then(|mut found| found.next()).and_then(Result::ok);
    version
        .unwrap_or_else(|| panic!("{} is not there: run the tests through scripts/test", lib.display()))
        .path()
        .join("site-packages")
}

impl World {
    /// Copies a package and its dependencies to the workspace, since commands of a runner see nothing else of the home directory;
    /// adds its server.
    fn add_python(&self, package: &str, module: &str, arguments: &[&str]) {
        let copy = self.path(package);
        assert!(
            Command::new("cp").arg("-r").arg(site_packages(package)).arg(&copy).status().unwrap().success()
        );
        let path = format!("PYTHONPATH={}", copy.canonicalize().unwrap().display());
        let name = module.rsplit('_').next().unwrap();
        let add = ["mcp-server", "add", name, "--env", &path, "--", "python3", "-m", module];
        let added = self.run(&[&add[..], arguments].concat());
        assert!(added.stdout.contains(&format!("mcp__{name}__")), "{added:?}");
    }
}

#[test]
fn published_servers_from_pypi_work_on_a_remote_runner() {
    let script = [
        ("search_tools", json!({"query": "convert a time between timezones"})),
        (
            "mcp__time__convert_time",
            json!({"source_timezone": "Asia/Shanghai", "time": "16:30", "target_timezone": "UTC"}),
        ),
        ("mcp__time__get_current_time", json!({"timezone": "Nowhere/City"})),
        ("search_tools", json!({"query": "git status of the repository"})),
        ("mcp__git__git_status", json!({"repo_path": "repo"})),
        ("mcp__git__git_add", json!({"repo_path": "repo", "files": ["notes.txt"]})),
        ("mcp__git__git_commit", json!({"repo_path": "repo", "message": "Add the notes"})),
        ("mcp__git__git_log", json!({"repo_path": "repo", "max_count": 1})),
    ];
    let world = World::new(move |asked: &Asked| match script.get(asked.results().len()) {
        Some(call) => Reply::Call(vec![call.clone()]),
        None => Reply::Say("that is all".to_owned()),
    });
    let git = |arguments: &[&str]| {
        let git = Command::new("git").arg("-C").arg(world.path("repo")).args(arguments).output().unwrap();
        assert!(git.status.success(), "{git:?}");
        String::from_utf8(git.stdout).unwrap()
    };
    world.put("repo/notes.txt", "eins\n");
    git(&["init", "--quiet"]);
    git(&["config", "user.name", "Ada"]);
    git(&["config", "user.email", "ada@example.com"]);
    world.add_python("mcp-server-time", "mcp_server_time", &["--local-timezone", "UTC"]);
    world.add_python("mcp-server-git", "mcp_server_git", &[]);
    world.chat("full");
    let results = world.model.asked().pop().unwrap().results();
    for (at, part) in [
        (0, "mcp__time__convert_time"),
        (1, "08:30"),
        (2, "Nowhere/City"),
        (3, "mcp__git__git_status"),
        (4, "notes.txt"),
        (5, "staged"),
        (6, "committed"),
        (7, "Add the notes"),
    ] {
        assert!(results[at].contains(part), "{at}: {part}: {}", results[at]);
    }
    assert!(git(&["log", "--format=%an %s"]).contains("Ada Add the notes"));
}
