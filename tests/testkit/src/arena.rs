//! A root with an outside worth stealing, in a new temporary directory or around an existing workspace.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

/// Part of the content, the name and the size of everything that only the outside has.
pub const OUTSIDE_MARK: &str = "OUTSIDE";
/// A planted file's content.
pub const INSIDE: &[u8] = b"inside";
/// The size in bytes of the secret, by which a stat of it is recognized.
pub const SECRET_SIZE_BYTES: u64 = 7_919;
/// The size above which a snapshot contains only a file's size and not its content, in bytes.
const CONTENT_SIZE_BYTES: u64 = 65_536;
/// The device numbers of `/dev/zero`, which never ends, and of the first loop device.
const ZERO: (u32, u32) = (1, 5);
const LOOP: (u32, u32) = (7, 0);

/// One thing to put into the root before the attempt; paths are relative to it.
#[derive(Debug, Clone, Copy)]
pub enum Plant {
    Directory(&'static str),
    File(&'static str),
    /// The path, and the target's text.
    Symlink(&'static str, &'static str),
    /// `chain-1` to `chain-N`, each to the next; the last to the target.
    Chain(usize, &'static str),
    /// A second name for a file next to the root, given by its path from the base.
    HardLink(&'static str, &'static str),
    Fifo(&'static str),
    Socket(&'static str),
    /// A file of this many bytes without content.
    Sparse(&'static str, u64),
    /// A file that runs with its owner's rights.
    SetId(&'static str),
    /// A directory with this many empty files.
    Many(&'static str, usize),
    /// This many nested directories.
    Deep(&'static str, usize),
    /// An endless device; needs the superuser.
    Device(&'static str),
    /// A disk; needs the superuser.
    Disk(&'static str),
}

impl Plant {
    /// True if only the superuser can plant it, or it has an effect only then.
    pub fn takes_root(&self) -> bool {
        matches!(self, Self::Device(_) | Self::Disk(_) | Self::SetId(_))
    }
}

/// ```text
/// {base}/{name}/                   the root, also called {root}
/// {base}/{name}-evil/secret        a sibling whose name begins like the root's
/// {base}/outside/secret
/// {base}/outside/folder/OUTSIDE-entry
/// ```
pub struct Arena {
    /// The base on this machine's disk.
    disk: PathBuf,
    /// The base as the attacked program sees it.
    view: Vec<u8>,
    name: String,
    /// The owner of planted files, unless it is the test's user.
    owner: Option<u32>,
    _directory: Option<tempfile::TempDir>,
}

/// Kind, mode, owner, size and content of everything, but no times.
pub type Contents = BTreeMap<PathBuf, (u32, u32, u64, Vec<u8>)>;

/// The state of a root and its surroundings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The entries next to the root, which no attempt may change.
    pub outside: Contents,
    /// The entries below the root.
    pub inside: Contents,
}

impl Arena {
    pub fn new(plants: &[Plant]) -> Self {
        // In memory, where thousands are created at once, a device may not work.
        let takes_disk = plants.iter().any(Plant::takes_root);
        let directory = if takes_disk { tempfile::tempdir().unwrap() } else { quick_directory() };
        std::fs::create_dir(directory.path().join("work")).unwrap();
        let mut arena = Self::around(&directory.path().join("work"), directory.path(), None);
        arena._directory = Some(directory);
        arena.plant_all(plants);
        arena
    }

    /// An arena around an existing root; `view` is the folder above it as the attacked program sees it.
    pub fn around(root: &Path, view: &Path, owner: Option<u32>) -> Self {
        let name = root.file_name().unwrap().to_str().unwrap().to_owned();
        let view = view.as_os_str().as_bytes().strip_suffix(b"/").unwrap_or(view.as_os_str().as_bytes());
        let disk = root.parent().unwrap().to_owned();
        let arena = Self { disk, view: view.to_vec(), name, owner, _directory: None };
        let mut secret = OUTSIDE_MARK.as_bytes().to_vec();
        secret.resize(usize::try_from(SECRET_SIZE_BYTES).unwrap(), b'!');
        let evil = arena.disk.join(format!("{}-evil", arena.name));
        let outside = arena.disk.join("outside");
        for folder in [&evil, &outside, &outside.join("folder")] {
            std::fs::create_dir_all(folder).unwrap();
            arena.give_away(folder);
        }
        for file in [evil.join("secret"), outside.join("secret"), outside.join("folder/OUTSIDE-entry")] {
            std::fs::write(&file, &secret).unwrap();
            arena.give_away(&file);
        }
        arena
    }

    /// The root on this machine's disk.
    pub fn root(&self) -> PathBuf {
        self.disk.join(&self.name)
    }

    /// Replaces the placeholders in a path, in the form that the attacked program gets.
    pub fn expand(&self, path: &[u8]) -> PathBuf {
        let (view, name) = (self.view.as_slice(), self.name.as_bytes());
        let root = [view, b"/", name].concat();
        let upper = name.to_ascii_uppercase();
        let words: [(&[u8], &[u8]); 4] =
            [(b"{base}", view), (b"{root}", &root), (b"{name}", name), (b"{NAME}", &upper)];
        let mut expanded = Vec::new();
        let mut rest = path;
        while let Some(first) = rest.first() {
            let word = words.iter().find(|(word, _)| rest.starts_with(word));
            let (length, bytes) =
                word.map_or((1, std::slice::from_ref(first)), |(word, text)| (word.len(), text));
            expanded.extend_from_slice(bytes);
            rest = &rest[length..];
        }
        PathBuf::from(OsString::from_vec(expanded))
    }

    /// A text known only to a program that had looked outside.
    pub fn outside_path(&self) -> String {
        self.expand(b"{base}/outside").to_string_lossy().into_owned()
    }

    /// Plants everything; `false` if a hard link is impossible, since the root is a separate file system.
    pub fn plant_all(&self, plants: &[Plant]) -> bool {
        let planted = plants.iter().all(|plant| self.plant(*plant));
        if self.owner.is_some() {
            let mut pending = vec![self.root()];
            while let Some(path) = pending.pop() {
                self.give_away(&path);
                if path.symlink_metadata().unwrap().is_dir() {
                    pending.extend(path.read_dir().unwrap().map(|entry| entry.unwrap().path()));
                }
            }
        }
        planted
    }

    /// Empties the root.
    pub fn clear(&self) {
        for entry in self.root().read_dir().unwrap() {
            let entry = entry.unwrap();
            let is_directory = entry.file_type().unwrap().is_dir();
            let path = entry.path();
            if is_directory { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }.unwrap();
        }
    }

    fn give_away(&self, path: &Path) {
        if let Some(owner) = self.owner {
            lchown(path, Some(owner), Some(owner)).unwrap();
        }
    }

    fn plant(&self, plant: Plant) -> bool {
        let at = |path: &str| self.root().join(path);
        let target = |text: &str| self.expand(text.as_bytes());
        let node = |path: &str, kind, (major, minor)| {
            mknodat(CWD, at(path), kind, Mode::from_raw_mode(0o666), makedev(major, minor)).unwrap();
        };
        match plant {
            Plant::Directory(path) => std::fs::create_dir_all(at(path)).unwrap(),
            Plant::File(path) => std::fs::write(at(path), INSIDE).unwrap(),
            Plant::Symlink(path, text) => symlink(target(text), at(path)).unwrap(),
            Plant::Chain(length, last) => {
                for link in 1..=length {
                    let next = if link == length { last.to_owned() } else { format!("chain-{}", link + 1) };
                    symlink(target(&next), at(&format!("chain-{link}"))).unwrap();
                }
            }
            Plant::HardLink(path, beside) => match std::fs::hard_link(self.disk.join(beside), at(path)) {
                Err(error) if error.kind() == std::io::ErrorKind::CrossesDevices => return false,
                linked => linked.unwrap(),
            },
            Plant::Fifo(path) => node(path, FileType::Fifo, (0, 0)),
            Plant::Device(path) => node(path, FileType::CharacterDevice, ZERO),
            Plant::Disk(path) => node(path, FileType::BlockDevice, LOOP),
            Plant::Socket(path) => node(path, FileType::Socket, (0, 0)),
            Plant::Sparse(path, size) => std::fs::File::create(at(path)).unwrap().set_len(size).unwrap(),
            Plant::SetId(path) => {
                std::fs::write(at(path), INSIDE).unwrap();
                std::fs::set_permissions(at(path), std::fs::Permissions::from_mode(0o6755)).unwrap();
            }
            Plant::Many(path, count) => {
                std::fs::create_dir(at(path)).unwrap();
                for number in 0..count {
                    std::fs::File::create(at(path).join(number.to_string())).unwrap();
                }
            }
            Plant::Deep(path, levels) => {
                std::fs::create_dir_all(at(path).join("d/".repeat(levels))).unwrap();
            }
        }
        true
    }

    pub fn snapshot(&self) -> Snapshot {
        Snapshot { outside: self.snapshot_outside(), inside: contents(&self.root()) }
    }

    /// The part of a snapshot that no attempt may change.
    pub fn snapshot_outside(&self) -> Contents {
        let names = self.disk.read_dir().unwrap().map(|entry| PathBuf::from(entry.unwrap().file_name()));
        // Other entries next to the root are known by their names.
        let mut outside: Contents = names.map(|name| (name, (0, 0, 0, Vec::new()))).collect();
        outside.extend(contents(&self.disk.join("outside")));
        outside.extend(contents(&self.disk.join(format!("{}-evil", self.name))));
        outside
    }
}

/// A temporary directory, in memory if possible: thousands are created, and writes are synced.
pub fn quick_directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Everything at a path; empty if nothing exists there.
fn contents(top: &Path) -> Contents {
    let mut contents = Contents::new();
    let mut pending = vec![top.to_owned()];
    while let Some(path) = pending.pop() {
        let Ok(facts) = path.symlink_metadata() else { continue };
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
        contents.insert(path, (facts.mode(), facts.uid(), size, content));
    }
    contents
}
