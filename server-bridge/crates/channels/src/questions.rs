//! Questions and cards in the form that messengers show, and the choices that presses stand for.

use agent::ask::Reply;
use api::card::CardReply;
use api::words::GateReply;
use platforms::Styled;
use platforms::card::{Block, Card};
use serde::{Deserialize, Serialize};
use store::Press;

/// The reply to a button press that has no effect.
pub(crate) const NO_LONGER: &str = "This question was already answered, or no longer waits for an answer.";

/// The reply to a button press by a person who was not asked.
pub(crate) const FOR_OTHERS: &str = "This question is for somebody else.";

/// A question or a card from an agent.
pub(crate) struct Question {
    /// The first line of the question.
    pub(crate) title: String,
    /// The question, or everything that the user is asked to allow.
    pub(crate) detail: String,
    /// The card; `None` for a question.
    pub(crate) card: Option<Card>,
    /// The answers to choose from.
    pub(crate) options: Vec<(String, Choice)>,
}

impl Question {
    /// Renders the whole question as a text, with more lines below it.
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
    /// The command that is posted to the chat.
    pub(crate) command: String,
}

/// The answer to a group's gate that a press stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GateChoice {
    /// The gate's id.
    pub(crate) gate: i64,
    /// The answer to the gate.
    pub(crate) reply: GateReply,
}

/// The choice that a press stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Choice {
    /// A change to a setting of a chat.
    Setting(Setting),
    /// An answer to a gate of a group.
    Gate(GateChoice),
    /// An answer to a card.
    Card(CardReply),
    /// An answer to a question.
    Ask(Reply),
}

impl Choice {
    /// Reads the choice that a recorded press stands for; `None` if a later version recorded it.
    pub(crate) fn of(press: &Press) -> Option<Self> {
        serde_json::from_str(&press.reply_json).ok()
    }
}

/// Adds lines below a card, such as the numbers to answer with, or the answer.
pub(crate) fn with_lines(card: &Card, lines: &str) -> Card {
    let mut card = card.clone();
    if !lines.trim().is_empty() {
        card.blocks.push(Block::Text(Styled::plain(lines.trim())));
    }
    card
}
