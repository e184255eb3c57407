//! The root under construction: attaching mounts, and creating the directories for them.
//!
//! The private home and the workspace hold files that commands wrote earlier, even symbolic links and whole trees in place of
//! a file. So every target is walked by handle, one component at a time, never following a link; an entry in the way is
//! renamed, which a command cannot prevent (see [`step`]).

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, OFlags, ResolveFlags, StatVfsMountFlags, Uid};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags};

use super::git::WORKTREE_PARTS;
use super::mounts::Tree;
use super::policy::{ETC_ENTRIES, SYSTEM_TREES};
use crate::group;
use crate::limits::{
    ETC_FILE_BYTES, SHARED_MEMORY_BYTES, TEMPORARY_BYTES, TEMPORARY_BYTES_PER_INODE, TEMPORARY_MEMORY_PART,
};
use crate::settings;
use crate::sys;

/// The file system whose files are terminals; all others hold no devices.
pub(super) const TERMINALS: &str = "devpts";

/// The mount attributes of trees that commands can only read. Without the second flag, every path through a link in it would be walked the slow way,
/// to record an access time that cannot be written.
const STILL: u64 = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOATIME;

/// The parts of a repository that are directories.
const GIT_DIRECTORIES: &[&str] = &["hooks", "worktrees", "modules"];

/// The mode bits that let a directory's owner create entries in it.
const OWNER_MAY_CHANGE: u32 = 0o300;

/// A new file system that is not attached yet.
pub(super) fn file_system(kind: &str, options: &[(&str, &str)]) -> io::Result<OwnedFd> {
    let context = rustix::mount::fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (name, value) in options {
        rustix::mount::fsconfig_set_string(context.as_fd(), *name, *value)?;
    }
    rustix::mount::fsconfig_create(context.as_fd())?;
    let kept_out =
        if kind == TERMINALS { MountAttrFlags::MOUNT_ATTR_NOEXEC } else { MountAttrFlags::MOUNT_ATTR_NODEV };
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | kept_out;
    Ok(rustix::mount::fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

/// A temporary file system, bounded so that it cannot use all of the machine's memory, with the mode and the owner of its
/// root.
pub(super) fn temporary(limit_bytes: u64, mode: &str, owner: Option<(u32, u32)>) -> io::Result<OwnedFd> {
    let memory_bytes = group::machine_memory_bytes();
    // Its files count as the commands' memory, and no kill frees them.
    let memory_bytes = group::memory().map_or(memory_bytes, |limit| limit.0.min(memory_bytes));
    let size_bytes = limit_bytes.min(memory_bytes / TEMPORARY_MEMORY_PART);
    let (size, inodes) = (size_bytes.to_string(), (size_bytes / TEMPORARY_BYTES_PER_INODE).to_string());
    let owner = owner.map(|(user, group)| (user.to_string(), group.to_string()));
    let mut options = vec![("mode", mode), ("size", size.as_str()), ("nr_inodes", inodes.as_str())];
    if let Some((user, group)) = &owner {
        options.extend([("uid", user.as_str()), ("gid", group.as_str())]);
    }
    file_system("tmpfs", &options)
}

/// The commands' own `/proc`.
struct Processes {
    mount: OwnedFd,
    /// True if it shows commands only the processes they could trace anyway: their own.
    hides_others: bool,
}

impl Processes {
    fn new() -> io::Result<Self> {
        if let Ok(mount) = file_system("proc", &[("hidepid", "ptraceable")]) {
            return Ok(Self { mount, hides_others: true });
        }
        let flags =
            OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
        Ok(Self { mount: rustix::mount::open_tree(CWD, "/proc", flags)?, hides_others: false })
    }
}

/// The root under construction.
pub(super) struct NewRoot {
    root: OwnedFd,
}

impl NewRoot {
    /// Makes an empty root, attached over `place` (in this thread's namespace only).
    pub(super) fn new(place: &Path) -> io::Result<Self> {
        let mount = file_system("tmpfs", &[("mode", "0755")])?;
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        rustix::mount::move_mount(mount.as_fd(), "", CWD, place, flags)?;
        Ok(Self {
            root: rustix::fs::open(place, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?,
        })
    }

    /// The root that the calling thread has already.
    pub(super) fn of_this_thread() -> io::Result<Self> {
        let root = rustix::fs::open("/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { root })
    }

    /// Makes git's own directory of a linked worktree writable if it is in a closed one, and closes in it what the search for
    /// repositories closes in those that it finds.
    pub(super) fn open_worktree(&self, own: &Path) -> io::Result<()> {
        let around = self.existing(own.parent().unwrap_or(own))?;
        if !rustix::fs::fstatvfs(&around)?.f_flag.contains(StatVfsMountFlags::RDONLY) {
            return Ok(());
        }
        self.pin(own, true)?;
        for part in WORKTREE_PARTS {
            self.close(&own.join(part))?;
        }
        self.pin_closed(&own.join("modules"))
    }

    /// Attaches everything; returns true if commands will see no processes but their own.
    pub(super) fn fill(&self, trees: &[Tree]) -> io::Result<bool> {
        // Threads with a terminal get the file system that belongs in `pts`.
        for directory in ["/run", "/var", "/dev/pts"] {
            self.make(Path::new(directory), true)?;
        }
        // A separate file system, so that the runner can update it while commands can only read it.
        self.attach(&file_system("tmpfs", &[("mode", "0755")])?, Path::new("/etc"), true)?;
        for link in SYSTEM_TREES.iter().map(Path::new).filter(|path| path.is_symlink()) {
            self.link(&fs::read_link(link)?, link)?;
        }
        for (target, link) in [
            ("/tmp", "/var/tmp"),
            ("/run", "/var/run"),
            ("/proc/self/fd", "/dev/fd"),
            ("pts/ptmx", "/dev/ptmx"),
        ] {
            self.link(Path::new(target), Path::new(link))?;
        }
        for (number, name) in ["stdin", "stdout", "stderr"].iter().enumerate() {
            self.link(Path::new(&format!("/proc/self/fd/{number}")), &Path::new("/dev").join(name))?;
        }
        for entry in ETC_ENTRIES {
            self.copy_etc(&Path::new("/etc").join(entry))?;
        }
        for (place, limit_bytes) in [("/tmp", TEMPORARY_BYTES), ("/dev/shm", SHARED_MEMORY_BYTES)] {
            self.attach(&temporary(limit_bytes, "1777", None)?, Path::new(place), true)?;
        }
        let processes = Processes::new()?;
        // Root may change the kernel's settings through it (`core_pattern`, `sysrq-trigger`), regardless of its
        // capabilities.
        sys::mount_attributes(processes.mount.as_fd(), libc::MOUNT_ATTR_RDONLY, true)?;
        self.attach(&processes.mount, Path::new("/proc"), true)?;
        for tree in trees {
            let attached = if tree.is_inside {
                self.existing(&tree.target).and_then(|target| attach_to(&tree.mount, &target))
            } else {
                self.attach(&tree.mount, &tree.target, tree.is_directory)
            };
            attached.map_err(|error| {
                io::Error::new(error.kind(), format!("{}: {error}", tree.target.display()))
            })?;
        }
        Ok(processes.hides_others)
    }

    /// Pins a directory: neither it nor a mount in it can be renamed or removed. In a closed one it has to be made writable
    /// again.
    pub(super) fn pin(&self, directory: &Path, is_in_closed: bool) -> io::Result<()> {
        cover_by_itself(&self.existing(directory)?, 0, if is_in_closed { libc::MOUNT_ATTR_RDONLY } else { 0 })
    }

    /// Pins a directory in which nothing can be created or removed; it is created if missing.
    pub(super) fn pin_closed(&self, directory: &Path) -> io::Result<()> {
        cover_by_itself(&self.existing_part(directory)?, libc::MOUNT_ATTR_RDONLY, 0)
    }

    /// Makes a file or a tree of a repository read-only, after creating its missing parts, which git ignores.
    pub(super) fn close(&self, path: &Path) -> io::Result<()> {
        cover_by_itself(&self.existing_part(path)?, libc::MOUNT_ATTR_RDONLY, 0)
    }

    fn existing_part(&self, path: &Path) -> io::Result<OwnedFd> {
        match self.existing(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
                    return Err(io::ErrorKind::InvalidInput.into());
                };
                make_git_part(&self.existing(directory)?, name)?;
                self.existing(path)
            }
            found => found,
        }
    }

    /// Covers a socket or a FIFO by a file that cannot be opened, and that is not a socket.
    pub(super) fn shut(&self, path: &Path) -> io::Result<()> {
        let found = self.existing(path)?;
        let flags =
            OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
        let mount = rustix::mount::open_tree(self.existing(Path::new("/dev/null"))?, "", flags)?;
        let inert = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NODEV | libc::MOUNT_ATTR_NOEXEC;
        sys::mount_attributes(mount.as_fd(), inert, false)?;
        attach_to(&mount, &found)
    }

    /// Opens an existing path, following no link.
    fn existing(&self, path: &Path) -> io::Result<OwnedFd> {
        let inside = path.strip_prefix("/").unwrap_or(path);
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        // With NOFOLLOW a link as the last component would be opened itself.
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        Ok(rustix::fs::openat2(&self.root, inside, flags, Mode::empty(), resolve)?)
    }

    /// Covers a directory with nothing: commands must not reach the runner's own state through their workspace.
    pub(super) fn hide(&self, directory: &Path) -> io::Result<()> {
        let nothing = file_system("tmpfs", &[("mode", "0555")])?;
        sys::mount_attributes(nothing.as_fd(), libc::MOUNT_ATTR_RDONLY, false)?;
        self.attach(&nothing, directory, true)
    }

    /// Copies a file of `/etc` (or keeps it as a link if it leads into a tree that commands see).
    fn copy_etc(&self, path: &Path) -> io::Result<()> {
        let Ok(metadata) = fs::metadata(path) else { return Ok(()) };
        let resolved = path.canonicalize()?;
        if path.is_symlink() && SYSTEM_TREES.iter().any(|tree| resolved.starts_with(tree)) {
            return self.link(&fs::read_link(path)?, path);
        }
        if !metadata.is_file() || metadata.len() > ETC_FILE_BYTES {
            return Ok(());
        }
        let (parent, name) = self.parent(path)?;
        let content = settings::of_machine(&name.to_string_lossy(), fs::read(path)?);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = rustix::fs::openat(parent, name, flags, Mode::from_raw_mode(0o644))?;
        io::Write::write_all(&mut fs::File::from(file), &content)
    }

    fn link(&self, target: &Path, path: &Path) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        Ok(rustix::fs::symlinkat(target, parent, name)?)
    }

    /// Attaches a mount at `path`, creating missing components on the way.
    fn attach(&self, mount: &OwnedFd, path: &Path, is_directory: bool) -> io::Result<()> {
        attach_to(mount, &self.make(path, is_directory)?)
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

    /// Makes this the thread's root and detaches the machine's tree; returns a handle through which `/etc` can be changed.
    pub(super) fn become_root(self) -> io::Result<OwnedFd> {
        sys::mount_attributes(self.root.as_fd(), STILL, false)?;
        rustix::process::fchdir(self.root.as_fd())?;
        // The old root ends up stacked on the new one, from where it is detached at once.
        rustix::process::pivot_root(".", ".")?;
        rustix::mount::unmount(".", UnmountFlags::DETACH)?;
        rustix::process::chdir("/")?;
        let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        let changeable = rustix::mount::open_tree(CWD, "/etc", flags)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let seen = rustix::fs::open("/etc", flags, Mode::empty())?;
        sys::mount_attributes(seen.as_fd(), STILL, false)?;
        Ok(changeable)
    }
}

fn attach_to(mount: &OwnedFd, target: &OwnedFd) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(rustix::mount::move_mount(mount.as_fd(), "", target.as_fd(), "", flags)?)
}

/// Mounts an open entry over itself, with more or fewer attributes, even if its name has another meaning by now.
fn cover_by_itself(found: &OwnedFd, set: u64, clear: u64) -> io::Result<()> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
    let mount = rustix::mount::open_tree(found, "", flags)?;
    if set | clear != 0 {
        sys::change_mount(mount.as_fd(), set, clear, false)?;
    }
    attach_to(&mount, found)
}

/// Creates a missing part of a repository, with the repository's owner.
///
/// Only what exists can be covered. A `commondir` that names its own directory changes nothing for git.
fn make_git_part(repository: &OwnedFd, name: &OsStr) -> io::Result<()> {
    let owner = rustix::fs::fstat(repository)?;
    let stacked = AtFlags::SYMLINK_NOFOLLOW;
    if name == "commondir" && rustix::fs::statat(repository, "reftable", stacked).is_ok() {
        return Err(io::Error::other("a repository that uses reftables cannot get a commondir"));
    }
    if GIT_DIRECTORIES.iter().any(|directory| name == *directory) {
        rustix::fs::mkdirat(repository, name, Mode::from_raw_mode(0o755))?;
    } else {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = rustix::fs::openat(repository, name, flags, Mode::from_raw_mode(0o644))?;
        let content: &[u8] = if name == "commondir" { b".\n" } else { b"" };
        io::Write::write_all(&mut fs::File::from(file), content)?;
    }
    if rustix::process::geteuid().is_root() {
        let owner = (Uid::from_raw(owner.st_uid), Gid::from_raw(owner.st_gid));
        rustix::fs::chownat(repository, name, Some(owner.0), Some(owner.1), AtFlags::SYMLINK_NOFOLLOW)?;
    }
    Ok(())
}

/// Opens one component below `place` without following links; creates it if it is missing.
///
/// An entry of the wrong type, or one that the runner cannot open, is renamed: unlike a removal, that works on a whole tree,
/// at once, and loses nothing.
fn step(place: &OwnedFd, name: &OsStr, is_directory: bool) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat(place, name, flags, Mode::empty()) {
        Ok(found) if fits(&found, is_directory)? => return Ok(found),
        Ok(_) => {
            let aside = format!(".in-the-way-{:032x}", rand::random::<u128>());
            rustix::fs::renameat(place, name, place, aside)?;
        }
        Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    if is_directory {
        rustix::fs::mkdirat(place, name, Mode::from_raw_mode(0o755))?;
        let made = rustix::fs::openat(place, name, flags, Mode::empty())?;
        give_like(place, &made)?;
        return Ok(made);
    }
    let create = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    rustix::fs::openat(place, name, create, Mode::from_raw_mode(0o644))?;
    Ok(rustix::fs::openat(place, name, flags, Mode::empty())?)
}

/// Gives a directory created by root to the owner of its parent: the private home of another user stays entirely theirs.
fn give_like(place: &OwnedFd, made: &OwnedFd) -> io::Result<()> {
    let (above, made_as) = (rustix::fs::fstat(place)?, rustix::fs::fstat(made)?);
    // Anything that replaced it meanwhile has its owner already.
    if !rustix::process::geteuid().is_root() || made_as.st_uid != 0 || above.st_uid == 0 {
        return Ok(());
    }
    let owner = (Uid::from_raw(above.st_uid), Gid::from_raw(above.st_gid));
    Ok(rustix::fs::chownat(made, "", Some(owner.0), Some(owner.1), AtFlags::EMPTY_PATH)?)
}

/// True if the entry that was found is suitable: of the right type and, if it is a directory of the runner, not closed to
/// it.
fn fits(found: &OwnedFd, is_directory: bool) -> io::Result<bool> {
    let found = rustix::fs::fstat(found)?;
    let user = rustix::process::geteuid();
    // Modes do not stop root, and system directories of some distributions are read-only to their owner.
    let own = !user.is_root() && found.st_uid == user.as_raw();
    Ok(match FileType::from_raw_mode(found.st_mode) {
        FileType::Directory => is_directory && (!own || found.st_mode & OWNER_MAY_CHANGE == OWNER_MAY_CHANGE),
        FileType::Symlink => false,
        _ => !is_directory,
    })
}
