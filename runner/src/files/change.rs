//! Facts, and the changes that are one system call or few.

use pathguard::Root;
use proto::message::{Done, Metadata};
use proto::request::{DownloadResolved, MkdirAll, Remove, RemoveAll, Rename, Stat, WriteResolved};
use proto::{ErrorKind, Message, Request, WireError};

use super::download::download;
use super::tree::write_tree;
use super::write::write;
use super::{Files, may_change, path as as_path, path_error, wire_metadata};
use crate::executor::Executor;
use crate::stream::StreamHandle;

/// Facts about a path, symlinks followed.
pub(crate) async fn stat(Files { root, disk }: Files, request: Stat) -> Result<Metadata, WireError> {
    let found = disk.run(move || root.stat(as_path(&request.path))).await?.map_err(path_error)?;
    Ok(wire_metadata(&found))
}

/// Makes a change; a file's content comes on `stream`.
pub(crate) async fn change(
    executor: &Executor,
    stream: &StreamHandle,
    request: Request,
) -> Result<Message, WireError> {
    may_change(executor)?;
    make(executor, stream, request).await.map_err(|error| executor.files.disk.explain(error))
}

async fn make(executor: &Executor, stream: &StreamHandle, request: Request) -> Result<Message, WireError> {
    let done = match request {
        Request::WriteFile(request) => {
            return write(executor.files.clone(), stream, request, None).await.map(Message::from);
        }
        Request::WriteResolved(WriteResolved { write: request, present }) => {
            return write(executor.files.clone(), stream, request, Some(present)).await.map(Message::from);
        }
        Request::DownloadResolved(DownloadResolved { download: request, present }) => {
            return download(executor, stream, request, Some(present)).await;
        }
        Request::WriteTree(request) => return write_tree(executor, stream, request).await,
        Request::Download(request) => return download(executor, stream, request, None).await,
        Request::MkdirAll(MkdirAll { path, mode, .. }) => {
            at_once(executor, move |root| root.mkdir_all(as_path(&path), mode)).await
        }
        Request::Remove(Remove { path, .. }) => {
            at_once(executor, move |root| root.remove(as_path(&path))).await
        }
        Request::RemoveAll(RemoveAll { path, .. }) => {
            at_once(executor, move |root| root.remove_all(as_path(&path))).await
        }
        Request::Rename(Rename { from, to, .. }) => {
            at_once(executor, move |root| root.rename(as_path(&from), as_path(&to))).await
        }
        other => Err(WireError::new(ErrorKind::Internal, format!("{other:?} changes nothing"))),
    };
    done.map(Message::from)
}

async fn at_once(
    executor: &Executor,
    work: impl FnOnce(&Root) -> pathguard::Result<()> + Send + 'static,
) -> Result<Done, WireError> {
    let Files { root, disk } = executor.files.clone();
    disk.run(move || work(&root)).await?.map_err(path_error)?;
    Ok(Done {})
}
