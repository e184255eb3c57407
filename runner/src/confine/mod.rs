//! Confinement of commands: what a thread does to itself before it starts the first one.
//!
//! Everything here acts on the *calling thread* only and is inherited by every process that thread starts, so an exec
//! costs nothing extra. The order matters and is kept in `apply`:
//!
//! 1. `mounts`: an own mount namespace whose root holds only what a command may see (needs CAP_SYS_ADMIN, real or in a user
//!    namespace); sockets of other services, other homes and the machine's `/tmp` do not exist in it;
//! 2. `no_new_privs`, which the next layers need;
//! 3. `landlock`: the same list enforced again on the file system, plus signals and abstract sockets;
//! 4. `capabilities`: root keeps only what package managers and `su` need;
//! 5. `seccomp`: last, since it forbids the calls the others were made of.
//!
//! A layer the machine lacks is reported in the [`LayerReport`] and no error here: who may run without it is policy. A layer
//! that the machine has and that could not be set up is an error, and then nothing is started: it may be the work of an
//! earlier command, which must not get the next ones out of it.

mod capabilities;
mod landlock;
mod mounts;
mod new_root;
mod policy;
mod report;
mod seccomp;
mod view;

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

pub use policy::ConfinePolicy;
pub use report::{Layer, LayerReport, Profile, UnknownProfile, layer_name};

use crate::guardian::KillTier;
use crate::kill;
use crate::sys::{self, MarkKey};
use mounts::Entry;
use seccomp::{Filter, Ipc, Untouchable};
use view::View;

/// What commands of a confined thread find: where HOME is, and what was established.
pub(crate) struct Confined {
    pub(crate) home: PathBuf,
    pub(crate) path: Vec<PathBuf>,
    pub(crate) report: LayerReport,
    /// The commands' own `/etc`, if they have one.
    pub(crate) etc: Option<OwnedFd>,
}

/// Confines the calling thread for good and reports what holds.
///
/// `key` is the one that keeps the thread able to mark what it spawns, and to signal it.
///
/// # Errors
/// A layer this machine has could not be set up; the message names the step. The thread must not start anything then.
pub(crate) fn apply(profile: Profile, policy: &ConfinePolicy, key: MarkKey) -> io::Result<Confined> {
    let mut report = LayerReport::of_process();
    let path = policy.command_path();
    if profile == Profile::FullControl {
        report.add_absent_layers("switched off by the profile full-control");
        return Ok(Confined { home: policy.home.clone(), path, report, etc: None });
    }
    let private_home = policy.private_home().map_err(during("private home"))?;
    let (view, hides_others) = match mounts::enter(policy, profile, &private_home)? {
        Entry::Own { view, hides_others } => {
            report.add(layer_name::MOUNT_NAMESPACE, true, "own root with only what commands may see");
            (view, hides_others)
        }
        Entry::Impossible(reason) => {
            report.add(layer_name::MOUNT_NAMESPACE, false, reason);
            (View::of_machine(policy, profile, private_home), false)
        }
    };
    // Where that fails, the filter refuses what would reach the machine's.
    let ipc = match sys::unshare_ipc() {
        Ok(()) => Ipc::Own,
        Err(_) if kill::tier() == KillTier::ContainerInit => Ipc::OfContainer,
        Err(_) => Ipc::Refused,
    };
    report.add(layer_name::PRIVATE_HOME, view.home_is_private, view.home.display().to_string());
    let no_new_privs = rustix::thread::set_no_new_privs(true);
    report.add_result(layer_name::NO_NEW_PRIVS, no_new_privs.map(|()| "set".to_owned()));
    landlock::restrict(&view, &mut report).map_err(during("Landlock"))?;
    report.add(layer_name::CAPABILITIES, true, capabilities::reduce().map_err(during("capabilities"))?);
    let filter = Filter { key, hides_others, ipc, runner: Untouchable::seen_from_here() };
    seccomp::install(&filter, &mut report).map_err(during("seccomp"))?;
    Ok(Confined { home: view.home, path, report, etc: view.etc })
}

/// Adds the name of a step to what the system said.
fn during(step: &'static str) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{step}: {error}"))
}
