//! Why the machine of an agent cannot be used.

use std::fmt;

use execs::{route_request, sandbox_user};
use sandbox::RouteError;
use store::{GroupAgent, User};

use crate::error::Result;
use crate::house::Inner;

/// Why the machine of an agent cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// It may pass by itself.
    Now(String),
    /// The runner was revoked.
    Revoked(String),
    /// It lasts until somebody changes something.
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
            | RouteError::LocalUnavailable { .. } => Self::Now(error.to_string()),
            error => Self::Lasting(error.to_string()),
        }
    }
}

impl Inner {
    /// Why the machine of an agent of this owner cannot be used now; `None` if it can.
    ///
    /// # Errors
    /// [`crate::Error::Store`].
    pub(crate) async fn obstacle(&self, agent: &GroupAgent, owner: &User) -> Result<Option<Obstacle>> {
        let request = route_request(&self.store, agent.owner, Some(&agent.runner)).await?;
        Ok(self.router.check(&sandbox_user(owner), &request).err().map(Obstacle::from))
    }
}
