//! Keeps the folder of kept output out of version control, and limits its size. A failure here never makes a command fail.

use std::time::Duration;

use sandbox::{FileKind, Sandbox, SandboxError, WriteOptions};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::limits::{
    OUTPUT_DIRECTORY, OUTPUT_IGNORE_PATH, OUTPUT_LISTING_MAX_FILES, OUTPUT_TIDY_TIMEOUT_S, OUTPUTS_KEPT,
};

/// The suffix of the name of a file of kept output, after its exec's id.
pub(crate) const OUTPUT_SUFFIX: &str = ".log";
/// The rule for version control: ignore everything, including this file.
const IGNORE_ALL: &[u8] = b"*\n";

/// Makes version control ignore the folder. A file that already exists belongs to its user and stays as it is.
pub(crate) async fn hide(sandbox: &Sandbox) {
    let hidden = async {
        match sandbox.stat(OUTPUT_IGNORE_PATH.as_bytes()).await {
            Err(error) if error.kind() == "not_found" => {}
            stood => return stood.map(drop),
        }
        let size_bytes = Some(IGNORE_ALL.len() as u64);
        let options = WriteOptions { parents: true, size_bytes, ..Default::default() };
        let mut writer = sandbox.write_file(OUTPUT_IGNORE_PATH.as_bytes(), options).await?;
        writer.write(IGNORE_ALL).await?;
        writer.finish().await.map(drop)
    };
    if let Err(error) = hidden.await {
        tracing::debug!(%error, "the folder of kept output could not be hidden from version control");
    }
}

/// Removes the oldest files of kept output beyond [`OUTPUTS_KEPT`], until `stop` is cancelled. Runs after the command that wrote a new file.
pub(crate) async fn remove_oldest(sandbox: Sandbox, stop: CancellationToken) {
    let limit = Duration::from_secs(OUTPUT_TIDY_TIMEOUT_S);
    let removed = tokio::select! {
        biased;
        () = stop.cancelled() => return,
        removed = timeout(limit, try_remove_oldest(&sandbox)) => removed,
    };
    match removed {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "old files of kept output could not be removed"),
        Err(_) => tracing::debug!("old files of kept output could not be removed in time"),
    }
}

async fn try_remove_oldest(sandbox: &Sandbox) -> Result<(), SandboxError> {
    let paths = outputs(sandbox).await?;
    if paths.len() <= OUTPUTS_KEPT {
        return Ok(());
    }
    let mut dated = Vec::with_capacity(paths.len());
    for path in paths {
        // A file that no longer exists needs no removal.
        if let Some(metadata) = unless_gone(sandbox.stat(path.as_bytes()).await)? {
            dated.push((metadata.modified_ms, path));
        }
    }
    dated.sort_unstable();
    let surplus = dated.len().saturating_sub(OUTPUTS_KEPT);
    for (_, path) in &dated[..surplus] {
        unless_gone(sandbox.remove(path.as_bytes()).await)?;
    }
    Ok(())
}

/// The files of kept output, at most [`OUTPUT_LISTING_MAX_FILES`] of them. A file with [`OUTPUTS_KEPT`] newer ones in a partial listing has at
/// least as many in the whole folder, so a partial listing never removes the wrong files.
async fn outputs(sandbox: &Sandbox) -> Result<Vec<String>, SandboxError> {
    let mut reader = sandbox.read_dir(OUTPUT_DIRECTORY.as_bytes()).await?;
    let mut paths = Vec::new();
    while let Some(batch) = reader.next_batch().await {
        let files = batch?.into_iter().filter(|entry| entry.kind == FileKind::File);
        let names = files.filter_map(|entry| String::from_utf8(entry.name).ok());
        paths.extend(names.filter(|name| is_output(name)).map(|name| format!("{OUTPUT_DIRECTORY}/{name}")));
        if paths.len() >= OUTPUT_LISTING_MAX_FILES {
            paths.truncate(OUTPUT_LISTING_MAX_FILES);
            break;
        }
    }
    Ok(paths)
}

/// True if this server gave a file its name; anything else in the folder is left alone.
fn is_output(name: &str) -> bool {
    name.strip_suffix(OUTPUT_SUFFIX).is_some_and(|id| store::ExecId::parse(id).is_ok())
}

fn unless_gone<T>(done: Result<T, SandboxError>) -> Result<Option<T>, SandboxError> {
    match done {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == "not_found" => Ok(None),
        Err(error) => Err(error),
    }
}
