//! Confinement of commands: what a spawner thread does to itself before it starts the first one.
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
//! A layer the machine lacks is reported in the [`LayerReport`] and never an error here: who may run without it is policy.

mod capabilities;
mod landlock;
mod mounts;
mod policy;
mod report;
mod seccomp;
mod view;

use std::os::fd::OwnedFd;
use std::path::PathBuf;

pub use policy::ConfinePolicy;
pub use report::{Layer, LayerReport, Profile, UnknownProfile, layer_name};

use crate::sys::MarkKey;
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
/// `key` is the one that keeps the thread able to mark what it spawns.
pub(crate) fn apply(profile: Profile, policy: &ConfinePolicy, key: MarkKey) -> Confined {
    let mut report = LayerReport::of_process();
    let path = policy.command_path();
    if profile == Profile::FullControl {
        report.add_absent_layers("switched off by the profile full-control");
        return Confined { home: policy.home.clone(), path, report, etc: None };
    }
    let view = match mounts::enter(policy, profile) {
        Ok(view) => {
            report.add(layer_name::MOUNT_NAMESPACE, true, "own root with only what commands may see");
            view
        }
        Err(reason) => {
            report.add(layer_name::MOUNT_NAMESPACE, false, reason);
            View::of_machine(policy, profile)
        }
    };
    report.add(layer_name::PRIVATE_HOME, view.home_is_private, view.home.display().to_string());
    let no_new_privs = rustix::thread::set_no_new_privs(true);
    report.add_result(layer_name::NO_NEW_PRIVS, no_new_privs.map(|()| "set".to_owned()));
    landlock::restrict(&view, &mut report);
    report.add_result(layer_name::CAPABILITIES, capabilities::reduce());
    report.add_result(layer_name::SECCOMP, seccomp::install(key));
    Confined { home: view.home, path, report, etc: view.etc }
}
