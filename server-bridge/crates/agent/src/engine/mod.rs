//! Answers with a model: turns, one after the other in each chat.
//!
//! ```text
//! post ─▶ queue (32 a chat) ─▶ turn: [ ask the model ─▶ keep and show the answer ─▶ run its tools ─▶ keep the results ]* ─▶ end
//! ```
//! Everything is kept before the next step begins, so that a killed server loses nothing and does nothing twice: what it was
//! amid is told to be interrupted.
//!
//! | module | holds |
//! |---|---|
//! | `turn` | the loop; which model it asks, and when it may begin |
//! | `tools_of_reply` | which calls of one answer run side by side |
//! | `show` | the same as people see it |
//! | `approval_document` | what a person is asked to allow |
//! | `shown_call` | a tool's card while it runs: to ask its user something with |
//! | `pipeline/` | what the model is told before and beside the conversation |
//! | `agents/` | sub-agents: turns beneath a turn |
//! | `queue` | which chats have a turn under way, and what waits |
//! | `rest` | a chat in which nothing goes on, and nothing begins meanwhile |

pub(crate) mod agents;
mod approval_document;
mod pipeline;
mod queue;
mod rest;
mod show;
mod shown_call;
mod tools_of_reply;
mod turn;

use std::sync::Arc;

use llm::{Content, Message};
use store::{MessageRole, TurnStatus, User, UserId};

use crate::commands::Context;
use crate::context::history;
use crate::limits::TURNS_QUEUED;
use crate::models::{Models, ModelsConfig};
use crate::questions::Questions;
use crate::service::Inner;
use crate::{ChatEvent, Posted, Result};
pub use agents::SubAgentDocument;
use agents::{AtWork, Lineage};
pub use approval_document::{ApprovalDocument, ApprovalPart, ApprovalPlace};
use queue::{Job, Queue, Waiting, Worker};
pub(crate) use rest::rest;
pub use show::{AgentDocument, TodoDocument, ToolData, UsageDocument};
pub(crate) use shown_call::ShownCall;
use turn::Turn;

/// The models, and what is under way with them.
pub(crate) struct Engine {
    pub(crate) models: Models,
    queue: Queue,
    pub(crate) questions: Questions,
    at_work: AtWork,
}

impl Engine {
    pub(crate) fn new(models: ModelsConfig) -> Self {
        let (queue, questions, at_work) = Default::default();
        Self { models: Models::new(models), queue, questions, at_work }
    }

    /// Whether an answer is under way in a chat, or waits to be.
    pub(crate) fn is_working(&self, user: UserId, chat: &store::ChatId) -> bool {
        self.queue.is_working(user, chat)
    }

    /// Stops the answer under way in a chat, and no message that waits after it; how many answers that was.
    pub(crate) fn stop(&self, user: UserId, chat: &store::ChatId) -> usize {
        self.queue.stop(user, chat) + self.at_work.cancel(user, chat)
    }

    /// Stops the answer under way in a chat and all messages that wait; how many that was.
    pub(crate) fn stop_all(&self, user: UserId, chat: &store::ChatId) -> usize {
        self.queue.stop_all(user, chat) + self.at_work.cancel(user, chat)
    }

    /// Whether no more messages may wait in a chat.
    pub(crate) fn is_full(&self, user: UserId, chat: &store::ChatId) -> bool {
        self.queue.is_full(user, chat)
    }

    /// How many messages of a chat wait for their answer.
    pub(crate) fn waiting(&self, user: UserId, chat: &store::ChatId) -> usize {
        self.queue.waiting(user, chat)
    }
}

/// Queues a message for the model; its answer comes as events.
pub(crate) async fn post(context: &Context<'_>, text: &str) -> Result<Posted> {
    let (service, user, chat) = (context.service, context.user, &context.chat.id);
    // Most of a flood is refused before it is stored; here stands who came at the same moment.
    let Some(place) = service.engine.queue.reserve(user.id, chat) else {
        return context
            .notice(&format!(
                "{TURNS_QUEUED} messages wait for an answer in this chat already. This one is not answered: send it again when one is."
            ))
            .await;
    };
    let document = AgentDocument::reply(TurnStatus::Queued);
    let shown = service
        .store
        .append_message(user.id, chat, MessageRole::Assistant, "", Some(&document.to_json()))
        .await?;
    let item = history::to_json(&Message::User(vec![Content::Text(text.to_owned())]));
    let turn = service.store.queue_turn(user.id, chat, Some(context.said), shown.id, &item).await?;
    service.tell(user.id, ChatEvent::Message(shown.clone()));
    place.fill(Waiting { turn, message: shown.id });
    work(service, user, chat);
    Ok(Posted { messages: vec![shown], ..Posted::default() })
}

/// Lets a chat be compressed before its model is asked again: by the turn under way, or else at once.
pub(crate) fn compress_soon(context: &Context<'_>) {
    let (service, user, chat) = (context.service, context.user, &context.chat.id);
    service.engine.queue.compress(user.id, chat);
    work(service, user, chat);
}

/// Lets somebody work on a chat's queue, unless somebody does.
fn work(service: &Arc<Inner>, user: &User, chat: &store::ChatId) {
    let Some(worker) = service.engine.queue.employ(user.id, chat) else { return };
    serve(service, user, chat, worker);
}

/// Answers what waits in a chat, one after the other.
fn serve(service: &Arc<Inner>, user: &User, chat: &store::ChatId, worker: Worker) {
    let (service, user, chat) = (Arc::clone(service), user.clone(), chat.clone());
    let tasks = service.tasks.clone();
    tasks.spawn(async move {
        while let Some((job, cancelled)) = worker.next() {
            if service.is_stopping() {
                // Queued on record still: the next life of the server begins it.
                return;
            }
            let (service, user, chat, cancelled) = (&service, &user, &chat, &cancelled);
            match job {
                Job::Turn(waiting) => {
                    let lineage = &Lineage::top(chat, waiting.turn, service.tools.snapshot());
                    Turn { service, user, chat, waiting, cancelled, lineage }.run().await;
                }
                Job::Compress => turn::compress_now(service, user, chat, cancelled).await,
            }
        }
    });
}

/// Tells of every turn that an earlier server was amid, and goes on with those that it had not begun. For a server's start.
pub(crate) async fn recover(service: &Arc<Inner>) -> Result<usize> {
    let open = service.store.open_turns().await?;
    let count = open.len();
    for turn in open {
        let Some(user) = service.store.user_by_id(turn.user).await? else { continue };
        let Some(message) = turn.message else {
            service.store.finish_turn(turn.id, TurnStatus::Interrupted, None).await?;
            continue;
        };
        let waiting = Waiting { turn: turn.id, message };
        // A sub-agent's is a part of a turn that is over.
        let can_begin = turn.status == TurnStatus::Queued && !turn.is_sub_agents;
        match service.engine.queue.reserve(user.id, &turn.chat).filter(|_| can_begin) {
            Some(place) => {
                place.fill(waiting);
                work(service, &user, &turn.chat);
            }
            None => turn::interrupted(service, &user, &turn.chat, waiting).await?,
        }
    }
    Ok(count)
}
