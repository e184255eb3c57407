//! Receiving a file: into a temporary one that gets its name only when everything has arrived.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;

use bytes::Bytes;
use pathguard::{CreateOptions, OpenFile, PendingFile, Root};
use proto::message::FileWritten;
use proto::request::{Present, WriteFile};
use proto::{ErrorKind, WireError};
use sha2::{Digest, Sha256};

use super::{Files, io_error, path, path_error, resolved};
use crate::blocking::post;
use crate::limits::{CONDITION_BYTES, WRITE_BATCH_BYTES, WRITEBACK_BYTES};
use crate::stream::{Stopped, StreamHandle};
use crate::sys;

/// Writes the file of a `WriteFile`; with `present`, only if its path still resolves to the same place and the expected
/// file is there.
pub(super) async fn write(
    Files { root, disk }: Files,
    stream: &StreamHandle,
    request: WriteFile,
    present: Option<Present>,
) -> Result<FileWritten, WireError> {
    let size_bytes = request.size_bytes;
    let start = move || create(&root, &request, present).map(|pending| (pending, root, request));
    let (pending, root, request) = disk.run(start).await??;
    let mut growing = Growing { pending, bytes: 0, begun: 0 };
    let mut bytes = 0;
    while let Some(batch) = next_batch(stream).await? {
        let length: usize = batch.iter().map(Bytes::len).sum();
        bytes += length as u64;
        if size_bytes.is_some_and(|announced| bytes > announced) {
            return Err(wrong_size(bytes, size_bytes));
        }
        // Data being written does not count as in flight, so that writing does not pause receiving.
        stream.consumed(length);
        growing = disk.run(move || growing.append(&batch)).await?.map_err(io_error)?;
    }
    if size_bytes.is_some_and(|announced| bytes != announced) {
        return Err(wrong_size(bytes, size_bytes));
    }
    let commit = move || {
        // Others may have changed the file while the content was arriving.
        check_condition(&root, &request)?;
        if let Some(present) = present {
            resolved::check(&root, &growing.pending, path(&request.path), present)?;
        }
        // The replaced file is held open until the answer is sent: freeing a large file's memory takes as long as writing some of it.
        let replaced = root.open_file(path(&request.path)).ok();
        let committed = match present {
            Some(Present::Nothing) => growing.pending.commit_new().map_err(resolved::taken),
            Some(Present::AnyFile | Present::Content(_)) | None => {
                growing.pending.commit().map_err(path_error)
            }
        };
        post(move || drop(replaced));
        committed
    };
    disk.run(commit).await??;
    Ok(FileWritten { bytes })
}

/// Data that has arrived, within a limit; `None` at the end of the data.
pub(super) async fn next_batch(stream: &StreamHandle) -> Result<Option<Vec<Bytes>>, Stopped> {
    loop {
        if stream.is_stopped() {
            return Err(Stopped);
        }
        let mut batch = Vec::new();
        let mut length = 0;
        while length < WRITE_BATCH_BYTES
            && let Some(bytes) = stream.take_data()
        {
            length += bytes.len();
            batch.push(bytes);
        }
        if !batch.is_empty() {
            return Ok(Some(batch));
        }
        if stream.data_ended() {
            return Ok(None);
        }
        stream.changed().await;
    }
}

fn check_condition(root: &Root, request: &WriteFile) -> Result<(), WireError> {
    if let Some(expected) = request.if_match {
        let present = present_hash(root, request)?;
        if present != Some(expected) {
            let text = "the file does not meet the condition: read it again";
            return Err(WireError::new(ErrorKind::PreconditionFailed, text));
        }
    }
    Ok(())
}

fn create(root: &Root, request: &WriteFile, present: Option<Present>) -> Result<PendingFile, WireError> {
    check_condition(root, request)?;
    let options = CreateOptions { mode: request.mode, parents: request.parents };
    if let Some(present) = present {
        return resolved::create(root, path(&request.path), options, present);
    }
    root.create_file(path(&request.path), options).map_err(path_error)
}

/// The SHA-256 of the current file; `None` if there is none.
fn present_hash(root: &Root, request: &WriteFile) -> Result<Option<[u8; 32]>, WireError> {
    match root.open_file(path(&request.path)) {
        Ok(open) => content_hash(open).map(Some),
        Err(pathguard::Error::NotFound) => Ok(None),
        Err(error) => Err(path_error(error)),
    }
}

/// The SHA-256 of a file's content, if that is small enough to be compared.
pub(super) fn content_hash(open: OpenFile) -> Result<[u8; 32], WireError> {
    if open.metadata().size_bytes > CONDITION_BYTES {
        return Err(too_large_to_compare());
    }
    // Its size is unreliable if it grows meanwhile, and on some file systems.
    let mut file = open.into_file().take(CONDITION_BYTES + 1);
    let mut hash = Sha256::new();
    let mut buffer = vec![0; WRITE_BATCH_BYTES];
    loop {
        match file.read(&mut buffer) {
            Ok(_) if file.limit() == 0 => return Err(too_large_to_compare()),
            Ok(0) => return Ok(hash.finalize().into()),
            Ok(length) => hash.update(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(io_error(error)),
        }
    }
}

fn too_large_to_compare() -> WireError {
    let text = format!(
        "the file is larger than {CONDITION_BYTES} bytes, the most that is compared: write it without a condition"
    );
    WireError::new(ErrorKind::TooLarge, text)
}

/// A file on its way to the disk.
struct Growing {
    pending: PendingFile,
    /// The size of the file so far, in bytes.
    bytes: u64,
    /// How much of it the disk has already been asked to write.
    begun: u64,
}

impl Growing {
    fn append(mut self, batch: &[Bytes]) -> io::Result<Self> {
        for bytes in batch {
            self.pending.write_all(bytes)?;
            self.bytes += bytes.len() as u64;
        }
        let more = self.bytes - self.begun;
        if more >= WRITEBACK_BYTES {
            // On a file system without this, all of it is left for the end.
            let _ = sys::begin_writeback(self.pending.as_fd(), self.begun, more);
            self.begun = self.bytes;
        }
        Ok(self)
    }
}

fn wrong_size(bytes: u64, announced: Option<u64>) -> WireError {
    let announced = announced.unwrap_or_default();
    let text = format!("{announced} bytes were announced, but {bytes} arrived; nothing was written");
    WireError::new(ErrorKind::InvalidBody, text)
}
