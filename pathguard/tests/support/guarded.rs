//! The attempts of the corpus, made through the guard.

use std::io::{Read, Write};
use std::path::Path;

use pathguard::tree::{Packer, TreeError, UnpackOptions, Unpacker};
use pathguard::{CreateOptions, Error, Kind, Result, Root};

use super::arena::{Arena, OUTSIDE_MARK, SECRET_SIZE_BYTES};
use super::corpus::members::{Member, archive};
use super::corpus::{Attempt, Expected};
use super::judge::{Answer, Refusal};

/// How much of a file an attempt reads, in bytes: enough to identify it.
const READ_SIZE_BYTES: u64 = 4096;
/// How much of an archive an attempt examines, in bytes.
const PACKED_SIZE_BYTES: usize = 1 << 20;

/// Makes the attempt and returns its result.
pub(crate) fn answer(root: &Root, arena: &Arena, attempt: Attempt, path: &Path) -> Answer {
    let refused = |error: TreeError| Refusal { kind: expected(error.error), message: error.to_string() };
    match attempt {
        Attempt::Unpack(members) => unpack(root, arena, path, members, false).map_err(refused),
        Attempt::Mirror(members) => unpack(root, arena, path, members, true).map_err(refused),
        Attempt::Pack => pack(root, path).map_err(refused),
        attempt => self::attempt(root, attempt, path)
            .map_err(|error| Refusal { kind: expected(error), message: error.to_string() }),
    }
}

/// Makes an attempt that needs no archive.
pub(crate) fn attempt(root: &Root, attempt: Attempt, path: &Path) -> Result<String> {
    match attempt {
        Attempt::Read => read(root, path),
        Attempt::Write | Attempt::Replace | Attempt::Download => write(root, path, false),
        Attempt::WriteWithParents => write(root, path, true),
        Attempt::WriteIfMatch => root.open_file(path).and_then(|_| write(root, path, false)),
        Attempt::Stat => root.stat(path).map(|facts| seen_size(facts.size_bytes)),
        Attempt::List => list(root, path),
        Attempt::WorkingDirectory => work_in(root, path),
        Attempt::MakeDirectories => root.mkdir_all(path, 0o755).map(|()| String::new()),
        Attempt::Remove => root.remove(path).map(|()| String::new()),
        Attempt::RemoveAll => root.remove_all(path).map(|()| String::new()),
        Attempt::RenameFrom => {
            root.rename(path, "stolen").map(|()| read(root, Path::new("stolen")).unwrap_or_default())
        }
        Attempt::RenameTo => root.rename("mine", path).map(|()| String::new()),
        Attempt::Find => walk(root, path, false),
        Attempt::Search => match root.open_file(path) {
            Err(Error::IsADirectory) => walk(root, path, true),
            Err(error) => Err(error),
            Ok(_) => read(root, path),
        },
        Attempt::Pack => pack(root, path).map_err(|error| error.error),
        Attempt::Unpack(_) | Attempt::Mirror(_) => Err(Error::InvalidPath("it needs an archive")),
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

fn work_in(root: &Root, path: &Path) -> Result<String> {
    let (flags, mode) = (rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty());
    let directory = rustix::fs::openat(root.open_dir(path)?, ".", flags, mode)?;
    Ok(rustix::fs::Dir::new(directory)?.map(|entry| format!("{:?}", entry.unwrap().file_name())).collect())
}

/// Everything below, by name or with its content.
fn walk(root: &Root, path: &Path, contents: bool) -> Result<String> {
    let mut seen = String::new();
    let mut walk = root.walk(path)?;
    while let Some(visit) = walk.next() {
        let visit = visit?;
        seen.push_str(&visit.path.to_string_lossy());
        match visit.metadata.kind {
            Kind::Directory => match walk.enter() {
                Ok(()) | Err(Error::TooDeep) => {}
                Err(error) => return Err(error),
            },
            Kind::File if contents => {
                let mut text = Vec::new();
                walk.open_file()?.into_file().take(READ_SIZE_BYTES).read_to_end(&mut text)?;
                seen.push_str(&String::from_utf8_lossy(&text));
            }
            Kind::File | Kind::Symlink | Kind::Special => {}
        }
    }
    Ok(seen)
}

fn pack(root: &Root, path: &Path) -> std::result::Result<String, TreeError> {
    let mut packer = Packer::new(root, path).map_err(whole)?;
    let (mut seen, mut piece) = (Vec::new(), [0; 65_536]);
    while seen.len() < PACKED_SIZE_BYTES {
        match packer.read(&mut piece)? {
            0 => break,
            length => seen.extend_from_slice(&piece[..length]),
        }
    }
    Ok(String::from_utf8_lossy(&seen).into_owned())
}

fn unpack(
    root: &Root,
    arena: &Arena,
    path: &Path,
    members: &[Member],
    delete_extra: bool,
) -> std::result::Result<String, TreeError> {
    let mut unpacker =
        Unpacker::new(root, path, UnpackOptions { delete_extra, durable: false }).map_err(whole)?;
    archive(members, arena).chunks(700).try_for_each(|piece| unpacker.push(piece))?;
    unpacker.finish()?;
    Ok(String::new())
}

/// An error about the archive as a whole, before its first entry.
fn whole(error: Error) -> TreeError {
    TreeError { error, entry: Vec::new() }
}

/// Marks a size that only the secret has, because it reveals the secret as its content would.
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
        Error::TooLarge(_) => Expected::TooLarge,
        Error::InvalidPath(_) => Expected::Invalid,
        Error::NotFound => Expected::Missing,
        Error::IsADirectory => Expected::IsDirectory,
        Error::NotADirectory => Expected::NotDirectory,
        Error::Archive(_) => Expected::Archive,
        _ => Expected::Other,
    }
}
