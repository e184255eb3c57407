//! The body of a request: empty, a small JSON document, or a file or tree that is never in memory as a whole.

use std::fs::File;
use std::io::{self, Read};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use hyper::body::{Body, Frame, SizeHint};
use pathguard::tree::{Packer, TreeError, TreeReport};

use super::limits::FILE_CHUNK_BYTES;

/// The body of a request.
pub(super) enum RequestBody {
    /// No body.
    Empty,
    /// Bytes in memory.
    Bytes(Bytes),
    /// The content of a file.
    File(FileBody),
    /// A directory's archive.
    Tree(TreeBody),
}

/// A directory's archive, packed while it is sent.
pub(super) struct TreeBody {
    packer: Box<Packer>,
    /// The result, set once packing has ended; the code that waits for the server's response reads it.
    packed: Arc<OnceLock<Result<TreeReport, TreeError>>>,
    moved_bytes: Arc<AtomicU64>,
    buffer: BytesMut,
}

impl TreeBody {
    /// The archive made by `packer`; its result goes to `packed`, and sent bytes are counted in `moved_bytes`.
    pub(super) fn new(
        packer: Packer,
        packed: Arc<OnceLock<Result<TreeReport, TreeError>>>,
        moved_bytes: Arc<AtomicU64>,
    ) -> Self {
        Self { packer: Box::new(packer), packed, moved_bytes, buffer: BytesMut::new() }
    }

    /// Reads on this thread, as [`FileBody`] does.
    fn next(&mut self) -> Option<io::Result<Bytes>> {
        if self.packed.get().is_some() {
            return None;
        }
        self.buffer.resize(FILE_CHUNK_BYTES, 0);
        let mut filled = 0;
        while filled < FILE_CHUNK_BYTES {
            match self.packer.read(&mut self.buffer[filled..]) {
                Ok(0) => {
                    // This fails only if a result is set already, and it is set only here.
                    let _ = self.packed.set(Ok(self.packer.report().clone()));
                    break;
                }
                Ok(length) => filled += length,
                Err(error) => {
                    let told = io::Error::other(error.to_string());
                    let _ = self.packed.set(Err(error));
                    return Some(Err(told));
                }
            }
        }
        self.moved_bytes.fetch_add(filled as u64, Ordering::Relaxed);
        (filled > 0).then(|| Ok(self.buffer.split_to(filled).freeze()))
    }
}

/// The next bytes of a file, up to an announced number.
pub(super) struct FileBody {
    file: File,
    left_bytes: u64,
    moved_bytes: Arc<AtomicU64>,
    buffer: BytesMut,
}

impl FileBody {
    /// Exactly `size_bytes` of `file`; sent bytes are counted in `moved_bytes`.
    pub(super) fn new(file: File, size_bytes: u64, moved_bytes: Arc<AtomicU64>) -> Self {
        Self { file, left_bytes: size_bytes, moved_bytes, buffer: BytesMut::new() }
    }

    /// Reads on this thread: a file that is copied is mostly cached, and nothing else waits for this thread.
    fn next(&mut self) -> Option<io::Result<Bytes>> {
        if self.left_bytes == 0 {
            return None;
        }
        let wanted = usize::try_from(self.left_bytes).unwrap_or(usize::MAX).min(FILE_CHUNK_BYTES);
        // Once hyper has sent a chunk, its memory is free, and is reused here.
        self.buffer.resize(wanted, 0);
        let read = loop {
            match self.file.read(&mut self.buffer[..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) => return Some(Err(io::Error::other("the file shrank while it was being copied"))),
                other => break other,
            }
        };
        Some(read.map(|read| {
            self.left_bytes -= read as u64;
            self.moved_bytes.fetch_add(read as u64, Ordering::Relaxed);
            self.buffer.split_to(read).freeze()
        }))
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = self.get_mut();
        let next = match this {
            Self::Empty => None,
            Self::Bytes(bytes) => {
                let bytes = std::mem::take(bytes);
                *this = Self::Empty;
                Some(Ok(bytes))
            }
            Self::File(file) => file.next(),
            Self::Tree(tree) => tree.next(),
        };
        Poll::Ready(next.map(|result| result.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::File(file) => file.left_bytes == 0,
            Self::Tree(tree) => tree.packed.get().is_some(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(match self {
            Self::Empty => 0,
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File(file) => file.left_bytes,
            Self::Tree(_) => return SizeHint::default(),
        })
    }
}
