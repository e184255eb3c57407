//! Renders styled texts as blocks of rich text.

use serde_json::{Value, json};

use crate::card::{Block, Card};
use crate::names::is_invisible;
use crate::parts::{split, tight};
use crate::platform::{Button, Outgoing, Unit};
use crate::styled::{Piece, Place, Style, Styled};

/// The longest text of one message, in characters: all blocks together can have about 13,200, and the cells of a table fewer.
pub(super) const TEXT_MAX_CHARS: usize = 8000;
/// How much of a message's text is shown in notifications, in characters.
const NOTICE_MAX_CHARS: usize = 1000;
/// The longest address that a link may have, in bytes.
const URL_MAX_BYTES: usize = 3000;
/// The longest label of a button, in characters.
const LABEL_MAX_CHARS: usize = 75;
/// The maximum number of buttons in a block of actions.
const ACTIONS_MAX: usize = 25;
/// The longest header, in characters.
const HEADER_MAX_CHARS: usize = 150;
/// The maximum number of fields in a section, and the longest field, in characters.
const FIELDS_MAX: usize = 10;
const FIELD_MAX_CHARS: usize = 2000;
/// The maximum number of blocks in a message.
const BLOCKS_MAX: usize = 50;

/// Renders a text as messages, with the buttons below the last one.
pub(super) fn messages(text: &Styled, buttons: &[Button]) -> Vec<Outgoing> {
    let mut messages: Vec<Value> =
        split(text, TEXT_MAX_CHARS, &Unit::Chars).iter().filter(|part| is_shown(part)).map(message).collect();
    if messages.is_empty() {
        messages.push(message(&Styled::plain("…")));
    }
    if let Some(blocks) = messages.last_mut().and_then(|last| last["blocks"].as_array_mut()) {
        blocks.extend(actions(buttons));
    }
    messages.into_iter().map(|payload| Outgoing { payload }).collect()
}

/// Renders buttons as blocks.
fn actions(buttons: &[Button]) -> impl Iterator<Item = Value> {
    buttons.chunks(ACTIONS_MAX).enumerate().map(|(row, buttons)| {
        let button = |(at, button): (usize, &Button)| {
            let text = plain(&label(&button.label));
            json!({"type": "button", "action_id": format!("choice-{row}-{at}"), "text": text, "value": button.token})
        };
        json!({"type": "actions", "elements": buttons.iter().enumerate().map(button).collect::<Vec<_>>()})
    })
}

/// Creates a text element in which Slack interprets no markup.
fn plain(text: &str) -> Value {
    json!({"type": "plain_text", "text": text, "emoji": false})
}

/// Renders a card as blocks below a header; `None` if it is too large for one message.
pub(super) fn card(card: &Card, buttons: &[Button]) -> Option<Outgoing> {
    let text = card.styled();
    if text.text().chars().count() > TEXT_MAX_CHARS || !is_shown(&Styled::plain(&card.title)) {
        return None;
    }
    let mut payload = message(&text);
    let title: String = card.title.chars().take(HEADER_MAX_CHARS).collect();
    let mut blocks = vec![json!({"type": "header", "text": plain(&title)})];
    for block in &card.blocks {
        match block {
            Block::Fields(fields) => blocks.extend(fields.chunks(FIELDS_MAX).map(section)),
            Block::Divider => blocks.push(json!({"type": "divider"})),
            Block::Text(_) | Block::Table { .. } => {
                let part = block.styled();
                if let Some(blocks_of) = message(&part)["blocks"].as_array().filter(|_| is_shown(&part)) {
                    blocks.extend(blocks_of.iter().cloned());
                }
            }
        }
    }
    blocks.extend(actions(buttons));
    if blocks.len() > BLOCKS_MAX {
        return None;
    }
    payload["blocks"] = Value::from(blocks);
    Some(Outgoing { payload })
}

/// Renders fields as a block, side by side.
fn section(fields: &[(String, String)]) -> Value {
    let field = |(name, value): &(String, String)| {
        let text: String = format!("{name}\n{}", value.trim()).chars().take(FIELD_MAX_CHARS).collect();
        plain(&text)
    };
    json!({"type": "section", "fields": fields.iter().map(field).collect::<Vec<_>>()})
}

fn is_shown(part: &Styled) -> bool {
    part.text().chars().any(|c| !c.is_whitespace() && !is_invisible(c))
}

fn label(label: &str) -> String {
    let label: String = label.chars().take(LABEL_MAX_CHARS).collect();
    if label.chars().all(|c| c.is_whitespace() || is_invisible(c)) { "…".to_owned() } else { label }
}

/// Escapes a text for fields in which Slack interprets `&`, `<` and `>`.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn message(part: &Styled) -> Value {
    let mut blocks: Vec<Value> = Vec::new();
    let mut place: Option<&Place> = None;
    let part = &tight(part);
    for piece in &part.pieces {
        let place_of = &piece.style.place;
        if place != Some(place_of) {
            let kind = match place_of {
                Place::Text => "rich_text_section",
                Place::Quote => "rich_text_quote",
                Place::Code(_) => "rich_text_preformatted",
            };
            // Each such element begins on a new line, so a line feed before it is removed.
            if let Some(text) = blocks.last_mut().and_then(last_text)
                && text.ends_with('\n')
            {
                text.pop();
            }
            blocks.push(json!({"type": kind, "elements": []}));
            place = Some(place_of);
        }
        if let Some(elements) = blocks.last_mut().and_then(|block| block["elements"].as_array_mut()) {
            elements.push(element(piece));
        }
    }
    for block in &mut blocks {
        if let Some(elements) = block["elements"].as_array_mut() {
            elements.retain(|element| element["text"] != "");
        }
    }
    blocks.retain(|block| block["elements"].as_array().is_some_and(|elements| !elements.is_empty()));
    let notice: String = part.text().chars().take(NOTICE_MAX_CHARS).collect();
    json!({"text": escaped(&notice), "blocks": [{"type": "rich_text", "elements": blocks}]})
}

fn last_text(block: &mut Value) -> Option<&mut String> {
    match block["elements"].as_array_mut()?.last_mut()?.get_mut("text") {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

fn element(Piece { text, style }: &Piece) -> Value {
    let Style { bold, italic, strike, code, link, place } = style;
    if matches!(place, Place::Code(_)) {
        return json!({"type": "text", "text": text});
    }
    let marks = [("bold", *bold), ("italic", *italic), ("strike", *strike), ("code", *code)];
    let marks: serde_json::Map<String, Value> =
        marks.iter().filter(|(_, is)| *is).map(|(name, _)| ((*name).to_owned(), json!(true))).collect();
    let mut element = match link.as_ref().filter(|url| url.len() <= URL_MAX_BYTES) {
        Some(url) => json!({"type": "link", "url": url, "text": text}),
        None => json!({"type": "text", "text": text}),
    };
    if !marks.is_empty() {
        element["style"] = Value::Object(marks);
    }
    element
}

#[cfg(test)]
mod tests {
    use ::tests::platforms::slack::check_message;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn places_are_blocks_and_marks_are_styles() {
        let text = Styled::markdown("a **b** [l](https://a.example)\n\n> q\n\n```sh\nls *\n```\nend");
        let message = messages(&text, &[]).remove(0).payload;
        let blocks = json!([
            {"type": "rich_text_section", "elements": [
                {"type": "text", "text": "a "}, {"type": "text", "text": "b", "style": {"bold": true}}, {"type": "text", "text": " "},
                {"type": "link", "url": "https://a.example", "text": "l"}, {"type": "text", "text": "\n"}]},
            {"type": "rich_text_quote", "elements": [{"type": "text", "text": "q"}]},
            {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "ls *"}]},
            {"type": "rich_text_section", "elements": [{"type": "text", "text": "\nend"}]},
        ]);
        assert_eq!(message["blocks"][0]["elements"], blocks);
    }

    fn buttons() -> Vec<Button> {
        let token = |n: usize| format!("{n:032}");
        (0..10).map(|n| Button { label: "<!channel> *x*".to_owned(), token: token(n) }).collect()
    }

    #[test]
    fn a_card_is_a_header_with_blocks_below_it() {
        let card = card(&crate::card::tests::full(), &buttons()).unwrap().payload;
        let kinds: Vec<&str> =
            card["blocks"].as_array().unwrap().iter().filter_map(|b| b["type"].as_str()).collect();
        assert_eq!(kinds, ["header", "rich_text", "section", "divider", "rich_text", "actions"]);
        assert_eq!(card["blocks"][2]["fields"][0]["text"], "Branch\nmain_2");
        check_message(&card).unwrap();
    }

    proptest! {
        #[test]
        fn any_card_is_taken(hostile in crate::card::tests::hostile()) {
            let all = card(&hostile, &buttons()).map_or_else(|| messages(&hostile.styled(), &buttons()), |card| vec![card]);
            for message in all {
                prop_assert_eq!(check_message(&message.payload), Ok(()));
            }
        }
    }
}
