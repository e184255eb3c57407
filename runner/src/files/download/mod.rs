//! Fetching a URL into a file that gets its name only when it is complete.

mod fetch;

use std::io::{self, Write};

use bytes::Bytes;
use pathguard::{CreateOptions, PendingFile};
use proto::message::FileWritten;
use proto::request::{Download, Present};
use proto::{ErrorKind, Message, WireError};
use sha2::{Digest, Sha256};

use self::fetch::Answer;
use super::{Files, io_error, may_change, path, path_error, resolved};
use crate::host::Host;
use crate::limits::DOWNLOAD_BYTES;
use crate::stream::{Stopped, StreamHandle};

/// Carries out a `Download`. The download continues without its link, as other changes do; a cancel ends it.
pub(crate) async fn download(
    host: &Host,
    stream: &StreamHandle,
    request: Download,
    present: Option<Present>,
) -> Result<Message, WireError> {
    may_change(host)?;
    tokio::select! {
        done = transfer(host, request, present) => done,
        () = cancelled(stream) => Err(Stopped.into()),
        () = host.stopping.cancelled() => {
            Err(WireError::new(ErrorKind::ShuttingDown, "the runner is stopping; nothing was written"))
        }
    }
}

async fn cancelled(stream: &StreamHandle) {
    while !stream.is_stopped() || stream.is_lost() {
        stream.changed().await;
    }
}

async fn transfer(host: &Host, request: Download, present: Option<Present>) -> Result<Message, WireError> {
    let max_bytes = request.max_bytes.min(DOWNLOAD_BYTES);
    let url = fetch::parse(&request.url)?;
    let Files { root, disk } = host.files.clone();
    let options = CreateOptions { mode: request.mode, parents: request.parents };
    let create = move || {
        let path = path(&request.path);
        let pending = match present {
            Some(present) => resolved::create(&root, path, options, present)?,
            None => root.create_file(path, options).map_err(path_error)?,
        };
        Ok::<_, WireError>((pending, root, request.path))
    };
    let (pending, root, target) = disk.run(create).await??;
    let mut answer = Box::pin(Answer::to(url, &host.policy.bounds)).await?;
    if answer.size_bytes().is_some_and(|size| size > max_bytes) {
        return Err(too_large(max_bytes));
    }
    let mut content = Content { pending, hash: Sha256::new(), bytes: 0 };
    while let Some(piece) = answer.next().await? {
        if content.bytes + piece.len() as u64 > max_bytes {
            return Err(too_large(max_bytes));
        }
        content = disk.run(move || content.append(&piece)).await?.map_err(io_error)?;
    }
    let bytes = content.bytes;
    let commit = move || {
        if let Some(present) = present {
            resolved::check(&root, &content.pending, path(&target), present)?;
        }
        content.commit(request.sha256, present == Some(Present::Nothing))
    };
    disk.run(commit).await??;
    Ok(FileWritten { bytes }.into())
}

/// The content that has arrived.
struct Content {
    pending: PendingFile,
    hash: Sha256,
    bytes: u64,
}

impl Content {
    fn append(mut self, piece: &Bytes) -> io::Result<Self> {
        self.pending.write_all(piece)?;
        self.hash.update(piece);
        self.bytes += piece.len() as u64;
        Ok(self)
    }

    /// Checks the content and gives the file its name. If `is_new` is true, it replaces no existing file.
    fn commit(self, expected: Option<[u8; 32]>, is_new: bool) -> Result<(), WireError> {
        let found: [u8; 32] = self.hash.finalize().into();
        if expected.is_some_and(|expected| expected != found) {
            let hex: String = found.iter().map(|byte| format!("{byte:02x}")).collect();
            let text = format!("the download has the SHA-256 {hex}; nothing was written");
            return Err(WireError::new(ErrorKind::PreconditionFailed, text));
        }
        match is_new {
            true => self.pending.commit_new().map_err(resolved::taken)?,
            false => self.pending.commit().map_err(path_error)?,
        };
        Ok(())
    }
}

fn too_large(max_bytes: u64) -> WireError {
    let text = format!("it is larger than {max_bytes} bytes, the most that may be downloaded");
    WireError::new(ErrorKind::TooLarge, text)
}
