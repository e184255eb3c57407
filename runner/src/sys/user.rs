//! Changing the user that the kernel sees in the calling thread, or in a child that borrows this process's memory.
//!
//! Always by the system call itself: the C library's functions of these names change every thread of the process.

use std::ffi::c_int;
use std::io;

use nix::unistd::{self, Uid};
use rustix::process::{DumpableBehavior, Gid, getgroups, set_dumpable_behavior};
use rustix::thread::set_thread_groups;

use super::raw::call;

/// Means "unchanged" for a user or group; no user has that number.
const UNCHANGED: u32 = u32::MAX;

/// A user's ids in the kernel.
#[derive(Clone, Debug)]
pub(crate) struct UserIds {
    pub(crate) user_id: u32,
    /// The group that the user's files get.
    pub(crate) group_id: u32,
    /// All groups of the user, that one included.
    pub(crate) groups: Vec<u32>,
}

/// Changes the user of a child that is about to become a program, with that user's groups and none of root's capabilities;
/// fails with the number of the error.
///
/// For a child between its birth and its program: nothing here allocates, locks, or touches `errno`.
pub(super) fn become_for_good(user: &UserIds) -> Result<(), c_int> {
    let [user_id, group_id] =
        [user.user_id, user.group_id].map(|id| usize::try_from(id).unwrap_or(usize::MAX));
    // SAFETY: numbers, and a list that outlives the call with its true length. The last call concerns this process's memory,
    // which the child shares: a change of user may have opened it to that user, whatever the machine's settings.
    unsafe {
        call(libc::SYS_setgroups, [user.groups.len(), user.groups.as_ptr().addr(), 0, 0, 0])?;
        call(libc::SYS_setresgid, [group_id, group_id, group_id, 0, 0])?;
        call(libc::SYS_setresuid, [user_id, user_id, user_id, 0, 0])?;
        call(libc::SYS_prctl, [libc::PR_SET_DUMPABLE as usize, 0, 0, 0, 0])?;
    }
    Ok(())
}

/// The calling thread has another user's rights to files while this lives.
#[derive(Debug)]
pub(crate) struct ActingOnFiles {
    user_id: u32,
    group_id: u32,
    groups: Vec<Gid>,
    /// The rights are those of one thread.
    _stays: std::marker::PhantomData<*const ()>,
}

/// Gives the calling thread a user's rights to files, and removes root's, until the returned guard is dropped.
///
/// For everything except files the thread keeps its identity; so the user's own processes get no access to it.
pub(crate) fn act_on_files_as(user_id: u32, group_id: u32, groups: &[u32]) -> io::Result<ActingOnFiles> {
    let before = ActingOnFiles {
        user_id: file_user(UNCHANGED),
        group_id: file_group(UNCHANGED),
        groups: getgroups()?,
        _stays: std::marker::PhantomData,
    };
    set_thread_groups(&groups.iter().copied().map(Gid::from_raw).collect::<Vec<_>>())?;
    file_group(group_id);
    file_user(user_id);
    let has_changed = file_user(UNCHANGED) == user_id && file_group(UNCHANGED) == group_id;
    // Changing these may have made the process's memory open to others.
    let is_closed = set_dumpable_behavior(DumpableBehavior::NotDumpable).is_ok();
    if has_changed && is_closed { Ok(before) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

impl Drop for ActingOnFiles {
    fn drop(&mut self) {
        file_user(self.user_id);
        file_group(self.group_id);
        if let Err(error) = set_thread_groups(&self.groups) {
            // It had the right to change them; with too few of them it can do less, not more.
            tracing::error!("a thread could not get its groups back: {error}");
        }
    }
}

/// Sets the user whose rights to files the thread has (of this thread only, in every C library); returns the one before.
fn file_user(user_id: u32) -> u32 {
    unistd::setfsuid(Uid::from_raw(user_id)).as_raw()
}

/// Sets the group whose rights to files the thread has; returns the one before.
fn file_group(group_id: u32) -> u32 {
    unistd::setfsgid(unistd::Gid::from_raw(group_id)).as_raw()
}
