//! The published servers over HTTP, in a directory with a repository. Only `everything` speaks HTTP by itself: those for files and for
//! memories stand behind `mcp-proxy` of npm, and those for git and for times are served by the SDK that they are written with.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;
use tests::eventually;

use super::image::{python, site_packages};
use super::{COMMITTABLE, PATIENCE};
use crate::world::node_modules;

/// Their names for models.
const NAMES: [&str; 5] = ["net_everything", "net_memory", "net_files", "net_git", "net_time"];

pub(super) struct Services {
    directory: TempDir,
    /// The port of each, in the order of the names.
    ports: [u16; 5],
    processes: Vec<Child>,
}

impl Services {
    pub(super) fn start() -> Self {
        let listeners = [(); 5].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let ports = listeners.map(|listener| listener.local_addr().unwrap().port());
        let mut services = Self { directory: TempDir::new().unwrap(), ports, processes: Vec::new() };
        let script = format!("notes='notes of the service'; {COMMITTABLE}");
        let made = Command::new("sh").args(["-c", &script]).current_dir(&services.directory).status();
        assert!(made.unwrap().success());
        services.spawn();
        services
    }

    /// The address of each, by its name.
    pub(super) fn addresses(&self) -> impl Iterator<Item = (&'static str, String)> {
        NAMES.into_iter().zip(self.ports.map(|port| format!("http://127.0.0.1:{port}/mcp")))
    }

    /// Kills all of them, and starts them again at the same addresses.
    pub(super) fn kill_and_restart(&mut self) {
        self.kill();
        self.spawn();
    }

    fn kill(&mut self) {
        for mut process in self.processes.drain(..) {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    fn spawn(&mut self) {
        let modules = node_modules();
        let published =
            |name: &str| modules.join(format!("@modelcontextprotocol/server-{name}/dist/index.js"));
        let [everything, memory, files, git, time] = self.ports.map(|port| port.to_string());
        let node = |program: &Path| {
            let mut command = Command::new("node");
            command.arg(program);
            command
        };
        let behind = |port: &str, server: &str| {
            let mut command = node(&modules.join("mcp-proxy/dist/bin/mcp-proxy.mjs"));
            command.args(["--host", "127.0.0.1", "--port", port, "--server", "stream", "--", "node"]);
            command.arg(published(server)).arg(".");
            command
        };
        let mut alone = node(&published("everything"));
        alone.arg("streamableHttp").env("PORT", everything);
        let mut sdk = Command::new(python());
        let sites = ["mcp-server-git", "mcp-server-time"].map(site_packages);
        sdk.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/mcp_services.py")).args([&git, &time]);
        sdk.env("PYTHONPATH", std::env::join_paths(sites).unwrap());
        for mut command in [alone, behind(&memory, "memory"), behind(&files, "filesystem"), sdk] {
            command.current_dir(&self.directory).stdin(Stdio::null());
            command.env("MEMORY_FILE_PATH", self.directory.path().join("memories.jsonl"));
            self.processes.push(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        }
        for port in self.ports {
            eventually("it listens", PATIENCE, || TcpStream::connect(("127.0.0.1", port)).ok());
        }
    }
}

impl Drop for Services {
    fn drop(&mut self) {
        self.kill();
    }
}
