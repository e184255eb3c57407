//! The ports of a turn over the house: the database, the events to the user's clients, the router, the models.
//!
//! | module | holds |
//! |---|---|
//! | `journal` | what was said, in the database |
//! | `display` | what people see: messages with documents, and events |
//! | `screen` | the documents, and how they get into a chat |
//! | `approval_document` | what a person is asked to allow |
//! | `person` | what the user lets the agent do, and the models that answer them |
//! | `workplace` | the machine that the router finds |
//! | `sub_agents`, `idle` | agents that an agent calls; one with a name, which waits for its next call |

mod approval_document;
mod display;
mod idle;
mod journal;
mod person;
mod screen;
mod sub_agents;
mod workplace;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use sandbox::Wish;
use store::{ChatId, Message, MessageId, TurnId, User};
use tokio::sync::OnceCell;

use crate::engine::Ports;
use crate::service::Inner;
pub use approval_document::{ApprovalDocument, ApprovalPart, ApprovalPlace};
pub(crate) use screen::Screen;
pub use screen::{AgentDocument, SubAgentDocument, TodoDocument, ToolData, UsageDocument};

/// A turn as the house knows it.
pub(crate) struct Stored {
    service: Arc<Inner>,
    user: User,
    chat: ChatId,
    turn: TurnId,
    /// The chat that the user talks in, and its turn: the same ones, unless it is a sub-agent's.
    root: ChatId,
    root_turn: TurnId,
    /// Where the work is done, from the first time on that it is asked for.
    wish: OnceCell<Wish>,
    /// Messages that were added and of which nobody is told yet.
    untold: Mutex<HashMap<MessageId, Message>>,
}

impl Stored {
    /// A turn of a user's own chat.
    pub(crate) fn top(service: &Arc<Inner>, user: &User, chat: &ChatId, turn: TurnId) -> Self {
        Self {
            service: Arc::clone(service),
            user: user.clone(),
            chat: chat.clone(),
            turn,
            root: chat.clone(),
            root_turn: turn,
            wish: OnceCell::new(),
            untold: Mutex::default(),
        }
    }

    /// A sub-agent's turn, which works where this one does.
    fn below(&self, chat: &ChatId, turn: TurnId, wish: Wish) -> Self {
        Self {
            root: self.root.clone(),
            root_turn: self.root_turn,
            wish: OnceCell::new_with(Some(wish)),
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
