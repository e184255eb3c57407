//! The tools of agents: they are offered in the chat of an agent of a group, and nowhere else.
//!
//! | module | holds |
//! |---|---|
//! | `send_message` | asking another agent, and telling the group something |
//! | `hand_off` | handing the task over |

mod hand_off;
mod send_message;

use std::sync::Arc;

use agent::PortError;
use agent::tool::{Failure, Tool, ToolSource, Typed};
use futures_util::future::BoxFuture;
use store::{ChatId, User};

use crate::error::Error;
use crate::service::Groups;

/// The tools of the agents of groups.
pub(crate) struct OfGroups(pub(crate) Groups);

impl ToolSource for OfGroups {
    fn tools<'a>(&'a self, _user: &'a User, chat: &'a ChatId) -> BoxFuture<'a, Vec<Arc<dyn Tool>>> {
        Box::pin(async {
            match self.0.0.store.agent_of_chat(chat).await {
                Ok(Some(_)) => vec![
                    Arc::new(Typed::<send_message::Arguments>::new(self.0.clone())) as Arc<dyn Tool>,
                    Arc::new(Typed::<hand_off::Arguments>::new(self.0.clone())),
                ],
                Ok(None) => Vec::new(),
                Err(error) => {
                    tracing::error!(%error, "the tools of an agent of a group could not be found");
                    Vec::new()
                }
            }
        })
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused { kind, text } => Self::Refused { kind, text },
            Error::Store(error) if error.is_callers() => Self::Told(error.shown()),
            Error::Store(error) if error.is_away() => PortError::Away(error.shown()).into(),
            Error::Store(error) => PortError::Failed(error.to_string()).into(),
        }
    }
}
