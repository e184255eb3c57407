//! Facts, and the changes that are one system call or few.

use pathguard::Root;
use proto::WireError;
use proto::message::{Done, Metadata};
use proto::request::{MkdirAll, Remove, RemoveAll, Rename, Stat};

use super::{may_change, path, path_error, unix_ms, wire_kind};
use crate::blocking::blocking;
use crate::executor::Executor;

/// Facts about a path, symlinks followed.
pub(crate) async fn stat(root: Root, request: Stat) -> Result<Metadata, WireError> {
    let found = blocking(move || root.stat(path(&request.path))).await?.map_err(path_error)?;
    Ok(Metadata {
        kind: wire_kind(found.kind),
        size_bytes: found.size_bytes,
        mode: found.mode,
        modified_ms: unix_ms(found.modified),
    })
}

/// Makes a directory and its parents.
pub(crate) async fn mkdir_all(executor: &Executor, request: MkdirAll) -> Result<Done, WireError> {
    change(executor, move |root| root.mkdir_all(path(&request.path), request.mode)).await
}

/// Removes one entry.
pub(crate) async fn remove(executor: &Executor, request: Remove) -> Result<Done, WireError> {
    change(executor, move |root| root.remove(path(&request.path))).await
}

/// Removes a tree.
pub(crate) async fn remove_all(executor: &Executor, request: RemoveAll) -> Result<Done, WireError> {
    change(executor, move |root| root.remove_all(path(&request.path))).await
}

/// Renames within the workspace.
pub(crate) async fn rename(executor: &Executor, request: Rename) -> Result<Done, WireError> {
    change(executor, move |root| root.rename(path(&request.from), path(&request.to))).await
}

async fn change(
    executor: &Executor,
    work: impl FnOnce(&Root) -> pathguard::Result<()> + Send + 'static,
) -> Result<Done, WireError> {
    may_change(executor)?;
    let root = executor.root.clone();
    blocking(move || work(&root)).await?.map_err(path_error)?;
    Ok(Done {})
}
