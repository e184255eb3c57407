//! Renders styled texts as messages of Matrix: a plain body, and the same text as HTML.

use serde_json::{Value, json};

use crate::names::is_invisible;
use crate::nest::{Step, walk};
use crate::parts::{Cost, split, tight};
use crate::platform::{Button, Outgoing};
use crate::styled::{Piece, Place, Style, Styled};

/// The limit on the body and the HTML of one message together, in bytes of JSON: an event can have at most 64 KiB, including signatures and hashes.
pub(super) const EVENT_TEXT_MAX_BYTES: usize = 40_000;
/// The longest address that a link may have, in bytes.
const URL_MAX_BYTES: usize = 2048;
/// The longest language name of a code block, in bytes.
const LANGUAGE_MAX_BYTES: usize = 32;
/// The longest label of a choice, in characters.
const LABEL_MAX_CHARS: usize = 200;
/// How much of an edited text is copied to the body for clients that do not support edits, in bytes.
const FALLBACK_MAX_BYTES: usize = 500;

/// Counts the size of a text that is sent twice: in the body, and as HTML.
struct Twice;

impl Cost for Twice {
    fn text(&self, text: &str, style: &Style) -> usize {
        let is_code = matches!(style.place, Place::Code(_));
        let cost = |c: char| {
            let html = match c {
                '<' | '>' => 4,
                '&' => 5,
                '"' => 6,
                '\n' if is_code => 2,
                '\n' => 5,
                '\t' | '\\' => 2,
                c => c.len_utf8(),
            };
            let body = if matches!(c, '"' | '\\' | '\n' | '\t') { 2 } else { c.len_utf8() };
            html + body
        };
        text.chars().map(cost).sum()
    }

    fn around(&self, style: &Style) -> usize {
        tags(style)
            .iter()
            .map(|tag| tag.open.len() + tag.close.len() + 2 * tag.open.matches(['"', '\\']).count())
            .sum()
    }
}

/// Renders a text as messages; choices are numbered lines below the last one.
pub(super) fn messages(text: &Styled, buttons: &[Button]) -> Vec<Outgoing> {
    let mut text = text.clone();
    if !buttons.is_empty() {
        let is_first = text.is_empty();
        for (at, button) in buttons.iter().enumerate() {
            let label: String = button.label.chars().take(LABEL_MAX_CHARS).collect();
            let gap = match at {
                0 if is_first => "",
                0 => "\n\n",
                _ => "\n",
            };
            text.push(&format!("{gap}{}. {label}", at + 1), &Style::default());
        }
    }
    let mut messages: Vec<Value> = split(&text, EVENT_TEXT_MAX_BYTES, &Twice)
        .iter()
        .filter(|part| is_shown(part))
        .map(content)
        .collect();
    if messages.is_empty() {
        messages.push(content(&Styled::plain("…")));
    }
    messages.into_iter().map(|payload| Outgoing { payload }).collect()
}

fn is_shown(part: &Styled) -> bool {
    part.text().chars().any(|c| !c.is_whitespace() && !is_invisible(c))
}

/// Wraps content in the form that replaces another message.
pub(super) fn replacement(content: &Value, of: &str) -> Value {
    let body = content["body"].as_str().unwrap_or_default();
    let body = &body[..body.floor_char_boundary(FALLBACK_MAX_BYTES)];
    json!({
        "msgtype": "m.text",
        "body": format!("* {body}"),
        "m.mentions": {},
        "m.new_content": content,
        "m.relates_to": {"rel_type": "m.replace", "event_id": of},
    })
}

fn content(part: &Styled) -> Value {
    let is_plain = part.pieces.iter().all(|piece| tags(&piece.style).is_empty());
    let mut content = json!({"msgtype": "m.text", "body": part.text(), "m.mentions": {}});
    if !is_plain {
        content["format"] = json!("org.matrix.custom.html");
        content["formatted_body"] = json!(html(part));
    }
    content
}

#[derive(Clone, Debug, PartialEq)]
struct Tag {
    open: String,
    close: &'static str,
}

fn tag(open: &str, close: &'static str) -> Tag {
    Tag { open: open.to_owned(), close }
}

fn tags(style: &Style) -> Vec<Tag> {
    let mut tags = Vec::new();
    match &style.place {
        Place::Code(language) => {
            let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '#' | '_' | '.');
            let is_known =
                !language.is_empty() && language.len() <= LANGUAGE_MAX_BYTES && language.chars().all(is_name);
            let class = if is_known { format!(" class=\"language-{language}\"") } else { String::new() };
            return vec![tag(&format!("<pre><code{class}>"), "</code></pre>")];
        }
        Place::Quote => tags.push(tag("<blockquote>", "</blockquote>")),
        Place::Text => {}
    }
    if let Some(url) = style.link.as_ref().filter(|url| url.len() <= URL_MAX_BYTES) {
        tags.push(tag(&format!("<a href=\"{}\">", escaped(url)), "</a>"));
    }
    let marks = [
        (style.bold, "<strong>", "</strong>"),
        (style.italic, "<em>", "</em>"),
        (style.strike, "<del>", "</del>"),
        (style.code, "<code>", "</code>"),
    ];
    tags.extend(marks.iter().filter(|(is, _, _)| *is).map(|(_, open, close)| tag(open, close)));
    tags
}

fn html(part: &Styled) -> String {
    let mut html = String::new();
    let part = tight(part);
    walk(
        &part,
        |piece: &Piece| tags(&piece.style),
        |step| match step {
            Step::Open(tag) => html.push_str(&tag.open),
            Step::Close(tag) => html.push_str(tag.close),
            Step::Text(Piece { text, style }) => {
                let text = escaped(text);
                if matches!(style.place, Place::Code(_)) {
                    html.push_str(&text);
                } else {
                    html.push_str(&text.replace('\n', "<br>"));
                }
            }
        },
    );
    html
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rendered(markdown: &str) -> Vec<Value> {
        messages(&Styled::markdown(markdown), &[]).into_iter().map(|message| message.payload).collect()
    }

    #[test]
    fn marks_nest_and_html_of_a_model_is_text() {
        let message = rendered("a **b _c_** `<x>`\n\n> q **w**\n\n```rust\na<b>\n\"c\"\n```").remove(0);
        assert_eq!(
            message["formatted_body"],
            "a <strong>b</strong> <strong><em>c</em></strong> <code>&lt;x&gt;</code><br><br><blockquote>q <strong>w</strong><br></blockquote><br><pre><code class=\"language-rust\">a&lt;b&gt;\n&quot;c&quot;</code></pre>"
        );
        assert_eq!(message["body"], "a b c <x>\n\nq w\n\na<b>\n\"c\"");
    }

    #[test]
    fn plain_words_need_no_html() {
        assert!(rendered("plain & simple")[0]["formatted_body"].is_null());
    }

    #[test]
    fn choices_are_numbered() {
        let button = |label: &str| Button { label: label.to_owned(), token: String::new() };
        let message =
            messages(&Styled::plain("May I?"), &[button("Allow"), button("Deny")]).remove(0).payload;
        assert_eq!(message["body"], "May I?\n\n1. Allow\n2. Deny");
    }

    fn check(markdown: &str) {
        let styled = Styled::markdown(markdown);
        let letters =
            |text: &str| text.chars().filter(|c| !c.is_whitespace() && *c != '…').collect::<String>();
        let mut kept = String::new();
        for message in messages(&styled, &[]) {
            assert!(message.payload.to_string().len() <= EVENT_TEXT_MAX_BYTES + 200);
            kept.push_str(message.payload["body"].as_str().unwrap());
        }
        assert!(letters(&kept) == letters(&styled.text()), "{markdown:.200}");
    }

    #[test]
    fn large_texts_of_every_kind_are_taken() {
        crate::testing::large().for_each(|text| check(&text));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

        #[test]
        fn no_event_is_too_large_and_no_letter_is_lost(
            text in "([a-z]{1,5}|[*_~`>#&<\"\\\\]|\n\n|\n```sh\n|\n> |\\*\\*b\\*\\*|`c`|😀|名|\\[l\\]\\(http://a.example/x\\)){0,200}",
            times in 1_usize..200,
        ) {
            check(&text.repeat(times));
        }
    }
}
