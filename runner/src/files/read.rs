//! Streaming a file to the peer.
//!
//! Data that is already in memory is read on the thread that serves the link, and costs no change of threads. A read that must not wait
//! (`RWF_NOWAIT`) is not necessarily quick, though: the system reads ahead during it, and returns only after finding and clearing the
//! memory for that. Megabytes at once took 20 ms and more, in which nothing else was answered. So this code controls the read-ahead, and
//! if a read was slow, or would have had to wait, other threads continue: they read the next piece while this one is sent.

use std::fs::File;
use std::io::{self, IoSliceMut};
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use pathguard::Root;
use proto::limits::MAX_DATA_BYTES;
use proto::message::{FileOpened, FileRead};
use proto::request::ReadFile;
use proto::{Channel, DataBuf, WireError};
use rustix::fs::{Advice, fadvise};
use rustix::io::{Errno, ReadWriteFlags};

use super::{Files, io_error, path, path_error, unix_ms};
use crate::host::Disk;
use crate::limits::{FILE_BUFFER_BYTES, FILE_PIECE_BYTES, READ_AHEAD_BYTES, SLOW_FILE_BYTES, SLOW_READ_US};
use crate::stream::{Stopped, StreamHandle};

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
        let length: usize = piece.iter().map(DataBuf::len).sum();
        bytes += length as u64;
        let sent = async { send(stream, piece).await.map_err(WireError::from) };
        if source.ended {
            sent.await?;
            break;
        }
        if source.is_quick() {
            sent.await?;
            (source, piece) = match source.read_here().map_err(io_error)? {
                Some(buffer) => (source, vec![buffer]),
                None => next(&disk, source).await?,
            };
            continue;
        }
        let next = next(&disk, source);
        (source, piece) = if stream.writable() > length {
            let (next, ()) = tokio::try_join!(next, sent)?;
            next
        } else {
            // A slow peer costs the memory of one piece.
            sent.await?;
            next.await?
        };
    }
    stream.end(Channel::Main);
    Ok(FileRead { bytes })
}

async fn send(stream: &StreamHandle, piece: Vec<DataBuf>) -> Result<(), Stopped> {
    for buffer in piece {
        stream.send_data(Channel::Main, buffer).await?;
    }
    Ok(())
}

async fn next(disk: &Disk, mut source: Source) -> Result<(Source, Vec<DataBuf>), WireError> {
    let read = disk.run(move || source.next_piece().map(|piece| (source, piece)));
    read.await?.map_err(io_error)
}

/// How a read treats data that is not in memory: wait for the disk, or give up.
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
    /// The bytes expected beyond `offset`, by the file's size.
    expected: u64,
    /// The offset up to which the system was asked to read.
    advised: u64,
    /// The offset from which reading on the thread that serves the link is tried again.
    slow_until: u64,
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
            advised: request.offset,
            slow_until: request.offset,
            ended: false,
            file: open.into_file(),
        };
        Ok((source, opened))
    }

    /// True if the next read will probably take no longer than a copy.
    fn is_quick(&self) -> bool {
        self.offset >= self.slow_until
    }

    /// The next buffer, from memory; `None` if it would have to wait.
    fn read_here(&mut self) -> io::Result<Option<DataBuf>> {
        let begun = Instant::now();
        let buffer = self.next_buffer(Wait::Never)?;
        if buffer.is_none() || begun.elapsed() >= Duration::from_micros(SLOW_READ_US) {
            self.slow_until = self.offset.saturating_add(SLOW_FILE_BYTES);
        }
        Ok(buffer)
    }

    /// The next full buffers, fewer at the end; may wait.
    fn next_piece(&mut self) -> io::Result<Vec<DataBuf>> {
        self.advise();
        let mut piece = Vec::with_capacity(FILE_PIECE_BYTES / MAX_DATA_BYTES);
        while !self.ended && piece.len() < FILE_PIECE_BYTES / MAX_DATA_BYTES {
            piece.extend(self.next_buffer(Wait::Allowed)?);
        }
        Ok(piece)
    }

    /// Makes the disk work on the data after the next piece, a little at a time: by itself the system reads megabytes, and
    /// may occupy a processor for 20 ms meanwhile. A file system that ignores this advice does no harm.
    fn advise(&mut self) {
        let (piece, ahead) = (FILE_PIECE_BYTES as u64, READ_AHEAD_BYTES as u64);
        let left = self.expected.min(self.left);
        if left <= piece {
            return;
        }
        if self.advised < self.offset.saturating_add(piece) {
            let _ = fadvise(&self.file, 0, None, Advice::Random);
            self.advised = self.offset.saturating_add(piece);
        }
        let until = self.offset.saturating_add(left.min(piece + ahead));
        while self.advised < until {
            let _ = fadvise(&self.file, self.advised, NonZeroU64::new(piece), Advice::WillNeed);
            self.advised = self.advised.saturating_add(piece);
        }
    }

    fn next_buffer(&mut self, wait: Wait) -> io::Result<Option<DataBuf>> {
        // One byte more than expected: a short read then indicates the end without another one.
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

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: usize = 3 * 1024 * 1024 + 12_345;

    /// A source of [`BYTES`] bytes, and the expected result.
    fn source(offset: usize, length: Option<usize>) -> (Source, Vec<u8>) {
        let content: Vec<u8> =
            (0..BYTES as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("file"), &content).unwrap();
        let root = Root::open(directory.path()).unwrap();
        let request = ReadFile {
            path: "file".into(),
            offset: offset as u64,
            length: length.map(|length| length as u64),
        };
        let (source, opened) = Source::open(&root, &request).unwrap();
        assert_eq!(opened.size_bytes, BYTES as u64);
        (source, content[offset..length.map_or(BYTES, |length| offset + length)].to_vec())
    }

    #[test]
    fn what_is_read_here_and_what_other_threads_read_joins_to_the_file() {
        for (offset, length) in
            [(0, None), (1, Some(BYTES - 2)), (300_000, Some(1_000_000)), (BYTES - 1, None)]
        {
            let (mut source, expected) = source(offset, length);
            let mut received = Vec::new();
            for turn in 0_u32.. {
                if source.ended {
                    break;
                }
                let here = if turn % 3 == 0 { None } else { source.read_here().unwrap() };
                let piece = here.map_or_else(|| source.next_piece().unwrap(), |buffer| vec![buffer]);
                piece.iter().for_each(|buffer| received.extend_from_slice(buffer.as_slice()));
            }
            assert!(received == expected, "{offset} {length:?}");
        }
    }

    #[test]
    fn behind_a_read_that_was_slow_other_threads_read_on_for_a_while() {
        let (mut source, _) = source(0, None);
        source.slow_until = 1;
        assert!(!source.is_quick());
        let read: usize = source.next_piece().unwrap().iter().map(DataBuf::len).sum();
        assert_eq!(read, FILE_PIECE_BYTES);
        assert!(source.is_quick());
    }
}
