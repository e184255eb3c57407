//! Styled texts as blocks of rich text.

use serde_json::{Value, json};

use crate::names::is_invisible;
use crate::parts::{split, tight};
use crate::platform::{Button, Outgoing, Unit};
use crate::styled::{Piece, Place, Style, Styled};

/// The longest text of one message, in characters: all blocks together take about 13,200, and a table's cells less.
pub(super) const TEXT_MAX_CHARS: usize = 8000;
/// How much of a text stands in notifications, in characters.
const NOTICE_MAX_CHARS: usize = 1000;
/// The longest address that a link may have, in bytes.
const URL_MAX_BYTES: usize = 3000;
/// The longest label of a button, in characters.
const LABEL_MAX_CHARS: usize = 75;
/// How many buttons a block of actions has.
const ACTIONS_MAX: usize = 25;

/// A text as messages, buttons below the last one.
pub(super) fn messages(text: &Styled, buttons: &[Button]) -> Vec<Outgoing> {
    let mut messages: Vec<Value> =
        split(text, TEXT_MAX_CHARS, &Unit::Chars).iter().filter(|part| is_shown(part)).map(message).collect();
    if messages.is_empty() {
        messages.push(message(&Styled::plain("…")));
    }
    if let Some(blocks) = messages.last_mut().and_then(|last| last["blocks"].as_array_mut()) {
        for (row, buttons) in buttons.chunks(ACTIONS_MAX).enumerate() {
            let button = |(at, button): (usize, &Button)| {
                let text = json!({"type": "plain_text", "text": label(&button.label), "emoji": false});
                json!({"type": "button", "action_id": format!("choice-{row}-{at}"), "text": text, "value": button.token})
            };
            let elements: Vec<Value> = buttons.iter().enumerate().map(button).collect();
            blocks.push(json!({"type": "actions", "elements": elements}));
        }
    }
    messages.into_iter().map(|payload| Outgoing { payload }).collect()
}

fn is_shown(part: &Styled) -> bool {
    part.text().chars().any(|c| !c.is_whitespace() && !is_invisible(c))
}

fn label(label: &str) -> String {
    let label: String = label.chars().take(LABEL_MAX_CHARS).collect();
    if label.chars().all(|c| c.is_whitespace() || is_invisible(c)) { "…".to_owned() } else { label }
}

/// A text for fields in which Slack reads `&`, `<` and `>`.
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
            // Each of them begins a line by itself.
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
}
