//! Archives as they pass through: [`Reader`] takes one apart into entries, [`Entry::write`] and [`end`] make one.
//!
//! Nothing here touches a disk. A server passes a tree of one runner on to another with it, under another name.

use std::time::UNIX_EPOCH;

use super::TreeError;
use super::header::{BLOCK, Flag, Header, padding};
use super::name::{components, joined, stays_inside};
use super::parse::{Parser, Sink};
use crate::limits::MODE_BITS;
use crate::{Error, Kind, Result};

/// An entry of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// A file, a directory or a symbolic link.
    pub kind: Kind,
    /// The entry's path below the archive's top: names joined by `/`, without `.` and `..`; empty for the top itself.
    pub path: Vec<u8>,
    /// The target of a link, which does not leave the tree; else empty.
    pub link: Vec<u8>,
    /// The entry's permission bits (at most `0o777`).
    pub mode: u32,
    /// The size of a file's content, in bytes; else 0.
    pub size_bytes: u64,
}

/// The receiver of an archive's entries.
pub trait Receiver {
    /// An entry begins.
    ///
    /// # Errors
    /// Ends the archive.
    fn entry(&mut self, entry: Entry) -> Result<()>;

    /// Some content of the file that began last.
    ///
    /// # Errors
    /// Ends the archive.
    fn content(&mut self, bytes: &[u8]) -> Result<()>;

    /// The file that began last is complete.
    ///
    /// # Errors
    /// Ends the archive.
    fn end_of_file(&mut self) -> Result<()>;
}

/// Parses an archive that arrives in pieces, as strictly as [`super::Unpacker`].
///
/// ```
/// use pathguard::tree::{Entry, Reader, Receiver, end};
/// use pathguard::Kind;
///
/// #[derive(Default)]
/// struct Names(Vec<String>);
///
/// impl Receiver for Names {
///     fn entry(&mut self, entry: Entry) -> pathguard::Result<()> {
///         self.0.push(String::from_utf8_lossy(&entry.path).into_owned());
///         Ok(())
///     }
///     fn content(&mut self, _bytes: &[u8]) -> pathguard::Result<()> {
///         Ok(())
///     }
///     fn end_of_file(&mut self) -> pathguard::Result<()> {
///         Ok(())
///     }
/// }
///
/// let mut archive = Vec::new();
/// let entry = Entry { kind: Kind::Directory, path: b"a/b".to_vec(), link: Vec::new(), mode: 0o755, size_bytes: 0 };
/// entry.write(&mut archive);
/// end(&mut archive);
/// let (mut reader, mut names) = (Reader::new(), Names::default());
/// reader.push(&archive, &mut names)?;
/// reader.finish()?;
/// assert_eq!(names.0, ["a/b"]);
/// # Ok::<(), pathguard::tree::TreeError>(())
/// ```
#[derive(Debug)]
pub struct Reader {
    parser: Parser,
    /// The path of the current entry, for errors.
    entry: Vec<u8>,
}

impl Default for Reader {
    fn default() -> Self {
        Self::new()
    }
}

impl Reader {
    /// An archive that has not begun.
    pub fn new() -> Self {
        Self { parser: Parser::new(), entry: Vec::new() }
    }

    /// Processes the next piece.
    ///
    /// # Errors
    /// `Archive` for malformed or unsupported content and for links that lead out, `TooDeep`, `NameTooLong`, and what the receiver
    /// returns. The archive cannot be continued.
    pub fn push(&mut self, bytes: &[u8], receiver: &mut impl Receiver) -> std::result::Result<(), TreeError> {
        let Self { parser, entry } = self;
        let pushed = parser.push(bytes, &mut Passing { entry, receiver });
        pushed.map_err(|error| TreeError::new(error, &self.entry))
    }

    /// Ends the archive; returns its comment, which names the entries that its creator left out.
    ///
    /// # Errors
    /// `Archive` if it ended early.
    pub fn finish(self) -> std::result::Result<Option<String>, TreeError> {
        if !self.parser.is_ended() {
            return Err(TreeError::new(Error::Archive("it ends early"), &self.entry));
        }
        Ok(self.parser.comment)
    }
}

struct Passing<'a, R> {
    entry: &'a mut Vec<u8>,
    receiver: &'a mut R,
}

impl<R: Receiver> Sink for Passing<'_, R> {
    fn entry(&mut self, header: &Header) -> Result<()> {
        self.entry.clone_from(&header.path);
        let path = components(&header.path)?;
        *self.entry = joined(&path);
        let kind = match header.flag {
            Flag::Directory => Kind::Directory,
            Flag::Symlink => Kind::Symlink,
            _ => Kind::File,
        };
        if path.is_empty() && kind != Kind::Directory {
            return Err(Error::Archive("its root is not a directory"));
        }
        if kind == Kind::Symlink && !stays_inside(&header.link, path.len().saturating_sub(1)) {
            return Err(Error::Archive("a link points outside the tree"));
        }
        self.receiver.entry(Entry {
            kind,
            path: self.entry.clone(),
            link: if kind == Kind::Symlink { header.link.clone() } else { Vec::new() },
            mode: header.mode & MODE_BITS,
            size_bytes: header.size_bytes,
        })
    }

    fn content(&mut self, bytes: &[u8]) -> Result<()> {
        self.receiver.content(bytes)
    }

    fn end_of_content(&mut self) -> Result<()> {
        self.receiver.end_of_file()
    }
}

impl Entry {
    /// Adds the part of an archive that precedes the entry's content. The content of a file follows, and [`pad`].
    pub fn write(&self, to: &mut Vec<u8>) {
        let flag = match self.kind {
            Kind::Directory => Flag::Directory,
            Kind::Symlink => Flag::Symlink,
            Kind::File | Kind::Special => Flag::File,
        };
        let mut path = self.path.clone();
        match flag {
            Flag::Directory if path.is_empty() => path.extend_from_slice(b"./"),
            Flag::Directory => path.push(b'/'),
            _ => {}
        }
        let header = Header {
            flag,
            path,
            link: self.link.clone(),
            mode: self.mode & MODE_BITS,
            size_bytes: if flag == Flag::File { self.size_bytes } else { 0 },
        };
        header.write(UNIX_EPOCH, to);
    }
}

/// Adds what follows a file's content of this size.
pub fn pad(size_bytes: u64, to: &mut Vec<u8>) {
    to.resize(to.len() + padding(size_bytes), 0);
}

/// Adds the end of an archive.
pub fn end(to: &mut Vec<u8>) {
    to.resize(to.len() + 2 * BLOCK, 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct All(Vec<(Entry, Vec<u8>)>);

    impl Receiver for All {
        fn entry(&mut self, entry: Entry) -> Result<()> {
            self.0.push((entry, Vec::new()));
            Ok(())
        }

        fn content(&mut self, bytes: &[u8]) -> Result<()> {
            self.0.last_mut().unwrap().1.extend_from_slice(bytes);
            Ok(())
        }

        fn end_of_file(&mut self) -> Result<()> {
            let (entry, content) = self.0.last().unwrap();
            assert_eq!(entry.size_bytes, content.len() as u64);
            Ok(())
        }
    }

    fn entry(kind: Kind, path: &str, content: &[u8]) -> (Entry, Vec<u8>) {
        let (size_bytes, link) = match kind {
            Kind::File => (content.len() as u64, Vec::new()),
            Kind::Symlink => (0, content.to_vec()),
            _ => (0, Vec::new()),
        };
        let content = if kind == Kind::File { content.to_vec() } else { Vec::new() };
        (Entry { kind, path: path.as_bytes().to_vec(), link, mode: 0o640, size_bytes }, content)
    }

    fn archive(entries: &[(Entry, Vec<u8>)]) -> Vec<u8> {
        let mut archive = Vec::new();
        for (entry, content) in entries {
            entry.write(&mut archive);
            archive.extend_from_slice(content);
            pad(entry.size_bytes, &mut archive);
        }
        end(&mut archive);
        archive
    }

    #[test]
    fn what_is_written_is_read_in_pieces_of_any_size() {
        let long = "d/".repeat(60) + "name";
        let entries = [
            entry(Kind::Directory, "", b""),
            entry(Kind::Directory, "a", b""),
            entry(Kind::File, "a/empty", b""),
            entry(Kind::File, "a/full", &[7; 1300]),
            entry(Kind::File, &long, b"x"),
            entry(Kind::Symlink, "a/link", b"../a/full"),
        ];
        let archive = archive(&entries);
        for size in [1, 7, 511, 512, 513, 100_000] {
            let (mut reader, mut all) = (Reader::new(), All::default());
            archive.chunks(size).for_each(|piece| reader.push(piece, &mut all).unwrap());
            assert_eq!(reader.finish().unwrap(), None);
            assert_eq!(all.0, entries, "{size}");
        }
    }

    #[test]
    fn what_leads_out_is_refused() {
        let refused = |entry: (Entry, Vec<u8>)| {
            Reader::new().push(&archive(&[entry]), &mut All::default()).unwrap_err().error
        };
        for path in ["../a", "/a", "a/../../b", "a/.."] {
            assert!(matches!(refused(entry(Kind::File, path, b"x")), Error::Archive(_)), "{path}");
        }
        for target in ["/etc/passwd", "../a", "a/../../b"] {
            assert!(matches!(refused(entry(Kind::Symlink, "l", target.as_bytes())), Error::Archive(_)));
        }
        assert!(matches!(refused(entry(Kind::File, ".", b"x")), Error::Archive(_)), "the top is no file");
    }

    #[test]
    fn an_archive_that_ends_early_is_an_error() {
        let whole = archive(&[entry(Kind::File, "a", b"x")]);
        let mut reader = Reader::new();
        reader.push(&whole[..700], &mut All::default()).unwrap();
        assert!(reader.finish().is_err());
    }
}
