//! The implementation of a turn's ports, over the database, the events to the user's clients, the router and the models.
//!
//! | module | holds |
//! |---|---|
//! | `journal`, `offload` | the record in the database; long results, put aside |
//! | `again`, `given_up` | the record of an interrupted turn; the end of a turn that is not resumed |
//! | `display` | the turn as people see it: messages with documents, and events |
//! | `screen` | the documents, and their way into a chat |
//! | `person` | the user's permissions and models |
//! | `workplace` | the machine that the router finds |
//! | `stale`, `reminder` | files that changed after they were read, and the reminder for the model |
//! | `streamed` | the text of answers in progress, for the restart of a killed server |
//! | `sub_agents`, `sub_agents_again`, `idle` | sub-agents, and their recorded state; named sub-agents that wait for their next call |
//! | `background` | sub-agents in the background |
//! | `sub_agents_place` | the machine and the worktree of a sub-agent |

mod again;
mod background;
mod display;
mod given_up;
mod idle;
mod journal;
mod offload;
mod person;
mod reminder;
mod screen;
mod stale;
mod streamed;
mod sub_agents;
mod sub_agents_again;
mod sub_agents_place;
mod workplace;

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use sandbox::RouteRequest;
use store::{ChatId, Message, MessageId, TurnId, User};
use tokio::sync::OnceCell;

use crate::house::House;
use crate::rule_book::WorkspaceRules;
pub(crate) use again::{RELAYED, attend_all};
use agent::engine::{Asked, Ports};
pub(crate) use background::{end_in_background, settle_asks, told};
pub(crate) use given_up::{GIVEN_UP, give_up, give_up_below};
pub(crate) use idle::named;
pub(crate) use screen::{Screen, cut, reply, to_json};
use streamed::Words;
use tools::Ported;

/// A turn, with the state that its ports need.
pub(crate) struct Stored {
    service: Arc<House>,
    user: User,
    chat: ChatId,
    turn: TurnId,
    /// The chat that the user talks in; it differs from `chat` only in a sub-agent's turn.
    root: ChatId,
    /// The turn of that chat; it differs from `turn` only in a sub-agent's turn.
    root_turn: TurnId,
    /// The route to the place of work, fixed when it is first needed.
    route_request: OnceCell<RouteRequest>,
    /// The rules of the workspace, read when they are first needed.
    workspace_rules: Arc<OnceCell<Arc<WorkspaceRules>>>,
    /// Messages that were added and not announced yet.
    untold: Mutex<HashMap<MessageId, Message>>,
    /// The cards of calls that were cut off when an earlier run of the server ended, in order.
    left_cards: Mutex<VecDeque<MessageId>>,
    /// The text that the turn's model is writing.
    words: Arc<Words>,
    /// True once it is known that none of the turn's sub-agents is in the background; this stays so until the turn's own calls begin one.
    has_none_in_background: AtomicBool,
}

impl Stored {
    /// The state for a turn of a user's own chat.
    pub(crate) fn top(service: &Arc<House>, user: &User, chat: &ChatId, turn: TurnId) -> Self {
        Self {
            service: Arc::clone(service),
            user: user.clone(),
            chat: chat.clone(),
            turn,
            root: chat.clone(),
            root_turn: turn,
            route_request: OnceCell::new(),
            workspace_rules: Arc::default(),
            untold: Mutex::default(),
            left_cards: Mutex::default(),
            words: Arc::default(),
            has_none_in_background: AtomicBool::default(),
        }
    }

    /// The state for a sub-agent's turn on the machine of this route, under these workspace rules.
    fn below(
        &self,
        chat: &ChatId,
        turn: TurnId,
        route_request: RouteRequest,
        workspace_rules: Arc<OnceCell<Arc<WorkspaceRules>>>,
    ) -> Self {
        Self {
            root: self.root.clone(),
            root_turn: self.root_turn,
            route_request: OnceCell::new_with(Some(route_request)),
            workspace_rules,
            ..Self::top(&self.service, &self.user, chat, turn)
        }
    }

    /// Converts this state to the turn's ports.
    pub(crate) fn ports(self) -> Ports {
        let stored = Arc::new(self);
        let library = stored.service.library.clone();
        let (service, user) = (Arc::clone(&stored.service), stored.user.id);
        Ports {
            journal: Arc::clone(&stored) as _,
            display: Arc::clone(&stored) as _,
            permissions: Arc::clone(&stored) as _,
            models: Arc::clone(&stored) as _,
            workplace: Arc::clone(&stored) as _,
            sub_agents: Arc::clone(&stored) as _,
            background: stored,
            library,
            say: Arc::new(move |text: &str| service.in_words_of(user, text)),
        }
    }
}

/// Converts a store's result to one with the engine's error.
fn asked<'a, T>(work: impl Future<Output = store::Result<T>> + Send + 'a) -> Asked<'a, T> {
    Box::pin(async { work.await.ported() })
}
