//! Streaming a file to the peer, as far as possible straight from the system's cache.

use std::fs::File;
use std::io::{self, IoSliceMut};

use pathguard::Root;
use proto::limits::MAX_DATA_BYTES;
use proto::message::{FileOpened, FileRead};
use proto::request::ReadFile;
use proto::{Channel, DataBuf, WireError};
use rustix::io::{Errno, ReadWriteFlags};

use super::{Files, io_error, path, path_error, unix_ms};
use crate::limits::{FILE_BUFFER_BYTES, READ_AHEAD_BYTES};
use crate::stream::StreamHandle;

/// Answers a `ReadFile`.
pub(crate) async fn read(files: Files, stream: StreamHandle, request: ReadFile) {
    let answer = transfer(files, &stream, request).await;
    stream.finish(answer);
}

async fn transfer(
    Files { root, disk }: Files,
    stream: &StreamHandle,
    request: ReadFile,
) -> Result<FileRead, WireError> {
    let opened = disk.run(move || {
        let (mut source, opened) = Source::open(&root, &request)?;
        let first = source.next_piece().map_err(io_error)?;
        Ok::<_, WireError>((source, opened, first))
    });
    let (mut source, opened, mut piece) = opened.await??;
    stream.send(opened);
    let mut bytes = 0;
    loop {
        for buffer in piece {
            bytes += buffer.len() as u64;
            stream.send_data(Channel::Main, buffer).await?;
        }
        if source.ended {
            break;
        }
        // What is in memory comes at once; only what has to be fetched from a disk is worth another thread.
        piece = match source.next_buffer(Wait::Never).map_err(io_error)? {
            Some(buffer) => vec![buffer],
            None => {
                let (returned, next) = disk
                    .run(move || {
                        let next = source.next_piece();
                        (source, next)
                    })
                    .await?;
                source = returned;
                next.map_err(io_error)?
            }
        };
    }
    stream.end(Channel::Main);
    Ok(FileRead { bytes })
}

/// Whether a read may wait for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    Never,
    Allowed,
}

/// The file and what is left to be read of it.
struct Source {
    file: File,
    offset: u64,
    left: u64,
    /// What the file's size lets expect beyond `offset`.
    expected: u64,
    ended: bool,
}

impl Source {
    fn open(root: &Root, request: &ReadFile) -> Result<(Self, FileOpened), WireError> {
        let open = root.open_file(path(&request.path)).map_err(path_error)?;
        let metadata = open.metadata();
        let opened = FileOpened {
            size_bytes: metadata.size_bytes,
            mode: metadata.mode,
            modified_ms: unix_ms(metadata.modified),
        };
        let source = Self {
            offset: request.offset,
            left: request.length.unwrap_or(u64::MAX),
            expected: opened.size_bytes.saturating_sub(request.offset),
            ended: false,
            file: open.into_file(),
        };
        Ok((source, opened))
    }

    /// The next full buffers, fewer at the end.
    fn next_piece(&mut self) -> io::Result<Vec<DataBuf>> {
        let mut piece = Vec::with_capacity(READ_AHEAD_BYTES / MAX_DATA_BYTES);
        while !self.ended && piece.len() < READ_AHEAD_BYTES / MAX_DATA_BYTES {
            piece.extend(self.next_buffer(Wait::Allowed)?);
        }
        Ok(piece)
    }

    /// The next buffer; `None` when that would have to wait.
    fn next_buffer(&mut self, wait: Wait) -> io::Result<Option<DataBuf>> {
        // One byte more than expected: a short read then tells the end without another one.
        let expected = usize::try_from(self.expected).unwrap_or(usize::MAX).saturating_add(1);
        let wanted = expected.clamp(FILE_BUFFER_BYTES, MAX_DATA_BYTES);
        let wanted = wanted.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let mut buffer = DataBuf::zeroed(wanted);
        let mut filled = 0;
        while filled < wanted {
            match self.read(&mut buffer.as_mut_slice()[filled..], wait) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(length) => {
                    filled += length;
                    self.offset = self.offset.saturating_add(length as u64);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN | Errno::OPNOTSUPP) if wait == Wait::Never && filled == 0 => {
                    return Ok(None);
                }
                Err(Errno::AGAIN | Errno::OPNOTSUPP) if wait == Wait::Never => break,
                Err(error) => return Err(error.into()),
            }
        }
        buffer.truncate(filled);
        self.left -= filled as u64;
        self.expected = self.expected.saturating_sub(filled as u64);
        self.ended |= self.left == 0;
        Ok(Some(buffer))
    }

    fn read(&self, space: &mut [u8], wait: Wait) -> rustix::io::Result<usize> {
        match wait {
            Wait::Allowed => rustix::io::pread(&self.file, space, self.offset),
            Wait::Never => {
                let space = &mut [IoSliceMut::new(space)];
                rustix::io::preadv2(&self.file, space, self.offset, ReadWriteFlags::NOWAIT)
            }
        }
    }
}
