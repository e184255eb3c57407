//! The layers, and whether they are in effect, as a machine reports them.

use std::fmt;

use super::layer_name;
use super::left_out::LeftOut;

/// A report's note for a layer that was left out on request.
pub const LEFT_OUT: &str = "left out by --without";

/// The beginning of a report's note on limits that were turned off on request.
pub(crate) const SWITCHED_OFF: &str = "switched off";

/// One layer of confinement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// The layer's name, one of [`layer_name`].
    pub name: &'static str,
    /// True if the layer is in force.
    pub holds: bool,
    /// A description for people: the rule in force, or the reason why there is none.
    pub detail: String,
}

/// Each layer, and whether it is in effect, in the order in which they were set up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayerReport {
    /// The layers; each occurs once.
    pub layers: Vec<Layer>,
    landlock_abi: u32,
}

impl LayerReport {
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

    /// Notes that the layers that are not enforced were left out on request.
    pub(crate) fn leave_out(&mut self, left_out: LeftOut) {
        for layer in self.layers.iter_mut().filter(|layer| !layer.holds && left_out.contains(layer.name)) {
            layer.detail = LEFT_OUT.to_owned();
        }
    }

    pub(crate) fn set_landlock_abi(&mut self, abi: u32) {
        self.landlock_abi = abi;
    }

    /// The layer of that name, if the report has it.
    pub fn layer(&self, name: &str) -> Option<&Layer> {
        self.layers.iter().find(|layer| layer.name == name)
    }

    /// Layers that are missing on this machine, as opposed to those that were not requested.
    pub fn missing(&self) -> impl Iterator<Item = &Layer> {
        let is_chosen = |layer: &Layer| {
            layer.name == layer_name::NETWORK
                || layer.name == layer_name::LIMITS && layer.detail.starts_with(SWITCHED_OFF)
        };
        self.layers.iter().filter(move |layer| !layer.holds && !is_chosen(layer))
    }

    /// True if the layer of that name is in force.
    pub fn holds(&self, name: &str) -> bool {
        self.layer(name).is_some_and(|layer| layer.holds)
    }

    /// The layers that are in effect in `wider` and not here; those that depend on the existing files are ignored, as more files could prevent
    /// commands from starting, and so is the one whose means may differ between users.
    pub(crate) fn lacking(&self, wider: &Self) -> Vec<&'static str> {
        let differing = [layer_name::GIT_CONFIG, layer_name::SOCKET_FILES, layer_name::LIMITS];
        let holding = wider.layers.iter().filter(|layer| layer.holds && !differing.contains(&layer.name));
        holding.map(|layer| layer.name).filter(|name| !self.holds(name)).collect()
    }

    /// True if the minimum that counts as confined is in force: Landlock, seccomp and `no_new_privs`.
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
