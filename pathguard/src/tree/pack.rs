//! Making an archive of a directory.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::header::{BLOCK, Flag, Header, padding, record, write_records};
use super::name::stays_inside;
use super::{TreeError, TreeReport, shown};
use crate::limits::{MODE_BITS, PATH_SIZE_BYTES, TREE_ENTRIES, TREE_SIZE_BYTES};
use crate::{Error, Kind, Metadata, Result, Root, Visit, Walk};

/// An archive of everything below a directory, made while it is read; the directory itself is its first entry.
///
/// Links are kept, not followed. Entries that an archive cannot contain are left out and counted in [`TreeReport::skipped`]; a comment at the
/// archive's end mentions them. Modes are kept except for set-user-id, set-group-id and sticky.
///
/// ```
/// # let from = tempfile::tempdir()?;
/// # std::fs::write(from.path().join("file"), "text")?;
/// # let to = tempfile::tempdir()?;
/// use pathguard::tree::{Packer, UnpackOptions, Unpacker};
/// let mut packer = Packer::new(&pathguard::Root::open(from.path())?, ".")?;
/// let mut unpacker = Unpacker::new(&pathguard::Root::open(to.path())?, "copy", UnpackOptions::default())?;
/// let mut piece = [0; 4096];
/// loop {
///     match packer.read(&mut piece)? {
///         0 => break,
///         length => unpacker.push(&piece[..length])?,
///     }
/// }
/// unpacker.finish()?;
/// assert_eq!(std::fs::read_to_string(to.path().join("copy/file"))?, "text");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Packer {
    walk: Walk,
    /// Headers and padding that were not read yet.
    ready: Vec<u8>,
    taken: usize,
    content: Option<Content>,
    /// The entry that the content belongs to.
    entry: Vec<u8>,
    report: TreeReport,
    ended: bool,
}

/// A file whose content is being read.
#[derive(Debug)]
struct Content {
    file: File,
    left: u64,
    padding: usize,
}

impl Packer {
    /// Starts with a directory, following symbolic links to it below the root.
    ///
    /// # Errors
    /// The same as for [`Root::read_dir`].
    pub fn new(root: &Root, path: impl AsRef<Path>) -> Result<Self> {
        let walk = root.walk(path)?;
        let metadata = walk.metadata()?;
        let mut packer = Self {
            walk,
            ready: Vec::new(),
            taken: 0,
            content: None,
            entry: Vec::new(),
            report: TreeReport::default(),
            ended: false,
        };
        packer.report.directories = 1;
        packer.header(Flag::Directory, b"./".to_vec(), Vec::new(), &metadata);
        Ok(packer)
    }

    /// The report so far; complete once [`Packer::read`] returned 0.
    pub fn report(&self) -> &TreeReport {
        &self.report
    }

    /// The next bytes of the archive; 0 at its end. Never blocks for longer than a disk does.
    ///
    /// # Errors
    /// `TooLarge` beyond [`TREE_ENTRIES`] or [`TREE_SIZE_BYTES`]; `Archive` if a file became shorter while it was read;
    /// errors of the disk. The archive is unusable then.
    pub fn read(&mut self, space: &mut [u8]) -> std::result::Result<usize, TreeError> {
        loop {
            if self.taken < self.ready.len() {
                let length = space.len().min(self.ready.len() - self.taken);
                space[..length].copy_from_slice(&self.ready[self.taken..self.taken + length]);
                self.taken += length;
                return Ok(length);
            }
            self.ready.clear();
            self.taken = 0;
            if let Some(content) = &mut self.content {
                if content.left > 0 {
                    return content.read(space).map_err(|error| TreeError::new(error, &self.entry));
                }
                self.ready.resize(content.padding, 0);
                self.content = None;
            } else if self.ended {
                return Ok(0);
            } else {
                self.next_entry()?;
            }
        }
    }

    fn next_entry(&mut self) -> std::result::Result<(), TreeError> {
        match self.walk.next() {
            None => {
                self.end();
                Ok(())
            }
            Some(Err(error)) => {
                self.skip(b"an entry", error);
                Ok(())
            }
            Some(Ok(visit)) => {
                let path = visit.path.as_bytes().to_vec();
                self.add(visit).map_err(|error| TreeError::new(error, &path))
            }
        }
    }

    /// Adds a visited entry, or leaves it out.
    fn add(&mut self, visit: Visit) -> Result<()> {
        let report = &self.report;
        if report.files + report.directories + report.symlinks >= TREE_ENTRIES {
            return Err(Error::TooLarge("there are more than 500,000 files, directories and links"));
        }
        let mut path = visit.path.as_bytes().to_vec();
        if path.len() >= PATH_SIZE_BYTES - 1 {
            self.skip(&path, Error::NameTooLong);
            return Ok(());
        }
        match visit.metadata.kind {
            Kind::File => return self.add_file(path),
            Kind::Directory => match self.walk.enter() {
                Ok(()) => {
                    path.push(b'/');
                    self.report.directories += 1;
                    self.header(Flag::Directory, path, Vec::new(), &visit.metadata);
                }
                Err(error) => self.skip(&path, error),
            },
            Kind::Symlink => match self.walk.read_link() {
                Ok(target) if stays_inside(&target, visit.depth) => {
                    self.report.symlinks += 1;
                    self.header(Flag::Symlink, path, target, &visit.metadata);
                }
                Ok(_) => self.skip(&path, Error::EscapesRoot),
                Err(error) => self.skip(&path, error),
            },
            Kind::Special => self.skip(&path, Error::SpecialFile),
        }
        Ok(())
    }

    fn add_file(&mut self, path: Vec<u8>) -> Result<()> {
        let open = match self.walk.open_file() {
            Ok(open) => open,
            Err(error) => {
                self.skip(&path, error);
                return Ok(());
            }
        };
        let metadata = open.metadata().clone();
        let left = metadata.size_bytes;
        self.report.size_bytes = self.report.size_bytes.saturating_add(left);
        if self.report.size_bytes > TREE_SIZE_BYTES {
            return Err(Error::TooLarge("the files are larger than 64 GiB in total"));
        }
        self.report.files += 1;
        self.entry.clone_from(&path);
        self.header(Flag::File, path, Vec::new(), &metadata);
        self.content = Some(Content { file: open.into_file(), left, padding: padding(left) });
        Ok(())
    }

    fn header(&mut self, flag: Flag, path: Vec<u8>, link: Vec<u8>, metadata: &Metadata) {
        let size_bytes = if flag == Flag::File { metadata.size_bytes } else { 0 };
        let header = Header { flag, path, link, mode: metadata.mode & MODE_BITS, size_bytes };
        header.write(metadata.modified, &mut self.ready);
    }

    /// Leaves an entry out. One that vanished since it was listed is not counted.
    fn skip(&mut self, path: &[u8], error: Error) {
        if error == Error::NotFound {
            return;
        }
        self.report.skipped += 1;
        let reason = match error {
            Error::EscapesRoot => "the link points outside the directory that is copied".to_owned(),
            error => error.to_string(),
        };
        self.report.note.get_or_insert_with(|| format!("{}{reason}", shown(path)));
    }

    fn end(&mut self) {
        self.ended = true;
        if let Some(first) = &self.report.note {
            let note = format!("{} entries were left out, the first is {first}", self.report.skipped);
            let mut records = Vec::new();
            record("comment", note.as_bytes(), &mut records);
            write_records(b'g', &records, &mut self.ready);
            self.report.note = Some(note);
        }
        self.ready.resize(self.ready.len() + 2 * BLOCK, 0);
    }
}

impl Content {
    fn read(&mut self, space: &mut [u8]) -> Result<usize> {
        let wanted = usize::try_from(self.left).unwrap_or(usize::MAX).min(space.len());
        loop {
            match self.file.read(&mut space[..wanted]) {
                Ok(0) if wanted > 0 => {
                    return Err(Error::Archive("the file shrank while it was being read"));
                }
                Ok(length) => {
                    self.left -= length as u64;
                    return Ok(length);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
