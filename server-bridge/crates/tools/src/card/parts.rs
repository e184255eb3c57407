//! The parts of cards as models write them.

use api::card::{CardField, CardPart, CardTone};
use schemars::JsonSchema;
use serde::Deserialize;

/// The tone of a card or of a part of it.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Tone {
    #[default]
    Plain,
    Primary,
    Success,
    Warning,
    Danger,
}

/// A part to read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Content {
    kind: ContentKind,
    /// For text: Markdown. For link: its label.
    #[serde(default)]
    text: String,
    /// For link: the address (http or https).
    #[serde(default)]
    url: String,
    /// For fields: the names with their values.
    #[serde(default)]
    fields: Vec<Field>,
    /// For table: the headings.
    #[serde(default)]
    columns: Vec<String>,
    /// For table: the rows of cells.
    #[serde(default)]
    rows: Vec<Vec<String>>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ContentKind {
    Text,
    Fields,
    Table,
    Link,
    Divider,
}

/// A name with its value.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Field {
    name: String,
    value: String,
}

/// A control to press, choose from or fill in.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Control {
    kind: ControlKind,
    /// The control's name in the answer: letters, digits, _ and -; different for each control.
    name: String,
    label: String,
    /// For button: its tone.
    #[serde(default)]
    style: Tone,
    /// For select: the options.
    #[serde(default)]
    options: Vec<String>,
    /// For input: the text shown while it is empty.
    #[serde(default)]
    placeholder: String,
    /// For input: whether it has several lines.
    #[serde(default)]
    long: bool,
    /// For select and input: whether a value is required.
    #[serde(default)]
    required: bool,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ControlKind {
    Button,
    Select,
    Input,
}

impl From<Tone> for CardTone {
    fn from(tone: Tone) -> Self {
        match tone {
            Tone::Plain => Self::Plain,
            Tone::Primary => Self::Primary,
            Tone::Success => Self::Success,
            Tone::Warning => Self::Warning,
            Tone::Danger => Self::Danger,
        }
    }
}

impl Content {
    pub(super) fn part(&self) -> CardPart {
        match self.kind {
            ContentKind::Text => CardPart::Text { text: self.text.clone() },
            ContentKind::Fields => CardPart::Fields {
                fields: self
                    .fields
                    .iter()
                    .map(|field| CardField { name: field.name.clone(), value: field.value.clone() })
                    .collect(),
            },
            ContentKind::Table => CardPart::Table { columns: self.columns.clone(), rows: self.rows.clone() },
            ContentKind::Link => CardPart::Link { text: self.text.clone(), url: self.url.clone() },
            ContentKind::Divider => CardPart::Divider,
        }
    }
}

impl Control {
    pub(super) fn part(&self) -> CardPart {
        let (name, label) = (self.name.clone(), self.label.clone());
        match self.kind {
            ControlKind::Button => CardPart::Button { name, label, tone: self.style.into() },
            ControlKind::Select => {
                CardPart::Select { name, label, options: self.options.clone(), is_required: self.required }
            }
            ControlKind::Input => CardPart::Input {
                name,
                label,
                placeholder: self.placeholder.clone(),
                is_long: self.long,
                is_required: self.required,
            },
        }
    }
}
