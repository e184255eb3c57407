//! A root with an outside worth stealing, in a temporary directory of its own.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};

/// Stands in every file's content, every entry's name and every size that only the outside has.
pub(crate) const OUTSIDE_MARK: &str = "OUTSIDE";
/// The size in bytes of the secret, by which a stat of it is told.
pub(crate) const SECRET_SIZE_BYTES: u64 = 7_919;
/// Replaced in paths and link targets by the folder that holds both the root and the outside.
const PLACEHOLDER: &[u8] = b"{base}";
/// Beyond this size in bytes a snapshot holds the size only.
const CONTENT_SIZE_BYTES: u64 = 65_536;

/// One thing to put into the root before the attempt; paths are relative to it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Plant {
    Directory(&'static str),
    File(&'static str),
    /// Where, and the target's text.
    Symlink(&'static str, &'static str),
    /// `chain-1` to `chain-N`, each to the next; the last to the target.
    Chain(usize, &'static str),
    /// A second name for a file, given like a target.
    HardLink(&'static str, &'static str),
    Fifo(&'static str),
    Socket(&'static str),
    /// A file of this many bytes without content.
    Sparse(&'static str, u64),
}

/// ```text
/// {base}/work/                     the root
/// {base}/work-evil/secret          a sibling whose name begins like the root's
/// {base}/outside/secret
/// {base}/outside/folder/OUTSIDE-entry
/// ```
pub(crate) struct Arena {
    base: tempfile::TempDir,
    root: PathBuf,
}

/// Everything beneath the base: kind, mode, size and content, but no times.
pub(crate) type Snapshot = BTreeMap<PathBuf, (u32, u64, Vec<u8>)>;

impl Arena {
    pub(crate) fn new(plants: &[Plant]) -> Self {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().join("work");
        let mut secret = OUTSIDE_MARK.as_bytes().to_vec();
        secret.resize(usize::try_from(SECRET_SIZE_BYTES).unwrap(), b'!');
        for folder in ["work", "work-evil", "outside/folder"] {
            std::fs::create_dir_all(base.path().join(folder)).unwrap();
        }
        for file in ["work-evil/secret", "outside/secret", "outside/folder/OUTSIDE-entry"] {
            std::fs::write(base.path().join(file), &secret).unwrap();
        }
        let arena = Self { base, root };
        for plant in plants {
            arena.plant(*plant);
        }
        arena
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Replaces the placeholder in a path.
    pub(crate) fn expand(&self, path: &[u8]) -> PathBuf {
        let Some(at) = path.windows(PLACEHOLDER.len()).position(|window| window == PLACEHOLDER) else {
            return PathBuf::from(OsStr::from_bytes(path));
        };
        let base = self.base.path().as_os_str().as_bytes();
        let expanded = [&path[..at], base, &path[at + PLACEHOLDER.len()..]].concat();
        PathBuf::from(std::ffi::OsString::from_vec(expanded))
    }

    pub(crate) fn plant(&self, plant: Plant) {
        let at = |path: &str| self.root.join(path);
        let target = |text: &str| self.expand(text.as_bytes());
        match plant {
            Plant::Directory(path) => std::fs::create_dir_all(at(path)).unwrap(),
            Plant::File(path) => std::fs::write(at(path), b"inside").unwrap(),
            Plant::Symlink(path, text) => symlink(target(text), at(path)).unwrap(),
            Plant::Chain(length, last) => {
                for link in 1..=length {
                    let next = if link == length { last.to_owned() } else { format!("chain-{}", link + 1) };
                    symlink(target(&next), at(&format!("chain-{link}"))).unwrap();
                }
            }
            Plant::HardLink(path, text) => std::fs::hard_link(target(text), at(path)).unwrap(),
            Plant::Fifo(path) => {
                mknodat(CWD, at(path), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
            }
            Plant::Socket(path) => drop(UnixListener::bind(at(path)).unwrap()),
            Plant::Sparse(path, size) => std::fs::File::create(at(path)).unwrap().set_len(size).unwrap(),
        }
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot::new();
        let mut pending = vec![self.base.path().to_owned()];
        while let Some(path) = pending.pop() {
            let facts = path.symlink_metadata().unwrap();
            let content = if facts.is_symlink() {
                path.read_link().unwrap().into_os_string().into_vec()
            } else if facts.is_file() && facts.len() <= CONTENT_SIZE_BYTES {
                std::fs::read(&path).unwrap()
            } else {
                Vec::new()
            };
            if facts.is_dir() {
                pending.extend(path.read_dir().unwrap().map(|entry| entry.unwrap().path()));
            }
            let size = if facts.is_dir() { 0 } else { facts.len() };
            let relative = path.strip_prefix(self.base.path()).unwrap().to_owned();
            snapshot.insert(relative, (facts.mode(), size, content));
        }
        snapshot
    }

    /// The part of a snapshot that no attempt may change.
    pub(crate) fn outside_of(snapshot: &Snapshot) -> Snapshot {
        let outside = snapshot.iter().filter(|(path, _)| !path.starts_with("work"));
        outside.map(|(path, facts)| (path.clone(), facts.clone())).collect()
    }
}
