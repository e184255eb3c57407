//! Styled texts as Discord's Markdown.

use serde_json::{Value, json};

use super::TEXT_MAX;
use crate::names::is_invisible;
use crate::parts::{Cost, spelled, split, tight};
use crate::platform::{Button, Outgoing};
use crate::styled::{Piece, Place, Style, Styled};

/// The longest label of a button, in characters.
const LABEL_MAX_CHARS: usize = 80;
/// How many buttons stand in a row, and how many rows there are.
const BUTTONS_IN_A_ROW: usize = 5;
const ROWS_MAX: usize = 5;
/// The longest address that a link may have; longer ones are left out.
const URL_MAX_BYTES: usize = 500;
/// The longest name of a language of code, in bytes.
const LANGUAGE_MAX_BYTES: usize = 32;
/// A character that is not visible and keeps marks apart.
const APART: char = '\u{200b}';

/// A text as messages, buttons below the last one.
pub(super) fn messages(text: &Styled, buttons: &[Button]) -> Vec<Outgoing> {
    let text = spelled(text, |address| shown(address).is_some());
    let mut messages: Vec<Value> = split(&text, TEXT_MAX, &Marked)
        .iter()
        .filter(|part| part.text().chars().any(|c| !c.is_whitespace() && !is_invisible(c)))
        .map(|part| json!({"content": markdown(part)}))
        .collect();
    if messages.is_empty() {
        messages.push(json!({"content": "…"}));
    }
    if let Some(last) = messages.last_mut()
        && !buttons.is_empty()
    {
        let button = |button: &Button| json!({"type": 2, "style": 2, "label": label(&button.label), "custom_id": button.token});
        let row =
            |row: &[Button]| json!({"type": 1, "components": row.iter().map(button).collect::<Vec<_>>()});
        last["components"] =
            json!(buttons.chunks(BUTTONS_IN_A_ROW).take(ROWS_MAX).map(row).collect::<Vec<_>>());
    }
    messages.into_iter().map(|payload| Outgoing { payload }).collect()
}

fn label(label: &str) -> String {
    let label: String = label.chars().take(LABEL_MAX_CHARS).collect();
    if label.chars().all(|c| c.is_whitespace() || is_invisible(c)) { "…".to_owned() } else { label }
}

/// What a text costs with its marks, at most, in code units of UTF-16: never less than characters.
struct Marked;

impl Cost for Marked {
    fn text(&self, text: &str, style: &Style) -> usize {
        let is_code = style.code || matches!(style.place, Place::Code(_));
        let again = 2 * marks(style).chars().count() + 3 + target(style).map_or(0, |url| url.len() + 6);
        let cost = |c: char| match c {
            '\n' if matches!(style.place, Place::Code(_)) => 1,
            // Marks are closed at the end of each line and opened again on the next.
            '\n' => 1 + again,
            '`' => 2,
            c if !is_code && is_mark(c) => 2,
            c => c.len_utf16(),
        };
        text.chars().map(cost).sum()
    }

    fn around(&self, style: &Style) -> usize {
        match &style.place {
            Place::Code(language) => language.len().min(LANGUAGE_MAX_BYTES) + 10,
            // Marks on both sides, the quotation's, and what keeps pieces apart.
            _ => 2 * marks(style).chars().count() + target(style).map_or(0, |url| url.len() + 6) + 8,
        }
    }
}

fn is_mark(c: char) -> bool {
    matches!(
        c,
        '\\' | '*' | '_' | '~' | '`' | '|' | '<' | '>' | '[' | ']' | '(' | ')' | '#' | '-' | '+' | '@' | ':'
    )
}

fn marks(style: &Style) -> String {
    if style.code {
        return "``".to_owned();
    }
    let all = [(style.bold, "**"), (style.italic, "*"), (style.strike, "~~")];
    all.iter().filter(|(is, _)| *is).map(|(_, mark)| *mark).collect()
}

/// The address of a link, as it can stand in one.
fn target(style: &Style) -> Option<String> {
    style.link.as_ref().filter(|_| !style.code).and_then(|url| shown(url))
}

/// An address as it can stand in a link; `None` if it cannot.
fn shown(url: &str) -> Option<String> {
    let url: String = url
        .chars()
        .map(|c| match c {
            '(' => "%28".to_owned(),
            ')' => "%29".to_owned(),
            '<' => "%3C".to_owned(),
            '>' => "%3E".to_owned(),
            c if c.is_whitespace() || c.is_control() => "%20".to_owned(),
            c => c.to_string(),
        })
        .collect();
    let is_link = url.starts_with("http://") || url.starts_with("https://");
    (is_link && url.len() <= URL_MAX_BYTES).then_some(url)
}

fn markdown(part: &Styled) -> String {
    let mut out = String::new();
    for Piece { text, style } in &tight(part).pieces {
        if let Place::Code(language) = &style.place {
            if !out.is_empty() && !out.ends_with('\n') {
                out.push('\n');
            }
            let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '#' | '_' | '.');
            let is_known = language.len() <= LANGUAGE_MAX_BYTES && language.chars().all(is_name);
            let language = if is_known { language.as_str() } else { "" };
            // Three of them would end it.
            let text = text.replace('`', &format!("`{APART}"));
            out.push_str(&format!("```{language}\n{}\n```\n", text.trim_end_matches('\n')));
            continue;
        }
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                out.push('\n');
            }
            if line.is_empty() {
                continue;
            }
            if style.place == Place::Quote && (out.is_empty() || out.ends_with('\n')) {
                out.push_str("> ");
            }
            write_line(&mut out, line, style);
        }
    }
    out.trim_matches('\n').to_owned()
}

fn write_line(out: &mut String, line: &str, style: &Style) {
    let marks = marks(style);
    let inner = if style.code {
        // Spaces beside a mark of code at its ends are taken away by Discord.
        line.replace('`', &format!("`{APART}"))
    } else {
        escaped(line)
    };
    if marks.is_empty() && target(style).is_none() {
        out.push_str(&inner);
        return;
    }
    // Without a separator, the marks of two neighbouring styles would be read as one.
    if out.ends_with(['*', '~', '`', '_', ')']) {
        out.push(APART);
    }
    let reversed: String = marks.chars().rev().collect();
    let marked = format!("{marks}{inner}{reversed}");
    match target(style) {
        Some(url) => out.push_str(&format!("[{marked}](<{url}>)")),
        None => out.push_str(&marked),
    }
}

/// Escapes all marks in a text. Addresses are not escaped, because that would change where they lead.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for word in text.split_inclusive(char::is_whitespace) {
        if word.starts_with("http://") || word.starts_with("https://") {
            out.push_str(word);
            continue;
        }
        for c in word.chars() {
            if is_mark(c) {
                out.push('\\');
            }
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(markdown: &str) -> String {
        messages(&Styled::markdown(markdown), &[])[0].payload["content"].as_str().unwrap().to_owned()
    }

    #[test]
    fn marks_touch_their_words_and_text_is_no_mark() {
        assert_eq!(rendered("a **b** *c*"), "a **b** *c*");
        assert_eq!(rendered("1 \\* 2 \\_x\\_ <@7>"), "1 \\* 2 \\_x\\_ \\<\\@7\\>");
        assert_eq!(rendered("[here](https://a.example/a_(b))"), "[here](<https://a.example/a_%28b%29>)");
        assert_eq!(rendered("see https://a.example/x_y_z now"), "see https://a.example/x_y_z now");
        assert_eq!(rendered("> a\n> b\n\nc"), "> a\n> b\n\nc");
        assert_eq!(rendered("```rust\nlet a = \"`\";\n```"), "```rust\nlet a = \"`\u{200b}\";\n```");
    }
}
