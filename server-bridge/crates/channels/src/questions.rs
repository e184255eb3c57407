//! Questions and cards as messengers show them, and what a press on one gives.

use agent::ask::Reply;
use api::card::CardReply;
use api::words::GateReply;
use platforms::Styled;
use platforms::card::{Block, Card};
use serde::{Deserialize, Serialize};
use store::Press;

/// The reply to a button press that has no effect.
pub(crate) const NO_LONGER: &str = "This question was already answered, or no longer waits for an answer.";

/// The reply to a button press of a person who was not asked.
pub(crate) const FOR_OTHERS: &str = "This question is for somebody else.";

/// A question, or a card of the agent.
pub(crate) struct Question {
    /// The first line of the question.
    pub(crate) title: String,
    /// Everything that the user is asked to allow, or the question.
    pub(crate) detail: String,
    /// The card that it is; `None` for a question.
    pub(crate) card: Option<Card>,
    /// The answers to choose from.
    pub(crate) options: Vec<(String, Choice)>,
}

impl Question {
    /// The whole question as a text, with more lines below it.
    pub(crate) fn text(&self, more: &str) -> Styled {
        match &self.card {
            Some(card) => with_lines(card, more).styled(),
            None => Styled::plain(&format!("{}\n{}{more}", self.title, self.detail)),
        }
    }
}

/// The effect of pressing a button of `/settings`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Setting {
    /// The chat whose setting changes.
    pub(crate) chat: String,
    /// The command that is posted.
    pub(crate) command: String,
}

/// What a press on the button of a group's gate answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GateChoice {
    /// The gate.
    pub(crate) gate: i64,
    /// The answer.
    pub(crate) reply: GateReply,
}

/// What a press gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Choice {
    /// A setting of a chat.
    Setting(Setting),
    /// An answer to a gate of a group.
    Gate(GateChoice),
    /// An answer to a card.
    Card(CardReply),
    /// An answer to a question.
    Ask(Reply),
}

impl Choice {
    /// What a press on record gives; `None` for one of a later version.
    pub(crate) fn of(press: &Press) -> Option<Self> {
        serde_json::from_str(&press.reply_json).ok()
    }
}

/// A card with more lines below it, such as numbers to answer with, or its answer.
pub(crate) fn with_lines(card: &Card, lines: &str) -> Card {
    let mut card = card.clone();
    if !lines.trim().is_empty() {
        card.blocks.push(Block::Text(Styled::plain(lines.trim())));
    }
    card
}
