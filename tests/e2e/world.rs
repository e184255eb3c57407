//! The starting point of tests of an agent's extensions: a model that follows a script, a server, a person and that person's
//! machine.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

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
        let model = ScriptedModel::start(script);
        let server = start(&[&["--docker", "off"], options, &model.options("openai")[..]].concat());
        let alice = server.person("alice");
        let machine = Machine::start(&server, &alice, "laptop");
        Self { model, server, alice, machine }
    }

    /// Kills the server, and restarts it with its model and these options.
    pub(crate) fn kill_and_restart(&mut self, options: &[&str]) {
        self.server.kill();
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
