//! The runner that is mounted into containers and handed out to machines: its file, and checks that the file stays the same.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::digest::sha256_hex;

/// The metadata that distinguish two contents of a file without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size_bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// A runner whose content is known.
#[derive(Debug, Clone)]
pub struct KnownRunner {
    /// The path of the file.
    pub path: PathBuf,
    /// SHA-256 of its content, in hexadecimal digits.
    pub sha256: String,
    stamp: Stamp,
}

impl KnownRunner {
    /// The size of the file.
    pub fn size_bytes(&self) -> u64 {
        self.stamp.size_bytes
    }

    /// True if the file is still the one that was read, so that a container that was started meanwhile has the same
    /// one.
    pub fn is_unchanged(&self) -> bool {
        stamp(&self.path).is_ok_and(|stamp| stamp == self.stamp)
    }
}

/// Reads the file once for each of its contents.
#[derive(Debug, Default)]
pub struct RunnerFile {
    known: Mutex<Option<KnownRunner>>,
}

impl RunnerFile {
    /// The current file. Blocks while a new one is read.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or if it changes meanwhile; the text names the file.
    pub fn know(&self, path: &Path) -> io::Result<KnownRunner> {
        let unreadable = |error: io::Error| {
            io::Error::new(error.kind(), format!("{} cannot be read: {error}", path.display()))
        };
        let stamp = stamp(path).map_err(unreadable)?;
        {
            // The value is only ever replaced as a whole, so it is valid after any panic.
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = known.as_ref().filter(|known| known.path == path && known.stamp == stamp) {
                return Ok(known.clone());
            }
        }
        let sha256 = sha256_hex(&std::fs::read(path).map_err(unreadable)?);
        let read = KnownRunner { path: path.to_owned(), sha256, stamp };
        if !read.is_unchanged() {
            return Err(io::Error::other(format!(
                "{} changed while it was read; try again once it is complete",
                path.display()
            )));
        }
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(read.clone());
        Ok(read)
    }
}

fn stamp(path: &Path) -> io::Result<Stamp> {
    let metadata = std::fs::metadata(path)?;
    Ok(Stamp {
        device: metadata.dev(),
        inode: metadata.ino(),
        size_bytes: metadata.len(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_replaced_or_rewritten_is_another_runner() {
        let folder = tempfile::tempdir().unwrap();
        let (path, next) = (folder.path().join("runner"), folder.path().join("next"));
        std::fs::write(&path, "one").unwrap();
        let file = RunnerFile::default();
        let first = file.know(&path).unwrap();
        assert!(first.is_unchanged());
        assert_eq!(first.sha256, sha256_hex(b"one"));
        std::fs::write(&next, "two").unwrap();
        std::fs::rename(&next, &path).unwrap();
        assert!(!first.is_unchanged(), "another inode");
        let second = file.know(&path).unwrap();
        assert_ne!(first.sha256, second.sha256);
        std::fs::write(&path, "three").unwrap();
        assert!(!second.is_unchanged(), "the same inode, another content");
        assert_ne!(file.know(&path).unwrap().sha256, second.sha256);
    }
}
