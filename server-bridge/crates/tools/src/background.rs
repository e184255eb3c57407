//! Sub-agents in the background, as tasks: a task's id is the id of the sub-agent's chat.

use serde_json::Value;
use store::{BackgroundTurn, ChatId, MessageRole, Store, User};

use crate::limits::{TASK_MESSAGES, TASKS_LISTED};

/// The sub-agents that a chat's agent called in the background, the most recently called first. A sub-agent that was called several times
/// is listed with its last call.
///
/// # Errors
/// [`store::Error::Database`].
pub async fn list(store: &Store, user: &User, chat: &ChatId) -> store::Result<Vec<BackgroundTurn>> {
    let mut found = store.background_below(user.id, chat, TASKS_LISTED).await?;
    let mut seen = std::collections::HashSet::new();
    found.retain(|turn| seen.insert(turn.chat.clone()));
    Ok(found)
}

/// The background sub-agent with this id; `None` if the chat has none.
///
/// # Errors
/// [`store::Error::Database`].
pub async fn find(
    store: &Store,
    user: &User,
    chat: &ChatId,
    id: &str,
) -> store::Result<Option<BackgroundTurn>> {
    let Ok(agent) = ChatId::parse(id) else { return Ok(None) };
    store.background_of(user.id, chat, &agent).await
}

/// The id, state and name of a sub-agent, on one line.
#[must_use]
pub fn line(turn: &BackgroundTurn) -> String {
    let names: Vec<&str> = turn.role.iter().chain(&turn.instance).map(String::as_str).collect();
    let name = if names.is_empty() { String::new() } else { format!(" {}", names.join(" ")) };
    format!("{} {}: sub-agent{name}", turn.chat, turn.status.as_str())
}

/// The result of a sub-agent or, if it has not ended, its last text.
///
/// # Errors
/// [`store::Error::Database`].
pub async fn words(store: &Store, user: &User, turn: &BackgroundTurn) -> store::Result<String> {
    if let Some(result) = &turn.result_text {
        return Ok(result.clone());
    }
    let (messages, _) = store.messages(user.id, &turn.chat, None, TASK_MESSAGES).await?;
    let said = messages.into_iter().rev().find(|message| {
        // The card of a tool is an assistant's message too, but not a text of the model.
        let document: Value =
            serde_json::from_str(message.document_json.as_deref().unwrap_or("{}")).unwrap_or_default();
        let is_reply = document["kind"] == "reply";
        message.role == MessageRole::Assistant && is_reply && !message.text.trim().is_empty()
    });
    Ok(match said {
        Some(message) => format!("(It has not ended. Its last text:)\n{}", message.text.trim()),
        None => "(It has not ended, and has written nothing so far.)".to_owned(),
    })
}
