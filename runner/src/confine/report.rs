//! Profiles, and the report of which layers of confinement hold on this machine.

use std::fmt;
use std::str::FromStr;

use super::left_out::LeftOut;
use super::policy::ConfinePolicy;
use crate::group;
use crate::kill;

/// The names of the layers, as they appear in reports.
pub mod layer_name {
    /// An own root file system with only what commands may see.
    pub const MOUNT_NAMESPACE: &str = "mount-namespace";
    /// Commands cannot see processes outside the runner, and die with it.
    pub const PID_NAMESPACE: &str = "pid-namespace";
    /// Landlock rules on the file system.
    pub const LANDLOCK: &str = "landlock";
    /// Landlock's scope: no signals and no abstract sockets to the outside.
    pub const LANDLOCK_SCOPE: &str = "landlock-scope";
    /// System V IPC objects and message queues of the commands' own.
    pub const IPC_NAMESPACE: &str = "ipc-namespace";
    /// A filter of system calls.
    pub const SECCOMP: &str = "seccomp";
    /// A reduced set of capabilities.
    pub const CAPABILITIES: &str = "capabilities";
    /// No program can gain privileges.
    pub const NO_NEW_PRIVS: &str = "no-new-privs";
    /// HOME is a directory of the workspace's own.
    pub const PRIVATE_HOME: &str = "private-home";
    /// What git obeys in the workspace's repositories stays as it is.
    pub const GIT_CONFIG: &str = "git-config";
    /// No socket or FIFO of a service is in reach in what commands only read.
    pub const SOCKET_FILES: &str = "socket-files";
    /// The runner's memory and descriptors cannot be read by others.
    pub const NON_DUMPABLE: &str = "non-dumpable";
    /// Commands reach less over the network than the machine does.
    pub const NETWORK: &str = "network";
    /// Limits of what all commands together may take.
    pub const LIMITS: &str = "limits";
    /// How everything a command left behind is found and killed.
    pub const KILL_TIER: &str = "kill-tier";
}

/// What reports add where the user's git would obey a bare repository that commands make.
const OBEYS_BARE: &str = "; this user's git obeys any bare repository that a command leaves in a directory: run \
     `git config --global safe.bareRepository explicit` and restart the runner";

/// The first version of Landlock that can keep commands from connecting to sockets with a path.
const FIRST_WITH_SOCKETS: u32 = 9;

/// What reports say of a layer that does not hold because that was asked for.
pub const LEFT_OUT: &str = "left out by --without";

/// How much a command may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Profile {
    /// The workspace, the private home and temporary directories are writable; the system is readable.
    Workspace,
    /// Like `Workspace`, with the workspace itself only readable.
    ReadOnly,
    /// Not confined; still an own session and a clean environment.
    FullControl,
}

impl Profile {
    /// The profile's name on the command line and in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::ReadOnly => "read-only",
            Self::FullControl => "full-control",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A profile's name that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown profile \"{0}\": choose workspace, read-only or full-control")]
pub struct UnknownProfile(pub String);

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let known = [Self::Workspace, Self::ReadOnly, Self::FullControl];
        known
            .into_iter()
            .find(|profile| profile.as_str() == name)
            .ok_or_else(|| UnknownProfile(name.to_owned()))
    }
}

/// One layer of confinement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// One of [`layer_name`].
    pub name: &'static str,
    /// Whether the layer is in force.
    pub holds: bool,
    /// What exactly is in force, or why it is not; for people.
    pub detail: String,
}

/// Which layers hold, in the order they were set up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayerReport {
    /// Each layer once.
    pub layers: Vec<Layer>,
    landlock_abi: u32,
}

impl LayerReport {
    /// The layers of the whole process, which its guardian set up.
    pub(crate) fn of_process() -> Self {
        let mut report = Self::default();
        let tier = kill::tier();
        report.add(layer_name::PID_NAMESPACE, tier.is_namespace(), tier.describe());
        report.add(layer_name::KILL_TIER, kill::marks_enforced(), kill::describe());
        let dumpable = rustix::process::dumpable_behavior();
        let closed =
            dumpable.is_ok_and(|behavior| behavior == rustix::process::DumpableBehavior::NotDumpable);
        report.add(
            layer_name::NON_DUMPABLE,
            closed,
            if closed { "set" } else { "the runner runs without its guardian" },
        );
        report
    }

    pub(crate) fn add(&mut self, name: &'static str, holds: bool, detail: impl Into<String>) {
        self.layers.push(Layer { name, holds, detail: detail.into() });
    }

    pub(crate) fn add_result<E: fmt::Display>(&mut self, name: &'static str, result: Result<String, E>) {
        match result {
            Ok(detail) => self.add(name, true, detail),
            Err(error) => self.add(name, false, error.to_string()),
        }
    }

    pub(crate) fn add_absent_layers(&mut self, why: &str) {
        use layer_name::{
            CAPABILITIES, GIT_CONFIG, IPC_NAMESPACE, LANDLOCK, LANDLOCK_SCOPE, MOUNT_NAMESPACE, NO_NEW_PRIVS,
            PRIVATE_HOME, SECCOMP, SOCKET_FILES,
        };
        for name in [
            MOUNT_NAMESPACE,
            GIT_CONFIG,
            SOCKET_FILES,
            IPC_NAMESPACE,
            PRIVATE_HOME,
            NO_NEW_PRIVS,
            LANDLOCK,
            LANDLOCK_SCOPE,
            CAPABILITIES,
            SECCOMP,
        ] {
            self.add(name, false, why);
        }
    }

    /// Says of the layers that do not hold that this was asked for.
    pub(super) fn leave_out(&mut self, left_out: LeftOut) {
        for layer in self.layers.iter_mut().filter(|layer| !layer.holds && left_out.contains(layer.name)) {
            layer.detail = LEFT_OUT.to_owned();
        }
    }

    /// Says whether commands may change what git obeys; `held` is how many repositories were closed to them, or why not all.
    pub(super) fn add_git_config(
        &mut self,
        profile: Profile,
        policy: &ConfinePolicy,
        held: Result<usize, String>,
    ) {
        if policy.allowances.git_config {
            return self.add(layer_name::GIT_CONFIG, false, "switched off by --allow-git-config");
        }
        if policy.writable_roots(profile).next().is_none() {
            return self.add(layer_name::GIT_CONFIG, true, "the workspace is read-only");
        }
        let is_held = held.is_ok();
        let mut detail = match held {
            Ok(0) => "no repository was in the workspace at the start".to_owned(),
            Ok(count) => {
                format!("hooks and configuration are read-only (repositories at the start: {count})")
            }
            Err(why) => why,
        };
        if !policy.git_refuses_bare {
            detail.push_str(OBEYS_BARE);
        }
        self.add(layer_name::GIT_CONFIG, is_held && policy.git_refuses_bare, detail);
    }

    /// Says whether sockets of services can be connected to; `shut` is how many were closed, or why not all.
    pub(super) fn add_socket_files(&mut self, shut: Result<usize, String>) {
        if self.landlock_abi >= FIRST_WITH_SOCKETS && self.holds(layer_name::LANDLOCK) {
            return self.add(layer_name::SOCKET_FILES, true, "refused by Landlock where commands only read");
        }
        let later = "a service's new one is in reach until the next start";
        match shut {
            Ok(count) => {
                self.add(layer_name::SOCKET_FILES, true, format!("closed at the start: {count}; {later}"));
            }
            Err(why) => self.add(layer_name::SOCKET_FILES, false, why),
        }
    }

    pub(crate) fn set_landlock_abi(&mut self, abi: u32) {
        self.landlock_abi = abi;
    }

    /// The layer of that name, if the report has it.
    pub fn layer(&self, name: &str) -> Option<&Layer> {
        self.layers.iter().find(|layer| layer.name == name)
    }

    /// Layers that are missing on this machine, in distinction from those that nobody asked for.
    pub fn missing(&self) -> impl Iterator<Item = &Layer> {
        let is_chosen = |layer: &Layer| {
            layer.name == layer_name::NETWORK
                || layer.name == layer_name::LIMITS && layer.detail.starts_with(group::SWITCHED_OFF)
        };
        self.layers.iter().filter(move |layer| !layer.holds && !is_chosen(layer))
    }

    /// Whether the layer of that name is in force.
    pub fn holds(&self, name: &str) -> bool {
        self.layer(name).is_some_and(|layer| layer.holds)
    }

    /// The layers that hold in `wider` and not here; those about the files there are do not count, as more files could keep
    /// commands from starting, nor does the one whose means may differ between users.
    pub(crate) fn lacking(&self, wider: &Self) -> Vec<&'static str> {
        let differing = [layer_name::GIT_CONFIG, layer_name::SOCKET_FILES, layer_name::LIMITS];
        let holding = wider.layers.iter().filter(|layer| layer.holds && !differing.contains(&layer.name));
        holding.map(|layer| layer.name).filter(|name| !self.holds(name)).collect()
    }

    /// Whether the least that counts as confined is in force: Landlock, seccomp and `no_new_privs`.
    pub fn confined(&self) -> bool {
        [layer_name::LANDLOCK, layer_name::SECCOMP, layer_name::NO_NEW_PRIVS]
            .into_iter()
            .all(|name| self.holds(name))
    }

    /// The Landlock version in force; 0 without Landlock.
    pub fn landlock_abi(&self) -> u32 {
        self.landlock_abi
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_that_lacks_a_layer_of_another_says_which() {
        let report = |holds| {
            let mut report = LayerReport::default();
            report.add(layer_name::SECCOMP, true, "");
            report.add(layer_name::MOUNT_NAMESPACE, holds, "");
            report
        };
        assert_eq!(report(false).lacking(&report(true)), [layer_name::MOUNT_NAMESPACE]);
        assert!(report(true).lacking(&report(false)).is_empty());
        assert!(report(true).lacking(&report(true)).is_empty());
    }
}
