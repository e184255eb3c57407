//! A separate root for commands: a thread's mount namespace that holds what the policy lists, and nothing else.
//!
//! The new root is an empty temporary file system. Listed trees of the machine are cloned into it at their own paths, so
//! paths mean the same inside and outside; then it becomes the root and the machine's tree is detached. Paths that are not
//! listed do not exist there, including pathname sockets (which Landlock does not cover) and other people's homes.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::CWD;
use rustix::mount::{MountPropagationFlags, MoveMountFlags, OpenTreeFlags};

use super::during;
use super::git::GitPaths;
use super::new_root::{NewRoot, file_system, temporary};
use super::policy::{ConfinePolicy, DEVICES, ETC_ENTRIES, SYS_TREES, SYSTEM_TREES};
use super::socket_files::{self, Bound, SocketFiles};
use super::view::View;
use crate::layers::{Profile, layer_name};
use crate::limits::{GAPS_NAMED, TEMPORARY_BYTES};
use crate::sys;

/// The HOME if the user's own home is part of the workspace and cannot be replaced.
const HOME_ELSEWHERE: &str = "/run/sandbridge/home";

const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
const WRITABLE: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
const DEVICE: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC;

/// A tree of the machine, cloned and not yet attached anywhere.
pub(super) struct Tree {
    pub(super) mount: OwnedFd,
    pub(super) target: PathBuf,
    pub(super) is_directory: bool,
    /// True if its target is in another tree of the machine, and so exists already.
    pub(super) is_inside: bool,
}

/// The outcome of [`enter`].
pub(super) enum Entry {
    /// The thread has its own root; `hides_others` is true if commands will see no processes but their own.
    ///
    /// `held` is the number of repositories whose git configuration commands cannot change, or the reason why they can in
    /// some. `shut` is the number of sockets and FIFOs of services that are closed to them, or the reason why some are not.
    Own { view: View, hides_others: bool, held: Result<usize, String>, shut: Result<usize, String> },
    /// This machine cannot do it, whatever commands do; the thread still sees the machine's tree.
    Impossible(String),
}

/// Moves the calling thread into its own root.
///
/// Only the first steps may find that the machine cannot do this at all, and commands have no influence on those. Any later failure is an error:
/// continuing would give commands the machine's own tree.
///
/// # Errors
/// The root could not be built; the message names the step. The thread must not start anything.
pub(super) fn enter(
    policy: &ConfinePolicy,
    profile: Profile,
    private_home: &Path,
    bound: &Bound,
) -> io::Result<Entry> {
    if policy.left_out.contains(layer_name::MOUNT_NAMESPACE) {
        return Ok(Entry::Impossible(String::new()));
    }
    if policy.workspace == Path::new("/") {
        return Ok(Entry::Impossible("the workspace is the whole machine".to_owned()));
    }
    match own_namespace() {
        Ok(()) => {}
        Err(error) if is_lack(&error) => {
            let why = format!("not permitted here (neither root nor a user namespace): {error}");
            return Ok(Entry::Impossible(why));
        }
        Err(error) => return Err(during("separate mount namespace")(error)),
    }
    if policy.throws_home_away(profile, true) {
        cover_home(policy, private_home).map_err(during("throwaway home"))?;
    }
    let home = if policy.home_in_workspace() { PathBuf::from(HOME_ELSEWHERE) } else { policy.home.clone() };
    let trees = clone_trees(policy, profile, private_home, &home)?;
    let root = NewRoot::new(private_home).map_err(during("new root"))?;
    let hides_others = root.fill(&trees).map_err(during("fill"))?;
    let held = hold_git_config(policy, profile, &root);
    let shut = shut_sockets(policy, profile, &root, bound);
    if policy.state_in_workspace() {
        root.hide(&policy.state_dir).map_err(during("hide the runner's state"))?;
    }
    let etc = root.become_root().map_err(during("pivot"))?;
    let view = View { etc: Some(etc), ..View::of_own_root(policy, profile, home) };
    Ok(Entry::Own { view, hides_others, held, shut })
}

/// Closes the files that git obeys to commands; returns the number of repositories, or the reason why it could not do so
/// everywhere.
fn hold_git_config(policy: &ConfinePolicy, profile: Profile, root: &NewRoot) -> Result<usize, String> {
    let GitPaths { pinned, closed, read_only, repositories, mut gaps, .. } = GitPaths::of(policy, profile);
    for directory in &pinned {
        let pinned = match closed.binary_search(directory) {
            Ok(_) => root.pin_closed(directory),
            Err(_) => {
                let around = directory.parent().unwrap_or(directory);
                root.pin(directory, closed.iter().any(|closed| around.starts_with(closed)))
            }
        };
        if let Err(error) = pinned {
            gaps.push(format!("{}: {error}", directory.display()));
        }
    }
    for path in &read_only {
        if let Err(error) = root.close(path) {
            gaps.push(format!("{}: {error}", path.display()));
        }
    }
    told(repositories, "not protected everywhere", &gaps)
}

/// Closes the sockets and FIFOs of services in the trees that commands see; returns their number, or the reason why not all
/// could be closed.
fn shut_sockets(
    policy: &ConfinePolicy,
    profile: Profile,
    root: &NewRoot,
    bound: &Bound,
) -> Result<usize, String> {
    let SocketFiles { found, mut gaps } = socket_files::find(policy, profile, bound);
    let mut shut = 0;
    for path in &found {
        match root.shut(path) {
            Ok(()) => shut += 1,
            // The socket was removed, or commands see something else at its path.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => gaps.push(format!("{}: {error}", path.display())),
        }
    }
    told(shut, "not closed everywhere", &gaps)
}

/// Describes the gaps of a layer, for a report.
fn told(count: usize, what: &str, gaps: &[String]) -> Result<usize, String> {
    if gaps.is_empty() {
        return Ok(count);
    }
    let named = gaps.iter().take(GAPS_NAMED).map(String::as_str).collect::<Vec<_>>().join("; ");
    Err(format!("{what} ({} gaps): {named}", gaps.len()))
}

/// Gives the thread a mount namespace, and makes sure that mounts are possible in it.
fn own_namespace() -> io::Result<()> {
    sys::unshare_mounts()?;
    let downstream = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", downstream)?;
    // This file system is never attached: it only shows that this kernel has the calls that everything below uses.
    let trial = file_system("tmpfs", &[("mode", "0755")])?;
    sys::mount_attributes(trial.as_fd(), libc::MOUNT_ATTR_RDONLY, false)
}

/// Covers the private home, for this thread alone, by an empty one with the user's settings: it disappears with the last
/// command that sees it, and does not contain other commands' files.
fn cover_home(policy: &ConfinePolicy, private_home: &Path) -> io::Result<()> {
    let owner = policy.run_as.as_ref().map(|user| (user.user_id, user.group_id));
    let own = || (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let home = temporary(TEMPORARY_BYTES, "0700", Some(owner.unwrap_or_else(own)))?;
    rustix::mount::move_mount(home.as_fd(), "", CWD, private_home, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    // Missing settings were reported at the runner's start.
    drop(policy.copy_settings());
    Ok(())
}

/// True if an error means that the machine lacks something or does not allow it, as opposed to having run out of it.
fn is_lack(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES | libc::ENOSYS | libc::EINVAL))
}

/// Clones the trees to attach, in the order of attachment: a home before the trees in it, the workspace last.
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
    let home_is_writable = policy.home_is_writable(profile, true);
    let mut inner =
        vec![clone_tree(private_home, home, if home_is_writable { WRITABLE } else { READ_ONLY })?];
    let elsewhere = |path: &&PathBuf| !path.starts_with(&policy.workspace);
    for tool in policy.tools().trees.iter().filter(elsewhere) {
        inner.push(clone_tree(tool, tool, READ_ONLY)?);
    }
    for (allowed, attributes) in [(&policy.allowances.read, READ_ONLY), (&policy.allowances.write, WRITABLE)]
    {
        for path in allowed.iter().filter(|path| **path != policy.workspace) {
            let is_device = path.starts_with("/dev");
            inner.push(clone_tree(path, path, if is_device { DEVICE } else { attributes })?);
        }
    }
    let workspace = if profile == Profile::ReadOnly { READ_ONLY } else { WRITABLE };
    inner.push(clone_tree(&policy.workspace, &policy.workspace, workspace)?);
    // A tree in another one is attached after it.
    inner.sort_by_key(|tree| tree.target.components().count());
    trees.extend(inner);
    mark_inside(&mut trees, home);
    Ok(trees)
}

/// Marks the trees that are attached inside another tree of the machine, where nothing may be created or moved for them.
fn mark_inside(trees: &mut [Tree], home: &Path) {
    for index in 0..trees.len() {
        let (before, rest) = trees.split_at_mut(index);
        let above = before.iter().filter(|above| rest[0].target.starts_with(&above.target));
        let nearest = above.max_by_key(|above| above.target.components().count());
        rest[0].is_inside = nearest.is_some_and(|above| above.target != home);
    }
}

fn clone_tree(source: &Path, target: &Path, attributes: u64) -> io::Result<Tree> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    let mount = rustix::mount::open_tree(CWD, source, flags).map_err(|error| {
        let error = io::Error::from(error);
        io::Error::new(error.kind(), format!("clone {}: {error}", source.display()))
    })?;
    sys::mount_attributes(mount.as_fd(), attributes, true)?;
    if attributes & libc::MOUNT_ATTR_RDONLY != 0 {
        // This is only for speed, and is refused if the machine's mounts are not this user's to change.
        let _ = sys::mount_attributes(mount.as_fd(), libc::MOUNT_ATTR_NOATIME, true);
    }
    Ok(Tree { mount, target: target.to_owned(), is_directory: source.is_dir(), is_inside: false })
}
