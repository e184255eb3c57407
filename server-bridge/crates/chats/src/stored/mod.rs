//! The ports of a turn over the house: the database, the events to the user's clients, the router, the models.
//!
//! | module | holds |
//! |---|---|
//! | `journal`, `offload` | what was said, in the database; long results, put aside |
//! | `display` | what people see: messages with documents, and events |
//! | `screen` | the documents, and how they get into a chat |
//! | `person` | what the user lets the agent do, and the models that answer them |
//! | `workplace` | the machine that the router finds |
//! | `stale`, `reminder` | files that changed after they were read, and what the model is told of that |
//! | `streamed` | the words of answers under way, for the next life of a killed server |
//! | `sub_agents`, `idle` | agents that an agent calls; one with a name, which waits for its next call |

mod display;
mod idle;
mod journal;
mod offload;
mod person;
mod reminder;
mod screen;
mod stale;
mod streamed;
mod sub_agents;
mod workplace;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use sandbox::RouteRequest;
use store::{ChatId, Message, MessageId, TurnId, User};
use tokio::sync::OnceCell;

use crate::house::House;
use agent::engine::{Asked, Ports};
pub(crate) use screen::{Screen, reply, to_json};
use streamed::Words;
use tools::Ported;

/// A turn as the house knows it.
pub(crate) struct Stored {
    service: Arc<House>,
    user: User,
    chat: ChatId,
    turn: TurnId,
    /// The chat that the user talks in, and its turn: the same ones, unless it is a sub-agent's.
    root: ChatId,
    root_turn: TurnId,
    /// Where the work is done, from the first time on that it is asked for.
    route_request: OnceCell<RouteRequest>,
    /// Messages that were added and of which nobody is told yet.
    untold: Mutex<HashMap<MessageId, Message>>,
    /// What its model says at the moment.
    words: Arc<Words>,
}

impl Stored {
    /// A turn of a user's own chat.
    pub(crate) fn top(service: &Arc<House>, user: &User, chat: &ChatId, turn: TurnId) -> Self {
        Self {
            service: Arc::clone(service),
            user: user.clone(),
            chat: chat.clone(),
            turn,
            root: chat.clone(),
            root_turn: turn,
            route_request: OnceCell::new(),
            untold: Mutex::default(),
            words: Arc::default(),
        }
    }

    /// A sub-agent's turn, which works where this one does.
    fn below(&self, chat: &ChatId, turn: TurnId, route_request: RouteRequest) -> Self {
        Self {
            root: self.root.clone(),
            root_turn: self.root_turn,
            route_request: OnceCell::new_with(Some(route_request)),
            ..Self::top(&self.service, &self.user, chat, turn)
        }
    }

    /// The turn's ports.
    pub(crate) fn ports(self) -> Ports {
        let stored = Arc::new(self);
        Ports {
            journal: Arc::clone(&stored) as _,
            display: Arc::clone(&stored) as _,
            permissions: Arc::clone(&stored) as _,
            models: Arc::clone(&stored) as _,
            workplace: Arc::clone(&stored) as _,
            sub_agents: stored,
        }
    }
}

/// The store's answer to a port, in the engine's words.
fn asked<'a, T>(work: impl Future<Output = store::Result<T>> + Send + 'a) -> Asked<'a, T> {
    Box::pin(async { work.await.ported() })
}
