//! Layers that are left out on purpose: to find out which one denies something, and for tests.

use std::fmt;
use std::str::FromStr;

use super::layer_name::{
    CAPABILITIES, IPC_NAMESPACE, LANDLOCK, LANDLOCK_SCOPE, MOUNT_NAMESPACE, NO_NEW_PRIVS, NON_DUMPABLE,
    PID_NAMESPACE, PRIVATE_HOME, SECCOMP,
};

/// The layers that can be left out.
const LAYERS: &[&str] = &[
    MOUNT_NAMESPACE,
    PID_NAMESPACE,
    IPC_NAMESPACE,
    LANDLOCK,
    LANDLOCK_SCOPE,
    SECCOMP,
    CAPABILITIES,
    NO_NEW_PRIVS,
    PRIVATE_HOME,
    NON_DUMPABLE,
];

/// The layers that need `no_new_privs`, as the kernel demands.
const ON_NO_NEW_PRIVS: &[&str] = &[LANDLOCK, LANDLOCK_SCOPE, SECCOMP];

/// Layers that are not set up although the machine has them; reports mention that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut(u16);

/// The error for a list of layers that cannot be left out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotLeaveOut {
    /// There is no such layer, or it cannot be left out alone.
    #[error("\"{0}\" is not a layer that can be left out: choose among {list}", list = LAYERS.join(", "))]
    Unknown(String),
    /// Another layer, which is not left out, needs this one.
    #[error("{NO_NEW_PRIVS} cannot be left out while {0}, which needs it, is in force: leave that out too")]
    Needed(&'static str),
}

impl LeftOut {
    /// All of these layers.
    ///
    /// # Errors
    /// One of them is needed by a layer that is not left out.
    pub fn all(each: &[Self]) -> Result<Self, CannotLeaveOut> {
        let all = Self(each.iter().fold(0, |all, one| all | one.0));
        let needed = ON_NO_NEW_PRIVS.iter().find(|name| !all.contains(name));
        match needed.filter(|_| all.contains(NO_NEW_PRIVS)) {
            Some(name) => Err(CannotLeaveOut::Needed(name)),
            None => Ok(all),
        }
    }

    /// True if the layer of that name (one of [`super::layer_name`]) is left out.
    pub fn contains(self, name: &str) -> bool {
        self.names().any(|left_out| left_out == name)
    }

    /// True if every layer that the machine has is set up.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The names of the layers that are left out.
    fn names(self) -> impl Iterator<Item = &'static str> {
        LAYERS.iter().enumerate().filter(move |(index, _)| self.0 & (1 << index) != 0).map(|(_, name)| *name)
    }
}

impl FromStr for LeftOut {
    type Err = CannotLeaveOut;

    /// Parses the name of one layer.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let index = LAYERS.iter().position(|layer| *layer == name);
        index.map(|index| Self(1 << index)).ok_or_else(|| CannotLeaveOut::Unknown(name.to_owned()))
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.names().collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(names: &[&str]) -> Result<LeftOut, CannotLeaveOut> {
        let each = names.iter().map(|name| name.parse()).collect::<Result<Vec<_>, _>>()?;
        LeftOut::all(&each)
    }

    #[test]
    fn every_layer_goes_by_its_name() {
        for name in LAYERS.iter().filter(|name| **name != NO_NEW_PRIVS) {
            let one = all(&[name]).unwrap();
            assert!(one.contains(name) && one.names().eq([*name]) && one.to_string() == *name, "{name}");
        }
        assert!(all(LAYERS).unwrap().names().eq(LAYERS.iter().copied()));
        assert!(LeftOut::default().is_empty() && !LeftOut::default().contains(SECCOMP));
    }

    #[test]
    fn what_is_no_layer_is_refused_with_the_list() {
        for name in ["", "Seccomp", "kill-tier", "seccomp,landlock"] {
            let text = all(&[name]).unwrap_err().to_string();
            assert!(text.contains("mount-namespace"), "{text}");
        }
    }

    #[test]
    fn what_others_stand_on_goes_only_with_them() {
        let error = all(&[NO_NEW_PRIVS, LANDLOCK, LANDLOCK_SCOPE]).unwrap_err();
        assert_eq!(error, CannotLeaveOut::Needed(SECCOMP));
        assert!(all(&[NO_NEW_PRIVS, LANDLOCK, LANDLOCK_SCOPE, SECCOMP]).is_ok());
    }
}
