//! Streams of files and listings.

use bytes::Bytes;
use proto::message::{DirBatch, DirEntry, DirRead, FileOpened, FileRead, FileWritten};
use proto::request::Present;
use proto::{Message, Request, codec, request};

use crate::driver::{LinkHandle, OpenStream, Piece, StreamEvent};
use crate::error::SandboxError;
use crate::upload::Upload;

/// The part of a file to read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Range {
    /// The offset of the first byte.
    pub offset: u64,
    /// The maximum number of bytes; to the end when absent.
    pub length: Option<u64>,
}

/// Options for writing a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Permission bits; the old file's, or 0o644, when absent.
    pub mode: Option<u32>,
    /// True if missing parent directories are made.
    pub parents: bool,
    /// Bytes that will follow, if known; a different count fails.
    pub size_bytes: Option<u64>,
    /// Fails with `precondition_failed` unless the current content has this SHA-256.
    pub if_match: Option<[u8; 32]>,
    /// The file that must exist there, if [`crate::Sandbox::resolve`] returned this path: the path is then not followed to any other
    /// file. Fails with `precondition_failed` if that file is not there.
    pub present: Option<Present>,
}

/// A file's bytes as they arrive. Dropping this before the end stops the transfer.
#[derive(Debug)]
pub struct FileReader {
    stream: OpenStream,
    opened: FileOpened,
    delivered_bytes: u64,
}

impl FileReader {
    pub(crate) async fn open(link: &LinkHandle, request: request::ReadFile) -> Result<Self, SandboxError> {
        let mut stream = link.open(request)?;
        match stream.next().await {
            Some(StreamEvent::Message(Message::FileOpened(opened))) => {
                Ok(Self { stream, opened, delivered_bytes: 0 })
            }
            Some(StreamEvent::Failed(error)) => Err(error),
            _ => Err(link.broken("a file that was never opened")),
        }
    }

    /// The whole file's size when it was opened, in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.opened.size_bytes
    }

    /// The file's permission bits.
    pub fn mode(&self) -> u32 {
        self.opened.mode
    }

    /// The file's last modification, in Unix milliseconds.
    pub fn modified_ms(&self) -> i64 {
        self.opened.modified_ms
    }

    /// The next piece, of 64 KiB at most; `None` after the last one, and after an error.
    pub async fn next(&mut self) -> Option<Result<Bytes, SandboxError>> {
        match self.stream.next_piece().await? {
            Ok(Piece::Data(bytes)) => {
                self.delivered_bytes += bytes.len() as u64;
                Some(Ok(bytes))
            }
            Ok(Piece::Answer(message)) => self.end(message).err().map(Err),
            Err(error) => Some(Err(error)),
        }
    }

    fn end(&self, message: Message) -> Result<(), SandboxError> {
        let link = self.stream.link();
        let FileRead { bytes } = link.expect(message)?;
        if bytes == self.delivered_bytes { Ok(()) } else { Err(link.broken("fewer bytes than it announced")) }
    }
}

/// A file that is being written. Dropping this before it is finished discards the file.
#[derive(Debug)]
pub struct FileWriter(Upload);

impl FileWriter {
    pub(crate) fn open(link: &LinkHandle, request: impl Into<Request>) -> Result<Self, SandboxError> {
        Ok(Self(Upload::open(link, request)?))
    }

    /// Writes; waits while the runner's disk cannot keep up. Fails with an error that the runner has reported by now.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), SandboxError> {
        self.0.write(bytes).await
    }

    /// Ends the content; returns the file's size once it is on disk under its name.
    pub async fn finish(self) -> Result<u64, SandboxError> {
        let FileWritten { bytes } = self.0.finish().await?;
        Ok(bytes)
    }
}

/// A directory's entries as they arrive, in no particular order.
#[derive(Debug)]
pub struct DirReader {
    stream: OpenStream,
    delivered_entries: u64,
}

impl DirReader {
    pub(crate) fn open(link: &LinkHandle, request: request::ReadDir) -> Result<Self, SandboxError> {
        Ok(Self { stream: link.open(request)?, delivered_entries: 0 })
    }

    /// The next entries; `None` after the last ones, and after an error.
    pub async fn next_batch(&mut self) -> Option<Result<Vec<DirEntry>, SandboxError>> {
        loop {
            match self.stream.next().await? {
                StreamEvent::Data(_, bytes) => {
                    let Ok(DirBatch { entries }) = codec::decode(&bytes) else {
                        return Some(Err(self.stream.link().broken("a listing that cannot be decoded")));
                    };
                    self.delivered_entries += entries.len() as u64;
                    return Some(Ok(entries));
                }
                StreamEvent::Answer(message) => return self.end(message).err().map(Err),
                StreamEvent::Failed(error) => return Some(Err(error)),
                StreamEvent::Gap(..) | StreamEvent::Message(_) => {}
                StreamEvent::Interrupted | StreamEvent::Resumed => {}
            }
        }
    }

    fn end(&self, message: Message) -> Result<(), SandboxError> {
        let link = self.stream.link();
        let DirRead { entries } = link.expect(message)?;
        let is_whole = entries == self.delivered_entries;
        if is_whole { Ok(()) } else { Err(link.broken("fewer entries than it announced")) }
    }
}
