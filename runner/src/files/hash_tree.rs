//! The hash of a tree: one answer that shows whether anything in a directory differs.

use std::io::{ErrorKind as Io, Read};
use std::os::unix::ffi::OsStrExt;

use pathguard::{Kind, OpenFile, Root};
use proto::message::TreeHashed;
use proto::request::{HashTree, HashedEntry, HashedKind, tree_bytes};
use proto::{ErrorKind, WireError};
use sha2::{Digest, Sha256};

use super::{Files, io_error, path, path_error, wire_kind};
use crate::limits::{HASHED_TREE_BYTES, HASHED_TREE_ENTRIES, WRITE_BATCH_BYTES};

/// The permission bit of a file that its owner may execute.
const OWNER_EXECUTES: u32 = 0o100;

/// Answers a `HashTree`.
pub(crate) async fn hash_tree(
    Files { root, disk }: Files,
    request: HashTree,
) -> Result<TreeHashed, WireError> {
    disk.run(move || hashed(&root, &request)).await?
}

fn hashed(root: &Root, request: &HashTree) -> Result<TreeHashed, WireError> {
    let directory = path(&request.path);
    if root.resolve(directory).map_err(path_error)?.path != directory {
        return Err(WireError::new(
            ErrorKind::InvalidPath,
            "a symbolic link, `.` or `..` is on the path to the directory: name it by its own path",
        ));
    }
    let most_entries = request.most_entries.min(HASHED_TREE_ENTRIES) as usize;
    let mut room = request.most_bytes.min(HASHED_TREE_BYTES);
    let mut buffer = vec![0; WRITE_BATCH_BYTES];
    let mut entries = Vec::new();
    let mut walk = root.walk(directory).map_err(path_error)?;
    while let Some(visit) = walk.next() {
        let visit = visit.map_err(path_error)?;
        if entries.len() >= most_entries {
            return Err(too_large("entries"));
        }
        let kind = match visit.metadata.kind {
            Kind::File => {
                let sha256 = content(walk.open_file().map_err(path_error)?, &mut room, &mut buffer)?;
                match visit.metadata.mode & OWNER_EXECUTES {
                    0 => HashedKind::File(sha256),
                    _ => HashedKind::Program(sha256),
                }
            }
            kind => HashedKind::of(wire_kind(kind)),
        };
        if kind == HashedKind::Directory {
            walk.enter().map_err(path_error)?;
        }
        entries.push(HashedEntry { path: visit.path.as_bytes().to_vec(), kind });
    }
    Ok(TreeHashed { sha256: Sha256::digest(tree_bytes(entries)).into() })
}

/// The SHA-256 of a file's content, which is taken from the room that is left.
fn content(open: OpenFile, room: &mut u64, buffer: &mut [u8]) -> Result<[u8; 32], WireError> {
    if open.metadata().size_bytes > *room {
        return Err(too_large("bytes"));
    }
    let (mut file, mut hash) = (open.into_file(), Sha256::new());
    loop {
        match file.read(buffer) {
            Ok(0) => return Ok(hash.finalize().into()),
            Ok(length) => {
                // A file may grow meanwhile.
                *room = room.checked_sub(length as u64).ok_or_else(|| too_large("bytes"))?;
                hash.update(&buffer[..length]);
            }
            Err(error) if error.kind() == Io::Interrupted => {}
            Err(error) => return Err(io_error(error)),
        }
    }
}

fn too_large(what: &str) -> WireError {
    WireError::new(ErrorKind::TooLarge, format!("the tree has more {what} than are hashed"))
}
