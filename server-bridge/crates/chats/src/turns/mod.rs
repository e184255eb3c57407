//! A model's answers: turns, one after the other in each chat.
//!
//! ```text
//! post ─▶ queue (32 a chat) ─▶ the engine's turn ─▶ the next one
//! ```
//! | module | holds |
//! |---|---|
//! | `background` | sub-agents in the background, and the notifications of the agents that called them |
//! | `recover` | the turns that were open when an earlier run of the server ended |
//! | `rest` | keeping a chat at rest: nothing is in progress in it, and nothing begins |

mod background;
mod recover;
mod rest;

use std::sync::Arc;

use api::tui::ClientId;
use llm::{Assistant, Content, Message, ToolCall};
use store::{ChatId, MessageId, MessageRole, TurnId, TurnStatus, User};

use tokio_util::sync::CancellationToken;

use crate::house::House;
use crate::pictures;
use crate::queue::{Job, Waiting, Worker};
use crate::stored::{Stored, attend_all, give_up_below, reply, to_json};
use crate::{ChatEvent, Result, titles};
use agent::context::history;
use agent::engine::{Ports, Turn, TurnAncestry};
use agent::tool::Toolbox;
pub(crate) use background::begin_soon;
pub(crate) use recover::recover;
pub(crate) use rest::rest;

/// Queues a message for the model, which may have been written in a terminal; returns the message that will show the answer, which follows
/// as events. `None` if too many messages are queued.
pub(crate) async fn post(
    house: &Arc<House>,
    user: &User,
    chat: &ChatId,
    said: (MessageId, &str),
    client: Option<ClientId>,
) -> Result<Option<store::Message>> {
    post_with(house, user, chat, said, (None, client)).await
}

/// Like [`post`], for a message that `call` answers in place of the chat's model.
pub(crate) async fn post_call(
    house: &Arc<House>,
    user: &User,
    chat: &ChatId,
    said: (MessageId, &str),
    call: ToolCall,
) -> Result<Option<store::Message>> {
    let answer = Assistant { tool_calls: vec![call], ..Assistant::default() };
    let item = history::to_json(&Message::Assistant(answer));
    post_with(house, user, chat, said, (Some(&item), None)).await
}

async fn post_with(
    house: &Arc<House>,
    user: &User,
    chat: &ChatId,
    (said, text): (MessageId, &str),
    (more, client): (Option<&str>, Option<ClientId>),
) -> Result<Option<store::Message>> {
    let Some(place) = house.queue.reserve(user.id, chat) else { return Ok(None) };
    let images = pictures::of_message(house, user, chat, text).await;
    let content = std::iter::once(Content::Text(text.to_owned())).chain(images).collect();
    let item = history::to_json(&Message::User(content));
    let document = to_json(&reply(TurnStatus::Queued));
    // This is one change, so a server that dies here has posted either nothing or a turn that its next run begins.
    let (shown, turn) = house.store.queue_shown_turn(user.id, chat, said, &document, (&item, more)).await?;
    house.tell(user.id, ChatEvent::Message(shown.clone()));
    let waiting = Waiting { turn, message: shown.id, goes_on: false, is_background: false, client };
    place.fill(waiting);
    work(house, user, chat);
    Ok(Some(shown))
}

/// Has a chat compressed before its model is asked again: by the turn in progress, otherwise at once.
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
    // The database may be unreachable for a while; a model's words and actions must not be lost meanwhile.
    let stop = service.stops.of(user.id);
    tasks.spawn(store::patiently(async move {
        while let Some((job, cancelled)) = worker.next() {
            if stop.is_cancelled() {
                // The turn is still queued on record, and the server's next run begins it.
                return worker.leave();
            }
            let (service, user, chat, cancelled) = (&service, &user, &chat, &cancelled);
            match job {
                Job::Turn(Waiting { turn, message, goes_on, is_background, client }) => {
                    let _seated =
                        client.map(|client| service.terminals.seat(turn, (user.id, chat), client));
                    // Until the turn takes them up, no other code ends the commands that its calls began.
                    let _attended = match goes_on {
                        true => attend_all(service, user, chat, turn).await,
                        false => Vec::new(),
                    };
                    if is_background {
                        background::run(service, user, turn, (cancelled, &stop)).await;
                        continue;
                    }
                    // The tools may have to wait for machines and servers, unless the turn's user stops it.
                    let tools = tokio::select! {
                        tools = tools_of(service, user, chat) => tools,
                        () = cancelled.cancelled() => Toolbox::default(),
                        () = stop.cancelled() => Toolbox::default(),
                    };
                    let (ports, ancestry) = top(service, user, chat, turn, tools);
                    let stops = (cancelled, &stop);
                    let end = of(service, user, chat, (turn, message), stops, &ports, &ancestry).run().await;
                    if let Some(end) = end.filter(|_| goes_on)
                        && let Err(error) = give_up_below(service, user, chat, end.status).await
                    {
                        tracing::error!(%error, %chat, "the turns of sub-agents that are not resumed could not be ended, and stay open");
                    }
                    titles::give_soon(service, user, chat, turn);
                    background::begin_left(service, user, chat).await;
                }
                Job::Tell => background::tell_logged(service, user, chat).await,
                Job::Compress => compress(service, user, chat, (cancelled, &stop)).await,
            }
        }
    }));
}

/// The tools of a new turn: those of its user; for an agent of a group, only those that its owner chose.
async fn tools_of(service: &House, user: &User, chat: &ChatId) -> Toolbox {
    let all = service.tools.snapshot_for(user, chat).await;
    match store::until_done(|| service.store.tools_of_agent_in(chat)).await {
        Ok(None) => all,
        Ok(Some(names)) => {
            // A list that cannot be parsed allows no tool.
            let names: Vec<String> = serde_json::from_str(&names).unwrap_or_default();
            all.named(rules::names::among(&names))
        }
        Err(error) => {
            tracing::error!(%error, %chat, "the tools of a turn could not be loaded, so it has none");
            Toolbox::default()
        }
    }
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
    let tools = if service.terminals.has(turn) { tools } else { tools.without_terminal() };
    (ports, TurnAncestry::top(chat, turn, tools, display))
}

/// A turn with all its inputs, ready to run.
fn of<'a>(
    service: &'a House,
    user: &'a User,
    chat: &'a ChatId,
    (turn, message): (TurnId, MessageId),
    (cancelled, stop): (&'a CancellationToken, &'a CancellationToken),
    ports: &'a Ports,
    ancestry: &'a TurnAncestry,
) -> Turn<'a> {
    let (parts, hooks) = (&service.prompt, &service.hooks);
    let context = service.settings.context_mode();
    Turn { ports, parts, hooks, user, chat, turn, message, cancelled, stop, ancestry, context }
}

/// Compresses a chat in which nothing is in progress.
async fn compress(
    service: &Arc<House>,
    user: &User,
    chat: &ChatId,
    stops: (&CancellationToken, &CancellationToken),
) {
    let told = match service.store.last_begun_turn(user.id, chat).await {
        Ok(Some(last)) => {
            let (ports, ancestry) = top(service, user, chat, last, service.tools.snapshot());
            // There is no answer to show, so the message's id is 0.
            of(service, user, chat, (last, MessageId(0)), stops, &ports, &ancestry).compress_alone().await
        }
        Ok(None) => Some("The conversation was not compressed: nothing has been said yet.".to_owned()),
        Err(error) => {
            tracing::error!(%error, "a conversation was not compressed because the store failed or the chat was deleted");
            return;
        }
    };
    let Some(told) = told else { return };
    if let Err(error) = service.say(user.id, chat, MessageRole::Notice, &told).await {
        tracing::error!(%error, "a notice cannot be stored");
    }
}
