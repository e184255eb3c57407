//! Reads the files in a packed document, by the directory at the archive's end: stored or deflated, without encryption, below 4 GiB.
//!
//! No file is written: names are only compared, so links and paths that lead out of the archive have no effect.

use std::cell::Cell;
use std::io::Read;

use flate2::read::DeflateDecoder;

use crate::failure::Failure;
use crate::limits::{ENTRIES, UNPACKED_BYTES};

const END: &[u8] = b"PK\x05\x06";
const END_BYTES: usize = 22;
const ENTRY: &[u8] = b"PK\x01\x02";
const ENTRY_BYTES: usize = 46;
const LOCAL: &[u8] = b"PK\x03\x04";
const LOCAL_BYTES: usize = 30;

/// An archive, and the number of bytes that may still be unpacked.
pub(crate) struct Archive<'a> {
    bytes: &'a [u8],
    entries: Vec<Entry<'a>>,
    left: Cell<u64>,
}

struct Entry<'a> {
    name: &'a [u8],
    method: u16,
    is_encrypted: bool,
    packed: usize,
    offset: usize,
}

impl<'a> Archive<'a> {
    /// Reads the archive's directory.
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self, Failure> {
        let end = end(bytes)?;
        let count = usize::from(short(end, 10)?);
        if count > ENTRIES {
            return Err(Failure::Bomb);
        }
        let mut at = long(end, 16)? as usize;
        let mut entries = Vec::new();
        for _ in 0..count {
            let record = bytes.get(at..).filter(|rest| rest.starts_with(ENTRY));
            let record = record.ok_or_else(|| Failure::broken("the archive's directory is invalid"))?;
            let name_bytes = usize::from(short(record, 28)?);
            let name = record.get(ENTRY_BYTES..ENTRY_BYTES + name_bytes);
            entries.push(Entry {
                name: name.ok_or_else(|| Failure::broken("the archive's directory ends early"))?,
                method: short(record, 10)?,
                is_encrypted: short(record, 8)? & 1 != 0,
                packed: long(record, 20)? as usize,
                offset: long(record, 42)? as usize,
            });
            at +=
                ENTRY_BYTES + name_bytes + usize::from(short(record, 30)?) + usize::from(short(record, 32)?);
        }
        Ok(Self { bytes, entries, left: Cell::new(UNPACKED_BYTES) })
    }

    /// True if it has a file of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.entries.iter().any(|entry| entry.name == name.as_bytes())
    }

    /// A reader of the file with this name; `None` if there is none.
    pub(crate) fn read(&self, name: &str) -> Result<Option<impl Read + use<'_, 'a>>, Failure> {
        let Some(entry) = self.entries.iter().find(|entry| entry.name == name.as_bytes()) else {
            return Ok(None);
        };
        if entry.is_encrypted {
            return Err(Failure::Encrypted);
        }
        let local = self.bytes.get(entry.offset..).filter(|rest| rest.starts_with(LOCAL));
        let local = local.ok_or_else(|| Failure::broken("a file in it is not where its directory says"))?;
        let start = LOCAL_BYTES + usize::from(short(local, 26)?) + usize::from(short(local, 28)?);
        let packed = start.checked_add(entry.packed).and_then(|end| local.get(start..end));
        let packed = packed.ok_or_else(|| Failure::broken("it ends within a file"))?;
        let content: Box<dyn Read + '_> = match entry.method {
            0 => Box::new(packed),
            8 => Box::new(DeflateDecoder::new(packed)),
            _ => return Err(Failure::broken("a file in the archive uses an unsupported compression method")),
        };
        Ok(Some(Counting { content, left: &self.left }))
    }
}

/// A reader that fails once too much has been unpacked.
struct Counting<'a> {
    content: Box<dyn Read + 'a>,
    left: &'a Cell<u64>,
}

impl Read for Counting<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.content.read(buffer)?;
        match self.left.get().checked_sub(count as u64) {
            Some(left) => self.left.set(left),
            None => return Err(std::io::ErrorKind::FileTooLarge.into()),
        }
        Ok(count)
    }
}

/// The end record: the last one whose comment fills the rest of the file.
fn end(bytes: &[u8]) -> Result<&[u8], Failure> {
    let broken = || Failure::broken("the archive has no central directory; the file may be incomplete");
    let last = bytes.len().checked_sub(END_BYTES).ok_or_else(broken)?;
    let first = last.saturating_sub(usize::from(u16::MAX));
    let fits = |end: &&[u8]| {
        end.starts_with(END)
            && short(end, 20).is_ok_and(|comment| usize::from(comment) + END_BYTES == end.len())
    };
    (first..=last).rev().map(|at| &bytes[at..]).find(fits).ok_or_else(broken)
}

fn short(record: &[u8], at: usize) -> Result<u16, Failure> {
    let bytes = record.get(at..at + 2).and_then(|bytes| bytes.try_into().ok());
    bytes.map(u16::from_le_bytes).ok_or_else(|| Failure::broken("a record of the archive ends early"))
}

fn long(record: &[u8], at: usize) -> Result<u32, Failure> {
    let bytes = record.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    bytes.map(u32::from_le_bytes).ok_or_else(|| Failure::broken("a record of the archive ends early"))
}
