//! Tar archives: ustar, with the extended headers of pax and GNU for long names.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;

use super::archive::{ArchiveError, Counting, Kind, Visitor, small};

/// The size of a header; contents are padded to a multiple of it.
const BLOCK: u64 = 512;

pub(super) fn visit(bytes: &[u8], visitor: &mut dyn Visitor) -> Result<(), ArchiveError> {
    let mut archive = Counting::new(MultiGzDecoder::new(bytes));
    let mut extended = Extended::default();
    while let Some(header) = header(&mut archive)? {
        let size = match extended.size {
            Some(size) => size,
            None => number(&header[124..136])?,
        };
        let mut content = (&mut archive).take(size);
        match header[156] {
            b'x' => extended.take_pax(&small(&mut content, size)?)?,
            b'L' => extended.name = Some(text(&small(&mut content, size)?)?.to_owned()),
            // A global header, or the long name of a link, does not describe a file.
            b'g' | b'K' => drop(small(&mut content, size)?),
            kind => {
                let name = match extended.name.take() {
                    Some(name) => name,
                    None => name(&header)?,
                };
                extended.size = None;
                let is_executable = number(&header[100..108])? & 0o111 != 0;
                let kind = match kind {
                    // Old archives write a directory as a file whose name ends in `/`.
                    0 | b'0' | b'7' if name.ends_with('/') => Kind::Directory,
                    0 | b'0' | b'7' => Kind::File { is_executable },
                    b'5' => Kind::Directory,
                    b'1' | b'2' => Kind::Link,
                    _ => Kind::Special,
                };
                visitor.entry(&name, kind, &mut content)?;
            }
        }
        // The content that was not read, and the padding of its last block.
        let left = content.limit() + (BLOCK - size % BLOCK) % BLOCK;
        if io::copy(&mut (&mut archive).take(left), &mut io::sink())? != left {
            return Err(ArchiveError::Damaged("it ends within an entry"));
        }
    }
    Ok(())
}

/// Headers that describe the entry after them.
#[derive(Default)]
struct Extended {
    name: Option<String>,
    size: Option<u64>,
}

impl Extended {
    /// Reads records of the form `LENGTH KEY=VALUE\n`.
    fn take_pax(&mut self, mut records: &[u8]) -> Result<(), ArchiveError> {
        let damaged = ArchiveError::Damaged("an extended header is malformed");
        while !records.is_empty() {
            let record = (|| {
                let blank = records.iter().position(|byte| *byte == b' ')?;
                let length: usize = std::str::from_utf8(&records[..blank]).ok()?.parse().ok()?;
                let record = records.get(blank + 1..length)?.strip_suffix(b"\n")?;
                records = &records[length..];
                let equals = record.iter().position(|byte| *byte == b'=')?;
                Some((&record[..equals], &record[equals + 1..]))
            })();
            let Some((key, value)) = record else { return Err(damaged) };
            match key {
                b"path" => self.name = Some(text(value)?.to_owned()),
                b"size" => self.size = Some(text(value)?.parse().map_err(|_| damaged_number())?),
                _ => {}
            }
        }
        Ok(())
    }
}

/// The next header; `None` at the end.
fn header(archive: &mut impl Read) -> Result<Option<[u8; 512]>, ArchiveError> {
    let mut header = [0; 512];
    let mut filled = 0;
    while filled < header.len() {
        match archive.read(&mut header[filled..])? {
            0 if filled == 0 => return Ok(None),
            0 => return Err(ArchiveError::Damaged("it ends within a header")),
            count => filled += count,
        }
    }
    if header.iter().all(|byte| *byte == 0) {
        return Ok(None);
    }
    let sum = header.iter().enumerate().map(|(at, byte)| {
        // The field of the checksum itself counts as blanks.
        if (148..156).contains(&at) { u64::from(b' ') } else { u64::from(*byte) }
    });
    if sum.sum::<u64>() != number(&header[148..156])? {
        return Err(ArchiveError::Damaged("the checksum of a header is wrong"));
    }
    Ok(Some(header))
}

fn name(header: &[u8; 512]) -> Result<String, ArchiveError> {
    let name = text(&header[..100])?;
    let prefix =
        if &header[257..262] == b"ustar" && header[262] == 0 { text(&header[345..500])? } else { "" };
    Ok(if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") })
}

/// The text of a field, up to the first NUL.
fn text(field: &[u8]) -> Result<&str, ArchiveError> {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    std::str::from_utf8(&field[..end]).map_err(|_| ArchiveError::Damaged("a name is not UTF-8"))
}

/// A number in octal digits; or in binary, if the first bit is set.
fn number(field: &[u8]) -> Result<u64, ArchiveError> {
    if let [first, rest @ ..] = field
        && first & 0x80 != 0
    {
        let (high, low) = rest.split_at(rest.len().saturating_sub(8));
        if *first != 0x80 || high.iter().any(|byte| *byte != 0) {
            return Err(damaged_number());
        }
        return Ok(low.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)));
    }
    let digits = text(field)?.trim_matches([' ', '\0']);
    if digits.is_empty() {
        return Ok(0);
    }
    u64::from_str_radix(digits, 8).map_err(|_| damaged_number())
}

fn damaged_number() -> ArchiveError {
    ArchiveError::Damaged("a number is malformed")
}
