//! Metadata, and the changes that take one or a few system calls.

use pathguard::Root;
use proto::message::{Done, Metadata};
use proto::request::{DownloadResolved, MkdirAll, Remove, RemoveAll, Rename, Stat, WriteResolved};
use proto::{ErrorKind, Message, Request, WireError};

use super::download::download;
use super::tree::write_tree;
use super::worktree::worktree;
use super::write::write;
use super::{Files, may_change, path as as_path, path_error, wire_metadata};
use crate::host::Host;
use crate::stream::StreamHandle;

/// Metadata of a path, following symlinks.
pub(crate) async fn stat(Files { root, disk }: Files, request: Stat) -> Result<Metadata, WireError> {
    let found = disk.run(move || root.stat(as_path(&request.path))).await?.map_err(path_error)?;
    Ok(wire_metadata(&found))
}

/// Makes a change; a file's content arrives on `stream`.
pub(crate) async fn change(
    host: &Host,
    stream: &StreamHandle,
    request: Request,
) -> Result<Message, WireError> {
    may_change(host)?;
    make(host, stream, request).await.map_err(|error| host.files.disk.explain(error))
}

async fn make(host: &Host, stream: &StreamHandle, request: Request) -> Result<Message, WireError> {
    let done = match request {
        Request::WriteFile(request) => {
            return write(host.files.clone(), stream, request, None).await.map(Message::from);
        }
        Request::WriteResolved(WriteResolved { write: request, present }) => {
            return write(host.files.clone(), stream, request, Some(present)).await.map(Message::from);
        }
        Request::DownloadResolved(DownloadResolved { download: request, present }) => {
            return download(host, stream, request, Some(present)).await;
        }
        Request::WriteTree(request) => return write_tree(host, stream, request).await,
        Request::Worktree(request) => worktree(host, request).await,
        Request::Download(request) => return download(host, stream, request, None).await,
        Request::MkdirAll(MkdirAll { path, mode, .. }) => {
            at_once(host, move |root| root.mkdir_all(as_path(&path), mode)).await
        }
        Request::Remove(Remove { path, .. }) => at_once(host, move |root| root.remove(as_path(&path))).await,
        Request::RemoveAll(RemoveAll { path, .. }) => {
            at_once(host, move |root| root.remove_all(as_path(&path))).await
        }
        Request::Rename(Rename { from, to, .. }) => {
            at_once(host, move |root| root.rename(as_path(&from), as_path(&to))).await
        }
        other => Err(WireError::new(ErrorKind::Internal, format!("{other:?} changes nothing"))),
    };
    done.map(Message::from)
}

async fn at_once(
    host: &Host,
    work: impl FnOnce(&Root) -> pathguard::Result<()> + Send + 'static,
) -> Result<Done, WireError> {
    let Files { root, disk } = host.files.clone();
    disk.run(move || work(&root)).await?.map_err(path_error)?;
    Ok(Done {})
}
