//! Files that are replaced atomically: written under another name in the same directory, then renamed.
//!
//! The other name is drawn at random and must be new, so another user who may write in the directory cannot prepare a file or a link through
//! which the content would be written elsewhere. A symbolic link at the target path itself is replaced, not followed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The mode of files for their owner alone.
pub const PRIVATE: u32 = 0o600;

/// A file that is being written under a temporary name; it is deleted on drop unless it was moved to its final path.
#[derive(Debug)]
pub struct AtomicFile {
    file: File,
    path: PathBuf,
    target: PathBuf,
    is_in_place: bool,
}

impl AtomicFile {
    /// An empty file with this mode (less the process's umask) for the path `target`.
    ///
    /// # Errors
    /// The directory of `target` is missing, or accepts no new files.
    pub fn create(target: &Path, mode: u32) -> io::Result<Self> {
        // The length of the temporary name does not depend on the target's, which may already have the maximum length.
        let path = target.with_file_name(format!(".sandbridge-{:016x}.part", rand::random::<u64>()));
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&path)?;
        Ok(Self { file, path, target: target.to_owned(), is_in_place: false })
    }

    /// The file to write to.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// The file's temporary path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file's final path.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Flushes its content to the disk.
    ///
    /// # Errors
    /// A disk error.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// Moves the file to its final path atomically. A power failure may undo this.
    ///
    /// # Errors
    /// A system error; then the old file stays.
    pub fn replace(mut self) -> io::Result<()> {
        fs::rename(&self.path, &self.target)?;
        self.is_in_place = true;
        Ok(())
    }

    /// Moves the file to its final path durably: content and name are on the disk when this returns.
    ///
    /// # Errors
    /// A system error. The old file stays, or, if only its directory could not be flushed, the new file is in place.
    pub fn commit(self) -> io::Result<()> {
        self.sync()?;
        let directory = match self.target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            Some(_) | None => PathBuf::from("."),
        };
        self.replace()?;
        File::open(directory)?.sync_all()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if !self.is_in_place {
            // The file was created here under a new name, so it has no other owner.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Creates or replaces a file, accessible to its owner only; it is on the disk when this returns.
///
/// # Errors
/// The same as for [`AtomicFile::create`] and [`AtomicFile::commit`].
pub fn write(target: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = AtomicFile::create(target, PRIVATE)?;
    file.file().write_all(content)?;
    file.commit()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_takes_its_place_whole_or_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("x".repeat(255));
        write(&target, b"one").unwrap();
        let mut half = AtomicFile::create(&target, PRIVATE).unwrap();
        half.file().write_all(b"tw").unwrap();
        assert_eq!(fs::metadata(half.path()).unwrap().mode() & 0o777, PRIVATE);
        assert_eq!(fs::read(&target).unwrap(), b"one");
        drop(half);
        write(&target, b"two").unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"two");
        assert_eq!(fs::metadata(&target).unwrap().mode() & 0o777, PRIVATE);
        assert_eq!(names(directory.path()).len(), 1, "nothing is left next to it");
        // A directory at the target path is not a file, and is kept.
        fs::create_dir(directory.path().join("taken")).unwrap();
        write(&directory.path().join("taken"), b"x").unwrap_err();
        assert_eq!(names(directory.path()).len(), 2, "nothing is left next to it");
    }

    #[test]
    fn links_that_others_put_in_the_directory_are_not_written_through() {
        let (directory, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let victim = elsewhere.path().join("victim");
        fs::write(&victim, "theirs").unwrap();
        let target = directory.path().join("here.json");
        // The path itself, and names that are easily guessed from it.
        let guesses = ["here.json.new", "here.json.tmp", "here.json.part", ".here.json.swp", "here.key.new"];
        for name in guesses.into_iter().chain(["here.json"]) {
            symlink(&victim, directory.path().join(name)).unwrap();
        }
        let before = names(directory.path());
        write(&target, b"ours").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "theirs");
        assert!(fs::symlink_metadata(&target).unwrap().is_file());
        assert_eq!(fs::read(&target).unwrap(), b"ours");
        for name in guesses {
            assert_eq!(fs::read_link(directory.path().join(name)).unwrap(), victim, "{name}");
        }
        assert_eq!(names(directory.path()), before);
    }

    #[test]
    fn two_names_for_one_place_differ() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("x");
        let made = [0; 2].map(|_| AtomicFile::create(&target, PRIVATE).unwrap());
        assert_ne!(made[0].path(), made[1].path());
    }
}
