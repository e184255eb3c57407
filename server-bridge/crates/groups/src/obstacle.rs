//! The reasons why the machine of an agent cannot be used.

use std::fmt;

use sandbox::RouteError;

/// The reason why the machine of an agent cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// A temporary reason, such as a runner that is offline.
    Now(String),
    /// The runner was revoked.
    Revoked(String),
    /// A reason that lasts until a person changes something.
    Lasting(String),
}

impl fmt::Display for Obstacle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now(why) | Self::Lasting(why) => formatter.write_str(why),
            Self::Revoked(runner) => write!(formatter, "the runner {runner} was revoked"),
        }
    }
}

impl From<RouteError> for Obstacle {
    fn from(error: RouteError) -> Self {
        match error {
            RouteError::UnknownRunner { name } => Self::Revoked(name),
            RouteError::Offline { .. }
            | RouteError::DockerUnavailable { .. }
            | RouteError::ImageNotPulled { .. }
            | RouteError::LocalUnavailable { .. } => Self::Now(error.to_string()),
            error => Self::Lasting(error.to_string()),
        }
    }
}
