//! Filling a directory from an archive.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use super::header::{Flag, Header};
use super::name::{components, joined, stays_inside};
use super::parse::{Parser, Sink};
use super::target::Target;
use super::{TreeError, TreeReport};
use crate::limits::{DIRECTORY_MODE, TREE_ENTRIES, TREE_SIZE_BYTES};
use crate::{Error, PendingFile, Result, Root};

/// How an archive is unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UnpackOptions {
    /// Makes the directory a mirror: entries missing from the archive are removed at the end, and an existing directory is
    /// replaced if the archive has a file there, and vice versa. Modes of existing directories change too.
    pub delete_extra: bool,
    /// True if [`Unpacker::finish`] returns only once everything is on disk.
    pub durable: bool,
}

/// Fills a directory from an archive that arrives in pieces.
///
/// Each file is complete or absent: dropping this at any time leaves the earlier entries and nothing half-written. Existing entries of the directory
/// stay, except files and links of the same name, which are replaced. Permission bits are set exactly, except set-user-id, set-group-id and sticky;
/// owners and times are not kept.
#[derive(Debug)]
pub struct Unpacker {
    parser: Parser,
    extraction: Extraction,
    durable: bool,
}

#[derive(Debug)]
struct Extraction {
    target: Target,
    file: Option<PendingFile>,
    /// The path of the current entry, for errors.
    entry: Vec<u8>,
    report: TreeReport,
}

impl Unpacker {
    /// Starts with a directory, which is created with any missing parents; symbolic links to it are followed below the root.
    ///
    /// # Errors
    /// The same as for [`Root::mkdir_all`] and [`Root::open_dir`].
    pub fn new(root: &Root, path: impl AsRef<Path>, options: UnpackOptions) -> Result<Self> {
        let path = path.as_ref();
        let is_new = root.stat(path) == Err(Error::NotFound);
        root.mkdir_all(path, DIRECTORY_MODE)?;
        let top = root.open_dir(path)?;
        let target = Target::new(root.clone(), top, is_new, options.delete_extra);
        let extraction = Extraction { target, file: None, entry: Vec::new(), report: TreeReport::default() };
        Ok(Self { parser: Parser::new(), extraction, durable: options.durable })
    }

    /// Processes the next piece.
    ///
    /// # Errors
    /// `Archive` for malformed or unsupported content, `TooLarge` and `TooDeep` above the limits, else an entry's error from
    /// the file system. Earlier entries stay; the archive cannot be continued.
    pub fn push(&mut self, bytes: &[u8]) -> std::result::Result<(), TreeError> {
        let pushed = self.parser.push(bytes, &mut self.extraction);
        pushed.map_err(|error| {
            self.extraction.file = None;
            TreeError::new(error, &self.extraction.entry)
        })
    }

    /// The report so far.
    pub fn report(&self) -> &TreeReport {
        &self.extraction.report
    }

    /// Ends the archive: sets postponed modes, and removes the entries that a mirror does not keep.
    ///
    /// # Errors
    /// `Archive` if it ended early, and then nothing is removed; errors of the file system.
    pub fn finish(&mut self) -> std::result::Result<TreeReport, TreeError> {
        let extraction = &mut self.extraction;
        extraction.file = None;
        if !self.parser.is_ended() {
            return Err(TreeError::new(Error::Archive("it ends early"), &extraction.entry));
        }
        let whole = |error| TreeError::new(error, b"");
        extraction.report.removed = extraction.target.finish().map_err(whole)?;
        if self.durable {
            extraction.target.sync().map_err(whole)?;
        }
        extraction.report.note = self.parser.comment.take();
        Ok(extraction.report.clone())
    }
}

impl Extraction {
    fn begin(&mut self, header: &Header, path: &[OsString]) -> Result<()> {
        let report = &mut self.report;
        // A name alone implies up to 128 directories.
        let directories = report.directories.max(self.target.made());
        if report.files + report.symlinks + directories >= TREE_ENTRIES {
            return Err(Error::TooLarge("it has more than 500,000 entries"));
        }
        match header.flag {
            Flag::Directory => {
                self.target.directory(path, header.mode)?;
                report.directories += 1;
            }
            Flag::Symlink => {
                if !stays_inside(&header.link, path.len().saturating_sub(1)) {
                    return Err(Error::Archive("a link points outside the tree"));
                }
                self.target.symlink(path, &header.link)?;
                report.symlinks += 1;
            }
            _ => {
                if report.size_bytes.saturating_add(header.size_bytes) > TREE_SIZE_BYTES {
                    return Err(Error::TooLarge("it has more than 64 GiB of content"));
                }
                self.file = Some(self.target.file(path, header.mode)?);
            }
        }
        Ok(())
    }
}

impl Sink for Extraction {
    fn entry(&mut self, header: &Header) -> Result<()> {
        // Until its name is known to be valid it is shown as it came.
        self.entry.clone_from(&header.path);
        let path = components(&header.path)?;
        self.entry = joined(&path);
        self.begin(header, &path)
    }

    fn content(&mut self, bytes: &[u8]) -> Result<()> {
        match &mut self.file {
            Some(file) => file.write_all(bytes)?,
            None => return Err(Error::Archive("it contains content that belongs to no file")),
        }
        self.report.size_bytes += bytes.len() as u64;
        Ok(())
    }

    fn end_of_content(&mut self) -> Result<()> {
        if let Some(file) = self.file.take() {
            file.publish()?;
            self.report.files += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacker(root: &std::path::Path) -> Unpacker {
        Unpacker::new(&Root::open(root).unwrap(), "to", UnpackOptions::default()).unwrap()
    }

    fn header(path: &str) -> Header {
        let (path, link) = (path.as_bytes().to_vec(), Vec::new());
        Header { flag: Flag::Directory, path, link, mode: 0o755, size_bytes: 0 }
    }

    #[test]
    fn an_archive_has_no_more_entries_than_it_may() {
        let directory = tempfile::tempdir().unwrap();
        let mut extraction = unpacker(directory.path()).extraction;
        extraction.report.files = TREE_ENTRIES - 1;
        assert_eq!(extraction.entry(&header("last")), Ok(()));
        assert!(matches!(extraction.entry(&header("more")), Err(Error::TooLarge(_))));
    }

    #[test]
    fn directories_that_are_only_implied_count_too() {
        let directory = tempfile::tempdir().unwrap();
        let mut extraction = unpacker(directory.path()).extraction;
        extraction.report.files = TREE_ENTRIES - 100;
        assert_eq!(extraction.entry(&header(&"a/".repeat(120))), Ok(()));
        assert!(matches!(extraction.entry(&header("b")), Err(Error::TooLarge(_))));
    }
}
