//! The canonical listing of a tree, and its hash.
//!
//! One line for each entry below the top, in the order of the paths' bytes, each ended by a NUL byte, because a path may contain any other byte:
//! ```text
//!   f 644 SHA-256-OF-CONTENT report/index.html
//!   d 755 - report
//!   l 777 SHA-256-OF-TARGET report/latest
//! ```
//! The hash of a tree is the SHA-256 of all lines. It depends only on paths, permission bits, contents and targets: owners, times and the
//! order in which a machine lists its directories do not count. The permission bits of a link cannot be chosen, and count as 777.

use std::collections::BTreeMap;

use pathguard::tree::{Entry, Receiver};
use pathguard::{Error, Kind};
use sha2::{Digest, Sha256};

use super::relay::Limits;

/// The entries of a tree, added in the order in which they arrive.
#[derive(Debug)]
pub(crate) struct Listing {
    lines: BTreeMap<Vec<u8>, String>,
    limits: Limits,
    /// The file that is being read: its entry, the hash of its content so far, and the size of that content in bytes.
    current: Option<(Entry, Sha256, u64)>,
    files: u64,
    size_bytes: u64,
}

impl Listing {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { lines: BTreeMap::new(), limits, current: None, files: 0, size_bytes: 0 }
    }

    /// Returns the number of regular files.
    pub(crate) fn files(&self) -> u64 {
        self.files
    }

    /// Returns the total size of the regular files, in bytes.
    pub(crate) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Returns true if the tree contains this path.
    pub(crate) fn has(&self, path: &[u8]) -> bool {
        self.lines.contains_key(path)
    }

    /// Returns the hash of the tree.
    pub(crate) fn hash(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        for (path, line) in &self.lines {
            hash.update(line);
            hash.update(path);
            hash.update([0]);
        }
        hash.finalize().into()
    }

    fn add(&mut self, kind: char, mode: u32, hash: &str, path: Vec<u8>) -> pathguard::Result<()> {
        match self.lines.insert(path, format!("{kind} {mode:o} {hash} ")) {
            None => Ok(()),
            Some(_) => Err(Error::Archive("it contains a path twice")),
        }
    }
}

impl Receiver for Listing {
    fn entry(&mut self, entry: Entry) -> pathguard::Result<()> {
        if entry.path.is_empty() {
            return Ok(());
        }
        self.size_bytes = self.size_bytes.saturating_add(entry.size_bytes);
        if self.lines.len() >= self.limits.entries || self.size_bytes > self.limits.bytes {
            return Err(Error::TooLarge("it exceeds the limit on files or bytes of a hand-over"));
        }
        match entry.kind {
            Kind::Directory => self.add('d', entry.mode, "-", entry.path),
            Kind::Symlink => self.add('l', 0o777, &hex(Sha256::digest(&entry.link).as_ref()), entry.path),
            Kind::File | Kind::Special => {
                self.current = Some((entry, Sha256::new(), 0));
                Ok(())
            }
        }
    }

    fn content(&mut self, bytes: &[u8]) -> pathguard::Result<()> {
        let Some((_, hash, length)) = &mut self.current else {
            return Err(Error::Archive("it contains content that belongs to no file"));
        };
        hash.update(bytes);
        *length += bytes.len() as u64;
        Ok(())
    }

    fn end_of_file(&mut self) -> pathguard::Result<()> {
        let Some((entry, hash, length)) = self.current.take() else { return Ok(()) };
        if length != entry.size_bytes {
            return Err(Error::Archive("the size of a file differs from the one in its header"));
        }
        self.files += 1;
        self.add('f', entry.mode, &hex(&hash.finalize()), entry.path)
    }
}

/// Converts bytes to hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        for nibble in [byte >> 4, byte & 15] {
            text.push(char::from_digit(nibble.into(), 16).unwrap_or('0'));
        }
        text
    })
}
