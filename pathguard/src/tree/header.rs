//! The blocks in front of each entry: written as ustar with pax records, read as ustar and in GNU's form.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::{Error, Result};

/// The size of every part of an archive is a multiple of this, in bytes.
pub(super) const BLOCK: usize = 512;

/// The part that follows a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flag {
    File,
    Directory,
    Symlink,
    /// Records for the next entry.
    Records,
    /// Records for the whole archive.
    GlobalRecords,
    /// GNU's way to name the next entry, and its link's target.
    LongName,
    LongLink,
}

/// A header as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) flag: Flag,
    pub(super) path: Vec<u8>,
    pub(super) link: Vec<u8>,
    pub(super) mode: u32,
    pub(super) size_bytes: u64,
}

impl Header {
    pub(super) fn parse(block: &[u8; BLOCK]) -> Result<Self> {
        let told = octal(&block[148..156]).ok_or(Error::Archive("a header's checksum is not a number"))?;
        if told != checksum(block) {
            return Err(Error::Archive("a header's checksum is wrong"));
        }
        let is_ustar = &block[257..263] == b"ustar\0";
        if !is_ustar && &block[257..263] != b"ustar " {
            return Err(Error::Archive("a header is not in ustar, pax or GNU tar format"));
        }
        let mut path = text(&block[..100]).to_vec();
        let prefix = text(&block[345..500]);
        // GNU uses this field for something else.
        if is_ustar && !prefix.is_empty() {
            path = [prefix, b"/", &path].concat();
        }
        let flag = match block[156] {
            0 | b'0' | b'7' => Flag::File,
            b'2' => Flag::Symlink,
            b'5' => Flag::Directory,
            b'x' => Flag::Records,
            b'g' => Flag::GlobalRecords,
            b'L' => Flag::LongName,
            b'K' => Flag::LongLink,
            b'1' => return Err(Error::Archive("hard links in archives are not supported")),
            b'3' | b'4' | b'6' => {
                return Err(Error::Archive("devices and FIFOs in archives are not supported"));
            }
            b'S' => return Err(Error::Archive("sparse files in archives are not supported")),
            _ => return Err(Error::Archive("an entry has an unknown type")),
        };
        let mode = octal(&block[100..108]).ok_or(Error::Archive("an entry's mode is not a number"))?;
        Ok(Self {
            flag,
            path,
            link: text(&block[157..257]).to_vec(),
            // The type of file may be stored above the relevant bits.
            mode: u32::try_from(mode & 0o7777).unwrap_or(0),
            size_bytes: number(&block[124..136]).ok_or(Error::Archive("an entry's size is not a number"))?,
        })
    }

    /// Writes the header, after records for values that do not fit into it.
    pub(super) fn write(&self, modified: SystemTime, to: &mut Vec<u8>) {
        let mut records = Vec::new();
        for (key, value) in [("path", &self.path), ("linkpath", &self.link)] {
            if value.len() > 100 {
                if std::str::from_utf8(value).is_err() {
                    record("hdrcharset", b"BINARY", &mut records);
                }
                record(key, value, &mut records);
            }
        }
        if self.size_bytes > MAX_OCTAL_SIZE {
            record("size", self.size_bytes.to_string().as_bytes(), &mut records);
        }
        if !records.is_empty() {
            write_records(b'x', &records, to);
        }
        let flag = match self.flag {
            Flag::Directory => b'5',
            Flag::Symlink => b'2',
            _ => b'0',
        };
        let modified_s = modified.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let mut path = &self.path[..];
        // The records hold the whole path. A reader may take a slash at the end of its beginning for a directory's.
        if path.len() > 100 && flag != b'5' {
            path = &path[..100];
            while let Some(shorter) = path.strip_suffix(b"/") {
                path = shorter;
            }
        }
        write_block(flag, path, &self.link, self.mode, self.size_bytes, modified_s, to);
    }
}

/// The largest size that eleven octal digits can represent.
const MAX_OCTAL_SIZE: u64 = 0o777_7777_7777;

/// Writes records as a separate entry.
pub(super) fn write_records(flag: u8, records: &[u8], to: &mut Vec<u8>) {
    write_block(flag, b"././@PaxHeader", b"", 0o644, records.len() as u64, 0, to);
    to.extend_from_slice(records);
    to.resize(to.len() + padding(records.len() as u64), 0);
}

/// Adds a record; its length counts its own digits.
pub(super) fn record(key: &str, value: &[u8], to: &mut Vec<u8>) {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while length != rest + length.to_string().len() {
        length = rest + length.to_string().len();
    }
    to.extend_from_slice(format!("{length} {key}=").as_bytes());
    to.extend_from_slice(value);
    to.push(b'\n');
}

/// How many padding bytes follow content of this size, up to the next block.
pub(super) fn padding(size_bytes: u64) -> usize {
    let over = usize::try_from(size_bytes % BLOCK as u64).unwrap_or(0);
    (BLOCK - over) % BLOCK
}

fn write_block(
    flag: u8,
    path: &[u8],
    link: &[u8],
    mode: u32,
    size_bytes: u64,
    modified_s: u64,
    to: &mut Vec<u8>,
) {
    let mut block = [0; BLOCK];
    let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &path[..path.len().min(100)]);
    put(100, format!("{mode:07o}").as_bytes());
    put(108, b"0000000");
    put(116, b"0000000");
    put(124, format!("{:011o}", size_bytes.min(MAX_OCTAL_SIZE)).as_bytes());
    put(136, format!("{:011o}", modified_s.min(MAX_OCTAL_SIZE)).as_bytes());
    put(156, &[flag]);
    put(157, &link[..link.len().min(100)]);
    put(257, b"ustar\x0000");
    let sum = checksum(&block);
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    to.extend_from_slice(&block);
}

/// The sum of all bytes, with those of the sum itself counted as spaces.
fn checksum(block: &[u8; BLOCK]) -> u64 {
    let sum = |bytes: &[u8]| bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>();
    sum(&block[..148]) + 8 * u64::from(b' ') + sum(&block[156..])
}

/// A text that ends at its first NUL byte or with its field.
fn text(field: &[u8]) -> &[u8] {
    field.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// Octal digits, with spaces before and spaces or NUL bytes after them; no digits mean 0.
fn octal(field: &[u8]) -> Option<u64> {
    let digits = field.trim_ascii_start();
    let end = digits.iter().position(|byte| matches!(byte, 0 | b' ')).unwrap_or(digits.len());
    let (digits, rest) = digits.split_at(end);
    if rest.iter().any(|byte| !matches!(byte, 0 | b' ')) {
        return None;
    }
    digits.iter().try_fold(0u64, |sum, digit| {
        let value = digit.checked_sub(b'0').filter(|value| *value < 8)?;
        sum.checked_mul(8)?.checked_add(u64::from(value))
    })
}

/// A size: octal digits, or a binary number after GNU's mark.
fn number(field: &[u8]) -> Option<u64> {
    if field[0] != 0x80 {
        return octal(field);
    }
    let (high, low) = field[1..].split_at(field.len() - 9);
    let low = u64::from_be_bytes(low.try_into().ok()?);
    high.iter().all(|byte| *byte == 0).then_some(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_tar_programs_write_them_and_nothing_else_is() {
        for (field, value) in [
            (&b"0000644\0"[..], Some(0o644)),
            (b"   644 \0", Some(0o644)),
            (b"\0\0\0\0\0\0\0\0", Some(0)),
            (b"77777777", Some(0o77_777_777)),
            (b"-1      ", None),
            (b"8       ", None),
            (b"6 4     ", None),
            (b"0x1f\0\0\0\0", None),
        ] {
            assert_eq!(octal(field), value, "{field:?}");
        }
        assert_eq!(octal(b"7777777777777777777777777"), None, "it does not fit");
        assert_eq!(number(b"\x80\0\0\0\0\0\0\x02\0\0\0\0"), Some(1 << 33));
        assert_eq!(number(&[0xff; 12]), None, "a negative size");
        assert_eq!(number(b"\x80\x01\0\0\0\0\0\0\0\0\0\0"), None, "it does not fit");
    }

    #[test]
    fn a_records_length_counts_itself() {
        for (length, expected) in [(1, "9 path="), (3, "12 path="), (91, "100 path="), (90, "99 path=")] {
            let mut records = Vec::new();
            record("path", "x".repeat(length).as_bytes(), &mut records);
            let told: usize =
                std::str::from_utf8(&records).unwrap().split(' ').next().unwrap().parse().unwrap();
            assert_eq!(told, records.len(), "{length}");
            assert!(length != 1 || records.starts_with(expected.as_bytes()));
        }
    }
}
