//! Cards in a neutral form, which each platform draws in its own way.
//!
//! The texts of a card are data: for platforms that interpret markup, they are escaped as in any other message.

use crate::styled::{Place, Style, Styled};

/// The meaning of a card, which determines its colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// No special meaning.
    #[default]
    Plain,
    /// The most important information.
    Primary,
    /// Something succeeded.
    Success,
    /// The reader should be careful.
    Warning,
    /// Something failed.
    Danger,
}

/// A card. Its buttons are below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Card {
    /// The title of the card, on one line.
    pub title: String,
    /// The meaning of the card, which determines its colour.
    pub tone: Tone,
    /// The parts of the card, from top to bottom.
    pub blocks: Vec<Block>,
}

/// A part of a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// A styled text.
    Text(Styled),
    /// Name–value pairs.
    Fields(Vec<(String, String)>),
    /// A table; each row has as many cells as there are columns.
    Table {
        /// The headings of the columns.
        columns: Vec<String>,
        /// The cells of each row.
        rows: Vec<Vec<String>>,
    },
    /// A horizontal line.
    Divider,
}

impl Card {
    /// Renders the whole card as one text, for platforms without cards, and for cards that are too large for a platform.
    pub fn styled(&self) -> Styled {
        let mut out = Styled::default();
        push(&mut out, &self.title, &bold());
        for block in &self.blocks {
            out.push("\n\n", &Style::default());
            for piece in block.styled().trimmed().pieces {
                out.push(&piece.text, &piece.style);
            }
        }
        out
    }
}

impl Block {
    /// Renders the part as a text.
    pub fn styled(&self) -> Styled {
        let mut out = Styled::default();
        match self {
            Self::Text(text) => return text.clone(),
            Self::Fields(fields) => {
                for (at, (name, value)) in fields.iter().enumerate() {
                    if at > 0 {
                        out.push("\n", &Style::default());
                    }
                    push(&mut out, name, &bold());
                    out.push(": ", &Style::default());
                    push(&mut out, value.trim(), &Style::default());
                }
            }
            Self::Table { columns, rows } => {
                let lines: Vec<String> = std::iter::once(columns).chain(rows).map(|row| line(row)).collect();
                push(
                    &mut out,
                    &lines.join("\n"),
                    &Style { place: Place::Code(String::new()), ..Style::default() },
                );
            }
            Self::Divider => out.push("———", &Style::default()),
        }
        out
    }
}

/// Writes a row of a table as one line.
fn line(cells: &[String]) -> String {
    let cells: Vec<String> =
        cells.iter().map(|cell| cell.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    cells.join(" | ")
}

fn bold() -> Style {
    Style { bold: true, ..Style::default() }
}

/// Adds an unmarked text, in one style.
fn push(out: &mut Styled, text: &str, style: &Style) {
    for piece in Styled::plain(text).pieces {
        out.push(&piece.text, style);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A regular expression for texts that a platform could mistake for markup, mentions or tags.
    const HOSTILE: &str = "([a-c名 *_~`#>|<\\[\\]()\"\\\\&:@!-]|<at id=all>|<@U1>|<!channel>|@everyone|```|</text>|\\]\\(javascript:x\\)|😀|\u{202e}){1,30}";

    /// Cards with hostile texts in every place.
    pub(crate) fn hostile() -> impl Strategy<Value = Card> {
        let block = prop_oneof![
            HOSTILE.prop_map(|text| Block::Text(Styled::markdown(&text))),
            proptest::collection::vec((HOSTILE, HOSTILE), 1..25).prop_map(Block::Fields),
            (HOSTILE, proptest::collection::vec(HOSTILE, 1..50)).prop_map(|(heading, cells)| Block::Table {
                columns: vec![heading],
                rows: cells.into_iter().map(|cell| vec![cell]).collect(),
            }),
            Just(Block::Divider),
        ];
        let tones = [Tone::Plain, Tone::Primary, Tone::Success, Tone::Warning, Tone::Danger];
        let (tone, blocks) =
            (proptest::sample::select(tones.to_vec()), proptest::collection::vec(block, 0..8));
        (HOSTILE, tone, blocks).prop_map(|(title, tone, blocks)| Card { title, tone, blocks })
    }

    /// A card with every kind of part.
    pub(crate) fn full() -> Card {
        let strings = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        Card {
            title: "Deploy *now*?".to_owned(),
            tone: Tone::Warning,
            blocks: vec![
                Block::Text(Styled::markdown("Build **12** is [ready](https://a.example/x).")),
                Block::Fields(vec![("Branch".to_owned(), "main_2".to_owned())]),
                Block::Divider,
                Block::Table { columns: strings(&["a", "b"]), rows: vec![strings(&["1", "2\n3"])] },
            ],
        }
    }

    #[test]
    fn a_card_is_a_text_too() {
        let text = full().styled().text();
        let wanted = "Deploy *now*?\n\nBuild 12 is ready.\n\nBranch: main_2\n\n———\n\na | b\n1 | 2 3";
        assert_eq!(text, wanted);
    }
}
