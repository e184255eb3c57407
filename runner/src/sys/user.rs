//! Changing who the calling thread, or a child that borrows this process's memory, is to the kernel.
//!
//! Always by the system call itself: the C library's functions of these names change every thread of the process.

use std::ffi::c_int;
use std::io;
use std::ptr;

use super::check;
use super::raw::call;
use crate::account::Account;

/// Stands for "as it is" where a user or group is set; no user has that number.
const UNCHANGED: u32 = u32::MAX;

/// Makes a child that is about to become a program another user, with that user's groups and none of root's capabilities;
/// fails with the number of the error.
///
/// For a child between its birth and its program: nothing here allocates, locks, or touches `errno`.
pub(super) fn become_for_good(user: &Account) -> Result<(), c_int> {
    let [user_id, group_id] =
        [user.user_id, user.group_id].map(|id| usize::try_from(id).unwrap_or(usize::MAX));
    // SAFETY: numbers, and a list that outlives the call with its true length. The last call speaks of this process's memory,
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
    groups: Vec<libc::gid_t>,
    /// The rights are those of one thread.
    _stays: std::marker::PhantomData<*const ()>,
}

/// Gives the calling thread a user's rights to files, and takes root's away, until the answer is dropped.
///
/// To everything but files the thread stays who it is; so the user's own processes get no hold on it.
pub(crate) fn act_on_files_as(user_id: u32, group_id: u32, groups: &[u32]) -> io::Result<ActingOnFiles> {
    let before = ActingOnFiles {
        user_id: file_user(UNCHANGED),
        group_id: file_group(UNCHANGED),
        groups: thread_groups()?,
        _stays: std::marker::PhantomData,
    };
    set_thread_groups(groups)?;
    file_group(group_id);
    file_user(user_id);
    let has_changed = file_user(UNCHANGED) == user_id && file_group(UNCHANGED) == group_id;
    // SAFETY: numbers only. Changing these may have made the process's memory open to others.
    let is_closed = unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) } == 0;
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

/// Sets the user whose rights to files the thread has; returns the one before.
fn file_user(user_id: u32) -> u32 {
    // SAFETY: a number, and of one thread only in every C library.
    unsafe { libc::setfsuid(user_id) }.cast_unsigned()
}

/// The same for the group.
fn file_group(group_id: u32) -> u32 {
    // SAFETY: a number, and of one thread only in every C library.
    unsafe { libc::setfsgid(group_id) }.cast_unsigned()
}

fn thread_groups() -> io::Result<Vec<libc::gid_t>> {
    // SAFETY: with a length of zero the kernel only counts.
    let count = unsafe { libc::getgroups(0, ptr::null_mut()) };
    check(i64::from(count))?;
    let mut groups = vec![0; usize::try_from(count).map_err(io::Error::other)?];
    // SAFETY: the list has room for as many as are asked for; only this thread changes its groups.
    check(i64::from(unsafe { libc::getgroups(count, groups.as_mut_ptr()) }))?;
    Ok(groups)
}

fn set_thread_groups(groups: &[u32]) -> io::Result<()> {
    // SAFETY: the kernel reads the list, which has the length that is given.
    check(unsafe { libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()) }).map(drop)
}
