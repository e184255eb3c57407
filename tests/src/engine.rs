//! A Docker engine for one test, which may be killed: the machine's is shared.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::docker::IMAGE;
use crate::{eventually, process};

/// How long an engine may take to answer after its start; it first ends the processes that a killed predecessor left.
const START_TIMEOUT: Duration = Duration::from_secs(40);

/// A running `dockerd` with separate files, socket and containerd, and no network.
pub struct OwnEngine {
    process: Child,
    directory: TempDir,
    live_restore: bool,
}

impl OwnEngine {
    /// Starts an engine with the image that the container tests use; with `live_restore` its containers outlive it.
    pub fn start(live_restore: bool) -> Self {
        let directory = TempDir::with_prefix("sandbridge-engine-").unwrap();
        let process = spawn(directory.path(), live_restore);
        let engine = Self { process, directory, live_restore };
        engine.wait();
        let mut image = Command::new("docker").args(["save", IMAGE]).stdout(Stdio::piped()).spawn().unwrap();
        let mut load = engine.docker_command(&["load", "-q"]);
        let loaded = load.stdin(image.stdout.take().unwrap()).stdout(Stdio::null()).status().unwrap();
        assert!(image.wait().unwrap().success() && loaded.success());
        engine
    }

    /// The path of the engine's socket.
    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("docker.sock")
    }

    /// Ends the engine without a shutdown.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Starts the engine again after it was killed; returns once it answers.
    pub fn start_again(&mut self) {
        self.process = spawn(self.directory.path(), self.live_restore);
        self.wait();
    }

    /// Runs the docker CLI with this engine; `None` when that fails.
    pub fn docker(&self, arguments: &[&str]) -> Option<String> {
        let output = self.docker_command(arguments).stdin(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn docker_command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("docker");
        command.arg("--host").arg(format!("unix://{}", self.socket().display())).args(arguments);
        command
    }

    fn wait(&self) {
        eventually("the engine answers", START_TIMEOUT, || self.docker(&["info"]));
    }
}

impl Drop for OwnEngine {
    fn drop(&mut self) {
        for container in self.docker(&["ps", "-aq"]).unwrap_or_default().split_whitespace() {
            self.docker(&["rm", "-f", "-v", container]);
        }
        process::terminate(&mut self.process);
        // The containerd and the mounts of a killed engine remain.
        let containerd = self.directory.path().join("exec/containerd/containerd.pid");
        if let Some(pid) = std::fs::read_to_string(containerd).ok().and_then(|pid| pid.trim().parse().ok()) {
            process::signal(pid, rustix::process::Signal::KILL);
        }
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        for mount in mounts.lines().rev().filter_map(|line| line.split(' ').nth(1)) {
            if Path::new(mount).starts_with(self.directory.path()) {
                let _ = Command::new("umount").args(["-l", mount]).status();
            }
        }
    }
}

fn spawn(directory: &Path, live_restore: bool) -> Child {
    let at = |name: &str| directory.join(name).display().to_string();
    let log = std::fs::File::options().create(true).append(true).open(at("log")).unwrap();
    // A killed engine and its containerd, which dies with it, leave these files. A new engine would mistake any process
    // with such a number, even a zombie, for a running engine.
    for file in ["pid", "exec/containerd/containerd.pid"] {
        let _ = std::fs::remove_file(at(file));
    }
    // The machine's own configuration does not apply to this one.
    std::fs::write(at("config.json"), "{}").unwrap();
    // In a separate network namespace: an engine without a bridge removes the one it finds, which is the machine's.
    let mut command = Command::new("unshare");
    command
        .args(["--net", "dockerd", "--data-root"])
        .arg(at("data"))
        .arg("--exec-root")
        .arg(at("exec"))
        .arg("--pidfile")
        .arg(at("pid"))
        .arg("--host")
        .arg(format!("unix://{}", at("docker.sock")))
        .arg("--config-file")
        .arg(at("config.json"))
        .args(["--bridge", "none", "--iptables=false", "--ip6tables=false"]);
    if live_restore {
        command.arg("--live-restore");
    }
    command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap()
}
