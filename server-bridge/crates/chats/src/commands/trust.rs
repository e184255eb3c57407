//! `/trust`: asks about definitions of the workspace that the user has not approved.
//!
//! The question does not belong to a turn: a background task waits for its answer, and a restarted server ends questions that are still open.

use std::sync::Arc;

use agent::ask::{Ask, Kind};
use agent::limits::QUESTION_PATIENCE;
use api::document::{AgentDocument, ToolData};
use api::words::ToolStatus;
use store::{ChatId, MessageId, MessageRole, User, UserId};

use super::{Command, Context};
use crate::house::House;
use crate::stored::to_json;
use crate::{ChatEvent, Posted, Result};

pub(super) const COMMAND: Command = Command {
    word: "trust",
    usage: &[("/trust", "show what the workspace defines that you have not approved, and ask for approval")],
    run: |context, _| Box::pin(run(context)),
};

/// The name of the question's card, as a tool.
const CARD: &str = "trust";
const APPROVE: &str = "Approve all of it";
const NOT_NOW: &str = "Not now";
/// The text of a question that ended without an approval.
const NOTHING: &str = "Nothing was approved.";

async fn run(context: &Context<'_>) -> Result<Posted> {
    let Context { service, user, chat, .. } = context;
    let Some(trusts) = service.trusts.get() else {
        return context.refusal("unavailable", "This server has no extensions to approve.").await;
    };
    let waiting = match trusts.waiting(user, &chat.id).await {
        Ok(waiting) => waiting,
        Err(why) => return context.refusal("unavailable", &why).await,
    };
    let text = context.in_words(&waiting.text);
    if waiting.hashes.is_empty() {
        return context.notice_as_it_is(&text).await;
    }
    let options = [APPROVE, NOT_NOW].map(|option| context.in_words(option));
    let data = Some(ToolData::Question { options: options.to_vec() });
    let card = document(ToolStatus::Asking, text, data);
    let store = &service.store;
    let role = MessageRole::Assistant;
    let message = store.append_message(user.id, &chat.id, role, "", Some(&to_json(&card))).await?;
    let patience_ms = i64::try_from(QUESTION_PATIENCE.as_millis()).unwrap_or(i64::MAX);
    store.put_ask(user.id, message.id, Kind::Words.as_str(), patience_ms).await?;
    let mut asking =
        service.asks.wait(user.id, message.id, Ask { kind: Kind::Words, patience: QUESTION_PATIENCE });
    service.tell(user.id, ChatEvent::Message(message.clone()));
    let (service, user, chat, id) = (Arc::clone(service), User::clone(user), chat.id.clone(), message.id);
    let stop = service.stops.of(user.id);
    service.tasks.clone().spawn(async move {
        let words = tokio::select! {
            words = asking.words() => words,
            () = stop.cancelled() => None,
        };
        let (status, result) = match words.as_deref() {
            Some(words) if words == options[0] || words == APPROVE => {
                approved(&service, &user, &chat, &waiting.hashes).await
            }
            Some(_) => (ToolStatus::Denied, NOTHING.to_owned()),
            // Nobody answered, or the server stops.
            None => (ToolStatus::Cancelled, NOTHING.to_owned()),
        };
        let result = service.in_words_of(user.id, &result);
        end(&service, &user, id, status, result).await;
    });
    Ok(Posted { messages: vec![message], ..Posted::default() })
}

/// Approves the definitions that were shown; returns the card's status and text.
async fn approved(service: &House, user: &User, chat: &ChatId, hashes: &[String]) -> (ToolStatus, String) {
    let Some(trusts) = service.trusts.get() else { return (ToolStatus::Failed, String::new()) };
    match trusts.approve(user, chat, hashes).await {
        Ok(count) if count == hashes.len() => {
            (ToolStatus::Done, format!("Approved: {count}. Approvals take effect from the next message on."))
        }
        Ok(count) => {
            let rest = hashes.len() - count;
            let text = format!(
                "Approved: {count}. Changed since they were shown, and not approved: {rest}. Write /trust again."
            );
            (ToolStatus::Done, text)
        }
        Err(why) => (ToolStatus::Failed, why),
    }
}

/// Ends a question's card. A failure is only logged, because the approvals are already on record.
async fn end(service: &House, user: &User, message: MessageId, status: ToolStatus, text: String) {
    let store = &service.store;
    let ended = async {
        store.withdraw_ask(user.id, message).await?;
        store.update_message(user.id, message, "", Some(&to_json(&document(status, text, None)))).await
    };
    match ended.await {
        Ok(message) => service.tell(user.id, ChatEvent::Message(message)),
        Err(error) => tracing::warn!(%error, "the end of a question about trust could not be shown"),
    }
}

/// Ends the questions to a user, or to all users, that were still open when an earlier run of the server ended.
pub(crate) async fn recover(service: &House, of: Option<UserId>) -> Result<()> {
    for (user, message) in service.store.asks_outside_turns(of).await? {
        let Some(user) = service.store.user_by_id(user).await? else { continue };
        let text = service.in_words_of(user.id, NOTHING);
        end(service, &user, message, ToolStatus::Cancelled, text).await;
    }
    Ok(())
}

fn document(status: ToolStatus, detail: String, data: Option<ToolData>) -> AgentDocument {
    AgentDocument::Tool {
        tool: CARD.to_owned(),
        hint: String::new(),
        status,
        place: None,
        detail,
        approval: None,
        data,
        sub_agent: None,
        asked_by: None,
        duration_ms: None,
    }
}
