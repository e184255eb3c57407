//! The base of a thread for one command with a terminal: the view that the commands of its profile share.
//!
//! A terminal must be out of reach of every other exec, and a terminal's file is as open to its user's processes as any. So a
//! command with a terminal gets its own thread, with a copy of the shared mount namespace (the same files, `/tmp` included)
//! in which `/dev/pts` holds its terminals only, and with its own Landlock rules.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::mount::MountPropagationFlags;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::network;
use super::new_root::NewRoot;
use super::policy::ConfinePolicy;
use super::seccomp::Ipc;
use super::view::View;
use crate::layers::{LayerReport, Profile, layer_name};
use crate::sys;

/// The state that the threads of one profile share.
#[derive(Debug)]
pub(crate) struct Ground {
    pub(super) profile: Profile,
    /// The layers that are in effect for the profile's other commands.
    pub(super) report: LayerReport,
    /// The layers among them that are set up once.
    pub(super) base: LayerReport,
    pub(super) hides_others: bool,
    pub(super) ipc: Ipc,
    home: PathBuf,
    path: Vec<PathBuf>,
    /// The mount namespace, if it is the profile's own.
    mounts: Option<OwnedFd>,
    /// The namespace of System V IPC, if it is the profile's own.
    shared_objects: Option<OwnedFd>,
}

impl Ground {
    /// The state of a profile that confines nothing.
    pub(super) fn unconfined(policy: &ConfinePolicy, path: &[PathBuf], report: &LayerReport) -> Self {
        Self {
            profile: Profile::FullControl,
            report: report.clone(),
            base: report.clone(),
            hides_others: false,
            ipc: Ipc::OfContainer,
            home: policy.home.clone(),
            path: path.to_vec(),
            mounts: None,
            shared_objects: None,
        }
    }

    /// Keeps the namespaces that the calling thread has entered, before the last layers are set up.
    pub(super) fn prepare(
        profile: Profile,
        view: &View,
        path: &[PathBuf],
        hides_others: bool,
        ipc: Ipc,
        base: &LayerReport,
    ) -> io::Result<Self> {
        let namespace = |name| File::open(format!("/proc/thread-self/ns/{name}")).map(OwnedFd::from);
        let mounts = base.holds(layer_name::MOUNT_NAMESPACE).then(|| namespace("mnt")).transpose()?;
        let shared_objects = (ipc == Ipc::Own).then(|| namespace("ipc")).transpose()?;
        Ok(Self {
            profile,
            report: base.clone(),
            base: base.clone(),
            hides_others,
            ipc,
            home: view.home.clone(),
            path: path.to_vec(),
            mounts,
            shared_objects,
        })
    }

    /// The profile that all of them run under.
    pub(crate) fn profile(&self) -> Profile {
        self.profile
    }

    /// The commands' HOME.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// The directories of PATH.
    pub(crate) fn path(&self) -> &[PathBuf] {
        &self.path
    }

    /// True if commands have their own root.
    pub(super) fn has_own_root(&self) -> bool {
        self.mounts.is_some()
    }

    /// Lets the profile's commands write in git's own directory of a linked worktree that was added after their view was made,
    /// except for what its git obeys there. Call this from an unconfined thread, which it moves into the view: it must end
    /// after that.
    ///
    /// Terminals that are open already do not get it: each has a copy of the view.
    ///
    /// # Errors
    /// The view cannot be entered, or the directory cannot be mounted in it; then commands can only read it.
    pub(crate) fn open_worktree(&self, own: &Path) -> io::Result<()> {
        let Some(namespace) = &self.mounts else { return Ok(()) };
        // Only a thread that shares neither root nor working directory with others may change its namespace.
        sys::unshare_mounts()?;
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Mount))?;
        NewRoot::of_this_thread()?.open_worktree(own)
    }

    /// Moves the calling thread, which must be unconfined, into a copy of the view.
    pub(super) fn enter(&self, policy: &ConfinePolicy) -> io::Result<View> {
        if let Some(namespace) = &self.shared_objects {
            let kind = LinkNameSpaceType::InterProcessCommunication;
            move_into_link_name_space(namespace.as_fd(), Some(kind))?;
        }
        network::enter(&policy.bounds.network)?;
        let home = self.home.clone();
        let Some(namespace) = &self.mounts else {
            return Ok(View::of_machine(policy, self.profile, home));
        };
        // Only a thread that shares neither root nor working directory with others may change its namespace.
        sys::unshare_mounts()?;
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Mount))?;
        sys::unshare_mounts()?;
        let downstream = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
        rustix::mount::mount_change("/", downstream)?;
        Ok(View::of_own_root(policy, self.profile, home))
    }
}
