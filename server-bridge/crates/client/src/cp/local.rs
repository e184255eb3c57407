//! The local side of a copy.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use home::atomic_file::AtomicFile;
use hyper::body::Incoming;
use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use super::is_directory;
use super::progress::Progress;
use crate::failure::Failure;
use crate::http::next_chunk;

/// A file to be copied.
pub(crate) struct Source {
    pub(crate) file: File,
    pub(crate) name: OsString,
    pub(crate) size_bytes: u64,
    pub(crate) mode: u32,
}

impl Source {
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let failed = |error| io_failure("read", path, &error);
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
            .open(path)
            .map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(is_directory(&path.to_string_lossy()));
        }
        if !metadata.is_file() {
            let message = format!("{} is not a regular file; only files can be copied", path.display());
            return Err(Failure::other("special_file", message));
        }
        let name = path.file_name().unwrap_or_default().to_owned();
        let mode = metadata.permissions().mode() & 0o777;
        Ok(Self { file, name, size_bytes: metadata.len(), mode })
    }
}

/// A file being written; if this is dropped before the end, the file is removed.
pub(crate) struct Target {
    written: Written,
    path: PathBuf,
    size_bytes: u64,
}

/// The destination of the bytes.
enum Written {
    /// A file that is put in place once it is complete.
    File(AtomicFile),
    /// A device or pipe, which cannot be replaced.
    Special(File),
}

impl Written {
    fn file(&mut self) -> &mut File {
        match self {
            Self::File(file) => file.file(),
            Self::Special(file) => file,
        }
    }
}

impl Target {
    /// Begins the file at `path`, or `name` in it if it is a directory. Missing directories are created, and space for
    /// `size_bytes` is reserved if the file system supports that.
    pub(crate) fn create(path: &Path, name: OsString, mode: u32, size_bytes: u64) -> Result<Self, Failure> {
        let named_directory = path.as_os_str().as_encoded_bytes().ends_with(b"/");
        let path = if named_directory || path.is_dir() { path.join(name) } else { path.to_owned() };
        let failed = |error| io_failure("write", &path, &error);
        let is_special = match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => return Err(is_directory(&path.to_string_lossy())),
            Ok(metadata) => !metadata.is_file(),
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            Err(error) => return Err(failed(error)),
        };
        if is_special {
            let file = OpenOptions::new().write(true).open(&path).map_err(failed)?;
            return Ok(Self { written: Written::Special(file), path, size_bytes: 0 });
        }
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            fs::create_dir_all(parent).map_err(|error| io_failure("make", parent, &error))?;
        }
        // A link stays a link: its target is replaced.
        let path = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        let file = AtomicFile::create(&path, mode).map_err(|error| io_failure("write", &path, &error))?;
        let mut target = Self { written: Written::File(file), path, size_bytes: 0 };
        target.reserve(size_bytes)?;
        Ok(target)
    }

    /// Reserves space before it is written: a full disk is noticed at once, and ext4 need not write out a file whose blocks
    /// are not allocated yet when it replaces another.
    fn reserve(&mut self, size_bytes: u64) -> Result<(), Failure> {
        if size_bytes == 0 {
            return Ok(());
        }
        match rustix::fs::fallocate(self.written.file(), FallocateFlags::KEEP_SIZE, 0, size_bytes) {
            Err(Errno::NOSPC) => Err(io_failure("write", &self.path, &Errno::NOSPC.into())),
            // A file system that cannot reserve space is used without a reservation.
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Writes the whole body of a response, showing progress, and puts the file in place; returns its size in bytes.
    pub(crate) async fn receive(mut self, mut body: Incoming, progress: &Progress) -> Result<u64, Failure> {
        let moved_bytes = progress.moved_bytes();
        let received = async {
            while let Some(chunk) = next_chunk(&mut body).await {
                let chunk = chunk?;
                self.write(&chunk)?;
                moved_bytes.fetch_add(chunk.len() as u64, Ordering::Relaxed);
            }
            self.finish()
        };
        progress.shown_while(received).await
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.written.file().write_all(bytes).map_err(|error| io_failure("write", &self.path, &error))?;
        self.size_bytes += bytes.len() as u64;
        Ok(())
    }

    /// Puts the file in place, and returns its size in bytes.
    fn finish(self) -> Result<u64, Failure> {
        if let Written::File(file) = self.written {
            file.replace().map_err(|error| io_failure("write", &self.path, &error))?;
        }
        Ok(self.size_bytes)
    }
}

pub(crate) fn io_failure(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    let kind = if error.kind() == ErrorKind::NotFound { "not_found" } else { "io" };
    Failure::other(kind, format!("cannot {what} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory() -> PathBuf {
        let directory = std::env::temp_dir().join(format!("sandbridge-cp-{:016x}", rand::random::<u64>()));
        fs::create_dir(&directory).unwrap();
        directory
    }

    #[test]
    fn a_finished_file_is_in_its_place_with_its_mode_and_its_parents() {
        let directory = directory();
        let mut target = Target::create(&directory.join("a/b/c"), "x".into(), 0o640, 5).unwrap();
        target.write(b"hello").unwrap();
        assert!(!directory.join("a/b/c").exists(), "not before it is whole");
        assert_eq!(target.finish().unwrap(), 5);
        assert_eq!(fs::read(directory.join("a/b/c")).unwrap(), b"hello");
        let mode = fs::metadata(directory.join("a/b/c")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777 & !0o022, 0o640);
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_broken_copy_leaves_the_old_file_and_nothing_beside_it() {
        let directory = directory();
        fs::write(directory.join("x"), b"old").unwrap();
        let mut target = Target::create(&directory, "x".into(), 0o644, 3).unwrap();
        target.write(b"new").unwrap();
        drop(target);
        assert_eq!(fs::read(directory.join("x")).unwrap(), b"old");
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn directories_and_special_files_are_no_sources() {
        let directory = directory();
        let failure = Source::open(&directory).err().unwrap();
        assert!(failure.message.ends_with("is a directory; copy it with -r"));
        assert_eq!(Source::open(Path::new("/dev/zero")).err().unwrap().kind, "special_file");
        assert_eq!(Source::open(&directory.join("none")).err().unwrap().kind, "not_found");
        fs::remove_dir_all(&directory).unwrap();
    }
}
