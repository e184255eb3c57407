//! The list of commands' rights by path: built by the mounts and enforced by Landlock.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use super::policy::{ConfinePolicy, DEVICES, ETC_ENTRIES, SYS_TREES, SYSTEM_TREES};
use crate::layers::Profile;
use crate::settings;

/// The rights of commands by path, in paths as the commands see them.
pub(super) struct View {
    pub(super) home: PathBuf,
    pub(super) home_is_private: bool,
    /// Directories that may be listed, with everything below them.
    pub(super) list: Vec<PathBuf>,
    /// Trees and files that may be read.
    pub(super) read: Vec<PathBuf>,
    /// Trees whose files may be read and run.
    pub(super) run: Vec<PathBuf>,
    /// Trees that may be changed.
    pub(super) write: Vec<PathBuf>,
    /// Device files that may be read and written.
    pub(super) devices: Vec<PathBuf>,
    /// The commands' own `/etc`, if it was just created: a handle through which it can be changed.
    pub(super) etc: Option<OwnedFd>,
}

impl View {
    /// The view without a mount namespace: the machine's own tree, on which Landlock alone enforces the list.
    pub(super) fn of_machine(policy: &ConfinePolicy, profile: Profile, home: PathBuf) -> Self {
        let home_is_private = !policy.state_in_workspace();
        let etc = ETC_ENTRIES.iter().map(|entry| (entry, Path::new("/etc").join(entry)));
        let etc = etc.filter(|(entry, path)| settings::is_harmless(entry, path)).map(|(_, path)| path);
        let mut view = Self::base(policy, profile, home, home_is_private, false);
        view.read.extend(etc);
        view
    }

    /// The view after `mounts::enter` built it: everything may be listed, and `/etc` contains only the selected files.
    pub(super) fn of_own_root(policy: &ConfinePolicy, profile: Profile, home: PathBuf) -> Self {
        let mut view = Self::base(policy, profile, home, true, true);
        view.list.push("/".into());
        view.read.push("/etc".into());
        view
    }

    fn base(
        policy: &ConfinePolicy,
        profile: Profile,
        home: PathBuf,
        home_is_private: bool,
        own_root: bool,
    ) -> Self {
        let mut run: Vec<PathBuf> = SYSTEM_TREES.iter().map(PathBuf::from).collect();
        run.extend(policy.tools().trees);
        run.extend(policy.allowances.read.iter().cloned());
        let mut write = vec!["/tmp".into(), "/dev/shm".into()];
        let home_is_writable = policy.home_is_writable(profile, own_root);
        if home_is_writable { &mut write } else { &mut run }.push(home.clone());
        write.extend(policy.allowances.write.iter().cloned());
        match profile {
            Profile::ReadOnly => run.push(policy.workspace.clone()),
            Profile::Workspace | Profile::FullControl => write.push(policy.workspace.clone()),
        }
        let read = SYS_TREES.iter().copied().chain(["/proc"]).map(PathBuf::from).collect();
        let devices = DEVICES.iter().map(PathBuf::from).collect();
        Self { home, home_is_private, list: Vec::new(), read, run, write, devices, etc: None }
    }
}
