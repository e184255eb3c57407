//! Whole trees, as tar archives.

use bytes::Bytes;
use proto::message::{TreeRead, TreeWritten};
use proto::request;

use crate::driver::{LinkHandle, OpenStream, Piece};
use crate::error::SandboxError;
use crate::upload::Upload;

/// A directory's archive as it arrives. Dropping this before its end stops the transfer.
///
/// The runner is not trusted: the archive has to be unpacked below a guarded handle.
#[derive(Debug)]
pub struct TreeReader {
    stream: OpenStream,
    done: Option<TreeRead>,
}

impl TreeReader {
    pub(crate) fn open(link: &LinkHandle, request: request::ReadTree) -> Result<Self, SandboxError> {
        Ok(Self { stream: link.open(request)?, done: None })
    }

    /// The next piece, of 64 KiB at most; `None` after the last one, and after an error.
    pub async fn next(&mut self) -> Option<Result<Bytes, SandboxError>> {
        match self.stream.next_piece().await? {
            Ok(Piece::Data(bytes)) => Some(Ok(bytes)),
            Ok(Piece::Answer(message)) => {
                let done = self.stream.link().expect(message).map(|done| self.done = Some(done));
                done.err().map(Err)
            }
            Err(error) => Some(Err(error)),
        }
    }

    /// The archive's contents, once [`TreeReader::next`] returned `None`.
    pub fn done(&self) -> Option<&TreeRead> {
        self.done.as_ref()
    }
}

/// A directory that is being filled from an archive. Dropping this before it is finished leaves the complete entries.
#[derive(Debug)]
pub struct TreeWriter(Upload);

impl TreeWriter {
    pub(crate) fn open(link: &LinkHandle, request: request::WriteTree) -> Result<Self, SandboxError> {
        Ok(Self(Upload::open(link, request)?))
    }

    /// Sends a part of the archive; waits while the runner's disk cannot keep up. Fails with an error that the runner has reported by now.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), SandboxError> {
        self.0.write(bytes).await
    }

    /// Ends the archive; returns what was written, once it is on disk.
    pub async fn finish(self) -> Result<TreeWritten, SandboxError> {
        self.0.finish().await
    }
}
