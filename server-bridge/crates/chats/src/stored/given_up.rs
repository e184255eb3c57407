//! Ends turns that a restart interrupted and that are not resumed.

use std::sync::Arc;

use agent::context::history;
use agent::limits::REASONING_SHOWN_BYTES;
use api::document::AgentDocument;
use llm::{Assistant, Message};
use store::{ChatId, MessageId, TurnId, TurnStatus, User};

use super::{Screen, to_json};
use crate::document;
use crate::house::House;

/// The error of a turn that is not resumed.
pub(crate) const GIVEN_UP: &str = "the server was stopped during this answer; what was done so far is kept, but the last 5 s of what was said may \
be missing. Send any message to go on.";

/// Ends, without resuming them, the interrupted turns of sub-agents below a conversation whose turn has ended with this status.
pub(crate) async fn give_up_below(
    service: &Arc<House>,
    user: &User,
    chat: &ChatId,
    status: TurnStatus,
) -> store::Result<()> {
    let ending = match status {
        TurnStatus::Cancelled => (TurnStatus::Cancelled, None),
        _ => (TurnStatus::Interrupted, Some(GIVEN_UP)),
    };
    for open in service.store.open_turns_below(user.id, chat).await? {
        match open.message {
            Some(message) => give_up(service, user, &open.chat, (open.id, message), ending).await?,
            None => {
                service.store.finish_turn(open.id, ending.0, None).await?;
            }
        }
    }
    Ok(())
}

/// Ends an interrupted turn; its answer is shown by this message.
pub(crate) async fn give_up(
    service: &Arc<House>,
    user: &User,
    chat: &ChatId,
    (turn, message): (TurnId, MessageId),
    (status, why): (TurnStatus, Option<&str>),
) -> store::Result<()> {
    service.store.withdraw_asks(turn).await?;
    restore_words(service, user, chat, turn).await?;
    let shown = service.store.message(user.id, message).await?;
    let document = AgentDocument::Reply {
        status: status.as_str().into(),
        reasoning: reasoning_of(&shown),
        error: why.map(|why| service.in_words_of(user.id, why)),
        usage: None,
        waits: false,
    };
    let screen = Screen { service, user, chat, turn };
    screen.settle_behind(shown.id).await?;
    screen.end(shown.id, (status, why), &shown.text, &document).await
}

/// Restores the last stored text of the model into the turn's messages and conversation.
async fn restore_words(service: &Arc<House>, user: &User, chat: &ChatId, turn: TurnId) -> store::Result<()> {
    let store = &service.store;
    for words in store.streamed(turn).await? {
        let stored = store.stored_context(user.id, chat, turn).await?;
        let last = stored.items.last().filter(|item| item.turn == turn);
        let text = match last.and_then(|item| history::from_json(&item.item_json)) {
            // The complete answer was recorded, but not shown yet.
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
