//! The runner of this program: a child process that ends with it.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use client::failure::Failure;
use client::output;
use execs::sandbox_user;
use rustix::process::{Pid, Signal, kill_process};
use sandbox::RunnerFacts;
use store::{ACTIVE_RUNNER, RunnerName, User};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use super::limits::{RUNNER_START_PATIENCE, RUNNER_STOP_PATIENCE, STANDING_INTERVAL};
use super::place::Place;
use super::server::OwnServer;
use crate::config::Config;
use crate::failure::failure_of;

/// The file of the runner's output, which shows why a runner did not start.
const LOG_FILE: &str = "runner.log";
/// Variables that the runner does not get: only the server needs the model's keys.
const SECRET_VARIABLES: [&str; 6] = [
    "SANDBRIDGE_LLM_API_KEY",
    "SANDBRIDGE_API_KEY",
    "SANDBRIDGE_ENCRYPTION_KEY",
    "SANDBRIDGE_SEARCH_API_KEY",
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
];

/// The runner's process, which is killed when this value is dropped.
pub(super) struct OwnRunner {
    child: Child,
    name: RunnerName,
    log: PathBuf,
}

/// Registers the directory's runner and starts it. It becomes the user's active place.
pub(super) async fn start(
    config: &Config,
    place: &Place,
    server: &OwnServer,
    user: &User,
) -> Result<OwnRunner, Failure> {
    let program = program(config)?;
    let token = token(server, user, &place.runner).await.map_err(|error| failure_of(&error.into()))?;
    let log = place.home.join(LOG_FILE);
    let failed = |error: std::io::Error| {
        Failure::other("failed", format!("the runner {} does not start: {error}", program.display()))
    };
    let output =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&log).map_err(failed)?;
    let mut command = Command::new(program);
    for name in SECRET_VARIABLES {
        command.env_remove(name);
    }
    let mut child = command
        .args(["--server", server.url(), "--token-file", "-", "--name", place.runner.as_str()])
        .arg("--workspace")
        .arg(&place.directory)
        .arg("--state-dir")
        .arg(place.home.join("runner"))
        .args(["--ends-with-parent", &std::process::id().to_string(), "--reconnect-max", "1"])
        .current_dir(&place.directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(output)
        // The runner gets a separate process group, so that the terminal's Ctrl-C reaches only the chat.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        // If the runner has ended already, `online` reports that.
        let _ = stdin.write_all(format!("{token}\n").as_bytes()).await;
    }
    Ok(OwnRunner { child, name: place.runner.clone(), log })
}

/// The configured runner, or the one next to this program; a runner for containers is also suitable.
fn program(config: &Config) -> Result<&Path, Failure> {
    let found = config.runner.as_deref().or(config.runner_static.as_deref());
    match found {
        Some(path) if path.is_file() => Ok(path),
        Some(path) => Err(Failure::other(
            "not_found",
            format!("there is no runner at {}; correct --runner", path.display()),
        )),
        None => Err(Failure::other(
            "not_found",
            "there is no sandbridge-runner next to this program: build one with scripts/build in the repository and put it there, \
             or name one with --runner FILE",
        )),
    }
}

/// Creates a new token for the directory's runner and revokes the earlier ones.
async fn token(server: &OwnServer, user: &User, name: &RunnerName) -> store::Result<String> {
    let store = &server.store;
    match store.revoke_runner(user.id, name.as_str()).await {
        Ok(_) | Err(store::Error::NotFound { .. }) => {}
        Err(error) => return Err(error),
    }
    let token = store.add_runner(user.id, name).await?.token;
    store.set_setting(user.id, ACTIVE_RUNNER, Some(name.as_str())).await?;
    Ok(token.into_exposed())
}

impl OwnRunner {
    /// Waits until the runner is connected; returns what the runner reported about its machine.
    pub(super) async fn online(
        &mut self,
        server: &OwnServer,
        user: &User,
    ) -> Result<Arc<RunnerFacts>, Failure> {
        let key = sandbox_user(user).key;
        let connected = async {
            loop {
                let runners = server.state.router.runners(&key);
                if let Some(runner) = runners.into_iter().find(|runner| runner.name == self.name.as_str()) {
                    return runner.facts;
                }
                sleep(STANDING_INTERVAL).await;
            }
        };
        let status = tokio::select! {
            facts = connected => return Ok(facts),
            status = self.child.wait() => status.map_or_else(|error| error.to_string(), |status| status.to_string()),
            () = sleep(RUNNER_START_PATIENCE) => {
                format!("not connected after {} s", RUNNER_START_PATIENCE.as_secs())
            }
        };
        let said = self.said();
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it wrote no output");
        let message = format!("the runner did not start ({status}): {last}; see {}", self.log.display());
        Err(Failure::other("failed", message))
    }

    /// Prints one line about the missing layers of confinement, if any is missing.
    pub(super) fn tell_what_is_missing(&self, facts: &RunnerFacts) {
        let said = self.said();
        let is_missing = |name: &&str| said.contains(&format!("{name} is not enforced"));
        let missing: Vec<&str> = facts.layers.iter().map(|layer| &*layer.name).filter(is_missing).collect();
        if !missing.is_empty() {
            let missing = missing.join(", ");
            output::warn(&format!(
                "layers of confinement that are not enforced here: {missing}; `sandbridge-runner doctor` explains what to do"
            ));
        }
    }

    fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Ends the runner and all its commands.
    pub(super) async fn end(mut self) {
        let pid = self.child.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
        if let Some(pid) = pid {
            // The process may have ended already.
            let _ = kill_process(pid, Signal::TERM);
        }
        if timeout(RUNNER_STOP_PATIENCE, self.child.wait()).await.is_err() {
            tracing::warn!("the runner did not end; killing it");
            let _ = self.child.kill().await;
        }
    }
}
