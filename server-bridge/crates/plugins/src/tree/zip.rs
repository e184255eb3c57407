//! Zip archives, read through the directory at their end: stored and deflated entries, without encryption, below 4 GiB.

use std::io::Read;

use flate2::read::DeflateDecoder;

use super::archive::{ArchiveError, Counting, Kind, Visitor};
use crate::limits::{ARCHIVE_ENTRIES, DECOMPRESSED_BYTES};

const END: &[u8] = b"PK\x05\x06";
const END_BYTES: usize = 22;
const ENTRY: &[u8] = b"PK\x01\x02";
const ENTRY_BYTES: usize = 46;
const LOCAL: &[u8] = b"PK\x03\x04";
const LOCAL_BYTES: usize = 30;
/// The value of a field if the real value is in an extension for large archives.
const ELSEWHERE: u32 = u32::MAX;
/// The system code for modes as in Unix.
const UNIX: u8 = 3;

pub(super) fn visit(bytes: &[u8], visitor: &mut dyn Visitor) -> Result<(), ArchiveError> {
    let end = end(bytes)?;
    let count = usize::from(short(end, 10)?);
    if count > ARCHIVE_ENTRIES {
        return Err(ArchiveError::TooManyEntries);
    }
    let mut at = long(end, 16)? as usize;
    let mut left = DECOMPRESSED_BYTES;
    for _ in 0..count {
        let entry = bytes.get(at..).filter(|rest| rest.starts_with(ENTRY));
        let entry = Entry::read(entry.ok_or(ArchiveError::Damaged("its central directory is malformed"))?)?;
        at += entry.length;
        left = entry.visit(bytes, left, visitor)?;
    }
    Ok(())
}

/// The record at the end of the archive: the last one whose comment fills the rest.
fn end(bytes: &[u8]) -> Result<&[u8], ArchiveError> {
    let last = bytes.len().checked_sub(END_BYTES).ok_or(ArchiveError::Damaged("it is too short"))?;
    let first = last.saturating_sub(usize::from(u16::MAX));
    (first..=last)
        .rev()
        .map(|at| &bytes[at..])
        .find(|end| {
            end.starts_with(END)
                && short(end, 20).is_ok_and(|comment| usize::from(comment) + END_BYTES == end.len())
        })
        .ok_or(ArchiveError::Damaged("it has no central directory"))
}

struct Entry<'a> {
    name: &'a str,
    kind: Kind,
    method: u16,
    is_encrypted: bool,
    crc: u32,
    packed: u32,
    size: u32,
    offset: u32,
    /// The length of this record.
    length: usize,
}

impl<'a> Entry<'a> {
    fn read(record: &'a [u8]) -> Result<Self, ArchiveError> {
        let name_length = usize::from(short(record, 28)?);
        let name = record.get(ENTRY_BYTES..ENTRY_BYTES + name_length);
        let name = std::str::from_utf8(name.ok_or(ArchiveError::Damaged("its directory ends early"))?)
            .map_err(|_| ArchiveError::Damaged("a name is not UTF-8"))?;
        let length =
            ENTRY_BYTES + name_length + usize::from(short(record, 30)?) + usize::from(short(record, 32)?);
        let mode = if record[5] == UNIX { long(record, 38)? >> 16 } else { 0 };
        let kind = match mode & 0o170_000 {
            _ if name.ends_with('/') => Kind::Directory,
            0 | 0o100_000 => Kind::File { is_executable: mode & 0o111 != 0 },
            0o040_000 => Kind::Directory,
            0o120_000 => Kind::Link,
            _ => Kind::Special,
        };
        Ok(Self {
            name,
            kind,
            method: short(record, 10)?,
            is_encrypted: short(record, 8)? & 1 != 0,
            crc: long(record, 16)?,
            packed: long(record, 20)?,
            size: long(record, 24)?,
            offset: long(record, 42)?,
            length,
        })
    }

    /// Shows the entry to the visitor; returns how much may still be decompressed after it.
    fn visit(&self, bytes: &[u8], left: u64, visitor: &mut dyn Visitor) -> Result<u64, ArchiveError> {
        if [self.packed, self.size, self.offset].contains(&ELSEWHERE) {
            return Err(ArchiveError::Method(self.name.to_owned(), "zip64"));
        }
        if self.is_encrypted {
            return Err(ArchiveError::Method(self.name.to_owned(), "encrypted"));
        }
        let local = bytes.get(self.offset as usize..).filter(|rest| rest.starts_with(LOCAL));
        let local =
            local.ok_or(ArchiveError::Damaged("an entry is not where the central directory places it"))?;
        let start = LOCAL_BYTES + usize::from(short(local, 26)?) + usize::from(short(local, 28)?);
        let packed = start.checked_add(self.packed as usize).and_then(|end| local.get(start..end));
        let packed = packed.ok_or(ArchiveError::Damaged("it ends within an entry"))?;
        match self.method {
            0 => self.show(packed, left, visitor),
            8 => self.show(DeflateDecoder::new(packed), left, visitor),
            _ => Err(ArchiveError::Method(self.name.to_owned(), "an unusual method")),
        }
    }

    fn show(&self, content: impl Read, left: u64, visitor: &mut dyn Visitor) -> Result<u64, ArchiveError> {
        // One byte more than the entry declares is an error, and nothing is read after it.
        let content = content.take(u64::from(self.size) + 1);
        let mut checked =
            Checked { inner: Counting::with_left(content, left), hash: crc32fast::Hasher::new(), count: 0 };
        visitor.entry(self.name, self.kind, &mut checked)?;
        // A visitor reads all of an entry or none of it, unless it fails.
        let is_whole = checked.count == u64::from(self.size) && checked.hash.finalize() == self.crc;
        if checked.count > 0 && !is_whole {
            return Err(ArchiveError::Damaged("an entry does not match the central directory"));
        }
        Ok(checked.inner.left())
    }
}

/// A reader that counts and hashes the bytes that are read through it.
struct Checked<R> {
    inner: R,
    hash: crc32fast::Hasher,
    count: u64,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hash.update(&buffer[..count]);
        self.count += count as u64;
        Ok(count)
    }
}

fn short(record: &[u8], at: usize) -> Result<u16, ArchiveError> {
    let bytes = record.get(at..at + 2).and_then(|bytes| bytes.try_into().ok());
    bytes.map(u16::from_le_bytes).ok_or(ArchiveError::Damaged("a record ends early"))
}

fn long(record: &[u8], at: usize) -> Result<u32, ArchiveError> {
    let bytes = record.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    bytes.map(u32::from_le_bytes).ok_or(ArchiveError::Damaged("a record ends early"))
}
