//! The request for the hash of a tree, and the bytes that are hashed: both sides compute them.

use crate::codec::{Decode, Encode};
use crate::message::FileKind;
use crate::path::WirePath;

/// Hashes a directory with all that is in it. Supported by runners with the capability
/// [`HASH_TREE_CAPABILITY`](crate::handshake::HASH_TREE_CAPABILITY).
///
/// The hash is the SHA-256 of [`tree_bytes`]; times and other permission bits than the owner's to execute
/// a file are not part of it. Fails with `invalid_path` if a symbolic link is on the
/// path to the directory, `too_large` beyond the limits of the request, and with the file's error if one cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct HashTree {
    /// The directory.
    pub path: WirePath,
    /// The most files, directories, links and others that it may have.
    pub most_entries: u32,
    /// The most that its files may have in total, in bytes.
    pub most_bytes: u64,
}

/// An entry of a tree that is hashed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HashedEntry {
    /// The path from the directory to the entry.
    pub path: Vec<u8>,
    /// The kind of entry; links are not followed.
    pub kind: HashedKind,
}

/// A kind of entry, with everything of it that is hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HashedKind {
    /// A file with this SHA-256.
    File([u8; 32]),
    /// A file with this SHA-256 that its owner may execute.
    Program([u8; 32]),
    /// A directory.
    Directory,
    /// A symbolic link, a device, FIFO or socket.
    Other,
}

impl HashedKind {
    /// The kind of an entry that is not a file.
    pub fn of(kind: FileKind) -> Self {
        match kind {
            FileKind::Directory => Self::Directory,
            FileKind::File | FileKind::Symlink | FileKind::Other => Self::Other,
        }
    }
}

/// The bytes whose SHA-256 is the hash of a tree: for each entry, in the order of the paths, the path's length (u32, little endian), the path, a byte
/// for the kind (0 file, 1 directory, 2 other, 3 a file that its owner may execute), and for a file the SHA-256 of its content.
pub fn tree_bytes(mut entries: Vec<HashedEntry>) -> Vec<u8> {
    entries.sort_unstable();
    let mut bytes = Vec::new();
    for HashedEntry { path, kind } in entries {
        // A path is shorter than 4 GiB: it was a name in a request or on a disk.
        bytes.extend_from_slice(&u32::try_from(path.len()).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend_from_slice(&path);
        match kind {
            HashedKind::File(sha256) => {
                bytes.push(0);
                bytes.extend_from_slice(&sha256);
            }
            HashedKind::Program(sha256) => {
                bytes.push(3);
                bytes.extend_from_slice(&sha256);
            }
            HashedKind::Directory => bytes.push(1),
            HashedKind::Other => bytes.push(2),
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_a_tree_do_not_depend_on_its_order_and_differ_with_each_entry() {
        let entry = |path: &str, kind| HashedEntry { path: path.into(), kind };
        let (a, b) = (entry("a", HashedKind::Directory), entry("a/b", HashedKind::File([7; 32])));
        let bytes = tree_bytes(vec![b.clone(), a.clone()]);
        assert_eq!(bytes, tree_bytes(vec![a.clone(), b.clone()]));
        assert_eq!(bytes, [&[1, 0, 0, 0, b'a', 1, 3, 0, 0, 0][..], b"a/b", &[0], &[7; 32]].concat());
        let others = [
            vec![a.clone()],
            vec![a.clone(), entry("a/b", HashedKind::File([8; 32]))],
            vec![a.clone(), entry("a/b", HashedKind::Program([7; 32]))],
            vec![a.clone(), entry("a/b", HashedKind::Other)],
            vec![a.clone(), entry("a/c", HashedKind::File([7; 32]))],
            vec![a, b, entry("a/c", HashedKind::of(FileKind::Symlink))],
        ];
        for other in others {
            assert_ne!(tree_bytes(other.clone()), bytes, "{other:?}");
        }
    }
}
