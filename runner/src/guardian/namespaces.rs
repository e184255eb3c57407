//! The runner's side of its start: user map, own `/proc`, and the ties to the guardian.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::mount::{MountFlags, MountPropagationFlags};
use rustix::process::Signal;

use crate::kill::{self, KillTier};

/// The stack of the thread that waits for the guardian's end, in bytes.
const WATCHER_STACK_BYTES: usize = 64 * 1024;

/// The exit code of a runner whose guardian has ended, as if SIGKILL had reached it.
const ORPHANED_EXIT_CODE: i32 = 137;

/// Sets up the calling process, just forked, for its tier.
///
/// `ids` are the guardian's: in a new user namespace they cannot be read any more.
pub(super) fn enter(tier: KillTier, ids: Ids, alive: &OwnedFd) -> io::Result<()> {
    // A terminal's Ctrl-C is for the guardian, which passes it on in an orderly way.
    rustix::process::setpgid(None, None)?;
    match tier {
        KillTier::Subreaper => return kill::become_reaper(),
        KillTier::UserPidNamespace => ids.keep()?,
        KillTier::PidNamespace | KillTier::ContainerInit | KillTier::Unguarded => {}
    }
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if is_closed(alive)? {
        return Err(io::Error::other("the guardian has ended"));
    }
    rustix::mount::mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    Ok(rustix::mount::mount("proc", "/proc", "proc", flags, None)?)
}

/// The guardian's user and group.
#[derive(Clone, Copy)]
pub(super) struct Ids {
    user: u32,
    group: u32,
}

impl Ids {
    pub(super) fn current() -> Self {
        Self { user: rustix::process::geteuid().as_raw(), group: rustix::process::getegid().as_raw() }
    }

    /// Keeps the user in a new user namespace: commands should see their own user, not a false root.
    fn keep(self) -> io::Result<()> {
        let Self { user, group } = self;
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
    }
}

fn is_closed(alive: &OwnedFd) -> io::Result<bool> {
    let mut polled = [PollFd::new(alive, PollFlags::IN)];
    Ok(rustix::event::poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))? > 0)
}

/// Starts a thread that kills everything and ends this process once the guardian has ended.
pub(super) fn die_with_guardian(alive: OwnedFd) -> io::Result<()> {
    let wait = move || {
        // The guardian never writes: whatever the call returns, the pipe has ended.
        let _ = rustix::io::retry_on_intr(|| rustix::io::read(alive.as_fd(), &mut [0_u8; 1]));
        kill::kill_everything_for_good();
        process::exit(ORPHANED_EXIT_CODE);
    };
    std::thread::Builder::new()
        .name("guardian-watch".to_owned())
        .stack_size(WATCHER_STACK_BYTES)
        .spawn(wait)?;
    Ok(())
}
