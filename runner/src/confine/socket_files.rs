//! Sockets and FIFOs of services in the trees that commands see: found by the search here, and closed by the mounts.
//!
//! A read-only tree does not prevent connections to a socket in it, and the service at the other end acts with its own rights: a network
//! policy does not apply to it either. So each is covered by a file that cannot be opened.
//!
//! | found by | sockets |
//! |---|---|
//! | the kernel's list of bound sockets | in any tree, by the name that its service gave it |
//! | a walk through the trees that users fill themselves | sockets of containers, those with a relative name or a second one, FIFOs |
//!
//! The system's own trees and toolchains are not walked: they are large, and no service keeps a socket in them. In the workspace, and in
//! other trees that commands may change, sockets stay as they are: they are the commands' own, or were allowed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::policy::{ConfinePolicy, SYSTEM_TREES};
use crate::layers::{LayerReport, Profile, layer_name};
use crate::limits::{SOCKET_FILES, SOCKET_SCAN_DIRECTORIES};

/// The system's trees that users fill themselves.
const WALKED: &[&str] = &["/opt", "/usr/local", "/nix/var/nix/profiles"];

/// The index of the name in a line of the kernel's list; sockets without a name do not have it.
const NAME_FIELD: usize = 7;

/// The first version of Landlock that can prevent commands from connecting to sockets with a path.
const FIRST_WITH_SOCKETS: u32 = 9;

/// The sockets with a name in the file system, as the kernel lists them for one network namespace.
pub(super) struct Bound(io::Result<Vec<PathBuf>>);

/// The sockets to close, and the reason why the list may be incomplete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SocketFiles {
    pub(super) found: BTreeSet<PathBuf>,
    pub(super) gaps: Vec<String>,
}

impl Bound {
    /// The bound sockets of the network namespace that the calling thread is in.
    pub(super) fn here() -> Self {
        Self(fs::read("/proc/thread-self/net/unix").map(|list| names(&list)))
    }
}

fn names(list: &[u8]) -> Vec<PathBuf> {
    let lines = list.split(|byte| *byte == b'\n').skip(1);
    let name = |line: &[u8]| {
        let mut rest = line;
        for _ in 0..NAME_FIELD {
            let start = rest.iter().position(|byte| *byte != b' ')?;
            let end = rest[start..].iter().position(|byte| *byte == b' ')?;
            rest = &rest[start + end..];
        }
        let name = rest.strip_prefix(b" ")?;
        name.starts_with(b"/").then(|| PathBuf::from(OsStr::from_bytes(name)))
    };
    lines.filter_map(name).collect()
}

/// Finds the sockets that commands of a profile could reach.
pub(super) fn find(policy: &ConfinePolicy, profile: Profile, bound: &Bound) -> SocketFiles {
    let mut files = SocketFiles::default();
    let seen = Seen::of(policy, profile);
    match &bound.0 {
        Ok(names) => files.found.extend(names.iter().filter_map(|name| seen.socket(name))),
        Err(error) => files.gaps.push(format!("the list of sockets cannot be read: {error}")),
    }
    for tree in &seen.walked {
        let (found, gap) = walk(tree);
        files.found.extend(found.into_iter().filter(|path| seen.holds(path)));
        files.gaps.extend(gap);
    }
    if files.found.len() > SOCKET_FILES {
        let rest = files.found.len() - SOCKET_FILES;
        files.gaps.push(format!("{rest} sockets beyond the first {SOCKET_FILES} are left open"));
        files.found = files.found.into_iter().take(SOCKET_FILES).collect();
    }
    files
}

/// The sockets in the workspace that are served from outside, where commands can connect to them.
pub(crate) fn in_workspace(policy: &ConfinePolicy) -> Vec<PathBuf> {
    let seen = Seen { trees: vec![policy.workspace.clone()], ..Seen::default() };
    Bound::here().0.into_iter().flatten().filter_map(|name| seen.socket(&name)).collect()
}

/// The trees where sockets matter.
#[derive(Default)]
struct Seen {
    /// Trees that commands see, by their real names.
    trees: Vec<PathBuf>,
    /// The trees among them that belong to commands, or were allowed by name.
    open: Vec<PathBuf>,
    walked: Vec<PathBuf>,
}

impl Seen {
    fn of(policy: &ConfinePolicy, profile: Profile) -> Self {
        let real = |path: &Path| path.canonicalize().ok();
        let (tools, allowed) = (policy.tools().trees, &policy.allowances);
        let is_socket = |path: &&PathBuf| fs::metadata(path).is_ok_and(|found| found.file_type().is_socket());
        let (named, read): (Vec<&PathBuf>, Vec<&PathBuf>) = allowed.read.iter().partition(is_socket);
        let mut open: Vec<PathBuf> = allowed.write.iter().chain(named).cloned().collect();
        let mut walked: Vec<PathBuf> =
            read.into_iter().filter(|tree| tree.is_dir()).filter_map(|tree| real(tree)).collect();
        walked.extend(WALKED.iter().filter_map(|tree| real(Path::new(tree))));
        walked.retain(|tree| *tree != policy.workspace);
        let system = SYSTEM_TREES.iter().filter_map(|tree| real(Path::new(tree)));
        let tools = tools.iter().filter_map(|tree| real(tree));
        let mut trees: Vec<PathBuf> = system.chain(tools).chain(walked.iter().cloned()).collect();
        match profile {
            Profile::ReadOnly => trees.push(policy.workspace.clone()),
            Profile::Workspace | Profile::FullControl => open.push(policy.workspace.clone()),
        }
        Self { trees, open, walked }
    }

    /// The real name of a socket that exists and matters.
    fn socket(&self, name: &Path) -> Option<PathBuf> {
        let path = name.parent()?.canonicalize().ok()?.join(name.file_name()?);
        let is_socket = || fs::symlink_metadata(&path).is_ok_and(|found| found.file_type().is_socket());
        (self.holds(&path) && is_socket()).then_some(path)
    }

    fn holds(&self, path: &Path) -> bool {
        let length = |trees: &[PathBuf]| {
            let around = trees.iter().filter(|tree| path.starts_with(tree));
            around.map(|tree| tree.components().count()).max()
        };
        length(&self.trees).is_some_and(|seen| length(&self.open).is_none_or(|open| open < seen))
    }
}

/// The sockets found in a tree, and the reason why there may be more.
type Walked = (Vec<PathBuf>, Option<String>);

/// Looks for sockets and FIFOs in a tree; once per process, as commands cannot change it.
fn walk(tree: &Path) -> Walked {
    static KNOWN: Mutex<BTreeMap<PathBuf, Walked>> = Mutex::new(BTreeMap::new());
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(walked) = known().get(tree) {
        return walked.clone();
    }
    let walked = walk_anew(tree, SOCKET_SCAN_DIRECTORIES);
    known().insert(tree.to_owned(), walked.clone());
    walked
}

fn walk_anew(tree: &Path, most_directories: usize) -> Walked {
    let mut found = Vec::new();
    let mut queue = VecDeque::from([tree.to_owned()]);
    let mut looked_at = 0;
    while let Some(directory) = queue.pop_front() {
        looked_at += 1;
        if looked_at > most_directories {
            let gap = format!("not searched completely for sockets: {}", tree.display());
            return (found, Some(gap));
        }
        // A directory that this user cannot list, commands cannot list either; they can only use names they already have.
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && queue.len() <= most_directories {
                queue.push_back(entry.path());
            } else if kind.is_socket() || kind.is_fifo() {
                found.push(entry.path());
            }
        }
    }
    (found, None)
}

/// Reports if commands can connect to sockets of services; `shut` is the number of closed ones, or the reason why not all
/// were.
pub(super) fn report(shut: Result<usize, String>, report: &mut LayerReport) {
    if report.landlock_abi() >= FIRST_WITH_SOCKETS && report.holds(layer_name::LANDLOCK) {
        return report.add(layer_name::SOCKET_FILES, true, "refused by Landlock where commands only read");
    }
    let later = "a socket that a service makes later is reachable until the next start";
    match shut {
        Ok(count) => {
            report.add(layer_name::SOCKET_FILES, true, format!("closed at startup: {count}; {later}"));
        }
        Err(why) => report.add(layer_name::SOCKET_FILES, false, why),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn names_are_read_as_the_kernel_lists_them() {
        let list = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01  7465 /opt/a b/x.sock\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 17465\n\
            0000000000000000: 00000002 00000000 00010000 0005 01   765 @/tmp/abstract\n\
            0000000000000000: 00000002 00000000 00010000 0002 01 99999999 relative\n\
            0000000000000000: 00000002 00000000 00010000 0002 01 1 /y\n";
        assert_eq!(names(list), ["/opt/a b/x.sock", "/y"].map(PathBuf::from));
    }

    #[test]
    fn the_daemon_of_a_package_store_is_in_no_tree_of_the_system() {
        let socket = Path::new("/nix/var/nix/daemon-socket/socket");
        assert!(!SYSTEM_TREES.iter().any(|tree| socket.starts_with(tree)));
        assert!(SYSTEM_TREES.iter().any(|tree| Path::new("/nix/store/x").starts_with(tree)));
    }

    #[test]
    fn a_tree_that_is_too_large_is_told() {
        let directory = tempfile::tempdir().unwrap();
        for number in 0..5 {
            fs::create_dir(directory.path().join(format!("{number}"))).unwrap();
        }
        let _listener = UnixListener::bind(directory.path().join("3/socket")).unwrap();
        let (found, gap) = walk_anew(directory.path(), 6);
        assert_eq!((found, gap), (vec![directory.path().join("3/socket")], None));
        let (_, gap) = walk_anew(directory.path(), 3);
        assert!(gap.is_some_and(|gap| gap.contains("not searched completely")));
    }

    #[test]
    fn a_list_that_cannot_be_read_is_told() {
        let (work, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let policy = ConfinePolicy::detect(work.path(), state.path()).unwrap();
        let found = find(&policy, Profile::Workspace, &Bound(Err(io::ErrorKind::NotFound.into())));
        assert!(found.gaps[0].contains("cannot be read"), "{found:?}");
    }
}
