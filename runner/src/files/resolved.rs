//! Resolving a path, and writing only to that place: exactly what a person allowed is done, even if a command changes the
//! path meanwhile.

use std::path::Path;

use pathguard::{CreateOptions, Kind, PendingFile, Root};
use proto::message::Resolved;
use proto::request::{Present, Resolve};
use proto::{ErrorKind, WireError, WirePath};

use std::os::unix::ffi::OsStrExt;

use super::write::content_hash;
use super::{Files, path, path_error, wire_metadata};

/// Resolves a path.
pub(crate) async fn resolve(Files { root, disk }: Files, request: Resolve) -> Result<Resolved, WireError> {
    disk.run(move || {
        let found = root.resolve(path(&request.path)).map_err(path_error)?;
        let is_file = found.metadata.as_ref().is_some_and(|metadata| metadata.kind == Kind::File);
        // A file that cannot be read, or is too large, never matches.
        let content = is_file.then(|| root.open_file(&found.path).ok()).flatten();
        Ok(Resolved {
            path: WirePath::from(found.path.as_os_str().as_bytes()),
            found: found.metadata.as_ref().map(wire_metadata),
            sha256: content.and_then(|open| content_hash(open).ok()),
        })
    })
    .await?
}

/// Begins a file at a resolved place.
pub(super) fn create(
    root: &Root,
    path: &Path,
    options: CreateOptions,
    present: Present,
) -> Result<PendingFile, WireError> {
    // Checked before a folder could be created somewhere else.
    if root.resolve(path).map_err(path_error)?.path != path {
        return Err(elsewhere());
    }
    let pending = root.create_file(path, options).map_err(path_error)?;
    check(root, &pending, path, present)?;
    Ok(pending)
}

/// Refuses a file that would end up somewhere else, or replace something else.
pub(super) fn check(
    root: &Root,
    pending: &PendingFile,
    path: &Path,
    present: Present,
) -> Result<(), WireError> {
    match pending.is_at(root, path) {
        Ok(true) => {}
        Ok(false) | Err(pathguard::Error::NotFound) => return Err(elsewhere()),
        Err(error) => return Err(path_error(error)),
    }
    let found =
        pending.present().map_err(|_| changed("its name now belongs to something that is not a file"))?;
    match (present, found) {
        (Present::Nothing, None) | (Present::AnyFile, Some(_)) => Ok(()),
        (Present::Nothing, Some(_)) => Err(taken(pathguard::Error::AlreadyExists)),
        (Present::Content(_) | Present::AnyFile, None) => Err(changed("the file no longer exists")),
        (Present::Content(expected), Some(open)) => match content_hash(open)? == expected {
            true => Ok(()),
            false => Err(changed("the file's content has changed")),
        },
    }
}

/// The error for a file that must be new and could not be put in its place.
pub(super) fn taken(error: pathguard::Error) -> WireError {
    match error {
        pathguard::Error::AlreadyExists => changed("a file was created there in the meantime"),
        error => path_error(error),
    }
}

fn elsewhere() -> WireError {
    changed("its path now leads somewhere else")
}

fn changed(what: &str) -> WireError {
    let text = format!("{what}; nothing was written: check the file and try again");
    WireError::new(ErrorKind::PreconditionFailed, text)
}
