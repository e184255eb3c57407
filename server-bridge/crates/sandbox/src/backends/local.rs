//! The link to the server itself: a confined runner as a child process, one per user.
//!
//! Its commands are confined as everywhere else; if this machine cannot confine them, the place is refused.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::config::LocalConfig;
use crate::driver::{LinkHandle, StartedBy, driver};
use crate::error::{LinkError, RouteError};
use crate::facts::RunnerFacts;
use crate::handshake::{Admission, Opening, Refusal, RefusalReason, Registration, register};
use crate::limits::{LOCAL_STOP_TIMEOUT, LOG_LINE_BYTES};
use crate::link::stdio::StdioLink;
use crate::on_demand::{OnDemand, Tasks, next_epoch};
use crate::routing::{NONE, User};

/// Layers without which nothing runs on the server: with one of them missing, a command could see, signal or change things
/// of the server or of another user.
const REQUIRED_LAYERS: [&str; 6] =
    ["mount-namespace", "pid-namespace", "landlock", "landlock-scope", "seccomp", "no-new-privs"];

/// The refusal reason for a runner that lacks one of these layers.
const NOT_CONFINED: RefusalReason = RefusalReason::Unavailable;

/// The only variables that the runner gets from the server's environment, which may hold secrets.
const PASSED_VARIABLES: [&str; 7] = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TERM"];

/// The server's own runners.
#[derive(Debug)]
pub(crate) struct LocalPlaces {
    config: Arc<LocalConfig>,
    links: OnDemand,
    tasks: Tasks,
}

impl LocalPlaces {
    pub(crate) fn new(config: LocalConfig, tasks: Tasks) -> Self {
        Self { config: Arc::new(config), links: OnDemand::new(NONE), tasks }
    }

    /// The user's link, started if it does not run.
    pub(crate) async fn link(&self, user: &User) -> Result<LinkHandle, RouteError> {
        let start = || start(Arc::clone(&self.config), user.key.clone(), self.tasks.clone());
        self.links.link(&user.key, &self.tasks.tracker, start).await
    }

    /// The keys of the users who have a runner here, or had one.
    pub(crate) fn user_keys(&self) -> Vec<String> {
        self.links.user_keys()
    }

    /// Ends the user's runner with everything it runs.
    pub(crate) async fn end(&self, user_key: &str) {
        if let Some(link) = self.links.forget(user_key).await {
            link.close(None);
        }
    }

    /// Reports what is known to be missing without starting anything.
    pub(crate) fn check(&self) -> Result<(), RouteError> {
        runner(&self.config).map(drop)
    }
}

fn runner(config: &LocalConfig) -> Result<&Path, RouteError> {
    config.runner.as_deref().ok_or_else(|| {
        unavailable("no sandbridge-runner was found next to the server; put it there".to_owned())
    })
}

async fn start(config: Arc<LocalConfig>, user_key: String, tasks: Tasks) -> Result<LinkHandle, RouteError> {
    let runner = runner(&config)?;
    let mut child = spawn(runner, &config.workspaces.join(&user_key), &config.http_allow)
        .map_err(|error| unavailable(format!("{} does not start: {error}", runner.display())))?;
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(unavailable("the runner has no standard streams".to_owned()));
    };
    tasks.tracker.spawn(log_lines(stderr, user_key.clone()));
    let mut link = StdioLink::new(stdout, stdin);
    let admission =
        Admission { user_key, runner: NONE.to_owned(), epoch: next_epoch(), token: None, version: None };
    let admit = |registration: Registration| async move {
        require_confinement(&registration.facts)
            .map(|()| admission)
            .map_err(|message| Refusal { reason: NOT_CONFINED, message })
    };
    let admitted = tokio::select! {
        biased;
        () = tasks.stop.cancelled() => Err(LinkError::Ended),
        admitted = register(&mut link, Opening::ServerAttaches, admit) => admitted,
    };
    match admitted {
        Ok(admitted) => {
            let (handle, driver) = driver(NONE, StartedBy::Server, admitted.facts);
            tasks.tracker.spawn(driver.run(tasks.stop.clone()));
            let plugged = handle.plug(link, admitted.admission.epoch);
            let life = handle.clone();
            tasks.tracker.spawn(async move {
                let end = plugged.ended().await;
                tracing::info!(?end, "the local runner's link ended");
                // The standard streams were the only way to reach it, so it cannot come back.
                life.close(None);
                end_child(child).await;
            });
            Ok(handle)
        }
        Err(error) => {
            drop(link);
            end_child(child).await;
            Err(match error {
                LinkError::Refused { reason: NOT_CONFINED, message } => {
                    RouteError::LocalRefused { why: message }
                }
                error => {
                    unavailable(format!("its handshake failed: {error}; see its output in the server's log"))
                }
            })
        }
    }
}

fn spawn(runner: &Path, folder: &Path, http_allow: &[String]) -> std::io::Result<Child> {
    let make = |name: &str| -> std::io::Result<PathBuf> {
        let path = folder.join(name);
        DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
        Ok(path)
    };
    let (workspace, state) = (make("workspace")?, make("state")?);
    let passed = PASSED_VARIABLES.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    Command::new(runner)
        .args(["--stdio", "--profile", "workspace"])
        .arg("--workspace")
        .arg(workspace)
        .arg("--state-dir")
        .arg(state)
        .args(http_allow.iter().flat_map(|host| ["--http-allow", host]))
        .env_clear()
        .envs(passed)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // The terminal's Ctrl-C is for the server, which then ends its runners in order.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
}

/// Refuses a runner whose commands would not be confined.
fn require_confinement(facts: &RunnerFacts) -> Result<(), String> {
    let holds = |name: &str| facts.layers.iter().any(|layer| layer.name == name && layer.holds);
    let missing: Vec<_> = REQUIRED_LAYERS.into_iter().filter(|name| !holds(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!(
        "they would not be confined there: {} missing; `sandbridge-runner doctor` shows why",
        missing.join(", ")
    ))
}

/// Waits for a runner whose standard input is closed, and kills it if it does not end.
async fn end_child(mut child: Child) {
    if timeout(LOCAL_STOP_TIMEOUT, child.wait()).await.is_err() {
        tracing::warn!("the local runner did not end; killing it");
        if let Err(error) = child.kill().await {
            tracing::warn!(%error, "the local runner cannot be killed");
        }
    }
}

/// Copies a runner's standard error to the log, line by line.
async fn log_lines(stderr: impl AsyncRead + Unpin, user_key: String) {
    let mut reader = BufReader::new(stderr);
    loop {
        let mut line = Vec::new();
        match (&mut reader).take(LOG_LINE_BYTES).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                tracing::info!(user_key, place = NONE, "{}", String::from_utf8_lossy(&line).trim_end());
            }
        }
    }
}

fn unavailable(why: String) -> RouteError {
    RouteError::LocalUnavailable { why }
}

#[cfg(test)]
mod tests;
