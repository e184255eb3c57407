//! Profiles: the extent of what a command may touch.

use std::fmt;
use std::str::FromStr;

/// The extent of what a command may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Profile {
    /// The workspace, the private home and temporary directories are writable; the system is readable.
    Workspace,
    /// Like `Workspace`, with the workspace itself only readable.
    ReadOnly,
    /// Not confined; still with its own session and a clean environment.
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
