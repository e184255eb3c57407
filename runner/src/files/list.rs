//! Listing a directory in batches, each a whole `DirBatch` in one DATA frame.

use std::iter::Peekable;
use std::os::unix::ffi::OsStringExt;

use pathguard::Entry;
use proto::message::{DirBatch, DirEntry, DirRead};
use proto::request::ReadDir;
use proto::{Channel, DataBuf, WireError, codec};

use super::{Files, path, path_error, wire_kind};
use crate::limits::DIRECTORY_BATCH_BYTES;
use crate::stream::StreamHandle;

/// The size of an encoded entry without its name: length, kind and size.
const ENTRY_BYTES: usize = 8 + 4 + 8;

/// Answers a `ReadDir`.
pub(crate) async fn read_dir(files: Files, stream: StreamHandle, request: ReadDir) {
    let answer = transfer(files, &stream, request).await;
    stream.finish(answer);
}

async fn transfer(
    Files { root, disk }: Files,
    stream: &StreamHandle,
    request: ReadDir,
) -> Result<DirRead, WireError> {
    let first = move || {
        let directory = root.read_dir(path(&request.path)).map_err(path_error)?;
        next_batch(directory.peekable())
    };
    let (mut directory, mut batch) = disk.run(first).await??;
    let mut entries = 0;
    while !batch.entries.is_empty() {
        entries += batch.entries.len() as u64;
        let body = codec::encode(&batch)?;
        // A batch has to fit one DATA frame, so this waits for room for all of it.
        stream.room(body.len()).await?;
        stream.data(Channel::Main, DataBuf::copy_from(&body));
        (directory, batch) = disk.run(move || next_batch(directory)).await??;
    }
    stream.end(Channel::Main);
    Ok(DirRead { entries })
}

type Directory = Peekable<pathguard::ReadDir>;

/// The next entries that fit one batch; none at the end.
fn next_batch(mut directory: Directory) -> Result<(Directory, DirBatch), WireError> {
    let mut entries = Vec::new();
    let mut bytes = 8;
    let fits = |entry: &pathguard::Result<Entry>, bytes: usize| {
        let name = entry.as_ref().map_or(0, |entry| entry.name.len());
        (bytes + ENTRY_BYTES + name <= DIRECTORY_BATCH_BYTES).then_some(ENTRY_BYTES + name)
    };
    while let Some(length) = directory.peek().and_then(|entry| fits(entry, bytes)) {
        let Some(entry) = directory.next() else { break };
        let Entry { name, metadata } = entry.map_err(path_error)?;
        bytes += length;
        let (kind, size_bytes) = (wire_kind(metadata.kind), metadata.size_bytes);
        entries.push(DirEntry { name: name.into_vec(), kind, size_bytes });
    }
    Ok((directory, DirBatch { entries }))
}
