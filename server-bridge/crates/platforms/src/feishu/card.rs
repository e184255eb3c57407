//! Renders answers as cards of version 2.0, the only messages that can be changed later and can have buttons.

use serde_json::{Value, json};

use crate::card::{Block, Card, Tone};
use crate::event::Conversation;
use crate::markup::Markdown;
use crate::parts::split;
use crate::platform::{Button, Outgoing};
use crate::styled::Styled;

/// The largest card, in bytes of JSON, according to the API documentation.
pub(super) const CARD_MAX_BYTES: usize = 30 * 1024;

/// The share of [`CARD_MAX_BYTES`] for the text, in bytes; the rest is for eight buttons, the conversation that they name, and the card itself.
const TEXT_MAX_BYTES: usize = 20 * 1024;

/// The longest label of a button, in characters.
const LABEL_MAX_CHARS: usize = 100;

/// The Markdown of cards, escaped by entities, as the documentation of the component requires.
const MARKDOWN: Markdown = Markdown {
    is_entity: true,
    is_json: true,
    strike: "~~",
    tags: &["<at", "<person", "<font", "<img", "<link"],
};

/// Renders a text as cards, with the buttons on the last one.
pub(super) fn render(text: &Styled, buttons: &[Button]) -> Vec<Outgoing> {
    let mut parts: Vec<String> =
        split(text, TEXT_MAX_BYTES, &MARKDOWN).iter().map(|part| MARKDOWN.render(part)).collect();
    if parts.is_empty() {
        parts.push("…".to_owned());
    }
    let last = parts.len() - 1;
    let card = |(index, text): (usize, String)| {
        let mut elements = vec![json!({"tag": "markdown", "content": text})];
        if index == last {
            elements.extend(buttons.iter().map(button));
        }
        let card = json!({"schema": "2.0", "config": {"update_multi": true}, "body": {"elements": elements}});
        Outgoing { payload: card }
    };
    parts.into_iter().enumerate().map(card).collect()
}

/// The maximum number of tables in a card, according to the documentation of the component.
const TABLES_MAX: usize = 5;

/// The maximum number of rows that one page of a table shows, according to the documentation of the component.
const ROWS_OF_A_PAGE: usize = 10;

/// The maximum number of elements in a card, according to the documentation of cards.
const ELEMENTS_MAX: usize = 200;

/// The limit on the texts of a native card in its JSON, in bytes; the rest of [`CARD_MAX_BYTES`] is for ten buttons and the conversation that they
/// name.
const NATIVE_MAX_BYTES: usize = 18 * 1024;

/// Renders a card as a Feishu card with a coloured title; `None` if it is too large for one.
pub(super) fn native(card: &Card, buttons: &[Button]) -> Option<Outgoing> {
    let tables = card.blocks.iter().filter(|block| matches!(block, Block::Table { .. })).count();
    let mut elements: Vec<Value> = card.blocks.iter().filter_map(block).collect();
    let bytes = Value::from(elements.clone()).to_string().len();
    elements.extend(buttons.iter().map(button));
    if tables > TABLES_MAX || bytes > NATIVE_MAX_BYTES || elements.is_empty() || elements.len() > ELEMENTS_MAX
    {
        return None;
    }
    let template = match card.tone {
        Tone::Plain => "default",
        Tone::Primary => "blue",
        Tone::Success => "green",
        Tone::Warning => "orange",
        Tone::Danger => "red",
    };
    let header = json!({"title": plain(&card.title), "template": template});
    let card = json!({"schema": "2.0", "config": {"update_multi": true}, "header": header, "body": {"elements": elements}});
    Some(Outgoing { payload: card })
}

/// Renders a part of a card; `None` if it has nothing visible.
fn block(block: &Block) -> Option<Value> {
    match block {
        Block::Text(_) | Block::Fields(_) => {
            let text = MARKDOWN.render(&block.styled().trimmed());
            (!text.trim().is_empty()).then(|| json!({"tag": "markdown", "content": text}))
        }
        Block::Table { columns, rows } => {
            let named = |(at, heading): (usize, &String)| json!({"name": format!("c{at}"), "display_name": shown(heading), "data_type": "text"});
            let cells = |row: &Vec<String>| -> Value {
                let cell = |(at, cell): (usize, &String)| (format!("c{at}"), Value::from(cell.as_str()));
                Value::Object(row.iter().enumerate().map(cell).collect())
            };
            Some(json!({
                "tag": "table",
                "page_size": rows.len().clamp(1, ROWS_OF_A_PAGE),
                "columns": columns.iter().enumerate().map(named).collect::<Vec<_>>(),
                "rows": rows.iter().map(cells).collect::<Vec<_>>(),
            }))
        }
        Block::Divider => Some(json!({"tag": "hr"})),
    }
}

/// Creates a plain text element; a text with nothing visible is replaced, because the platform would refuse it.
fn plain(text: &str) -> Value {
    json!({"tag": "plain_text", "content": shown(text)})
}

fn shown(text: &str) -> String {
    if text.trim().is_empty() { "…".to_owned() } else { text.to_owned() }
}

fn button(button: &Button) -> Value {
    let label: String = button.label.chars().take(LABEL_MAX_CHARS).collect();
    let label = if label.trim().is_empty() { "…".to_owned() } else { label };
    let behavior = json!({"type": "callback", "value": {"token": button.token}});
    json!({"tag": "button", "text": {"tag": "plain_text", "content": label}, "behaviors": [behavior]})
}

/// A card in the form that is sent to a conversation: its buttons contain the conversation, because the event of a press does not show
/// whether it came from a group.
pub(super) fn content(card: &Value, to: &Conversation) -> String {
    let mut card = card.clone();
    let elements = card.pointer_mut("/body/elements").and_then(Value::as_array_mut);
    for element in elements.into_iter().flatten() {
        if let Some(value) = element.pointer_mut("/behaviors/0/value").and_then(Value::as_object_mut) {
            value.insert("chat".to_owned(), json!(to.id));
            value.insert("group".to_owned(), json!(to.is_group));
        }
    }
    card.to_string()
}

#[cfg(test)]
mod tests {
    use ::tests::platforms::feishu::fault_of_card;
    use proptest::prelude::*;

    use super::*;

    fn buttons() -> Vec<Button> {
        (0..8).map(|n| Button { label: "\"".repeat(300), token: n.to_string().repeat(64) }).collect()
    }

    fn accepted(text: &str) -> Vec<Outgoing> {
        let to = Conversation { id: "o".repeat(256), is_group: true };
        let cards = render(&Styled::markdown(text), &buttons());
        for card in &cards {
            let content = content(&card.payload, &to);
            assert!(content.len() <= CARD_MAX_BYTES, "{}", content.len());
            assert_eq!(fault_of_card(&content), None, "{text:.400}");
        }
        cards
    }

    #[test]
    fn nothing_is_a_card_too() {
        assert_eq!(accepted("").len(), 1);
    }

    #[test]
    fn hostile_texts_are_taken() {
        let table = "| a | b |\n|---|---|\n| 1 | 2 |\n\n".repeat(200);
        let quotes = "\"".repeat(100_000);
        for text in
            [&table, &quotes, &"名".repeat(50_000), &"<at id=all></at>\n".repeat(3000), &"```\n".repeat(3001)]
        {
            accepted(text);
        }
    }

    #[test]
    fn large_texts_of_every_kind_are_taken() {
        for text in crate::testing::large() {
            let kept: String = accepted(&text).iter().map(|card| card.payload["body"].to_string()).collect();
            let styled = Styled::markdown(&text);
            let mut written = kept.chars();
            let wanted = crate::testing::letters(&styled.text());
            assert!(wanted.chars().all(|letter| written.any(|c| c == letter)), "{text:.200}");
        }
    }

    #[test]
    fn a_card_has_a_title_a_table_and_buttons() {
        let to = Conversation { id: "oc_1".to_owned(), is_group: false };
        let card = native(&crate::card::tests::full(), &buttons()).unwrap().payload;
        assert_eq!(card["header"]["title"], json!({"tag": "plain_text", "content": "Deploy *now*?"}));
        let tags: Vec<&str> =
            card["body"]["elements"].as_array().unwrap().iter().filter_map(|e| e["tag"].as_str()).collect();
        assert_eq!(tags[..5], ["markdown", "markdown", "hr", "table", "button"]);
        let content = content(&card, &to);
        assert_eq!(fault_of_card(&content), None);
        assert!(content.contains("\"chat\":\"oc_1\""), "{content}");
    }

    proptest! {
        #[test]
        fn any_card_is_taken(card in crate::card::tests::hostile()) {
            let to = Conversation { id: "o".repeat(256), is_group: true };
            let cards = native(&card, &buttons()).map_or_else(|| render(&card.styled(), &buttons()), |card| vec![card]);
            for card in cards {
                let fault = fault_of_card(&content(&card.payload, &to));
                prop_assert_eq!(fault, None);
            }
        }

        #[test]
        fn any_markdown_is_taken(text in "([a-c名*_`#>|<\\[\\]()\"\\\\ \n-]|<at id=all>|```|\\| a \\|){0,200}") {
            accepted(&text);
        }
    }
}
