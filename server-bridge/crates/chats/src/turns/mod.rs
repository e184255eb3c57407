//! Answers with a model: turns, one after the other in each chat.
//!
//! ```text
//! post ─▶ queue (32 a chat) ─▶ the engine's turn ─▶ the next one
//! ```
//! | module | holds |
//! |---|---|
//! | `queue` | which chats have a turn under way, and what waits |
//! | `rest` | a chat in which nothing goes on, and nothing begins meanwhile |

mod queue;
mod rest;

use std::sync::Arc;

use api::document::AgentDocument;
use llm::{Content, Message};
use store::{ChatId, MessageId, MessageRole, TurnId, TurnStatus, User, UserId};

use tokio_util::sync::CancellationToken;

use crate::commands::Context;
use crate::limits::TURNS_QUEUED;
use crate::models::{Models, ModelsConfig};
use crate::service::Inner;
use crate::stored::{Screen, Stored, reply, to_json};
use crate::{ChatEvent, Posted, Result};
use agent::context::history;
use agent::engine::{AtWork, INTERRUPTED, Ports, Turn, TurnAncestry};
use agent::questions::Questions;
use queue::{Job, Queue, Waiting, Worker};
pub(crate) use rest::rest;

/// The models, and what is under way with them.
pub(crate) struct Engine {
    pub(crate) models: Models,
    queue: Queue,
    pub(crate) questions: Questions,
    pub(crate) at_work: AtWork,
}

impl Engine {
    pub(crate) fn new(models: ModelsConfig) -> Self {
        let (queue, questions, at_work) = Default::default();
        Self { models: Models::new(models), queue, questions, at_work }
    }

    /// Whether an answer is under way in a chat, or waits to be.
    pub(crate) fn is_working(&self, user: UserId, chat: &ChatId) -> bool {
        self.queue.is_working(user, chat)
    }

    /// Whether a chat is to be compressed; it is not any more then.
    pub(crate) fn takes_compression(&self, user: UserId, chat: &ChatId) -> bool {
        self.queue.take_compression(user, chat)
    }

    /// Stops the answer under way in a chat, and no message that waits after it; how many answers that was.
    pub(crate) fn stop(&self, user: UserId, chat: &ChatId) -> usize {
        self.queue.stop(user, chat) + self.at_work.cancel(user, chat)
    }

    /// Stops the answer under way in a chat and all messages that wait; how many that was.
    pub(crate) fn stop_all(&self, user: UserId, chat: &ChatId) -> usize {
        self.queue.stop_all(user, chat) + self.at_work.cancel(user, chat)
    }

    /// Whether no more messages may wait in a chat.
    pub(crate) fn is_full(&self, user: UserId, chat: &ChatId) -> bool {
        self.queue.is_full(user, chat)
    }

    /// How many messages of a chat wait for their answer.
    pub(crate) fn waiting(&self, user: UserId, chat: &ChatId) -> usize {
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
    let document = reply(TurnStatus::Queued);
    let shown = service
        .store
        .append_message(user.id, chat, MessageRole::Assistant, "", Some(&to_json(&document)))
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
fn work(service: &Arc<Inner>, user: &User, chat: &ChatId) {
    let Some(worker) = service.engine.queue.employ(user.id, chat) else { return };
    serve(service, user, chat, worker);
}

/// Answers what waits in a chat, one after the other.
fn serve(service: &Arc<Inner>, user: &User, chat: &ChatId, worker: Worker) {
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
                Job::Turn(Waiting { turn, message }) => {
                    let (ports, ancestry) = top(service, user, chat, turn);
                    of(service, user, chat, (turn, message), cancelled, &ports, &ancestry).run().await;
                }
                Job::Compress => compress(service, user, chat, cancelled).await,
            }
        }
    });
}

/// The ports of a turn of a user's own chat, and that nothing is above it.
fn top(service: &Arc<Inner>, user: &User, chat: &ChatId, turn: TurnId) -> (Ports, TurnAncestry) {
    let ports = Stored::top(service, user, chat, turn).ports();
    let display = Arc::clone(&ports.display);
    (ports, TurnAncestry::top(chat, turn, service.tools.snapshot(), display))
}

/// A turn that can be run.
fn of<'a>(
    service: &'a Inner,
    user: &'a User,
    chat: &'a ChatId,
    (turn, message): (TurnId, MessageId),
    cancelled: &'a CancellationToken,
    ports: &'a Ports,
    ancestry: &'a TurnAncestry,
) -> Turn<'a> {
    let (parts, stop) = (&service.prompt, &service.stop);
    Turn { ports, parts, user, chat, turn, message, cancelled, stop, ancestry }
}

/// Compresses a chat in which nothing is under way.
async fn compress(service: &Arc<Inner>, user: &User, chat: &ChatId, cancelled: &CancellationToken) {
    let told = match service.store.last_begun_turn(user.id, chat).await {
        Ok(Some(last)) => {
            let (ports, ancestry) = top(service, user, chat, last);
            // Nothing is shown of an answer: there is none.
            of(service, user, chat, (last, MessageId(0)), cancelled, &ports, &ancestry).compress_alone().await
        }
        Ok(None) => Some("The conversation was not compressed: nothing was said yet.".to_owned()),
        Err(error) => {
            tracing::error!(%error, "a conversation is not compressed: the store fails, or the chat is gone");
            return;
        }
    };
    let Some(told) = told else { return };
    if let Err(error) = service.say(user.id, chat, MessageRole::Notice, &told).await {
        tracing::error!(%error, "a notice cannot be kept");
    }
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
            None => interrupted(service, &user, &turn.chat, waiting).await?,
        }
    }
    Ok(count)
}

/// Ends a turn that an earlier server's end cut off.
async fn interrupted(
    service: &Arc<Inner>,
    user: &User,
    chat: &ChatId,
    waiting: Waiting,
) -> store::Result<()> {
    service.store.finish_turn(waiting.turn, TurnStatus::Interrupted, Some(INTERRUPTED)).await?;
    let shown = service.store.message(user.id, waiting.message).await?;
    let mut document = reply(TurnStatus::Interrupted);
    if let AgentDocument::Reply { error, .. } = &mut document {
        *error = Some(INTERRUPTED.to_owned());
    }
    let screen = Screen { service, user, chat, turn: waiting.turn };
    screen.settle_behind(shown.id).await?;
    screen.change(shown.id, &shown.text, &document).await
}
