//! Cards: messages in which an agent combines texts, tables, buttons and fields, and which its user can answer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The tone of a card or a button.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CardTone {
    /// Neutral.
    #[default]
    Plain,
    /// Emphasised: an informative title, or the button for the main action.
    Primary,
    /// Something went well.
    Success,
    /// Something needs attention.
    Warning,
    /// Something failed, or a button whose action cannot be undone.
    Danger,
}

/// The arrangement of the parts of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CardLayout {
    /// One below the other.
    #[default]
    Stack,
    /// Side by side, where the screen is wide enough.
    Columns,
}

/// A card. Its texts are data: only those of [`CardPart::Text`] are rendered as Markdown. Crate `cards` defines the limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CardDocument {
    /// The id by which the agent continues to build the card.
    pub card_id: String,
    /// The title, on one line.
    pub title: String,
    /// The tone of the card as a whole.
    pub tone: CardTone,
    /// The card's blocks, in their order.
    pub blocks: Vec<CardBlock>,
    /// True once the card was sent: from then on it can be answered, but no longer changed.
    pub is_sent: bool,
    /// The answer that the card accepted; absent until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub answer: Option<CardAnswer>,
}

/// A group of parts that belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CardBlock {
    /// The arrangement of the parts.
    pub layout: CardLayout,
    /// The block's heading, on one line; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The parts, in order.
    pub parts: Vec<CardPart>,
}

/// A part of a card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CardPart {
    /// A text in Markdown.
    Text {
        /// The text, in Markdown.
        text: String,
    },
    /// A list of names with their values.
    Fields {
        /// The names and values, in order.
        fields: Vec<CardField>,
    },
    /// A table.
    Table {
        /// The headings of its columns.
        columns: Vec<String>,
        /// The table's rows, each with as many cells as there are columns.
        rows: Vec<Vec<String>>,
    },
    /// A link.
    Link {
        /// The text to click on.
        text: String,
        /// The address that the link leads to: `http` or `https`.
        url: String,
    },
    /// A line between parts.
    Divider,
    /// A button, which answers the card.
    Button {
        /// The button's name in the answer.
        name: String,
        /// The text on the button.
        label: String,
        /// The tone of the button.
        tone: CardTone,
    },
    /// A choice of one option.
    Select {
        /// The choice's name in the answer.
        name: String,
        /// The question, or the name of the choice.
        label: String,
        /// The options to choose from.
        options: Vec<String>,
        /// True if an option has to be chosen.
        is_required: bool,
    },
    /// A text field.
    Input {
        /// The field's name in the answer.
        name: String,
        /// The question, or the name of the field.
        label: String,
        /// The hint shown while the field is empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        placeholder: String,
        /// True if the field takes several lines.
        is_long: bool,
        /// True if the field has to be filled in.
        is_required: bool,
    },
}

/// A name with its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CardField {
    /// The name, as people read it.
    pub name: String,
    /// The value, as people read it.
    pub value: String,
}

/// A person's answer to a card: a button, and the values of the fields.
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

/// The answer that a card accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CardAnswer {
    /// The button and the values.
    pub reply: CardReply,
    /// The answer in words: the button's label, or the option.
    pub label: String,
    /// The origin of the answer: `page`, or the name of a messenger or API key.
    pub surface: String,
    /// When the card was answered, in Unix milliseconds.
    pub answered_at: i64,
}

/// A person's answer to a card of a chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CardAnswerRequest {
    /// The message that shows the card.
    pub message_id: i64,
    /// The button and the values.
    pub reply: CardReply,
}
