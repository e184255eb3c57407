//! Confinement of commands: a thread confines itself before it starts the first one.
//!
//! Everything here acts on the *calling thread* only and is inherited by every process that thread starts, so an exec
//! costs nothing extra. The order matters and is kept in `apply`:
//!
//! 1. `network`: a separate network namespace, if that was requested;
//! 2. `mounts`: a separate mount namespace whose root holds only what a command may see (needs CAP_SYS_ADMIN, real or in a user
//!    namespace); sockets of other services, other homes and the machine's `/tmp` do not exist in it, the files that the
//!    user's own git obeys, as found by `git`, are read-only in it, and the sockets of services, as found by `socket_files`,
//!    cannot be connected to;
//! 3. `no_new_privs`, which the next layers need;
//! 4. `landlock`: the same list enforced again on the file system, plus ports, signals and abstract sockets;
//! 5. `capabilities`: root keeps only what package managers and `su` need;
//! 6. `seccomp`: last, since it forbids the calls that set up the other layers.
//!
//! A command with a terminal gets its own thread, which starts from a copy of 2: see `ground`.
//!
//! A layer can be left out on purpose ([`crate::layers::LeftOut`]); then it is reported like one that the machine lacks.
//!
//! A layer the machine lacks is reported in the [`LayerReport`] and is not an error here: running without it is a matter
//! of policy. A layer that the machine has and that could not be set up is an error, and then nothing is started: an
//! earlier command may have caused the failure, so that later ones would run without the layer.

mod allow;
mod capabilities;
mod git;
mod ground;
mod landlock;
mod mounts;
mod network;
mod new_root;
mod policy;
mod seccomp;
mod socket_files;
mod terminal;
mod tools;
mod view;

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

pub use allow::Allowances;
pub(crate) use git::{GitPaths, Watch};
pub(crate) use ground::Ground;
pub use policy::ConfinePolicy;
pub(crate) use policy::seen_by_commands;
#[cfg(test)]
pub(crate) use seccomp::tests::install_filter_alone;
pub use terminal::TerminalSize;
pub(crate) use terminal::{OpenTerminal, resize};
pub(crate) use tools::own_prefix_variables;

use crate::group;
use crate::kill::{self, KillTier};
use crate::layers::{LayerReport, Profile, layer_name};
use crate::sys::{self, MarkKey};
use mounts::Entry;
use seccomp::{Filter, Ipc, Untouchable};
use socket_files::Bound;
pub(crate) use socket_files::in_workspace as sockets_in_workspace;
use view::View;

/// The lists of the parts of the machine that commands see.
pub(crate) mod trees {
    pub(crate) use super::policy::{DEVICES, ETC_ENTRIES, SYS_TREES, SYSTEM_TREES};
}

/// The result of confining a thread: the HOME of its commands, and the layers that are in effect.
pub(crate) struct Confined {
    pub(crate) home: PathBuf,
    pub(crate) path: Vec<PathBuf>,
    pub(crate) report: LayerReport,
    /// The commands' own `/etc`, if they have one.
    pub(crate) etc: Option<OwnedFd>,
    /// The base for commands with a terminal.
    pub(crate) ground: Ground,
}

/// Confines the calling thread permanently and reports the layers that are in effect.
///
/// `key` lets the thread mark and signal the processes it starts.
///
/// # Errors
/// A layer that this machine has could not be set up; the message names the step. Of the kind `Unsupported`: the policy asks
/// for something that this machine cannot do. The thread must not start anything then.
pub(crate) fn apply(profile: Profile, policy: &ConfinePolicy, key: MarkKey) -> io::Result<Confined> {
    let mut report = layers_of_process();
    let mut path = policy.command_path();
    group::join(&policy.bounds.limits, policy.run_as.as_ref()).map_err(during("control group"))?;
    if profile == Profile::FullControl {
        report.add_absent_layers("switched off by the profile full-control");
        network::report(&policy.bounds.network, &mut report)?;
        report.leave_out(policy.left_out);
        let (home, ground) = (policy.home.clone(), Ground::unconfined(policy, &path, &report));
        return Ok(Confined { home, path, report, etc: None, ground });
    }
    // Sockets are listed for each network namespace: services are in the machine's.
    let bound = Bound::here();
    network::enter(&policy.bounds.network).map_err(during("network namespace"))?;
    // If that fails, the filter refuses the calls that would reach the machine's objects. Done before `/proc` is read-only.
    let ipc = match policy.left_out.contains(layer_name::IPC_NAMESPACE) {
        false if sys::unshare_ipc().is_ok() => {
            forget_shared_memory();
            Ipc::Own
        }
        false if kill::tier() == KillTier::ContainerInit => Ipc::OfContainer,
        _ => Ipc::Refused,
    };
    let private_home = policy.private_home().map_err(during("private home"))?;
    let (view, hides_others, shut) = match mounts::enter(policy, profile, &private_home, &bound)? {
        Entry::Own { view, hides_others, held, shut } => {
            report.add(layer_name::MOUNT_NAMESPACE, true, "separate root with only what commands may see");
            git::report(profile, policy, held, &mut report);
            (view, hides_others, shut)
        }
        Entry::Impossible(reason) => {
            report.add(layer_name::MOUNT_NAMESPACE, false, reason);
            policy.open_way_to_home().map_err(during("private home"))?;
            let why = "not protected here: that needs a mount namespace".to_owned();
            git::report(profile, policy, Err(why), &mut report);
            let why = "not closed here: that needs a mount namespace, or Landlock ABI 9".to_owned();
            (View::of_machine(policy, profile, private_home), false, Err(why))
        }
    };
    report.add(layer_name::IPC_NAMESPACE, ipc != Ipc::Refused, ipc.describe());
    let home_is_private = view.home_is_private && !policy.left_out.contains(layer_name::PRIVATE_HOME);
    let own_root = report.holds(layer_name::MOUNT_NAMESPACE);
    let fate = match (policy.throws_home_away(profile, own_root), policy.home_is_writable(profile, own_root))
    {
        (true, _) => ", thrown away with the command",
        (false, true) => "",
        (false, false) => ", read-only",
    };
    report.add(layer_name::PRIVATE_HOME, home_is_private, format!("{}{fate}", view.home.display()));
    path.push(tools::own_programs(&view.home));
    let mut ground =
        Ground::prepare(profile, &view, &path, hides_others, ipc, &report).map_err(during("namespaces"))?;
    lock(policy, &view, hides_others, ipc, key, &mut report)?;
    socket_files::report(shut, &mut report);
    ground.report = report.clone();
    Ok(Confined { home: view.home, path, report, etc: view.etc, ground })
}

/// Confines the calling thread permanently like the thread of `ground`, and opens a terminal that only this thread's
/// commands reach. Both see the same files, including `/tmp`; processes and terminals are separate.
///
/// # Errors
/// The same as for [`apply`], or no terminal could be opened.
pub(crate) fn apply_on_terminal(
    policy: &ConfinePolicy,
    key: MarkKey,
    ground: &Ground,
    size: TerminalSize,
) -> io::Result<OpenTerminal> {
    group::join(&policy.bounds.limits, policy.run_as.as_ref()).map_err(during("control group"))?;
    if ground.profile == Profile::FullControl {
        return OpenTerminal::open(size).map_err(during("terminal"));
    }
    let mut view = ground.enter(policy).map_err(during("namespaces"))?;
    if ground.has_own_root() {
        terminal::attach_file_system().map_err(during("terminals"))?;
        view.devices.push(terminal::DIRECTORY.into());
    }
    let terminal = OpenTerminal::open(size).map_err(during("terminal"))?;
    view.devices.push(terminal.path());
    let mut report = ground.base.clone();
    lock(policy, &view, ground.hides_others, ground.ipc, key, &mut report)?;
    let lacking = report.lacking(&ground.report);
    if lacking.is_empty() {
        return Ok(terminal);
    }
    Err(io::Error::other(format!(
        "a command with a terminal lacks layers that other commands have: {}",
        lacking.join(", ")
    )))
}

/// The last layers, in the required order.
fn lock(
    policy: &ConfinePolicy,
    view: &View,
    hides_others: bool,
    ipc: Ipc,
    key: MarkKey,
    report: &mut LayerReport,
) -> io::Result<()> {
    let (left_out, network) = (policy.left_out, &policy.bounds.network);
    if left_out.contains(layer_name::NO_NEW_PRIVS) {
        report.add(layer_name::NO_NEW_PRIVS, false, "");
    } else {
        let no_new_privs = rustix::thread::set_no_new_privs(true);
        report.add_result(layer_name::NO_NEW_PRIVS, no_new_privs.map(|()| "set".to_owned()));
    }
    landlock::restrict(view, network, left_out, report).map_err(during("Landlock"))?;
    if left_out.contains(layer_name::CAPABILITIES) {
        report.add(layer_name::CAPABILITIES, false, "");
    } else {
        report.add(layer_name::CAPABILITIES, true, capabilities::reduce().map_err(during("capabilities"))?);
    }
    if left_out.contains(layer_name::SECCOMP) {
        report.add(layer_name::SECCOMP, false, "");
    } else {
        let filter = Filter { key, hides_others, ipc, runner: Untouchable::seen_from_here(), network };
        seccomp::install(&filter, report).map_err(during("seccomp"))?;
    }
    network::report(network, report)?;
    report.leave_out(left_out);
    Ok(())
}

/// The layers of the whole process, which its guardian set up.
fn layers_of_process() -> LayerReport {
    let mut report = LayerReport::default();
    let tier = kill::tier();
    report.add(layer_name::PID_NAMESPACE, tier.is_namespace(), tier.describe());
    report.add(layer_name::KILL_TIER, kill::marks_enforced(), kill::describe());
    let dumpable = rustix::process::dumpable_behavior();
    let closed = dumpable.is_ok_and(|behavior| behavior == rustix::process::DumpableBehavior::NotDumpable);
    let detail = if closed { "set" } else { "the runner runs without its guardian" };
    report.add(layer_name::NON_DUMPABLE, closed, detail);
    report
}

/// If memory is limited, makes the kernel free shared memory together with the programs that use it: a kill does not free it otherwise.
fn forget_shared_memory() {
    if group::memory().is_some() {
        // On some kernels an unprivileged runner has no permission to do this; then such memory counts until the runner ends.
        let _ = std::fs::write("/proc/sys/kernel/shm_rmid_forced", "1");
    }
}

/// Adds the name of a step to the system's error.
fn during(step: &'static str) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{step}: {error}"))
}
