//! The starting point of tests of an agent's extensions: a model that follows a script, a server, a person and that person's
//! machine.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tests::{Asked, Machine, Person, Reply, ScriptedModel, Server};

use crate::agent::lines;

pub(crate) struct World {
    pub(crate) model: ScriptedModel,
    pub(crate) server: Server,
    pub(crate) alice: Person,
    pub(crate) machine: Machine,
}

impl World {
    pub(crate) fn new(script: impl FnMut(&Asked) -> Reply + Send + 'static) -> Self {
        Self::with(script, &[])
    }

    /// Starts a world whose server has these options.
    pub(crate) fn with(script: impl FnMut(&Asked) -> Reply + Send + 'static, options: &[&str]) -> Self {
        Self::on(script, options, Server::start_with)
    }

    /// Starts a world whose server is started by `start`.
    pub(crate) fn on(
        script: impl FnMut(&Asked) -> Reply + Send + 'static,
        options: &[&str],
        start: fn(&[&str]) -> Server,
    ) -> Self {
        Self::of(ScriptedModel::start(script), options, start)
    }

    /// Starts a world with this model.
    pub(crate) fn of(model: ScriptedModel, options: &[&str], start: fn(&[&str]) -> Server) -> Self {
        let server = start(&[&["--docker", "off"], options, &model.options("openai")[..]].concat());
        let alice = server.person("alice");
        let machine = Machine::start(&server, &alice, "laptop");
        Self { model, server, alice, machine }
    }

    /// Kills the server, and restarts it with its model and these options.
    pub(crate) fn kill_and_restart(&mut self, options: &[&str]) {
        self.server.kill();
        self.restart(options);
    }

    /// Restarts the server with its model and these options.
    pub(crate) fn restart(&mut self, options: &[&str]) {
        self.server.restart(&[&["--docker", "off"], options, &self.model.options("openai")[..]].concat());
    }

    /// The path of a file in the workspace.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.machine.workspace().join(name)
    }

    /// Writes an executable file into the workspace.
    pub(crate) fn put(&self, name: &str, content: &str) {
        put(&self.path(name), content);
    }

    /// Runs the CLI, which must succeed.
    pub(crate) fn run(&self, arguments: &[&str]) -> tests::Output {
        let output = self.alice.run(arguments);
        assert_eq!(output.code, 0, "{arguments:?}: {output:?}");
        output
    }

    /// Posts `go` in a new chat in this approval mode; returns the lines of the chat.
    pub(crate) fn chat(&self, mode: &str) -> Vec<Value> {
        lines(&self.run(&["chat", "--new", "--json", "--approval", mode, "go"]))
    }

    /// The last tool result that the model got.
    pub(crate) fn last_result(&self) -> String {
        self.model.asked().pop().and_then(|asked| asked.results().pop()).unwrap_or_default()
    }
}

/// Writes an executable file.
pub(crate) fn put(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Copies the contents of a directory, except for these entries. Their times stay: Python compiles files that are younger than what it
/// compiled.
pub(crate) fn copy(from: &Path, to: &Path, left_out: &[&str]) {
    fs::create_dir_all(to).unwrap();
    let parts = parts(from, left_out);
    assert!(Command::new("cp").arg("-a").args(parts).arg(to).status().unwrap().success());
}

/// The entries of a directory, except for these.
fn parts(directory: &Path, left_out: &[&str]) -> Vec<PathBuf> {
    let parts = fs::read_dir(directory).unwrap().map(|part| part.unwrap());
    let is_left_out = |part: &fs::DirEntry| left_out.contains(&part.file_name().to_str().unwrap());
    parts.filter(|part| !is_left_out(part)).map(|part| part.path()).collect()
}

/// The packages of npm, as `scripts/test` installed them.
pub(crate) fn node_modules() -> PathBuf {
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("mcp/node_modules");
    assert!(installed.exists(), "{} is not there: run the tests through scripts/test", installed.display());
    installed
}

/// What no test needs of these packages in a workspace: `node`, another Node.js, is two thirds of them.
pub(crate) const NO_PACKAGES: [&str; 2] = ["node", "@octokit"];

/// Copies these packages.
pub(crate) fn copy_node_modules(to: &Path) {
    copy(&node_modules(), to, &NO_PACKAGES);
}
