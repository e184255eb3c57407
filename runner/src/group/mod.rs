//! The control group of a runner's commands: memory, processes and processor time of all of them together.
//!
//! The group is made before the guardian forks, below the runner's own place in each hierarchy (beside it, where the kernel lets
//! none be made below), and removed when the guardian ends. The runner is not in it: when memory is short the kernel looks for
//! a victim among the commands alone, and when there are too many processes the runner still starts the threads that kill.
//!
//! ```text
//! version 1   a new process starts where the thread is that starts it: so the threads that start commands join, and no other.
//!             Memory counts for the process that uses it, whose first thread has stayed outside
//! version 2   a process has all its threads in one place: so each command is born into the group (`CLONE_INTO_CGROUP`)
//! ```
//! Neither costs an exec anything. The thread that runs everything is one of those that start commands; under version 1 it gets
//! its processor time from the group, which is dealt out often enough for that not to be felt.

mod host;
#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::confine::{Bytes, Limits};
use crate::limits::{CPU_PERIOD_US, GROUP_LOOK_MS, GROUP_REMOVAL_MS};
use host::{Controller, Host, Place, Version};

/// How the names of groups begin.
const PREFIX: &str = "sandbridge-";

/// Where the kernel counts the processes it killed for want of memory.
const KILLS: &str = "oom_kill ";

/// The group of this process's commands.
#[derive(Debug)]
struct Group {
    limits: Limits,
    versions: String,
    /// Where threads join, under version 1.
    joins: Vec<File>,
    /// Where commands are born into, under version 2.
    birthplace: Option<OwnedFd>,
    /// Tells how many were killed for want of memory.
    kills: Option<File>,
}

static GROUP: OnceLock<Group> = OnceLock::new();

/// Removes the groups that were made when it is dropped, and they are empty.
#[derive(Debug)]
pub struct Remains {
    directories: Vec<PathBuf>,
    /// Whose they are: a child that was forked inherits this too.
    owner: u32,
}

impl Drop for Remains {
    fn drop(&mut self) {
        if self.owner == std::process::id() {
            let deadline = Instant::now() + Duration::from_millis(GROUP_REMOVAL_MS);
            for directory in self.directories.iter().rev() {
                // The dead leave a moment after they are reaped. What stays all the same, the next runner removes.
                while fs::remove_dir(directory)
                    .is_err_and(|error| error.kind() == io::ErrorKind::ResourceBusy)
                    && Instant::now() < deadline
                {
                    std::thread::sleep(Duration::from_millis(GROUP_LOOK_MS));
                }
            }
        }
    }
}

/// Why commands cannot be limited together.
#[derive(Debug, thiserror::Error)]
pub enum GroupError {
    /// The machine offers nothing to do it with; the text says what to do.
    #[error("{0}")]
    Unavailable(String),
    /// The kernel refused a step.
    #[error("{}: {source}; limits for all commands together (--memory, --pids, --cpus) cannot be set here", path.display())]
    Refused {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl GroupError {
    fn refused(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Refused { path, source }
    }
}

/// Makes the group that `limits` need, once in the life of a process, before it forks or starts threads; none where they
/// need none.
///
/// # Errors
/// This machine has no control groups that this user may make, or not for all of what is limited.
pub fn establish(limits: &Limits) -> Result<Option<Remains>, GroupError> {
    if !limits.needs_group() {
        return Ok(None);
    }
    let controllers: Vec<Controller> = needed(limits).collect();
    let places = Host::of_this_process()?.places(&controllers)?;
    let name = Name::of_this_process()?;
    let mut remains = Remains { directories: Vec::new(), owner: std::process::id() };
    let mut group = Group {
        limits: limits.clone(),
        versions: versions(&places),
        joins: Vec::new(),
        birthplace: None,
        kills: None,
    };
    for place in &places {
        name.sweep(&place.parent);
        place.prepare(&mut remains.directories)?;
        let directory = place.parent.join(name.fresh());
        fs::create_dir(&directory).map_err(GroupError::refused(&directory))?;
        remains.directories.push(directory.clone());
        for controller in &place.controllers {
            limit(*controller, place.version, &directory, limits)?;
        }
        group.open(place, &directory)?;
    }
    if GROUP.set(group).is_err() {
        return Err(GroupError::Unavailable("this process has made its group already".to_owned()));
    }
    Ok(Some(remains))
}

impl Group {
    fn open(&mut self, place: &Place, directory: &Path) -> Result<(), GroupError> {
        let open = |options: &mut OpenOptions, name: &str| {
            let path = directory.join(name);
            options.open(&path).map_err(GroupError::refused(&path))
        };
        match place.version {
            Version::One => self.joins.push(open(OpenOptions::new().write(true), "tasks")?),
            Version::Two => {
                let directory = File::open(directory).map_err(GroupError::refused(directory))?;
                self.birthplace = Some(directory.into());
            }
        }
        if place.controllers.contains(&Controller::Memory) {
            let name = match place.version {
                Version::One => "memory.oom_control",
                Version::Two => "memory.events",
            };
            self.kills = Some(open(OpenOptions::new().read(true), name)?);
        }
        Ok(())
    }
}

/// Lets what the calling thread starts belong to the group. Reports whether `limits` are in force.
///
/// # Errors
/// Of the kind `Unsupported`: they are not, and were asked for. Otherwise the kernel refused.
pub(crate) fn join(limits: &Limits) -> io::Result<()> {
    let group = GROUP.get();
    if limits.needs_group() && group.is_none_or(|group| group.limits != *limits) {
        let text =
            "limits for all commands together (--memory, --pids, --cpus) are not set up in this process";
        return Err(io::Error::new(io::ErrorKind::Unsupported, text));
    }
    // The calling thread's own number, in whichever namespace.
    group.map_or(Ok(()), |group| group.joins.iter().try_for_each(|mut file| file.write_all(b"0")))
}

/// Where commands are to be born, if they are not born there by themselves.
pub(crate) fn birthplace() -> Option<BorrowedFd<'static>> {
    GROUP.get()?.birthplace.as_ref().map(AsFd::as_fd)
}

/// How much memory commands may take together, if that is limited.
pub(crate) fn memory() -> Option<Bytes> {
    GROUP.get()?.limits.memory
}

/// How many commands were killed so far because all of them together took too much memory; `None` without such a limit.
pub(crate) fn memory_kills() -> Option<u64> {
    let file = GROUP.get()?.kills.as_ref()?;
    let mut text = [0; 512];
    let length = rustix::io::pread(file, &mut text, 0).ok()?;
    let text = String::from_utf8_lossy(&text[..length]);
    text.lines().find_map(|line| line.strip_prefix(KILLS)?.trim().parse().ok())
}

/// What is limited, or why nothing is; for people.
pub(crate) fn describe() -> String {
    let Some(group) = GROUP.get() else {
        let here = Host::of_this_process().and_then(|host| host.places(&Controller::ALL));
        return match here {
            Ok(_) => "unlimited: memory, processes and processors (see --memory, --pids, --cpus)".to_owned(),
            Err(_) => "unlimited: memory, processes and processors; no cgroup controllers here".to_owned(),
        };
    };
    let Limits { memory, pids, cpus, .. } = &group.limits;
    let part = |what: &str, value: Option<&dyn fmt::Display>| match value {
        Some(value) => format!("{what} {value}"),
        None => format!("{what} unlimited"),
    };
    let parts = [
        part("memory", memory.as_ref().map(|memory| memory as _)),
        part("processes", pids.as_ref().map(|pids| pids as _)),
        part("processors", cpus.as_ref().map(|cpus| cpus as _)),
    ];
    format!("all commands together: {} ({})", parts.join(", "), group.versions)
}

fn needed(limits: &Limits) -> impl Iterator<Item = Controller> + '_ {
    let asked = [limits.memory.is_some(), limits.pids.is_some(), limits.cpus.is_some()];
    Controller::ALL.into_iter().zip(asked).filter_map(|(controller, is_asked)| is_asked.then_some(controller))
}

fn versions(places: &[Place]) -> String {
    let has = |version| places.iter().any(|place| place.version == version);
    match (has(Version::One), has(Version::Two)) {
        (true, true) => "cgroup v1 and v2",
        (true, false) => "cgroup v1",
        (false, _) => "cgroup v2",
    }
    .to_owned()
}

/// Writes one limit into a group that is empty.
fn limit(controller: Controller, version: Version, group: &Path, limits: &Limits) -> Result<(), GroupError> {
    let write = |name: &str, value: String| {
        let path = group.join(name);
        fs::write(&path, value).map_err(GroupError::refused(&path))
    };
    let memory = limits.memory.map_or(0, |memory| memory.0);
    let quota_us = u64::from(limits.cpus.map_or(0, |cpus| cpus.thousandths)) * CPU_PERIOD_US / 1_000;
    match (controller, version) {
        (Controller::Memory, Version::One) => {
            write("memory.limit_in_bytes", memory.to_string())?;
            // Kernels that do not count what is swapped out have no such file.
            let _ = write("memory.memsw.limit_in_bytes", memory.to_string());
            Ok(())
        }
        (Controller::Memory, Version::Two) => {
            write("memory.max", memory.to_string())?;
            let _ = write("memory.swap.max", "0".to_owned());
            Ok(())
        }
        (Controller::Pids, _) => write("pids.max", limits.pids.unwrap_or(0).to_string()),
        (Controller::Cpu, Version::One) => {
            write("cpu.cfs_period_us", CPU_PERIOD_US.to_string())?;
            write("cpu.cfs_quota_us", quota_us.to_string())
        }
        (Controller::Cpu, Version::Two) => write("cpu.max", format!("{quota_us} {CPU_PERIOD_US}")),
    }
}

/// What groups are called: after who made them, as a number means something in its own namespace only.
struct Name {
    namespace: String,
}

impl Name {
    fn of_this_process() -> Result<Self, GroupError> {
        let path = Path::new("/proc/self/ns/pid");
        let link = fs::read_link(path).map_err(GroupError::refused(path))?;
        let namespace = link.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
        Ok(Self { namespace })
    }

    fn fresh(&self) -> String {
        format!("{PREFIX}{}-{}-{:08x}", self.namespace, std::process::id(), rand::random::<u32>())
    }

    /// Removes the groups of runners that were killed; the kernel keeps those that are in use.
    fn sweep(&self, parent: &Path) {
        for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let numbers = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split_once('-'));
            let ours = numbers.filter(|(namespace, _)| *namespace == self.namespace);
            let maker = ours.and_then(|(_, rest)| rest.split('-').next()?.parse::<u32>().ok());
            if maker.is_some_and(|maker| !Path::new(&format!("/proc/{maker}")).exists()) {
                let _ = fs::remove_dir(entry.path());
            }
        }
    }
}
