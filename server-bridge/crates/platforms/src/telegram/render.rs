//! Renders styled texts as messages with entities.

use serde_json::{Value, json};

use super::TEXT_MAX;
use crate::names::is_invisible;
use crate::parts::{spelled, split};
use crate::platform::{Button, Outgoing, Unit};
use crate::styled::{Place, Style, Styled};

/// The maximum number of entities that Telegram keeps in one message.
const ENTITIES_MAX: usize = 100;
/// The longest address that a link may have, in bytes.
const URL_MAX_BYTES: usize = 2048;
/// The longest label of a button, in characters; a phone does not show more.
const LABEL_MAX_CHARS: usize = 64;
/// The longest language name of a code block, in bytes.
const LANGUAGE_MAX_BYTES: usize = 32;
/// The number of buttons in a row.
const BUTTONS_IN_A_ROW: usize = 2;

/// Renders a text as messages, with the buttons below the last one.
pub(super) fn messages(text: &Styled, buttons: &[Button]) -> Vec<Outgoing> {
    let text = spelled(text, is_link);
    let mut messages: Vec<Value> =
        split(&text, TEXT_MAX, &Unit::Utf16).iter().filter(|part| is_shown(part)).map(message).collect();
    if messages.is_empty() {
        messages.push(message(&Styled::plain("…")));
    }
    if let Some(last) = messages.last_mut()
        && !buttons.is_empty()
    {
        let button = |button: &Button| json!({"text": label(&button.label), "callback_data": button.token});
        let rows: Vec<Vec<Value>> =
            buttons.chunks(BUTTONS_IN_A_ROW).map(|row| row.iter().map(button).collect()).collect();
        last["reply_markup"] = json!({"inline_keyboard": rows});
    }
    messages.into_iter().map(|payload| Outgoing { payload }).collect()
}

/// True unless Telegram would refuse a message with this text as empty.
fn is_shown(part: &Styled) -> bool {
    part.text().chars().any(|c| !c.is_whitespace() && !is_invisible(c))
}

fn label(label: &str) -> String {
    let label: String = label.chars().take(LABEL_MAX_CHARS).collect();
    if label.chars().all(|c| c.is_whitespace() || is_invisible(c)) { "…".to_owned() } else { label }
}

fn message(part: &Styled) -> Value {
    let part = without_margins(part);
    let mut entities = Vec::new();
    // The same style over neighbouring pieces is one entity: a quotation with bold words is one quotation. Entities nest, so when one ends,
    // the entities inside it are closed, and opened again.
    let mut open: Vec<(Value, usize)> = Vec::new();
    let mut at = 0;
    for piece in &part.pieces {
        let wanted = kinds(&piece.style);
        let stay = open.iter().position(|(kind, _)| !wanted.contains(kind)).unwrap_or(open.len());
        entities.extend(open.drain(stay..).map(|(kind, start)| entity(kind, start, at)));
        for kind in wanted {
            if !open.iter().any(|(known, _)| *known == kind) {
                open.push((kind, at));
            }
        }
        at += piece.text.encode_utf16().count();
    }
    entities.extend(open.into_iter().map(|(kind, start)| entity(kind, start, at)));
    entities.sort_by_key(|entity| (entity["offset"].as_u64(), std::cmp::Reverse(entity["length"].as_u64())));
    entities.truncate(ENTITIES_MAX);
    json!({
        "text": part.text(),
        "entities": entities,
        // Link previews are off, so that a model cannot make a client load a page.
        "link_preview_options": {"is_disabled": true},
    })
}

/// Removes white space from both ends of a text, as Telegram would.
fn without_margins(part: &Styled) -> Styled {
    let text = part.text();
    let start = text.len() - text.trim_start().len();
    let end = text.trim_end().len();
    let mut kept = Styled::default();
    let mut at = 0;
    for piece in &part.pieces {
        let from = start.saturating_sub(at).min(piece.text.len());
        let to = end.saturating_sub(at).min(piece.text.len());
        if from < to {
            kept.push(&piece.text[from..to], &piece.style);
        }
        at += piece.text.len();
    }
    kept
}

/// Returns the entities that express a style; code cannot be combined with others.
fn kinds(style: &Style) -> Vec<Value> {
    if let Place::Code(language) = &style.place {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '#' | '_' | '.');
        return vec![if language.is_empty()
            || language.len() > LANGUAGE_MAX_BYTES
            || !language.chars().all(is_name)
        {
            json!({"type": "pre"})
        } else {
            json!({"type": "pre", "language": language})
        }];
    }
    let mut kinds = Vec::new();
    if style.place == Place::Quote {
        kinds.push(json!({"type": "blockquote"}));
    }
    if style.code {
        kinds.push(json!({"type": "code"}));
        return kinds;
    }
    if let Some(url) = &style.link
        && is_link(url)
    {
        kinds.push(json!({"type": "text_link", "url": url}));
    }
    let marks = [(style.bold, "bold"), (style.italic, "italic"), (style.strike, "strikethrough")];
    kinds.extend(marks.iter().filter(|(is, _)| *is).map(|(_, kind)| json!({"type": kind})));
    kinds
}

/// True for an address that Telegram can link to.
fn is_link(url: &str) -> bool {
    let parsed = reqwest::Url::parse(url);
    url.len() <= URL_MAX_BYTES
        && parsed.is_ok_and(|url| {
            matches!(url.scheme(), "http" | "https") && url.host_str().is_some_and(|host| host.contains('.'))
        })
}

fn entity(mut kind: Value, start: usize, end: usize) -> Value {
    kind["offset"] = json!(start);
    kind["length"] = json!(end - start);
    kind
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(markdown: &str) -> Vec<Value> {
        messages(&Styled::markdown(markdown), &[]).into_iter().map(|message| message.payload).collect()
    }

    #[test]
    fn entities_count_code_units() {
        let message = rendered("😀 **b**").remove(0);
        assert_eq!(message["entities"], json!([{"type": "bold", "offset": 3, "length": 1}]));
    }

    #[test]
    fn a_quotation_with_bold_words_is_one() {
        let message = rendered("> a **b** c").remove(0);
        let expected = json!([
            {"type": "blockquote", "offset": 0, "length": 5},
            {"type": "bold", "offset": 2, "length": 1},
        ]);
        assert_eq!(message["entities"], expected);
    }

    #[test]
    fn nothing_to_show_is_still_a_message() {
        for empty in ["", "\u{200b}", "\u{2800} \u{feff}"] {
            assert_eq!(rendered(empty)[0]["text"], "…");
        }
    }

    #[test]
    fn buttons_stand_below_the_last_part() {
        let button = |label: &str| Button { label: label.to_owned(), token: "t".to_owned() };
        let all =
            messages(&Styled::plain(&"x ".repeat(3000)), &[button("yes"), button("no"), button("\u{200b}")]);
        assert_eq!(all.len(), 2);
        assert!(all[0].payload["reply_markup"].is_null());
        let rows = json!([
            [{"text": "yes", "callback_data": "t"}, {"text": "no", "callback_data": "t"}],
            [{"text": "…", "callback_data": "t"}],
        ]);
        assert_eq!(all[1].payload["reply_markup"]["inline_keyboard"], rows);
    }
}
