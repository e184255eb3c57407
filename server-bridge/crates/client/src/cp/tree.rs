//! Directories: an archive that one side packs and the other unpacks.
//!
//! The runner is not trusted: its archive is unpacked below an open handle of the target directory, as strictly as runners unpack archives.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use api::file::TreeView;
use api::words::FileKind;
use hyper::Method;
use pathguard::Root;
use pathguard::tree::{Packer, TreeReport, UnpackOptions, Unpacker};

use super::local::io_failure;
use super::progress::Progress;
use super::side::{self, Remote};
use super::{Copied, stat};
use crate::body::{RequestBody, TreeBody};
use crate::failure::Failure;
use crate::http::{Client, next_chunk, path_query};
use crate::routes::on_query;

/// Copies a directory to a runner. If the target directory exists, a directory with the source's name is created in it, unless the target is
/// to be a mirror.
pub(super) async fn upload(
    client: &mut Client,
    from: &Path,
    to: &Remote,
    delete: bool,
) -> Result<Copied, Failure> {
    let unreadable = |error: pathguard::Error| guarded("read", from, &error);
    let root = Root::open(from).map_err(unreadable)?;
    let packer = Packer::new(&root, ".").map_err(unreadable)?;
    let mut path = to.path.clone();
    let is_directory = stat(client, to).await?.is_some_and(|stat| stat.kind == FileKind::Directory);
    if let Some(name) = from.file_name()
        && !delete
        && (is_directory || to.is_directory_by_name())
    {
        path = side::inside(&path, name);
    }
    let query = format!(
        "/api/v1/files/tree?{}&delete_extra={delete}{}",
        path_query(&path),
        on_query(to.on.as_deref())
    );
    let progress = Progress::new(None);
    let packed = Arc::new(OnceLock::new());
    let body = RequestBody::Tree(TreeBody::new(packer, Arc::clone(&packed), progress.moved_bytes()));
    let sent = async {
        let response = client.send(Method::PUT, &query, "application/x-tar", body).await?;
        let mut body = response.into_body();
        let mut answer = Vec::new();
        while let Some(chunk) = next_chunk(&mut body).await {
            answer.extend_from_slice(&chunk?);
        }
        Ok::<_, Failure>(answer)
    };
    let answer = progress.shown_while(sent).await;
    let report = match packed.get() {
        // This side's error caused the other side's.
        Some(Err(error)) => return Err(Failure::other("io", format!("{}: {error}", from.display()))),
        Some(Ok(report)) => Some(report),
        None => None,
    };
    let stored: Option<TreeView> = serde_json::from_slice(&answer?).ok();
    match (report, stored) {
        (Some(report), Some(stored)) if stored.files == report.files => {
            complete(report)?;
            Ok(Copied::Tree(stored))
        }
        _ => Err(Failure::other("io", "the server did not store the whole directory; copy it again")),
    }
}

/// Copies a directory from a runner, by the rules of [`upload`].
pub(super) async fn download(
    client: &mut Client,
    from: &Remote,
    to: &Path,
    delete: bool,
) -> Result<Copied, Failure> {
    let name = side::base_name(&from.path);
    let is_own = name.is_empty() || name == "." || name == "..";
    let named_directory = to.as_os_str().as_encoded_bytes().ends_with(b"/");
    let to =
        if !delete && !is_own && (named_directory || to.is_dir()) { to.join(name) } else { to.to_owned() };
    let query = format!("/api/v1/files/tree?{}{}", path_query(&from.path), on_query(from.on.as_deref()));
    let response = client.send(Method::GET, &query, "", RequestBody::Empty).await?;
    let mut unpacker = target(&to, UnpackOptions { delete_extra: delete, durable: false })?;
    let progress = Progress::new(None);
    let moved_bytes = progress.moved_bytes();
    let received = async {
        let mut body = response.into_body();
        while let Some(chunk) = next_chunk(&mut body).await {
            let chunk = chunk?;
            unpacker.push(&chunk).map_err(|error| unpack_failure(&to, &error))?;
            moved_bytes.fetch_add(chunk.len() as u64, Ordering::Relaxed);
        }
        unpacker.finish().map_err(|error| unpack_failure(&to, &error))
    };
    let received = progress.shown_while(received).await;
    let report = received.map_err(|failure| with_report(failure, unpacker.report()))?;
    complete(&report)?;
    let TreeReport { files, directories, symlinks, size_bytes, removed, .. } = report;
    Ok(Copied::Tree(TreeView { files, directories, symlinks, size: size_bytes, removed }))
}

/// The local directory to fill; it is created with missing parents, unless it exists.
fn target(to: &Path, options: UnpackOptions) -> Result<Unpacker, Failure> {
    let (above, name): (PathBuf, OsString) = match to.file_name() {
        Some(name) if !to.is_dir() => {
            let above = to.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
            fs::create_dir_all(above).map_err(|error| io_failure("make", above, &error))?;
            (above.to_owned(), name.to_owned())
        }
        _ => (to.to_owned(), ".".into()),
    };
    let root = Root::open(&above).map_err(|error| guarded("write", &above, &error))?;
    Unpacker::new(&root, &name, options).map_err(|error| guarded("write", to, &error))
}

/// Fails if something was left out, because a script that runs this command must notice it.
fn complete(report: &TreeReport) -> Result<(), Failure> {
    match &report.note {
        None => Ok(()),
        Some(note) => Err(Failure::other("incomplete", format!("it was copied, but {note}"))),
    }
}

fn unpack_failure(to: &Path, error: &pathguard::tree::TreeError) -> Failure {
    Failure::other("io", format!("cannot write {}: {error}", to.display()))
}

fn with_report(failure: Failure, report: &TreeReport) -> Failure {
    let TreeReport { files, directories, symlinks, .. } = report;
    let written = format!("files written by then: {files}, directories: {directories}, links: {symlinks}");
    Failure { message: format!("{}; {written}", failure.message), ..failure }
}

fn guarded(what: &str, path: &Path, error: &pathguard::Error) -> Failure {
    let kind = if *error == pathguard::Error::NotFound { "not_found" } else { "io" };
    Failure::other(kind, format!("cannot {what} {}: {error}", path.display()))
}
