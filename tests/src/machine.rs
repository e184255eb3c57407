//! A running `sandbridge-runner` with a separate workspace: a user's dev machine.

use std::io::Write;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::proxy::Proxy;
use crate::{Network, Person, Server, binaries, eventually, process};

/// How long a runner may take to be online.
const ONLINE_WITHIN: Duration = Duration::from_secs(60);

/// A runner process; it is stopped when this is dropped.
pub struct Machine {
    process: Child,
    workspace: PathBuf,
    state: TempDir,
    /// The workspace, unless it existed before.
    _directory: Option<TempDir>,
}

impl Machine {
    /// Registers a runner of `person` and starts it; returns when it is online.
    pub fn start(server: &Server, person: &Person, name: &str) -> Self {
        Self::start_with(server, person, name, &[])
    }

    /// Like [`Machine::start`], with more options.
    pub fn start_with(server: &Server, person: &Person, name: &str, options: &[&str]) -> Self {
        Self::start_at(server.url(), person, name, options)
    }

    /// Like [`Machine::start_with`], with a server that is reached at `url`.
    pub fn start_at(url: &str, person: &Person, name: &str, options: &[&str]) -> Self {
        let machine = Self::spawn_at(url, name, &person.add_runner(name), options);
        machine.wait_online(person, name);
        machine
    }

    /// Registers a runner and starts it in an existing workspace, as the operating-system user who owns that; returns when
    /// it is online.
    pub fn start_in(server: &Server, person: &Person, name: &str, workspace: &Path) -> Self {
        Self::start_in_with(server, person, name, workspace, &[])
    }

    /// Like [`Machine::start_in`], with more options.
    pub fn start_in_with(
        server: &Server,
        person: &Person,
        name: &str,
        workspace: &Path,
        options: &[&str],
    ) -> Self {
        let state = TempDir::with_prefix("sandbridge-state-").unwrap();
        let owner = std::fs::metadata(workspace).unwrap().uid();
        chown(state.path(), Some(owner), Some(owner)).unwrap();
        let token = person.add_runner(name);
        let plain = command(server.url(), name, Path::new("-"), workspace, state.path());
        let mut runner = binaries::as_owner_of(state.path(), &binaries::runner());
        runner.args(plain.get_args()).args(options).stdout(Stdio::null());
        let process = start(runner, &token);
        let machine = Self { process, workspace: workspace.to_owned(), state, _directory: None };
        machine.wait_online(person, name);
        machine
    }

    /// Starts a runner with an existing token; does not wait.
    pub fn start_with_token(server: &Server, name: &str, token: &str, options: &[&str]) -> Self {
        Self::spawn_at(server.url(), name, token, options)
    }

    /// Starts a runner with an existing token in a separate network, where it reaches the server through a proxy; does
    /// not wait.
    pub fn start_in_network(
        network: &Network,
        proxy: &Proxy,
        name: &str,
        token: &str,
        options: &[&str],
    ) -> Self {
        network.inside(|| Self::spawn_at(proxy.url(), name, token, options))
    }

    /// Registers a runner of `person` and starts it in an existing workspace; returns when it is online.
    pub fn start_with_workspace(
        workspace: TempDir,
        server: &Server,
        person: &Person,
        name: &str,
        options: &[&str],
    ) -> Self {
        let machine = Self::spawn_in(workspace, server.url(), name, &person.add_runner(name), options);
        machine.wait_online(person, name);
        machine
    }

    fn spawn_at(url: &str, name: &str, token: &str, options: &[&str]) -> Self {
        let workspace = TempDir::with_prefix(format!("sandbridge-ws-{name}-")).unwrap();
        Self::spawn_in(workspace, url, name, token, options)
    }

    fn spawn_in(workspace: TempDir, url: &str, name: &str, token: &str, options: &[&str]) -> Self {
        let state = TempDir::with_prefix("sandbridge-state-").unwrap();
        let process = spawn(url, name, token, workspace.path(), state.path(), options);
        Self { process, workspace: workspace.path().to_owned(), state, _directory: Some(workspace) }
    }

    /// Starts a runner whose token is in a file; does not wait.
    pub fn start_with_token_file(server: &Server, name: &str, file: &Path) -> Self {
        let workspace = TempDir::with_prefix(format!("sandbridge-ws-{name}-")).unwrap();
        let state = TempDir::with_prefix("sandbridge-state-").unwrap();
        let process = command(server.url(), name, file, workspace.path(), state.path())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        Self { process, workspace: workspace.path().to_owned(), state, _directory: Some(workspace) }
    }

    /// Restarts the runner in the same workspace, ending it first if it still runs.
    pub fn restart(&mut self, server: &Server, name: &str, token: &str, options: &[&str]) {
        process::terminate(&mut self.process);
        self.process = spawn(server.url(), name, token, &self.workspace, self.state.path(), options);
    }

    /// Restarts the runner in a new, empty workspace; does not wait. The earlier one is removed.
    pub fn restart_elsewhere(&mut self, server: &Server, name: &str, token: &str) {
        process::terminate(&mut self.process);
        let workspace = TempDir::with_prefix(format!("sandbridge-ws-{name}-")).unwrap();
        self.workspace = workspace.path().to_owned();
        self._directory = Some(workspace);
        self.process = spawn(server.url(), name, token, &self.workspace, self.state.path(), &[]);
    }

    /// Like [`Machine::restart`], with the token in a file.
    pub fn restart_with_token_file(&mut self, server: &Server, name: &str, file: &Path) {
        process::terminate(&mut self.process);
        let mut command = command(server.url(), name, file, &self.workspace, self.state.path());
        self.process = command.stdin(Stdio::null()).spawn().unwrap();
    }

    /// Waits until the server reports that the runner is online.
    pub fn wait_online(&self, person: &Person, name: &str) {
        eventually(&format!("runner {name} is online"), ONLINE_WITHIN, || {
            person.is_online(name).then_some(())
        });
    }

    /// The workspace on disk.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// The started process: the guardian.
    pub fn guardian_pid(&self) -> i32 {
        self.process.id() as i32
    }

    /// The runner itself, the guardian's child.
    pub fn runner_pid(&self) -> i32 {
        eventually("the guardian has a child", ONLINE_WITHIN, || {
            process::children(self.guardian_pid()).first().copied()
        })
    }

    /// Stops the runner in an orderly way.
    pub fn stop(&mut self) {
        process::terminate(&mut self.process);
    }

    /// Waits for the process to end by itself and returns its exit code.
    pub fn wait(&mut self) -> Option<i32> {
        self.process.wait().unwrap().code()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        process::terminate(&mut self.process);
    }
}

fn spawn(url: &str, name: &str, token: &str, workspace: &Path, state: &Path, options: &[&str]) -> Child {
    let mut runner = command(url, name, Path::new("-"), workspace, state);
    runner.args(options);
    start(runner, token)
}

/// Starts a runner that reads its token.
fn start(mut runner: Command, token: &str) -> Child {
    let mut process = runner.stdin(Stdio::piped()).spawn().unwrap();
    writeln!(process.stdin.take().unwrap(), "{token}").unwrap();
    process
}

fn command(url: &str, name: &str, token_file: &Path, workspace: &Path, state: &Path) -> Command {
    let mut command = Command::new(binaries::runner());
    command
        .args(["--server", url, "--name", name, "--token-file"])
        .arg(token_file)
        .arg("--workspace")
        .arg(workspace)
        .arg("--state-dir")
        .arg(state)
        .stdout(Stdio::null());
    command
}
