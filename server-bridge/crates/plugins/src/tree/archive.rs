//! Archives: checks of their entries, limits on what is read, and the removal of a single top directory.
//!
//! An archive is read twice: first its names, to find the common top directory; then the files of the requested plugin.

use std::io;

use super::{PathError, PluginPath, Tree, TreeBuilder, TreeError, tar, zip};
use crate::limits::{ARCHIVE_BYTES, ARCHIVE_ENTRIES, DECOMPRESSED_BYTES, EXTENDED_HEADER_BYTES, FILE_BYTES};

/// Directories of a plugin: if one of them is the only entry at an archive's top level, it is not a top directory to be
/// removed.
const PARTS: &[&str] = &[".claude-plugin", "agents", "commands", "hooks", "skills"];

/// The reason why an archive is refused.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The archive is of an unknown kind.
    #[error("this is neither a .tar.gz nor a .zip archive")]
    Kind,
    /// The archive is too large.
    #[error("the archive is larger than {} MiB", ARCHIVE_BYTES / 1024 / 1024)]
    TooLarge,
    /// The archive unpacks to more than the limit.
    #[error("the archive unpacks to more than {} MiB", DECOMPRESSED_BYTES / 1024 / 1024)]
    Bomb,
    /// The archive has more entries than the limit.
    #[error("the archive has more than {ARCHIVE_ENTRIES} entries")]
    TooManyEntries,
    /// An entry is a link.
    #[error("`{0}` is a link; a plugin can contain only regular files")]
    Link(String),
    /// An entry is not a file or directory, but for example a device or a pipe.
    #[error("`{0}` is neither a file nor a directory")]
    Special(String),
    /// An entry is encrypted, or compressed with an unknown method.
    #[error("`{0}` is packed in a way that is not supported here ({1}); pack it with plain deflate")]
    Method(String, &'static str),
    /// A part of the archive is malformed.
    #[error("the archive is damaged: {0}")]
    Damaged(&'static str),
    /// The archive cannot be decompressed.
    #[error("the archive is damaged: {0}")]
    Read(io::Error),
    /// The requested directory is not in the archive.
    #[error("the archive has no directory `{0}`")]
    NoDirectory(String),
    /// The archive's files are refused.
    #[error(transparent)]
    Tree(#[from] TreeError),
}

impl From<PathError> for ArchiveError {
    fn from(error: PathError) -> Self {
        Self::Tree(error.into())
    }
}

impl From<io::Error> for ArchiveError {
    fn from(error: io::Error) -> Self {
        // Only the counting reader below creates errors of this kind.
        if error.kind() == io::ErrorKind::FileTooLarge { Self::Bomb } else { Self::Read(error) }
    }
}

/// The kind of an archive's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File { is_executable: bool },
    Directory,
    Link,
    Special,
}

/// Receives the entries of an archive, one after the other.
pub(super) trait Visitor {
    /// Receives an entry: its name as written, its kind, and its content.
    fn entry(&mut self, name: &str, kind: Kind, content: &mut dyn io::Read) -> Result<(), ArchiveError>;
}

pub(super) fn read(bytes: &[u8], under: &PluginPath) -> Result<Tree, ArchiveError> {
    if bytes.len() > ARCHIVE_BYTES {
        return Err(ArchiveError::TooLarge);
    }
    let visit: fn(&[u8], &mut dyn Visitor) -> Result<(), ArchiveError> = match bytes {
        [0x1f, 0x8b, ..] => tar::visit,
        [b'P', b'K', ..] => zip::visit,
        _ => return Err(ArchiveError::Kind),
    };
    let mut names = Names::default();
    visit(bytes, &mut names)?;
    let wanted = match &names.top {
        Some(top) if !names.has_several && !PARTS.contains(&top.as_str()) => {
            PluginPath::parse(top)?.join_path(under)
        }
        _ => under.clone(),
    };
    let mut files = Files { under: &wanted, builder: TreeBuilder::default(), has_any: false };
    visit(bytes, &mut files)?;
    if !files.has_any && !under.is_root() {
        return Err(ArchiveError::NoDirectory(under.to_string()));
    }
    Ok(files.builder.build()?)
}

impl PluginPath {
    fn join_path(&self, below: &Self) -> Self {
        if below.is_root() { self.clone() } else { self.join(below.as_str()) }
    }
}

/// Counts the entries, checks their paths, and finds the single top directory.
#[derive(Default)]
struct Names {
    entries: usize,
    top: Option<String>,
    /// True if there are files or several directories at the top level.
    has_several: bool,
}

impl Visitor for Names {
    fn entry(&mut self, name: &str, kind: Kind, _content: &mut dyn io::Read) -> Result<(), ArchiveError> {
        self.entries += 1;
        if self.entries > ARCHIVE_ENTRIES {
            return Err(ArchiveError::TooManyEntries);
        }
        let path = PluginPath::parse(name)?;
        let (top, is_within) = match path.as_str().split_once('/') {
            Some((top, _)) => (top, true),
            None => (path.as_str(), kind == Kind::Directory),
        };
        if top.is_empty() {
            return Ok(());
        }
        let is_same = self.top.get_or_insert_with(|| top.to_owned()) == top;
        self.has_several |= !is_within || !is_same;
        Ok(())
    }
}

/// Collects the files of one directory.
struct Files<'a> {
    under: &'a PluginPath,
    builder: TreeBuilder,
    has_any: bool,
}

impl Visitor for Files<'_> {
    fn entry(&mut self, name: &str, kind: Kind, content: &mut dyn io::Read) -> Result<(), ArchiveError> {
        let path = PluginPath::parse(name)?;
        let Some(rest) = path.below(self.under).filter(|rest| !rest.is_empty()) else { return Ok(()) };
        self.has_any = true;
        let is_executable = match kind {
            Kind::File { is_executable } => is_executable,
            Kind::Directory => return Ok(()),
            Kind::Link => return Err(ArchiveError::Link(path.to_string())),
            Kind::Special => return Err(ArchiveError::Special(path.to_string())),
        };
        // One byte more than the remaining room shows that the file is too large.
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut io::Read::take(content, self.builder.room() as u64 + 1), &mut bytes)?;
        if bytes.len() > FILE_BYTES {
            return Err(TreeError::FileTooLarge(path.to_string()).into());
        }
        Ok(self.builder.add(rest, bytes, is_executable)?)
    }
}

/// A reader that fails if it yields more than an archive may contain.
pub(super) struct Counting<R> {
    inner: R,
    left: u64,
}

impl<R: io::Read> Counting<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, left: DECOMPRESSED_BYTES }
    }

    /// The number of bytes that it may still yield.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    pub(super) fn with_left(inner: R, left: u64) -> Self {
        Self { inner, left }
    }
}

impl<R: io::Read> io::Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.left = self
            .left
            .checked_sub(count as u64)
            .ok_or_else(|| io::Error::from(io::ErrorKind::FileTooLarge))?;
        Ok(count)
    }
}

/// Reads a small part completely.
pub(super) fn small(content: &mut dyn io::Read, size: u64) -> Result<Vec<u8>, ArchiveError> {
    if size > EXTENDED_HEADER_BYTES {
        return Err(ArchiveError::Damaged("an extended header is too large"));
    }
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(content, size), &mut bytes)?;
    if bytes.len() as u64 != size {
        return Err(ArchiveError::Damaged("it ends within an entry"));
    }
    Ok(bytes)
}
