//! The runner's side of `sandbridge-runner update`: a Unix socket below the state directory, which commands never see.
//!
//! One line each: the request is `update` or `state`. Answers are `version V`, `failed REASON`, `downloading V`, `waiting N
//! V`, `nothing REASON`. While an update waits the connection stays; it ends with the runner, and the next program of the same
//! process listens at the same path.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::UnixListener as StdListener;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use proto::ErrorKind;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;

use super::{Stage, Updates, version};
use crate::blocking::blocking;
use crate::exec::Execs;
use crate::limits::{CONTROL_CONNECTIONS, CONTROL_LINE_BYTES, CONTROL_LOOK_MS, CONTROL_TIMEOUT_MS};

/// The requests.
pub(super) const UPDATE: &str = "update";
pub(super) const STATE: &str = "state";

/// The directory where runners with this state directory listen.
pub(super) fn directory(state_dir: &Path) -> PathBuf {
    state_dir.join("control")
}

/// The address of a socket in an open directory: a long path would not fit.
pub(super) fn address(directory: &File, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{name}", directory.as_raw_fd()))
}

/// Accepts update requests from this machine, for as long as it is polled.
pub(crate) async fn serve(execs: Rc<Execs>, updates: Rc<Updates>) {
    let (state_dir, name) = (execs.host.policy.state_dir.clone(), updates.config.guardian.to_string());
    let opened = blocking(move || open(&state_dir, &name)).await.map_err(io::Error::other).flatten();
    let listener = match opened.and_then(UnixListener::from_std) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::warn!("`sandbridge-runner update` cannot reach this runner: {error}");
            return std::future::pending().await;
        }
    };
    let mut conversations = JoinSet::new();
    loop {
        while conversations.len() >= CONTROL_CONNECTIONS {
            conversations.join_next().await;
        }
        while conversations.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, _)) => {
                let (execs, updates) = (Rc::clone(&execs), Rc::clone(&updates));
                // A client that disconnects early misses the rest of the answer.
                conversations.spawn_local(async move { drop(answer(stream, &execs, &updates).await) });
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(CONTROL_LOOK_MS)).await,
        }
    }
}

/// Creates the socket, replacing one that an earlier program of this process left.
fn open(state_dir: &Path, name: &str) -> io::Result<StdListener> {
    let directory = directory(state_dir);
    DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
    let handle = File::open(&directory)?;
    let address = address(&handle, name);
    match fs::remove_file(&address) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let listener = StdListener::bind(&address)?;
    fs::set_permissions(&address, Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Removes the socket of a runner that stops.
pub(crate) async fn close(execs: &Execs, updates: &Updates) {
    let path = directory(&execs.host.policy.state_dir).join(updates.config.guardian.to_string());
    // A socket that stays is recognised as abandoned.
    let _ = blocking(move || fs::remove_file(path)).await;
}

async fn answer(mut stream: UnixStream, execs: &Execs, updates: &Updates) -> io::Result<()> {
    let timeout = Duration::from_millis(CONTROL_TIMEOUT_MS);
    let question = tokio::time::timeout(timeout, question(&mut stream)).await??;
    match question.as_str() {
        UPDATE => {}
        STATE => {
            tell(&mut stream, &format!("version {}", version::OWN)).await?;
            if let Some(error) = updates.error() {
                tell(&mut stream, &format!("failed {error}")).await?;
            }
            return Ok(());
        }
        _ => return Ok(()),
    }
    if let Err(error) = updates.begin() {
        let kind = if error.kind == ErrorKind::Unsupported { "failed" } else { "nothing" };
        return tell(&mut stream, &format!("{kind} {error}")).await;
    }
    let mut last = String::new();
    loop {
        let stage = updates.stage.borrow().clone();
        let line = match stage {
            Stage::Downloading(version) => format!("downloading {version}"),
            Stage::Waiting(version) => format!("waiting {} {version}", execs.running()),
            Stage::Idle => {
                return tell(&mut stream, &format!("failed {}", updates.error().unwrap_or_default())).await;
            }
        };
        if line != last {
            tell(&mut stream, &line).await?;
            last = line;
        }
        tokio::time::sleep(Duration::from_millis(CONTROL_LOOK_MS)).await;
    }
}

async fn question(stream: &mut UnixStream) -> io::Result<String> {
    let mut line = Vec::new();
    while line.last() != Some(&b'\n') && line.len() < CONTROL_LINE_BYTES {
        line.push(stream.read_u8().await?);
    }
    Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
}

async fn tell(stream: &mut UnixStream, line: &str) -> io::Result<()> {
    // It may contain text of the server, and goes to a terminal.
    let line = format!("{}\n", line.replace(char::is_control, " "));
    let timeout = Duration::from_millis(CONTROL_TIMEOUT_MS);
    tokio::time::timeout(timeout, stream.write_all(line.as_bytes())).await?
}
