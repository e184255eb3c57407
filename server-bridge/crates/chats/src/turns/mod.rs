//! Answers of a model: turns, one after the other in each chat.
//!
//! ```text
//! post ─▶ queue (32 a chat) ─▶ the engine's turn ─▶ the next one
//! ```
//! | module | holds |
//! |---|---|
//! | `rest` | a chat in which nothing is in progress, held that way |

mod rest;

use std::sync::Arc;

use api::document::AgentDocument;
use llm::{Assistant, Content, Message};
use store::{ChatId, MessageId, MessageRole, TurnId, TurnStatus, User};

use tokio_util::sync::CancellationToken;

use crate::house::House;
use crate::pictures;
use crate::queue::{Job, Waiting, Worker};
use crate::stored::{Screen, Stored, reply, to_json};
use crate::{ChatEvent, Result, document, memorise, titles};
use agent::context::history;
use agent::engine::{Ports, Turn, TurnAncestry};
use agent::limits::REASONING_SHOWN_BYTES;
use agent::tool::Toolbox;
pub(crate) use rest::rest;

/// The text for the user of a turn that was cut off by the death of the server.
const INTERRUPTED_BY_DEATH: &str = "the server was stopped during this answer; what was done so far is kept, but the last 5 s of what was \
said may be missing. Send any message to go on.";

/// Queues a message for the model; returns the message that will show its answer, which comes as events. `None` if too many
/// are queued.
pub(crate) async fn post(
    house: &Arc<House>,
    user: &User,
    chat: &ChatId,
    (said, text): (MessageId, &str),
) -> Result<Option<store::Message>> {
    let Some(place) = house.queue.reserve(user.id, chat) else { return Ok(None) };
    let images = pictures::of_message(house, user, chat, text).await;
    let content = std::iter::once(Content::Text(text.to_owned())).chain(images).collect();
    let item = history::to_json(&Message::User(content));
    let document = to_json(&reply(TurnStatus::Queued));
    // As one change: a server that dies here has either posted nothing, or a turn that the next one begins.
    let (shown, turn) = house.store.queue_shown_turn(user.id, chat, said, &document, &item).await?;
    house.tell(user.id, ChatEvent::Message(shown.clone()));
    place.fill(Waiting { turn, message: shown.id });
    work(house, user, chat);
    Ok(Some(shown))
}

/// Has a chat compressed before its model is asked again: by the turn in progress, or else at once.
pub(crate) fn compress_soon(house: &Arc<House>, user: &User, chat: &ChatId) {
    house.queue.compress(user.id, chat);
    work(house, user, chat);
}

/// Starts a worker on a chat's queue, unless it has one.
fn work(service: &Arc<House>, user: &User, chat: &ChatId) {
    let Some(worker) = service.queue.employ(user.id, chat) else { return };
    serve(service, user, chat, worker);
}

/// Answers the queued messages of a chat, one after the other.
fn serve(service: &Arc<House>, user: &User, chat: &ChatId, worker: Worker) {
    let (service, user, chat) = (Arc::clone(service), user.clone(), chat.clone());
    let tasks = service.tasks.clone();
    // A model's words and actions are not lost while the database cannot be reached.
    tasks.spawn(store::patiently(async move {
        while let Some((job, cancelled)) = worker.next() {
            if service.is_stopping() {
                // Still queued on record: the server's next run begins it.
                return;
            }
            let (service, user, chat, cancelled) = (&service, &user, &chat, &cancelled);
            match job {
                Job::Turn(Waiting { turn, message }) => {
                    // Machines and servers are waited for, unless its user stops it.
                    let tools = tokio::select! {
                        tools = service.tools.snapshot_for(user, chat) => tools,
                        () = cancelled.cancelled() => service.tools.snapshot(),
                        () = service.stop.cancelled() => service.tools.snapshot(),
                    };
                    let (ports, ancestry) = top(service, user, chat, turn, tools);
                    of(service, user, chat, (turn, message), cancelled, &ports, &ancestry).run().await;
                    titles::give_soon(service, user, chat, turn);
                }
                Job::Compress => {
                    compress(service, user, chat, cancelled).await;
                    memorise::soon(service, user, chat);
                }
            }
        }
    }));
}

/// The ports and the ancestry of a turn of a user's own chat.
fn top(
    service: &Arc<House>,
    user: &User,
    chat: &ChatId,
    turn: TurnId,
    tools: Toolbox,
) -> (Ports, TurnAncestry) {
    let ports = Stored::top(service, user, chat, turn).ports();
    let display = Arc::clone(&ports.display);
    let tools = tools.for_models();
    let tools = if service.settings.context_mode().edits() { tools } else { tools.without_edits() };
    (ports, TurnAncestry::top(chat, turn, tools, display))
}

/// A turn that can be run.
fn of<'a>(
    service: &'a House,
    user: &'a User,
    chat: &'a ChatId,
    (turn, message): (TurnId, MessageId),
    cancelled: &'a CancellationToken,
    ports: &'a Ports,
    ancestry: &'a TurnAncestry,
) -> Turn<'a> {
    let (parts, hooks, stop) = (&service.prompt, &service.hooks, &service.stop);
    let context = service.settings.context_mode();
    Turn { ports, parts, hooks, user, chat, turn, message, cancelled, stop, ancestry, context }
}

/// Compresses a chat in which nothing is in progress.
async fn compress(service: &Arc<House>, user: &User, chat: &ChatId, cancelled: &CancellationToken) {
    let told = match service.store.last_begun_turn(user.id, chat).await {
        Ok(Some(last)) => {
            let (ports, ancestry) = top(service, user, chat, last, service.tools.snapshot());
            // There is no answer to show.
            of(service, user, chat, (last, MessageId(0)), cancelled, &ports, &ancestry).compress_alone().await
        }
        Ok(None) => Some("The conversation was not compressed: nothing was said yet.".to_owned()),
        Err(error) => {
            tracing::error!(%error, "a conversation was not compressed: the store failed, or the chat is gone");
            return;
        }
    };
    let Some(told) = told else { return };
    if let Err(error) = service.say(user.id, chat, MessageRole::Notice, &told).await {
        tracing::error!(%error, "a notice cannot be kept");
    }
}

/// Reports every turn that an earlier server was cut off in, and continues with those that it had not begun. Called when the
/// server starts.
pub(crate) async fn recover(service: &Arc<House>) -> Result<usize> {
    let open = service.store.open_turns().await?;
    let count = open.len();
    for turn in open {
        let Some(user) = service.store.user_by_id(turn.user).await? else { continue };
        let Some(message) = turn.message else {
            service.store.withdraw_asks(turn.id).await?;
            service.store.finish_turn(turn.id, TurnStatus::Interrupted, None).await?;
            continue;
        };
        let waiting = Waiting { turn: turn.id, message };
        // A sub-agent's turn is part of one that is over.
        let can_begin = turn.status == TurnStatus::Queued && !turn.is_sub_agents;
        match service.queue.reserve(user.id, &turn.chat).filter(|_| can_begin) {
            Some(place) => {
                place.fill(waiting);
                work(service, &user, &turn.chat);
            }
            None => interrupted(service, &user, &turn.chat, waiting).await?,
        }
    }
    Ok(count)
}

/// Ends a turn that was cut off by the end of an earlier server.
async fn interrupted(
    service: &Arc<House>,
    user: &User,
    chat: &ChatId,
    waiting: Waiting,
) -> store::Result<()> {
    service.store.withdraw_asks(waiting.turn).await?;
    restore_words(service, user, chat, waiting.turn).await?;
    let why = INTERRUPTED_BY_DEATH;
    service.store.finish_turn(waiting.turn, TurnStatus::Interrupted, Some(why)).await?;
    let shown = service.store.message(user.id, waiting.message).await?;
    let document = AgentDocument::Reply {
        status: TurnStatus::Interrupted.as_str().into(),
        reasoning: reasoning_of(&shown),
        error: Some(why.to_owned()),
        usage: None,
        waits: false,
    };
    let screen = Screen { service, user, chat, turn: waiting.turn };
    screen.settle_behind(shown.id).await?;
    screen.change(shown.id, &shown.text, &document).await
}

/// Gives a turn's messages, and its conversation, the model's text as it was stored last.
async fn restore_words(service: &Arc<House>, user: &User, chat: &ChatId, turn: TurnId) -> store::Result<()> {
    let store = &service.store;
    for words in store.streamed(turn).await? {
        let stored = store.stored_context(user.id, chat, turn).await?;
        let last = stored.items.last().filter(|item| item.turn == turn);
        let text = match last.and_then(|item| history::from_json(&item.item_json)) {
            // The whole answer was recorded, and only not shown yet.
            Some(Message::Assistant(answer)) => answer.text,
            _ => {
                if !words.text.is_empty() {
                    let said = Assistant { text: words.text.clone(), ..Assistant::default() };
                    store.append_turn_item(turn, &history::to_json(&Message::Assistant(said))).await?;
                }
                words.text
            }
        };
        let mut reasoning = words.reasoning;
        reasoning.truncate(reasoning.floor_char_boundary(REASONING_SHOWN_BYTES));
        let document = AgentDocument::Reply {
            status: TurnStatus::Running.as_str().into(),
            reasoning,
            error: None,
            usage: None,
            waits: false,
        };
        store.update_message(user.id, words.message, &text, Some(&to_json(&document))).await?;
        store.remove_streamed(words.message).await?;
    }
    Ok(())
}

/// The reasoning that an answer shows.
fn reasoning_of(message: &store::Message) -> String {
    match document::agent(message) {
        Some(AgentDocument::Reply { reasoning, .. }) => reasoning,
        Some(AgentDocument::Tool { .. }) | None => String::new(),
    }
}
