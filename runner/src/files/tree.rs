//! Reading and writing whole directory trees, as archives.

use bytes::Bytes;
use pathguard::tree::{Packer, TreeError, TreeReport, UnpackOptions, Unpacker};
use proto::limits::MAX_DATA_BYTES;
use proto::message::{TreeRead, TreeWritten};
use proto::request::{ReadTree, WriteTree};
use proto::{Channel, DataBuf, Message, WireError};

use super::write::next_batch;
use super::{Files, may_change, path, path_error};
use crate::host::Host;
use crate::limits::FILE_PIECE_BYTES;
use crate::stream::StreamHandle;

/// Answers a `ReadTree`.
pub(crate) async fn read_tree(files: Files, stream: StreamHandle, request: ReadTree) {
    let answer = send(files, &stream, request).await;
    stream.finish(answer);
}

async fn send(
    Files { root, disk }: Files,
    stream: &StreamHandle,
    request: ReadTree,
) -> Result<TreeRead, WireError> {
    let start = move || next_pieces(Packer::new(&root, path(&request.path)).map_err(path_error)?);
    let (mut packer, mut pieces) = disk.run(start).await??;
    while !pieces.is_empty() {
        for piece in pieces {
            stream.send_data(Channel::Main, piece).await?;
        }
        (packer, pieces) = disk.run(move || next_pieces(packer)).await??;
    }
    stream.end(Channel::Main);
    let TreeReport { files, directories, symlinks, size_bytes, skipped, note, .. } = packer.report().clone();
    Ok(TreeRead { files, directories, symlinks, size_bytes, skipped, note })
}

/// The next pieces of the archive; none at its end.
fn next_pieces(mut packer: Packer) -> Result<(Packer, Vec<DataBuf>), WireError> {
    let mut pieces = Vec::with_capacity(FILE_PIECE_BYTES / MAX_DATA_BYTES);
    let mut ended = false;
    while !ended && pieces.len() < FILE_PIECE_BYTES / MAX_DATA_BYTES {
        let mut piece = DataBuf::zeroed(MAX_DATA_BYTES);
        let mut filled = 0;
        while !ended && filled < MAX_DATA_BYTES {
            let length = packer.read(&mut piece.as_mut_slice()[filled..]).map_err(tree_error)?;
            filled += length;
            ended = length == 0;
        }
        piece.truncate(filled);
        if filled > 0 {
            pieces.push(piece);
        }
    }
    Ok((packer, pieces))
}

/// Carries out a `WriteTree`.
pub(crate) async fn write_tree(
    host: &Host,
    stream: &StreamHandle,
    request: WriteTree,
) -> Result<Message, WireError> {
    may_change(host)?;
    let Files { root, disk } = host.files.clone();
    let options = UnpackOptions { delete_extra: request.delete_extra, durable: true };
    let mut unpacker =
        disk.run(move || Unpacker::new(&root, path(&request.path), options)).await?.map_err(path_error)?;
    loop {
        let batch = match next_batch(stream).await {
            Ok(Some(batch)) => batch,
            Ok(None) => break,
            Err(stopped) => return Err(with_report(stopped.into(), unpacker.report())),
        };
        let length = batch.iter().map(Bytes::len).sum();
        let push = move || {
            let pushed = batch.iter().try_for_each(|bytes| unpacker.push(bytes));
            (unpacker, pushed)
        };
        let (returned, pushed) = disk.run(push).await?;
        unpacker = returned;
        pushed.map_err(|error| with_report(tree_error(error), unpacker.report()))?;
        stream.consumed(length);
    }
    let finish = move || {
        let finished = unpacker.finish();
        finished.map_err(|error| with_report(tree_error(error), unpacker.report()))
    };
    let TreeReport { files, directories, symlinks, size_bytes, removed, .. } = disk.run(finish).await??;
    Ok(TreeWritten { files, directories, symlinks, size_bytes, removed }.into())
}

fn tree_error(error: TreeError) -> WireError {
    WireError::new(path_error(error.error).kind, error)
}

/// Adds the part that was written in spite of the error.
fn with_report(error: WireError, report: &TreeReport) -> WireError {
    let TreeReport { files, directories, symlinks, .. } = report;
    let written = format!("files written by then: {files}, directories: {directories}, links: {symlinks}");
    WireError::new(error.kind, format!("{}; {written}", error.description))
}
