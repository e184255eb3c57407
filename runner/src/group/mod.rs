//! Limits of all commands together (memory, processes and processor time), and the means that enforce them.
//!
//! | means | memory | processes | processors |
//! |---|---|---|---|
//! | a control group of either version | yes | yes | yes |
//! | the largest process number of the runner's own PID namespace (`namespace`) | | yes | |
//! | `RLIMIT_NPROC`, for users other than root | | yes | |
//! | the runner itself, which counts, and ends commands above the limit (`exec::limits_watch`) | yes | too late for a crowd | |
//!
//! The group is made before the guardian forks, below the runner's own place in each hierarchy (next to it, if the kernel allows
//! none below), and removed when the guardian ends. The runner is not in it: when memory is short the kernel looks for a victim
//! among the commands alone, and when there are too many processes the runner still starts the threads that kill.
//!
//! ```text
//! version 1   a new process starts in the group of the thread that starts it: so only the threads that start commands join.
//!             Memory counts for the process that uses it, whose first thread has stayed outside
//! version 2   a process has all its threads in one place: so each command is born into the group (`CLONE_INTO_CGROUP`)
//! ```
//! Neither costs an exec anything. The thread that runs everything is one of those that start commands; under version 1 it gets
//! its processor time from the group, in slices that are frequent enough not to matter.

mod events;
mod host;
mod name;
mod namespace;
mod share;
mod tasks;
#[cfg(test)]
mod tests;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::account::Account;
use crate::bounds::{Bytes, Limits, LimitsBy};
use crate::layers::SWITCHED_OFF;
use crate::limits::{CPU_PERIOD_US, GROUP_LOOK_MS, GROUP_REMOVAL_MS};
use events::Events;
pub(crate) use events::Met;
use host::{Controller, Host, Place, Version};
use name::Name;
pub(crate) use namespace::Outside;
pub(crate) use share::machine_memory_bytes;
pub(crate) use tasks::tasks_of;

/// The prefix of group names.
const PREFIX: &str = "sandbridge-";

/// The limits of this process's commands.
#[derive(Debug)]
struct Group {
    asked: Limits,
    /// The limits in force, `None` if there is none.
    in_force: Limits,
    /// The limits that the control groups enforce.
    controllers: Vec<(Controller, LimitsBy)>,
    /// The files through which threads join, under version 1.
    joins: Vec<File>,
    /// The group that commands are born into, under version 2.
    birthplace: Option<OwnedFd>,
    events: Events,
}

static GROUP: OnceLock<Group> = OnceLock::new();

/// Removes the created groups when it is dropped and they are empty.
#[derive(Debug)]
pub struct Remains {
    directories: Vec<PathBuf>,
    /// The PID of the owning process: a forked child inherits this value too, but must not remove the groups.
    owner: u32,
}

impl Drop for Remains {
    fn drop(&mut self) {
        if self.owner == std::process::id() {
            let deadline = Instant::now() + Duration::from_millis(GROUP_REMOVAL_MS);
            for directory in self.directories.iter().rev() {
                // Dead processes leave a moment after they are reaped. The next runner removes any group that remains.
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

/// The reason why commands cannot be limited together.
#[derive(Debug, thiserror::Error)]
pub enum GroupError {
    /// The machine has no means for it; the text explains what to do.
    #[error("{0}")]
    Unavailable(String),
    /// The kernel refused a step.
    #[error("{}: {source}; limits for all commands together (--memory, --pids, --cpus) cannot be set here", path.display())]
    Refused {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl GroupError {
    fn refused(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Refused { path, source }
    }
}

/// Sets up the means that enforce `limits`, once per process, before it forks or starts threads: control groups if
/// available, otherwise those of `processes_by` and the runner's own counting.
///
/// # Errors
/// A processor limit, or a named means, is not available here; or this process has done it already.
pub fn establish(limits: &Limits) -> Result<Remains, GroupError> {
    let mut remains = Remains { directories: Vec::new(), owner: std::process::id() };
    let group = Group::make(limits, &mut remains)?;
    if group.in_force.pids.is_some() && group.by(Controller::Pids).is_none() {
        tasks::count();
    }
    if GROUP.set(group).is_err() {
        return Err(GroupError::Unavailable("this process has made its group already".to_owned()));
    }
    Ok(remains)
}

impl Group {
    fn make(asked: &Limits, remains: &mut Remains) -> Result<Self, GroupError> {
        let in_force = share::of_machine(asked);
        let mut group = Self {
            asked: asked.clone(),
            in_force,
            controllers: Vec::new(),
            joins: Vec::new(),
            birthplace: None,
            events: Events::default(),
        };
        let host = match Host::of_this_process() {
            Ok(host) => host,
            Err(error) if asked.cpus.is_some() => return Err(error),
            Err(_) => return Ok(group),
        };
        let wanted = group.wanted(&host)?;
        let must_have = asked.cpus.is_some() || wanted.contains(&Controller::Pids) && asked.by.is_some();
        let known = remains.directories.len();
        match group.join_up(&host, &wanted, remains) {
            Err(error) if must_have => return Err(error),
            Ok(()) => {}
            // A default share of the machine is enforced by other means.
            Err(_) => {
                for directory in remains.directories.drain(known..).rev() {
                    let _ = fs::remove_dir(directory);
                }
                group = Self { joins: Vec::new(), birthplace: None, controllers: Vec::new(), ..group };
                group.events = Events::default();
            }
        }
        if group.controllers.is_empty() && std::process::id() == 1 {
            group.look_at_container(&host);
        }
        Ok(group)
    }

    /// The controllers that are needed and available.
    fn wanted(&self, host: &Host) -> Result<Vec<Controller>, GroupError> {
        let by = self.asked.by;
        let mut wanted = Vec::new();
        for controller in needed(&self.in_force) {
            let places = host.places(&[controller]);
            let version =
                places.as_ref().ok().and_then(|places| places.first()).map(|place| by_of(place.version));
            match controller {
                Controller::Cpu => drop(places?),
                Controller::Pids
                    if matches!(by, Some(LimitsBy::Cgroup1 | LimitsBy::Cgroup2)) && by != version =>
                {
                    return Err(places.err().unwrap_or_else(|| not_by(by, version)));
                }
                Controller::Memory | Controller::Pids
                    if version.is_none() || by.is_some_and(|by| Some(by) != version) =>
                {
                    continue;
                }
                Controller::Memory | Controller::Pids => {}
            }
            wanted.push(controller);
        }
        if host.places(&wanted).is_err() && self.asked.cpus.is_none() {
            wanted.retain(|controller| *controller == Controller::Pids);
        }
        Ok(wanted)
    }

    /// Makes a group in each hierarchy that is needed.
    fn join_up(
        &mut self,
        host: &Host,
        wanted: &[Controller],
        remains: &mut Remains,
    ) -> Result<(), GroupError> {
        if wanted.is_empty() {
            return Ok(());
        }
        let name = Name::of_this_process()?;
        for place in &host.places(wanted)? {
            name.sweep(&place.parent);
            place.prepare(&mut remains.directories)?;
            share::within(&place.parent, place.version, &self.asked, &mut self.in_force);
            let directory = place.parent.join(name.fresh());
            fs::create_dir(&directory).map_err(GroupError::refused(&directory))?;
            remains.directories.push(directory.clone());
            for controller in &place.controllers {
                limit(*controller, place.version, &directory, &self.in_force)?;
                self.controllers.push((*controller, by_of(place.version)));
            }
            self.open(place, &directory)?;
        }
        Ok(())
    }

    fn open(&mut self, place: &Place, directory: &Path) -> Result<(), GroupError> {
        match place.version {
            Version::One => {
                let path = directory.join("tasks");
                let join = OpenOptions::new().write(true).open(&path).map_err(GroupError::refused(&path))?;
                self.joins.push(join);
            }
            Version::Two => {
                let directory = File::open(directory).map_err(GroupError::refused(directory))?;
                self.birthplace = Some(directory.into());
            }
        }
        let opened = self.events.open(directory, &place.controllers, place.version, self.in_force.pids);
        opened.map_err(GroupError::refused(directory))
    }

    /// Adopts the limits of the container whose init process this is.
    fn look_at_container(&mut self, host: &Host) {
        let may =
            |controller| self.asked.by.is_none() && needed(&self.in_force).any(|needed| needed == controller);
        for controller in [Controller::Memory, Controller::Pids]
            .into_iter()
            .filter(|controller| may(*controller))
            .collect::<Vec<_>>()
        {
            let Some((version, own)) = host.own(controller) else { continue };
            let Some(most) = share::limit_of(&own, controller, version) else { continue };
            match controller {
                Controller::Memory => {
                    self.in_force.memory = self.in_force.memory.map(|memory| memory.min(Bytes(most)));
                }
                Controller::Pids | Controller::Cpu => self.in_force.pids = u32::try_from(most).ok(),
            }
            if self.events.open(&own, &[controller], version, None).is_ok() {
                self.controllers.push((controller, LimitsBy::Container));
            }
        }
    }

    /// The means that enforces a controller's limit, if a group does.
    fn by(&self, controller: Controller) -> Option<LimitsBy> {
        self.controllers.iter().find(|(known, _)| *known == controller).map(|(_, by)| *by)
    }
}

/// Makes the processes that the calling thread starts belong to the group. Reports if `limits` are in force.
///
/// # Errors
/// `Unsupported` if limits were requested and are not in force; any other kind if the kernel refused.
pub(crate) fn join(limits: &Limits, user: Option<&Account>) -> io::Result<()> {
    let group = GROUP.get();
    let unsupported = |text: &str| Err(io::Error::new(io::ErrorKind::Unsupported, text.to_owned()));
    if limits.are_asked_for() && group.is_none_or(|group| group.asked != *limits) {
        return unsupported(
            "limits for all commands together (--memory, --pids, --cpus) are not set up in this process",
        );
    }
    let holds = processes_by(user).is_none_or(|by| by != LimitsBy::None || limits.by == Some(LimitsBy::None));
    if limits.pids.is_some_and(|pids| pids != 0) && !holds {
        return unsupported(
            "nothing on this machine limits the processes of commands that run as root (--pids): that takes a control group, or \
             Linux 6.14 and a PID namespace. Leave the limit out, or let commands run as another user (--run-as-default)",
        );
    }
    // 0 means the calling thread.
    group.map_or(Ok(()), |group| group.joins.iter().try_for_each(|mut file| file.write_all(b"0")))
}

/// The group that commands have to be born into explicitly, if any.
pub(crate) fn birthplace() -> Option<BorrowedFd<'static>> {
    GROUP.get()?.birthplace.as_ref().map(AsFd::as_fd)
}

/// The memory limit of all commands together, if there is one.
pub(crate) fn memory() -> Option<Bytes> {
    GROUP.get()?.in_force.memory
}

/// The limit on processes and threads of all commands together, if there is one.
pub(crate) fn processes() -> Option<u32> {
    GROUP.get()?.in_force.pids
}

/// The means that limits the processes of a user's commands (of the runner's user if none is named); `None` without a limit.
pub(crate) fn processes_by(user: Option<&Account>) -> Option<LimitsBy> {
    let group = GROUP.get()?;
    group.in_force.pids?;
    let asked = group.asked.by;
    let may = |by| asked.is_none_or(|asked| asked == by);
    if let Some(by) = group.by(Controller::Pids) {
        return Some(by);
    }
    if namespace::bound().is_some() && may(LimitsBy::Namespace) {
        return Some(LimitsBy::Namespace);
    }
    let is_root = user.map_or_else(|| rustix::process::geteuid().is_root(), |user| user.user_id == 0);
    Some(if !is_root && may(LimitsBy::Rlimit) { LimitsBy::Rlimit } else { LimitsBy::None })
}

/// The largest process number outside, if the runner's own namespace is to limit its processes; read it before the
/// namespace is made.
pub(crate) fn before_namespace() -> Option<Outside> {
    let group = GROUP.get()?;
    let is_wanted = group.asked.by.is_none_or(|by| by == LimitsBy::Namespace)
        && group.in_force.pids.is_some()
        && group.by(Controller::Pids).is_none();
    if is_wanted { Outside::read() } else { None }
}

/// Limits the namespace of which the calling process is init, if possible.
pub(crate) fn bind_namespace(outside: Option<Outside>) {
    if let (Some(outside), Some(most)) = (outside, processes()) {
        // If not, another means applies, or reports show that none does.
        let _ = namespace::bind(most, outside);
    }
}

/// The kernel's counts so far.
pub(crate) fn met() -> Met {
    GROUP.get().map(|group| group.events.met()).unwrap_or_default()
}

/// True if the kernel counts commands that were killed for lack of memory.
pub(crate) fn counts_kills() -> bool {
    GROUP.get().is_some_and(|group| group.events.counts_kills())
}

/// True if the kernel counts processes that it refused to start.
pub(crate) fn counts_refused() -> bool {
    GROUP.get().is_some_and(|group| group.events.counts_refused())
}

/// While this exists, commands cannot start anything new, if a means allows that.
#[derive(Debug)]
pub(crate) struct Closed(());

/// Stops commands from starting anything for a moment.
pub(crate) fn close() -> Closed {
    close_all(true);
    Closed(())
}

impl Drop for Closed {
    fn drop(&mut self) {
        close_all(false);
    }
}

fn close_all(is_closed: bool) {
    let by_group = GROUP.get().map(|group| group.events.close(is_closed));
    let by_namespace = namespace::bound().map(|bound| if is_closed { bound.close() } else { bound.open() });
    for result in [by_group, by_namespace].into_iter().flatten() {
        if let Err(error) = result {
            tracing::error!("the limit of processes cannot be changed: {error}");
        }
    }
}

/// True if processes and memory are limited for a user's commands.
pub(crate) fn holds(user: Option<&Account>) -> bool {
    memory().is_some() && processes_by(user).is_some_and(|by| by != LimitsBy::None)
}

/// The limits and their means, or the reason why there are none; for people.
pub(crate) fn describe(user: Option<&Account>) -> String {
    let Some(group) = GROUP.get() else {
        return format!("{SWITCHED_OFF}: unlimited memory, processes and processors");
    };
    let Limits { memory, pids, cpus, .. } = &group.in_force;
    let part = |what: &str, value: Option<String>, by: &str| match value {
        Some(value) => format!("{what} {value} ({by})"),
        None => format!("{what} unlimited"),
    };
    let by = |controller| group.by(controller).map_or("counted by the runner", LimitsBy::describe);
    let processes_by = processes_by(user).map_or("", LimitsBy::describe);
    let parts = [
        part("memory", memory.map(|memory| memory.to_string()), by(Controller::Memory)),
        part("processes", pids.map(grouped), processes_by),
        part("processors", cpus.map(|cpus| cpus.to_string()), by(Controller::Cpu)),
    ];
    let chosen =
        if memory.is_none() || pids.is_none() { format!("{SWITCHED_OFF} in part: ") } else { String::new() };
    format!("{chosen}all commands together: {}", parts.join(", "))
}

/// A number with commas.
pub(crate) fn grouped(number: u32) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn needed(limits: &Limits) -> impl Iterator<Item = Controller> + use<> {
    let asked = [limits.memory.is_some(), limits.pids.is_some(), limits.cpus.is_some()];
    Controller::ALL.into_iter().zip(asked).filter_map(|(controller, is_asked)| is_asked.then_some(controller))
}

fn by_of(version: Version) -> LimitsBy {
    match version {
        Version::One => LimitsBy::Cgroup1,
        Version::Two => LimitsBy::Cgroup2,
    }
}

fn not_by(asked: Option<LimitsBy>, found: Option<LimitsBy>) -> GroupError {
    let words = |by: Option<LimitsBy>| by.map_or("nothing", LimitsBy::describe);
    GroupError::Unavailable(format!(
        "--limits-by: this machine limits processes by {}, not by {}. Leave the option out for the first means that works",
        words(found),
        words(asked)
    ))
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
            // Kernels that do not count swapped memory have no such file.
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
