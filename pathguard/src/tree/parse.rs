//! The archive as it arrives, in pieces of any size.
//!
//! ```text
//! Header ─► Content ─► Padding ─► Header … ─► two blocks of zeros ─► End
//!    └────► Extension ─► Padding ─► Header         (records, or a long name, for the next entry)
//! ```

use super::header::{BLOCK, Flag, Header, padding};
use super::records::Records;
use crate::limits::TREE_HEADER_SIZE_BYTES;
use crate::{Error, Result};

/// The receiver of an archive's content.
pub(super) trait Sink {
    /// An entry begins.
    fn entry(&mut self, entry: &Header) -> Result<()>;
    /// Some content of a file.
    fn content(&mut self, bytes: &[u8]) -> Result<()>;
    /// The file is complete.
    fn end_of_content(&mut self) -> Result<()>;
}

#[derive(Debug, Clone, Copy)]
enum State {
    Header,
    Extension(Flag, u64),
    Content(u64),
    Padding,
    End,
}

/// Parses an archive.
#[derive(Debug)]
pub(super) struct Parser {
    state: State,
    /// The block, or the extended header, that is not complete yet.
    gathered: Vec<u8>,
    /// Zeros up to the next block.
    padding: usize,
    records: Records,
    zero_blocks: usize,
    /// The comment in the archive's own header.
    pub(super) comment: Option<String>,
}

impl Parser {
    pub(super) fn new() -> Self {
        Self {
            state: State::Header,
            gathered: Vec::with_capacity(BLOCK),
            padding: 0,
            records: Records::default(),
            zero_blocks: 0,
            comment: None,
        }
    }

    /// True if the archive's end was read.
    pub(super) fn is_ended(&self) -> bool {
        matches!(self.state, State::End)
    }

    /// Parses the next piece.
    pub(super) fn push(&mut self, mut bytes: &[u8], sink: &mut impl Sink) -> Result<()> {
        while !bytes.is_empty() {
            match self.state {
                State::Header => {
                    if self.gather(&mut bytes, BLOCK as u64) {
                        self.header(sink)?;
                    }
                }
                State::Extension(flag, size_bytes) => {
                    if self.gather(&mut bytes, size_bytes) {
                        self.extension(flag)?;
                        self.begin_padding(size_bytes);
                    }
                }
                State::Content(left) => {
                    let length = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                    let (now, rest) = bytes.split_at(length);
                    bytes = rest;
                    sink.content(now)?;
                    self.content_left(left - length as u64, sink)?;
                }
                State::Padding => {
                    let length = self.padding.min(bytes.len());
                    bytes = &bytes[length..];
                    self.padding -= length;
                    if self.padding == 0 {
                        self.state = State::Header;
                    }
                }
                State::End => {
                    if bytes.iter().any(|byte| *byte != 0) {
                        return Err(Error::Archive("there is data after its end"));
                    }
                    bytes = &[];
                }
            }
        }
        Ok(())
    }

    /// Adds to the gathered bytes; returns true if they have the wanted length.
    fn gather(&mut self, bytes: &mut &[u8], wanted: u64) -> bool {
        let left = usize::try_from(wanted).unwrap_or(usize::MAX) - self.gathered.len();
        let (now, rest) = bytes.split_at(left.min(bytes.len()));
        self.gathered.extend_from_slice(now);
        *bytes = rest;
        self.gathered.len() as u64 == wanted
    }

    fn header(&mut self, sink: &mut impl Sink) -> Result<()> {
        let block: [u8; BLOCK] = std::mem::take(&mut self.gathered)
            .try_into()
            .map_err(|_| Error::Archive("a header is not a whole block"))?;
        if block.iter().all(|byte| *byte == 0) {
            self.zero_blocks += 1;
            if self.zero_blocks == 2 {
                self.state = State::End;
            }
            return Ok(());
        }
        if self.zero_blocks > 0 {
            return Err(Error::Archive("there is data after its end"));
        }
        let mut header = Header::parse(&block)?;
        match header.flag {
            Flag::File | Flag::Directory | Flag::Symlink => {
                let records = std::mem::take(&mut self.records);
                header.path = records.path.unwrap_or(header.path);
                header.link = records.link.unwrap_or(header.link);
                header.size_bytes = records.size_bytes.unwrap_or(header.size_bytes);
                // Older than the flag for directories. The whole path counts: the header holds its first 100 bytes, which may end anywhere.
                if header.flag == Flag::File && header.path.ends_with(b"/") {
                    header.flag = Flag::Directory;
                }
                if header.flag != Flag::File && header.size_bytes > 0 {
                    return Err(Error::Archive("a directory or link has content"));
                }
                sink.entry(&header)?;
                self.padding = padding(header.size_bytes);
                match header.flag {
                    Flag::File => self.content_left(header.size_bytes, sink),
                    _ => Ok(()),
                }
            }
            _ if header.size_bytes == 0 || header.size_bytes > TREE_HEADER_SIZE_BYTES => {
                Err(Error::Archive("an extended header is empty or too long"))
            }
            flag => {
                self.state = State::Extension(flag, header.size_bytes);
                Ok(())
            }
        }
    }

    fn extension(&mut self, flag: Flag) -> Result<()> {
        let body = std::mem::take(&mut self.gathered);
        let text = || body.strip_suffix(b"\0").unwrap_or(&body).to_vec();
        match flag {
            Flag::Records => return self.records.read(&body, &mut self.comment),
            // Only its comment matters: names and sizes for all entries are meaningless.
            Flag::GlobalRecords => return Records::default().read(&body, &mut self.comment),
            Flag::LongName => self.records.path = Some(text()),
            Flag::LongLink => self.records.link = Some(text()),
            Flag::File | Flag::Directory | Flag::Symlink => {}
        }
        Ok(())
    }

    fn content_left(&mut self, left: u64, sink: &mut impl Sink) -> Result<()> {
        self.state = State::Content(left);
        if left == 0 {
            sink.end_of_content()?;
            self.state = if self.padding == 0 { State::Header } else { State::Padding };
        }
        Ok(())
    }

    fn begin_padding(&mut self, size_bytes: u64) {
        self.padding = padding(size_bytes);
        self.state = if self.padding == 0 { State::Header } else { State::Padding };
    }
}
