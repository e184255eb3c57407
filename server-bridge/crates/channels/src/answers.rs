//! Turns complete answers into messages for the messenger.

use platforms::{Outgoing, Platform, Styled};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use store::{ChannelAnswer, ChatId, MessageRole, NewOutgoing, UserId, hex};

use crate::error::Result;
use crate::house::Live;
use crate::house::{Inner, to_json};
use crate::limits::PARTS_MAX;
use crate::outgoing::{ANSWER, Payload};
use crate::words;

/// The destination of messages.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) conversation: String,
    pub(crate) is_group: bool,
    /// The data that the messenger needs for a reply, as JSON.
    pub(crate) reply_json: String,
    pub(crate) user: Option<UserId>,
}

impl Target {
    /// The target of an answer.
    pub(crate) fn of(answer: &ChannelAnswer) -> Self {
        Self {
            conversation: answer.conversation.clone(),
            is_group: answer.is_group,
            reply_json: answer.reply_json.clone(),
            user: Some(answer.user),
        }
    }

    /// The target of a message that answers nothing: a conversation, without reply data.
    pub(crate) fn unasked(conversation: &str, is_group: bool, user: Option<UserId>) -> Self {
        let reply_json = Value::Null.to_string();
        Self { conversation: conversation.to_owned(), is_group, reply_json, user }
    }

    /// Creates the rows of messages, which belong to `source`; each has its own key.
    pub(crate) fn rows(&self, account: i64, source: &str, payloads: Vec<Payload>) -> Vec<NewOutgoing> {
        let row = |(part, payload): (usize, Payload)| NewOutgoing {
            conversation: self.conversation.clone(),
            is_group: self.is_group,
            reply_json: self.reply_json.clone(),
            user: self.user,
            source: source.to_owned(),
            part: i64::try_from(part).unwrap_or(i64::MAX),
            send_key: hex(&Sha256::digest(format!("channel/{account}/{source}/{part}"))),
            payload_json: to_json(&payload),
            ..NewOutgoing::default()
        };
        payloads.into_iter().enumerate().map(row).collect()
    }
}

/// Wraps a message as a payload.
pub(crate) fn message(message: Outgoing) -> Payload {
    Payload::Message { message, text: String::new() }
}

/// Splits a text into messages, at most [`PARTS_MAX`]; `rest` replaces the part that does not fit.
pub(crate) fn parts(platform: &dyn Platform, text: &Styled, rest: &str) -> Vec<Payload> {
    let replies_max = platform.caps().replies_max.and_then(|most| usize::try_from(most).ok());
    let most = replies_max.unwrap_or(PARTS_MAX).clamp(1, PARTS_MAX);
    let mut rendered = platform.render(text, &[]);
    if rendered.len() > most {
        rendered.truncate(most - 1);
        rendered.extend(platform.render(&Styled::markdown(rest), &[]).into_iter().take(1));
    }
    rendered.into_iter().map(message).collect()
}

impl Inner {
    /// Puts a complete answer into the outbox.
    pub(crate) async fn complete(&self, live: &Live, answer: &ChannelAnswer) -> Result<()> {
        let language = self.chats.language(answer.user);
        let shown = match self.store.message(answer.user, answer.message).await {
            Ok(shown) => shown,
            // The answer's chat was deleted in the meantime.
            Err(store::Error::NotFound { .. }) => {
                self.store.complete_answer(answer, &[]).await?;
                return self.end_orphans().await;
            }
            Err(error) => return Err(error.into()),
        };
        let text = match shown.role {
            MessageRole::Exec => Styled::markdown(&words::of_command(&shown, language)),
            MessageRole::Assistant => {
                let messages = self.store.turn_messages(answer.user, shown.id).await?;
                self.send_cards(live, answer, &messages).await?;
                Styled::markdown(&words::of_turn(&messages, answer, language))
            }
            MessageRole::Notice | MessageRole::User => Styled::plain(&shown.text),
        };
        let target = Target::of(answer);
        let rest = self.rest(answer.user, &shown.chat);
        let payloads = parts(&*live.platform, &text, &rest);
        let mut rows = target.rows(live.account.id, &format!("{ANSWER}{}", answer.inbox_id), payloads);
        let _changing = self.drafts.changing.lock().await;
        match self.store.end_draft(answer).await? {
            Some(draft) if draft.is_passed => {
                // If the answer replaced the draft in place, it would appear above newer messages, where people might not notice it.
                rows.insert(0, self.replacement(live, &target, draft.id, "↓ The answer is below."));
            }
            Some(draft) => {
                if let Some(first) = rows.first_mut() {
                    first.edit_of = Some(draft.id);
                }
            }
            None => {}
        }
        self.store.complete_answer(answer, &rows).await?;
        self.wake.notify_one();
        Ok(())
    }

    /// The text that replaces the rest of a long answer.
    pub(crate) fn rest(&self, user: UserId, chat: &ChatId) -> String {
        let text = match &self.around.public_url {
            Some(base) => format!("… The rest is on the page: {base}/#/chats/{chat}"),
            None => "… The rest is on the server's page, in this chat.".to_owned(),
        };
        self.chats.language(user).translated(&text).into_owned()
    }
}
