//! Cards: what an agent shows as one piece, with buttons and fields that its user answers with.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The tone of a card or a button.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CardTone {
    /// Nothing special.
    #[default]
    Plain,
    /// The main thing: a title that informs, a button that goes on.
    Primary,
    /// Something went well.
    Success,
    /// Care is needed.
    Warning,
    /// Something failed, or a button that cannot be taken back.
    Danger,
}

/// How the parts of a block stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CardLayout {
    /// Below each other.
    #[default]
    Stack,
    /// Side by side, where there is room.
    Columns,
}

/// A card. Its texts are data: only those of [`CardPart::Text`] are read as Markdown. Crate `cards` has the limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CardDocument {
    /// Its id, by which the agent goes on building it.
    pub card_id: String,
    /// Its title, on one line.
    pub title: String,
    /// Its tone.
    pub tone: CardTone,
    /// Its blocks, in their order.
    pub blocks: Vec<CardBlock>,
    /// True once it was sent: it can be answered, and no longer be changed.
    pub is_sent: bool,
    /// The answer that was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub answer: Option<CardAnswer>,
}

/// Parts of a card that belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CardBlock {
    /// How they stand.
    pub layout: CardLayout,
    /// Their heading, on one line; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The parts, in their order.
    pub parts: Vec<CardPart>,
}

/// A part of a card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CardPart {
    /// A text in Markdown.
    Text {
        /// The text.
        text: String,
    },
    /// Names with their values.
    Fields {
        /// In their order.
        fields: Vec<CardField>,
    },
    /// A table.
    Table {
        /// The headings of its columns.
        columns: Vec<String>,
        /// Its rows, each with as many cells as there are columns.
        rows: Vec<Vec<String>>,
    },
    /// A link.
    Link {
        /// What it says.
        text: String,
        /// Where it leads: `http` or `https`.
        url: String,
    },
    /// A line between parts.
    Divider,
    /// A button, which answers the card.
    Button {
        /// Its name in the answer.
        name: String,
        /// What it says.
        label: String,
        /// Its tone.
        tone: CardTone,
    },
    /// A choice of one option.
    Select {
        /// Its name in the answer.
        name: String,
        /// What it asks for.
        label: String,
        /// The options.
        options: Vec<String>,
        /// True if one has to be chosen.
        is_required: bool,
    },
    /// A field for words.
    Input {
        /// Its name in the answer.
        name: String,
        /// What it asks for.
        label: String,
        /// What stands in it while it is empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        placeholder: String,
        /// True if it takes several lines.
        is_long: bool,
        /// True if it has to be filled in.
        is_required: bool,
    },
}

/// A name with its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CardField {
    /// The name.
    pub name: String,
    /// The value.
    pub value: String,
}

/// What a person answers a card with: a button, and the values of the fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CardReply {
    /// The name of the button; empty for a card that has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub button: String,
    /// The values of its fields and choices, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
}

/// The answer to a card that was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CardAnswer {
    /// What was answered.
    pub reply: CardReply,
    /// The answer in words: the button's label, or the option.
    pub label: String,
    /// Where it came from: `page`, or a messenger's or key's name.
    pub surface: String,
    /// When, in Unix milliseconds.
    pub answered_at: i64,
}

/// A person's answer to a card of a chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CardAnswerRequest {
    /// The message that shows the card.
    pub message_id: i64,
    /// The answer.
    pub reply: CardReply,
}
