//! The turns that an earlier server left: queued ones begin, those in progress go on.

use std::sync::Arc;

use agent::context::history;
use agent::limits::REASONING_SHOWN_BYTES;
use api::document::AgentDocument;
use llm::{Assistant, Message};
use store::{ChatId, TurnId, TurnStatus, User, UserId};

use super::work;
use crate::house::House;
use crate::queue::Waiting;
use crate::stored::{Screen, to_json};
use crate::{Result, document};

/// The error of a turn that does not go on.
const GIVEN_UP: &str = "the server was stopped during this answer; what was done so far is kept, but the last 5 s of what was said may \
be missing. Send any message to go on.";

/// Goes on with every turn, of a user or of all users, that an earlier server left: see `agent::engine` for those in progress. A sub-agent's turn is part of
/// another one, which says that it was cut off. Called when the server starts, or
/// claims the user's home.
pub(crate) async fn recover(service: &Arc<House>, of: Option<UserId>) -> Result<usize> {
    let open = service.store.open_turns(of).await?;
    let count = open.len();
    for turn in open {
        let Some(user) = service.store.user_by_id(turn.user).await? else { continue };
        let Some(message) = turn.message else {
            service.store.withdraw_asks(turn.id).await?;
            service.store.finish_turn(turn.id, TurnStatus::Interrupted, None).await?;
            continue;
        };
        let was_begun = turn.status == TurnStatus::Running;
        let waiting = Waiting { turn: turn.id, message, goes_on: was_begun };
        let ending = if turn.is_cancelled {
            Some((TurnStatus::Cancelled, None))
        } else if turn.is_sub_agents || was_begun && !service.store.resume_turn(turn.id).await? {
            Some((TurnStatus::Interrupted, Some(GIVEN_UP)))
        } else {
            None
        };
        match ending {
            Some(ending) => end(service, &user, &turn.chat, waiting, ending).await?,
            None => {
                service.queue.restore(user.id, &turn.chat).fill(waiting);
                work(service, &user, &turn.chat);
            }
        }
    }
    Ok(count)
}

/// Ends a turn that an earlier server was cut off in.
async fn end(
    service: &Arc<House>,
    user: &User,
    chat: &ChatId,
    waiting: Waiting,
    (status, why): (TurnStatus, Option<&str>),
) -> store::Result<()> {
    service.store.withdraw_asks(waiting.turn).await?;
    restore_words(service, user, chat, waiting.turn).await?;
    let shown = service.store.message(user.id, waiting.message).await?;
    let document = AgentDocument::Reply {
        status: status.as_str().into(),
        reasoning: reasoning_of(&shown),
        error: why.map(|why| service.in_words_of(user.id, why)),
        usage: None,
        waits: false,
    };
    let screen = Screen { service, user, chat, turn: waiting.turn };
    screen.settle_behind(shown.id).await?;
    screen.end(shown.id, (status, why), &shown.text, &document).await
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
