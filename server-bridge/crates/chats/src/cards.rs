//! Answers to cards: each card is answered once, and the answer is posted as the person's own message.
//!
//! ```text
//!   the card's message ─▶ offered? ─▶ posted under an id made from the card's message ─▶ on record in that message, with an audit entry
//! ```
//! Because of the id, a second answer is a conflict, even if the server died before the first one was on record in the card.

use api::card::{CardAnswer, CardDocument, CardReply};
use api::document::{AgentDocument, ToolData};
use sha2::{Digest as _, Sha256};
use store::{AuditEntry, Author, ChatId, Message, MessageId, User, hex};

use crate::house::ChatService;
use crate::sends::{Answered, NewPost};
use crate::stored::to_json;
use crate::{ChatEvent, Error, Result, Surface, document};

/// The name of the action in the audit trail.
const ACTION: &str = "card.answer";

/// The card that a message shows, if it was sent; `None` for any other message.
pub fn card_of(message: &Message) -> Option<CardDocument> {
    match document::agent(message)? {
        AgentDocument::Tool { data: Some(ToolData::Card { card }), .. }
            if card.is_sent && !message.undone =>
        {
            Some(*card)
        }
        AgentDocument::Tool { .. } | AgentDocument::Reply { .. } => None,
    }
}

impl ChatService {
    /// Takes a user's answer to a card in one of their chats, and posts it as their message. If there are several answers, the first one
    /// counts; the same answer again from the same surface gets the result of the first.
    ///
    /// # Errors
    /// [`Error::Store`] for a chat or a message that was deleted or belongs to another user; [`Error::Refused`] if the message shows no
    /// card or a card without a question (`not_found`), if the card does not offer the answer (`invalid`), or if another answer came
    /// first (`conflict`); others as for [`ChatService::say`].
    pub async fn answer_card(
        &self,
        user: &User,
        chat: &ChatId,
        message: MessageId,
        reply: &CardReply,
        surface: Surface<'_>,
    ) -> Result<Answered> {
        let answered = self.take_card(user, chat, message, reply, surface).await;
        let outcome = match &answered {
            Ok(_) => "ok",
            Err(error) => error.kind(),
        };
        let entry = AuditEntry {
            user: Some(user.name.clone()),
            action: ACTION.to_owned(),
            location: None,
            target: format!("message {message} ({})", surface.0),
            outcome: outcome.to_owned(),
        };
        self.0.store.append_audit(&entry).await?;
        answered
    }

    async fn take_card(
        &self,
        user: &User,
        chat: &ChatId,
        message: MessageId,
        reply: &CardReply,
        surface: Surface<'_>,
    ) -> Result<Answered> {
        self.0.store.chat(user.id, chat).await?;
        let shown = self.0.store.message(user.id, message).await?;
        let card = card_of(&shown).filter(|_| shown.chat == *chat);
        let Some(card) = card else {
            return Err(Error::refused("not_found", "this message shows no card that can be answered"));
        };
        let is_again = card.answer.as_ref().is_some_and(|answer| is_same(answer, reply, surface));
        if let (Some(answer), false) = (&card.answer, is_again) {
            return Err(already(answer));
        }
        if !is_again && !cards::open(&card) {
            return Err(Error::refused("not_found", "this card does not ask a question"));
        }
        let text = match cards::message(&card, reply) {
            Ok(text) => text,
            Err(error) => return Err(Error::refused("invalid", error.to_string())),
        };
        let send_id = hex(&Sha256::digest(format!("card/{message}")));
        let said = self
            .say(
                user,
                chat,
                NewPost {
                    text: &text,
                    send_id: Some(&send_id),
                    attachments: &[],
                    author: Author::Owner,
                    client: None,
                },
            )
            .await;
        let answered = match said {
            Err(Error::Refused { kind: "conflict", .. }) => {
                let text = "this card was answered already; the first answer counts";
                return Err(Error::refused("conflict", text));
            }
            other => other?,
        };
        if !is_again {
            self.show_answer(user, &shown, card, reply, surface).await?;
        }
        Ok(answered)
    }

    /// Records an answer in the card's message.
    async fn show_answer(
        &self,
        user: &User,
        shown: &Message,
        mut card: CardDocument,
        reply: &CardReply,
        surface: Surface<'_>,
    ) -> Result<()> {
        let label = cards::label_of(&card, reply).ok().flatten();
        card.answer = Some(CardAnswer {
            reply: reply.clone(),
            label: label.unwrap_or_else(|| "✓".to_owned()),
            surface: surface.0.to_owned(),
            answered_at: self.0.store.now_ms(),
        });
        let Some(mut document) = document::agent(shown) else { return Ok(()) };
        if let AgentDocument::Tool { data, .. } = &mut document {
            *data = Some(ToolData::Card { card: Box::new(card) });
        }
        let json = to_json(&document);
        let changed = self.0.store.update_message(user.id, shown.id, &shown.text, Some(&json)).await?;
        self.0.tell(user.id, ChatEvent::Message(changed));
        Ok(())
    }
}

fn is_same(answer: &CardAnswer, reply: &CardReply, surface: Surface<'_>) -> bool {
    answer.reply == *reply && answer.surface == surface.0
}

/// The error for a user whose answer came after the first one.
fn already(answer: &CardAnswer) -> Error {
    let CardAnswer { label, surface, .. } = answer;
    Error::refused(
        "conflict",
        format!("this card was answered already ({label}, from {surface}); the first answer counts"),
    )
}
