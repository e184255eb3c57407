//! An own root for commands: a thread's mount namespace that holds what the policy lists, and nothing else.
//!
//! The new root is an empty temporary file system. Listed trees of the machine are cloned into it at their own paths, so
//! paths mean the same inside and outside; then it becomes the root and the machine's tree is let go. What is not listed
//! does not exist: pathname sockets (which Landlock does not cover) and other people's homes among it.
//!
//! The private home and the workspace hold what commands wrote earlier, symbolic links included. So every target is
//! walked by handle, one component at a time, never following a link (see [`NewRoot::make`]).

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags,
    UnmountFlags,
};

use super::policy::{ConfinePolicy, DEVICES, ETC_ENTRIES, SYS_TREES, SYSTEM_TREES};
use super::report::Profile;
use super::view::View;
use crate::limits::ETC_FILE_BYTES;
use crate::sys;

/// Where HOME is when the user's own home is part of the workspace and cannot be replaced.
const HOME_ELSEWHERE: &str = "/run/sandbridge/home";

const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
const WRITABLE: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
const DEVICE: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC;

/// A tree of the machine, cloned and not yet attached anywhere.
struct Tree {
    mount: OwnedFd,
    target: PathBuf,
    is_directory: bool,
}

/// Moves the calling thread into its own root.
///
/// # Errors
/// A sentence for the report. The thread then has an own mount namespace at most, which still shows the machine's tree.
pub(super) fn enter(policy: &ConfinePolicy, profile: Profile) -> Result<View, String> {
    let failed = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
    if policy.workspace == Path::new("/") {
        return Err("the workspace is the whole machine".to_owned());
    }
    let private_home = policy.private_home().map_err(failed("private home"))?;
    sys::unshare_mounts().map_err(|error| match error.raw_os_error() {
        Some(libc::EPERM) => "not permitted here (neither root nor a user namespace)".to_owned(),
        _ => format!("unshare: {error}"),
    })?;
    let downstream = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", downstream).map_err(|error| format!("propagation: {error}"))?;
    let home = if policy.home_in_workspace() { PathBuf::from(HOME_ELSEWHERE) } else { policy.home.clone() };
    let trees = clone_trees(policy, profile, &private_home, &home).map_err(failed("clone"))?;
    let root = NewRoot::new(&private_home).map_err(failed("new root"))?;
    root.fill(&trees).map_err(failed("fill"))?;
    if policy.state_in_workspace() {
        root.hide(&policy.state_dir).map_err(failed("hide the runner's state"))?;
    }
    root.become_root().map_err(failed("pivot"))?;
    Ok(View::of_own_root(policy, profile, home))
}

/// Clones what will be attached, in the order of attachment: a home before what lies in it, the workspace last.
fn clone_trees(
    policy: &ConfinePolicy,
    profile: Profile,
    private_home: &Path,
    home: &Path,
) -> io::Result<Vec<Tree>> {
    let mut trees = Vec::new();
    let system = SYSTEM_TREES.iter().chain(SYS_TREES).map(Path::new);
    for path in system.filter(|path| path.is_dir() && !path.is_symlink()) {
        trees.push(clone_tree(path, path, READ_ONLY)?);
    }
    let etc = ETC_ENTRIES.iter().map(|entry| Path::new("/etc").join(entry));
    for path in etc.filter(|path| path.is_dir() && !path.is_symlink()) {
        trees.push(clone_tree(&path, &path, READ_ONLY)?);
    }
    for device in DEVICES.iter().map(Path::new).filter(|path| path.exists()) {
        trees.push(clone_tree(device, device, DEVICE)?);
    }
    trees.push(clone_tree(private_home, home, WRITABLE)?);
    if !policy.home_in_workspace() {
        for tool in policy.home_tools() {
            trees.push(clone_tree(&tool, &tool, READ_ONLY)?);
        }
    }
    let workspace = if profile == Profile::ReadOnly { READ_ONLY } else { WRITABLE };
    trees.push(clone_tree(&policy.workspace, &policy.workspace, workspace)?);
    Ok(trees)
}

fn clone_tree(source: &Path, target: &Path, attributes: u64) -> io::Result<Tree> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    let mount = rustix::mount::open_tree(CWD, source, flags)?;
    sys::mount_attributes(mount.as_fd(), attributes, true)?;
    Ok(Tree { mount, target: target.to_owned(), is_directory: source.is_dir() })
}

/// A fresh file system that is attached nowhere yet.
fn file_system(kind: &str, options: &[(&str, &str)]) -> io::Result<OwnedFd> {
    let context = rustix::mount::fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (name, value) in options {
        rustix::mount::fsconfig_set_string(context.as_fd(), *name, *value)?;
    }
    rustix::mount::fsconfig_create(context.as_fd())?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    Ok(rustix::mount::fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

/// The root under construction.
struct NewRoot {
    root: OwnedFd,
}

impl NewRoot {
    /// Makes an empty root, attached over `place` (in this thread's namespace only).
    fn new(place: &Path) -> io::Result<Self> {
        let mount = file_system("tmpfs", &[("mode", "0755")])?;
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        rustix::mount::move_mount(mount.as_fd(), "", CWD, place, flags)?;
        Ok(Self {
            root: rustix::fs::open(place, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?,
        })
    }

    fn fill(&self, trees: &[Tree]) -> io::Result<()> {
        for directory in ["/run", "/var", "/dev"] {
            self.make(Path::new(directory), true)?;
        }
        // A file system of its own, so that the runner can bring it up to date when the root is read-only.
        self.attach(&file_system("tmpfs", &[("mode", "0755")])?, Path::new("/etc"), true)?;
        for link in SYSTEM_TREES.iter().map(Path::new).filter(|path| path.is_symlink()) {
            self.link(&fs::read_link(link)?, link)?;
        }
        for (target, link) in [("/tmp", "/var/tmp"), ("/run", "/var/run"), ("/proc/self/fd", "/dev/fd")] {
            self.link(Path::new(target), Path::new(link))?;
        }
        for (number, name) in ["stdin", "stdout", "stderr"].iter().enumerate() {
            self.link(Path::new(&format!("/proc/self/fd/{number}")), &Path::new("/dev").join(name))?;
        }
        for entry in ETC_ENTRIES {
            self.copy_etc(&Path::new("/etc").join(entry))?;
        }
        for place in ["/tmp", "/dev/shm"] {
            self.attach(&file_system("tmpfs", &[("mode", "1777")])?, Path::new(place), true)?;
        }
        self.attach(&processes()?, Path::new("/proc"), true)?;
        trees.iter().try_for_each(|tree| {
            let attached = self.attach(&tree.mount, &tree.target, tree.is_directory);
            attached
                .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", tree.target.display())))
        })
    }

    /// Covers a directory with nothing: commands must not reach the runner's own state through their workspace.
    fn hide(&self, directory: &Path) -> io::Result<()> {
        let nothing = file_system("tmpfs", &[("mode", "0555")])?;
        sys::mount_attributes(nothing.as_fd(), libc::MOUNT_ATTR_RDONLY, false)?;
        self.attach(&nothing, directory, true)
    }

    /// Copies a file of `/etc` (or keeps it as a link where it is one into a tree that commands see).
    fn copy_etc(&self, path: &Path) -> io::Result<()> {
        let Ok(metadata) = fs::metadata(path) else { return Ok(()) };
        let resolved = path.canonicalize()?;
        if path.is_symlink() && SYSTEM_TREES.iter().any(|tree| resolved.starts_with(tree)) {
            return self.link(&fs::read_link(path)?, path);
        }
        if !metadata.is_file() || metadata.len() > ETC_FILE_BYTES {
            return Ok(());
        }
        let content = fs::read(path)?;
        let (parent, name) = self.parent(path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = rustix::fs::openat(parent, name, flags, Mode::from_raw_mode(0o644))?;
        io::Write::write_all(&mut fs::File::from(file), &content)
    }

    fn link(&self, target: &Path, path: &Path) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        Ok(rustix::fs::symlinkat(target, parent, name)?)
    }

    /// Attaches a mount at `path`, making what is missing on the way.
    fn attach(&self, mount: &OwnedFd, path: &Path, is_directory: bool) -> io::Result<()> {
        let target = self.make(path, is_directory)?;
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        Ok(rustix::mount::move_mount(mount.as_fd(), "", target.as_fd(), "", flags)?)
    }

    fn parent<'a>(&self, path: &'a Path) -> io::Result<(OwnedFd, &'a OsStr)> {
        match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => Ok((self.make(parent, true)?, name)),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// Opens `path` in the new root as a directory (or an empty file), making each missing component.
    ///
    /// A component that is in the way, such as a link planted in the private home, is replaced and never followed.
    fn make(&self, path: &Path, is_directory: bool) -> io::Result<OwnedFd> {
        let mut place = self.root.try_clone()?;
        let mut components = path.components().peekable();
        while let Some(component) = components.next() {
            let Component::Normal(name) = component else { continue };
            place = step(&place, name, is_directory || components.peek().is_some())?;
        }
        Ok(place)
    }

    /// Makes this the thread's root and lets go of the machine's tree.
    fn become_root(self) -> io::Result<()> {
        sys::mount_attributes(self.root.as_fd(), libc::MOUNT_ATTR_RDONLY, false)?;
        rustix::process::fchdir(self.root.as_fd())?;
        // The old root ends up stacked on the new one, from where it is detached at once.
        rustix::process::pivot_root(".", ".")?;
        rustix::mount::unmount(".", UnmountFlags::DETACH)?;
        Ok(rustix::process::chdir("/")?)
    }
}

/// Opens one component beneath `place` without following links, replacing whatever is of the wrong kind.
fn step(place: &OwnedFd, name: &OsStr, is_directory: bool) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if let Ok(found) = rustix::fs::openat(place, name, flags, Mode::empty()) {
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&found)?.st_mode);
        if (kind == FileType::Directory) == is_directory && kind != FileType::Symlink {
            return Ok(found);
        }
        let how = if kind == FileType::Directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        rustix::fs::unlinkat(place, name, how)?;
    }
    if is_directory {
        rustix::fs::mkdirat(place, name, Mode::from_raw_mode(0o755))?;
    } else {
        let create = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        rustix::fs::openat(place, name, create, Mode::from_raw_mode(0o644))?;
    }
    Ok(rustix::fs::openat(place, name, flags, Mode::empty())?)
}

/// A `/proc` that shows commands only the processes they could trace anyway: their own.
fn processes() -> io::Result<OwnedFd> {
    file_system("proc", &[("hidepid", "ptraceable")]).or_else(|_| {
        let flags =
            OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
        Ok(rustix::mount::open_tree(CWD, "/proc", flags)?)
    })
}
