//! `sandbridge container`: the user's own container, managed as a whole.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use api::container::{CommittedView, ContainerView};
use api::words::{ContainerLimit, ContainerState};
use clap::Parser;
use hyper::Method;
use serde::Serialize;

use super::body::{FileBody, RequestBody};
use super::cp::local::{Source, Target};
use super::cp::progress::Progress;
use super::failure::{self, Failure};
use super::http::{Client, next_chunk, read};
use super::interrupts::Interrupts;
use super::output;
use super::output::both;
use crate::command::{Command, block_on};
use crate::globals::Globals;

/// The permission bits of an exported archive: it contains all files of the container.
const ARCHIVE_MODE: u32 = 0o600;

/// Show, stop, save, export, replace or remove your container
#[derive(Parser)]
pub(crate) enum ContainerCommand {
    /// Show the state and the limits of your container
    Status,
    /// Stop the container, with everything that runs in it; the next command starts it again
    Stop,
    /// Save the container's files as your own image, from which your next containers are created; the workspace is kept separately
    Commit,
    /// Write all files in the container, including its workspace, to a tar archive
    Export {
        /// The archive
        file: PathBuf,
    },
    /// Replace the container with one made from the files in a tar archive, such as an exported one
    Import {
        /// The archive; only its files are used, not any image settings
        file: PathBuf,
        /// Also replace the workspace with the archive's workspace/ directory
        #[arg(long)]
        workspace: bool,
    },
    /// Remove the container and what was committed or imported; the next command makes a new one from the server's image
    Reset {
        /// Also remove the workspace with all its files
        #[arg(long)]
        workspace: bool,
    },
}

impl Command for ContainerCommand {
    const NAME: &'static str = "container";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(run(globals, self))
    }
}

async fn run(globals: &Globals, command: ContainerCommand) -> Result<ExitCode, Failure> {
    let session = globals.session()?;
    let mut client = Client::new(&session)?;
    let mut interrupts = Interrupts::listen()?;
    // Dropping an export removes what it has begun to write; an interrupted import changes nothing.
    let (line, words) = tokio::select! {
        done = done(&mut client, command) => done?,
        () = interrupts.next() => return Ok(ExitCode::from(failure::INTERRUPTED)),
    };
    output::line(if globals.json { &line } else { &words });
    Ok(ExitCode::SUCCESS)
}

/// The new state of the container, for programs.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Became {
    State(ContainerState),
    Size(u64),
    Imported(bool),
}

async fn done(client: &mut Client, command: ContainerCommand) -> Result<(String, String), Failure> {
    Ok(match command {
        ContainerCommand::Status => {
            let status = client.container().await?;
            both(&status, status_words(&status))
        }
        ContainerCommand::Stop => {
            send(client, Method::POST, "/api/v1/container/stop").await?;
            both(
                &Became::State(ContainerState::Stopped),
                "the container is stopped; the next command starts it again",
            )
        }
        ContainerCommand::Commit => {
            let made: CommittedView = read(&send(client, Method::POST, "/api/v1/container/commit").await?)?;
            both(
                &made,
                "the container's files are saved as your own image; the next container is made from it",
            )
        }
        ContainerCommand::Export { file } => {
            let size_bytes = export(client, &file).await?;
            both(&Became::Size(size_bytes), format!("{} contains the container's files", file.display()))
        }
        ContainerCommand::Import { file, workspace } => {
            import(client, &file, workspace).await?;
            both(&Became::Imported(true), "the next command runs in a container with these files")
        }
        ContainerCommand::Reset { workspace } => {
            send(client, Method::DELETE, &format!("/api/v1/container?workspace={workspace}")).await?;
            let words = "the container is removed; the next command makes one from the server's image";
            both(&Became::State(ContainerState::None), words)
        }
    })
}

/// Sends a request without a time limit: these operations take as long as the server's disk needs.
async fn send(client: &mut Client, method: Method, path: &str) -> Result<Vec<u8>, Failure> {
    let mut body = client.send(method, path, "", RequestBody::Empty).await?.into_body();
    let mut answer = Vec::new();
    while let Some(chunk) = next_chunk(&mut body).await {
        answer.extend_from_slice(&chunk?);
    }
    Ok(answer)
}

async fn export(client: &mut Client, file: &Path) -> Result<u64, Failure> {
    let response = client.send(Method::GET, "/api/v1/container/export", "", RequestBody::Empty).await?;
    let target = Target::create(file, "container.tar".into(), ARCHIVE_MODE, 0)?;
    target.receive(response.into_body(), &Progress::new(None)).await
}

async fn import(client: &mut Client, file: &Path, workspace: bool) -> Result<(), Failure> {
    let source = Source::open(file)?;
    let progress = Progress::new(Some(source.size_bytes));
    let body = FileBody::new(source.file, source.size_bytes, progress.moved_bytes());
    let path = format!("/api/v1/container/import?workspace={workspace}");
    let sent = client.send(Method::PUT, &path, "application/x-tar", RequestBody::File(body));
    progress.shown_while(sent).await.map(drop)
}

fn status_words(status: &ContainerView) -> String {
    let limit = |limit: ContainerLimit, value: String| {
        let is_held = !status.unlimited.contains(&limit);
        if is_held { value } else { "unlimited: the engine cannot limit it".to_owned() }
    };
    let image = if status.own_image { format!("{} (your own)", status.image) } else { status.image.clone() };
    let memory = format!("{:.0} MiB", status.memory as f64 / f64::from(1 << 20));
    let cpus = status.cpus.map_or_else(|| "no limit".to_owned(), |cpus| cpus.to_string());
    let idle = status.idle_stop.map_or_else(|| "never".to_owned(), |idle| format!("after {idle} s"));
    let rows = [
        ("container", status.name.clone()),
        ("state", status.state.to_string()),
        ("image", image),
        ("memory", limit(ContainerLimit::Memory, memory)),
        ("processes", limit(ContainerLimit::Pids, status.pids.to_string())),
        ("CPUs", limit(ContainerLimit::Cpus, cpus)),
        ("network", status.network.clone()),
        ("root", if status.read_only { "read-only" } else { "can be written to" }.to_owned()),
        ("user namespace", status.user_namespace.to_string()),
        ("workspace", status.workspace.to_string()),
        ("stops when idle", idle),
    ];
    output::table(&rows.map(|(name, value)| vec![name.to_owned(), value]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_says_what_the_engine_cannot_limit() {
        let status = r#"{
            "name": "sandbridge-x-u1", "state": "running", "image": "debian", "own_image": false,
            "memory": 2147483648, "pids": 512, "cpus": null, "unlimited": ["pids"], "network": "bridge",
            "read_only": false, "user_namespace": "none", "workspace": "volume", "idle_stop": 1800
        }"#;
        let words = status_words(&serde_json::from_str(status).unwrap());
        assert!(words.contains("2048 MiB") && words.contains("after 1800 s"), "{words}");
        assert!(words.contains("processes        unlimited") && !words.contains("512"), "{words}");
    }
}
