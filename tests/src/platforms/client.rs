//! The official clients of messengers, each a process that prints a line of JSON for each thing that happens to it.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::{binaries, process};

/// How long a client may take on a busy machine to start, connect or give up.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running client; it is stopped when this is dropped.
pub struct Client {
    process: Child,
    lines: Receiver<Value>,
    seen: Vec<Value>,
}

impl Client {
    /// A script of `tests/platforms`, with the npm packages installed there.
    pub fn node(script: &str, arguments: &[&str]) -> Self {
        assert!(folder().join("node_modules").exists(), "no packages: run the tests through scripts/test");
        let mut command = Command::new("node");
        command.arg(folder().join(script)).args(arguments);
        Self::start(command)
    }

    /// A script of `tests/platforms`, with a Python package that `scripts/test` installs.
    pub fn python(package: &str, script: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let python = binaries::directory().join(format!("../third-party/{package}/bin/python"));
        assert!(python.exists(), "{} is not there: run the tests through scripts/test", python.display());
        let mut command = Command::new(python);
        command.arg("-u").arg(folder().join(script)).args(arguments).envs(environment.iter().copied());
        Self::start(command)
    }

    fn start(mut command: Command) -> Self {
        // Otherwise requests to the stand-in would go through this machine's proxies.
        for name in ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
            command.env_remove(name);
        }
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let (tell, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                // Other output is for people.
                match serde_json::from_str(&line) {
                    Ok(line @ Value::Object(_)) => drop(tell.send(line)),
                    _ => eprintln!("{line}"),
                }
            }
        });
        Self { process, lines, seen: Vec::new() }
    }

    /// The next line that has this key; lines before it are kept for others.
    pub fn line(&mut self, key: &str) -> Value {
        if let Some(index) = self.seen.iter().position(|line| !line[key].is_null()) {
            return self.seen.remove(index);
        }
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|_| panic!("no line with {key}; there were {:?}", self.seen));
            if !line[key].is_null() {
                return line;
            }
            self.seen.push(line);
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        process::terminate(&mut self.process);
    }
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("platforms")
}
