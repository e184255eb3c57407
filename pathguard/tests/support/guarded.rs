//! The attempts of the corpus, made through the guard.

use std::io::{Read, Write};
use std::path::Path;

use pathguard::{CreateOptions, Error, Result, Root};

use super::arena::{OUTSIDE_MARK, SECRET_SIZE_BYTES};
use super::corpus::{Attempt, Expected};

/// How much an attempt reads, in bytes: enough to know a file by.
const READ_SIZE_BYTES: u64 = 4096;

/// Makes the attempt and returns what it saw.
pub(crate) fn attempt(root: &Root, attempt: Attempt, path: &Path) -> Result<String> {
    match attempt {
        Attempt::Read => read(root, path),
        Attempt::Write => write(root, path, false),
        Attempt::WriteWithParents => write(root, path, true),
        Attempt::Stat => root.stat(path).map(|facts| seen_size(facts.size_bytes)),
        Attempt::List => list(root, path),
        Attempt::WorkingDirectory => {
            let directory = rustix::fs::openat(
                root.open_dir(path)?,
                ".",
                rustix::fs::OFlags::RDONLY,
                rustix::fs::Mode::empty(),
            )?;
            let names =
                rustix::fs::Dir::new(directory)?.map(|entry| format!("{:?}", entry.unwrap().file_name()));
            Ok(names.collect())
        }
        Attempt::MakeDirectories => root.mkdir_all(path, 0o755).map(|()| String::new()),
        Attempt::Remove => root.remove(path).map(|()| String::new()),
        Attempt::RemoveAll => root.remove_all(path).map(|()| String::new()),
        Attempt::RenameFrom => root.rename(path, "stolen").and_then(|()| read(root, Path::new("stolen"))),
        Attempt::RenameTo => root.rename("mine", path).map(|()| String::new()),
    }
}

fn read(root: &Root, path: &Path) -> Result<String> {
    let mut seen = Vec::new();
    root.open_file(path)?.into_file().take(READ_SIZE_BYTES).read_to_end(&mut seen)?;
    Ok(String::from_utf8_lossy(&seen).into_owned())
}

fn write(root: &Root, path: &Path, parents: bool) -> Result<String> {
    let mut pending = root.create_file(path, CreateOptions { mode: None, parents })?;
    pending.write_all(b"payload")?;
    pending.commit()?;
    Ok(String::new())
}

fn list(root: &Root, path: &Path) -> Result<String> {
    root.read_dir(path)?.map(|entry| Ok(format!("{:?} ", entry?.name))).collect()
}

/// A size that only the secret has gives it away as its content would.
pub(crate) fn seen_size(size_bytes: u64) -> String {
    if size_bytes == SECRET_SIZE_BYTES { OUTSIDE_MARK.to_owned() } else { size_bytes.to_string() }
}

/// The corpus's word for an error.
pub(crate) fn expected(error: Error) -> Expected {
    match error {
        Error::EscapesRoot => Expected::Escapes,
        Error::SpecialFile => Expected::Special,
        Error::NameTooLong => Expected::TooLong,
        Error::TooManySymlinks => Expected::TooManyLinks,
        Error::InvalidPath(_) => Expected::Invalid,
        Error::NotFound => Expected::Missing,
        Error::IsADirectory => Expected::IsDirectory,
        Error::NotADirectory => Expected::NotDirectory,
        _ => Expected::Other,
    }
}
