//! Cards of agents are shown as the messenger's own cards; a press on one becomes a message from the person.
//!
//! ```text
//!   card_send ─▶ the same path as a question: a message with tokens ─▶ pressed by the person who was asked, once, in time
//!                                                   │                      └─▶ on record ─▶ posted to the chat ─▶ answered there
//!   the message shows the answer ◀── the card changes ◀──────────────────────────────┘
//! ```
//! A card whose fields have to be filled in gets no buttons: the person fills it in on the page, or answers in their own words.

use std::sync::Arc;

use api::card::{CardDocument, CardPart, CardReply, CardTone};
use api::language::Language;
use chats::card_of;
use platforms::Styled;
use platforms::card::{Block, Card, Tone};
use store::{AuditEntry, ChannelAnswer, OpenAsk, Press, User};

use crate::answers::Target;
use crate::error::Result;
use crate::house::{Inner, Live};
use crate::incoming::{Handled, Incoming};
use crate::questions::{Choice, NO_LONGER, Question, with_lines};

/// A part of the JSON document of every card that was sent, by which such cards are recognized.
pub(crate) const SENT_CARD: &str = "\"is_sent\":true";

/// Converts a card to a question.
pub(crate) fn of_card(card: &CardDocument, language: Language) -> Question {
    let say = |text: &str| language.translated(text).into_owned();
    let choices = cards::choices(card);
    let mut shown = neutral(card);
    if choices.is_none() {
        shown.blocks.push(Block::Text(Styled::plain(&say(
            "Fill in this card on the server's page, or answer here in your own words.",
        ))));
    }
    let options = choices.unwrap_or_default().into_iter();
    let options = options.map(|choice| (choice.label, Choice::Card(choice.reply))).collect();
    Question { title: card.title.clone(), detail: String::new(), card: Some(shown), options }
}

/// Converts a card to the neutral form that platforms can render.
fn neutral(card: &CardDocument) -> Card {
    let tone = match card.tone {
        CardTone::Plain => Tone::Plain,
        CardTone::Primary => Tone::Primary,
        CardTone::Success => Tone::Success,
        CardTone::Warning => Tone::Warning,
        CardTone::Danger => Tone::Danger,
    };
    let mut blocks = Vec::new();
    for block in &card.blocks {
        // Messengers are too narrow for columns, so the parts are shown one below another in every layout.
        if !block.title.is_empty() {
            let mut title = Styled::default();
            for mut piece in Styled::plain(&block.title).pieces {
                piece.style.bold = true;
                title.pieces.push(piece);
            }
            blocks.push(Block::Text(title));
        }
        blocks.extend(block.parts.iter().filter_map(part));
    }
    Card { title: card.title.clone(), tone, blocks }
}

/// Converts a part of a card; `None` for a button, which is shown below the card.
fn part(part: &CardPart) -> Option<Block> {
    let required = |is_required: bool| if is_required { " *" } else { "" };
    Some(match part {
        CardPart::Text { text } => Block::Text(Styled::markdown(text)),
        CardPart::Fields { fields } => {
            Block::Fields(fields.iter().map(|field| (field.name.clone(), field.value.clone())).collect())
        }
        CardPart::Table { columns, rows } => Block::Table { columns: columns.clone(), rows: rows.clone() },
        CardPart::Link { text, url } => {
            let mut link = Styled::plain(text);
            for piece in &mut link.pieces {
                piece.style.link = Some(url.clone());
            }
            Block::Text(link)
        }
        CardPart::Divider => Block::Divider,
        CardPart::Button { .. } => return None,
        CardPart::Select { label, options, is_required, .. } => {
            let text = format!("{label}{}: {}", required(*is_required), options.join(" / "));
            Block::Text(Styled::plain(&text))
        }
        CardPart::Input { label, is_required, .. } => {
            Block::Text(Styled::plain(&format!("{label}{}: ____", required(*is_required))))
        }
    })
}

impl Inner {
    /// Sends the cards of a complete answer, unless they were sent while it was in progress.
    pub(crate) async fn send_cards(
        &self,
        live: &Live,
        answer: &ChannelAnswer,
        messages: &[store::Message],
    ) -> Result<()> {
        for shown in messages {
            if let Some(card) = card_of(shown).filter(|card| card.answer.is_none()) {
                let question = of_card(&card, self.chats.language(answer.user));
                self.ask_there(live, (answer.user, &Target::of(answer)), shown, &question).await?;
            }
        }
        Ok(())
    }

    /// Returns the card of a question, with the outcome below it; `None` for a question without a card.
    pub(crate) async fn card_with(&self, ask: &OpenAsk, outcome: &str) -> Result<Option<Card>> {
        let (Some(user), Some(message)) = (ask.user, ask.ask) else { return Ok(None) };
        let shown = match self.store.message(user, message).await {
            Ok(shown) => shown,
            Err(store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        Ok(card_of(&shown).map(|card| with_lines(&neutral(&card), &format!("→ {outcome}"))))
    }

    /// Handles a press on a card; returns the text for the person who pressed.
    pub(crate) async fn press_card(
        self: &Arc<Self>,
        incoming: &Incoming<'_>,
        user: &User,
        press: &Press,
        reply: CardReply,
    ) -> Result<(String, Handled)> {
        let none = |text: &str| Ok((text.to_owned(), Handled::silent()));
        let Some(message) = press.ask else { return none(NO_LONGER) };
        let shown = match self.store.message(user.id, message).await {
            Ok(shown) => shown,
            Err(store::Error::NotFound { .. }) => return none(NO_LONGER),
            Err(error) => return Err(error.into()),
        };
        let Some(card) = card_of(&shown).filter(cards::open) else {
            self.refused_card(incoming, user, press, "answered already").await;
            return none(NO_LONGER);
        };
        let Ok(text) = cards::message(&card, &reply) else { return none(NO_LONGER) };
        let handled = self.post_card(incoming, user, &shown.chat, text, (message, reply)).await?;
        Ok((press.label.clone(), handled))
    }

    /// Records a press that had no effect.
    pub(crate) async fn refused_card(&self, incoming: &Incoming<'_>, user: &User, press: &Press, why: &str) {
        let message = press.ask.map_or_else(String::new, |message| message.to_string());
        let entry = AuditEntry {
            user: Some(user.name.clone()),
            action: "card.answer".to_owned(),
            target: format!("message {message} ({})", incoming.live.account.kind),
            outcome: format!("refused: {why}"),
            ..AuditEntry::default()
        };
        if let Err(error) = self.store.append_audit(&entry).await {
            tracing::error!(%error, "a press on a card could not be recorded");
        }
    }
}
