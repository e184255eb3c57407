//! Renders styled texts as Discord's Markdown.

use serde_json::{Value, json};

use super::TEXT_MAX;
use crate::card::{Block, Card, Tone};
use crate::names::is_invisible;
use crate::parts::{Cost, spelled, split, tight};
use crate::platform::{Button, Outgoing};
use crate::styled::{Piece, Place, Style, Styled};

/// The longest label of a button, in characters.
const LABEL_MAX_CHARS: usize = 80;
/// The maximum number of buttons in a row, and of rows.
const BUTTONS_IN_A_ROW: usize = 5;
const ROWS_MAX: usize = 5;
/// The longest address of a link, in bytes; longer ones are left out.
const URL_MAX_BYTES: usize = 500;
/// The longest language name of a code block, in bytes.
const LANGUAGE_MAX_BYTES: usize = 32;
/// Limits of an embed, in UTF-16 code units: the title, the text, the name and the value of a field, and the total.
const EMBED_TITLE_MAX: usize = 256;
const EMBED_TEXT_MAX: usize = 4096;
const FIELD_NAME_MAX: usize = 256;
const FIELD_VALUE_MAX: usize = 1024;
const EMBED_MAX: usize = 6000;
/// The maximum number of fields in an embed.
const FIELDS_MAX: usize = 25;
/// An invisible character that keeps two marks apart.
const APART: char = '\u{200b}';

/// Renders a text as messages, with the buttons below the last one.
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
        last["components"] = components(buttons);
    }
    messages.into_iter().map(|payload| Outgoing { payload }).collect()
}

/// Renders buttons as rows.
fn components(buttons: &[Button]) -> Value {
    let button = |button: &Button| json!({"type": 2, "style": 2, "label": label(&button.label), "custom_id": button.token});
    let row = |row: &[Button]| json!({"type": 1, "components": row.iter().map(button).collect::<Vec<_>>()});
    json!(buttons.chunks(BUTTONS_IN_A_ROW).take(ROWS_MAX).map(row).collect::<Vec<_>>())
}

/// Renders a card as an embed; `None` if it does not fit into one.
///
/// Discord would show parts that follow fields above the fields, so a card with such parts is rendered as one text.
pub(super) fn card(card: &Card, buttons: &[Button]) -> Option<Outgoing> {
    let (mut description, mut fields) = (Styled::default(), Vec::new());
    for block in &card.blocks {
        match block {
            Block::Fields(of_block) => {
                for (name, value) in of_block {
                    fields.push(json!({"name": plain(name)?, "value": plain(value)?, "inline": true}));
                }
            }
            Block::Divider if !fields.is_empty() => {}
            Block::Text(_) | Block::Table { .. } | Block::Divider if fields.is_empty() => {
                if !description.is_empty() {
                    description.push("\n\n", &Style::default());
                }
                for piece in block.styled().trimmed().pieces {
                    description.push(&piece.text, &piece.style);
                }
            }
            Block::Text(_) | Block::Table { .. } | Block::Divider => return None,
        }
    }
    let title = plain(&card.title)?;
    let description = markdown(&spelled(&description, |address| shown(address).is_some()));
    let length = |value: &Value| value.as_str().map_or(0, |text| text.encode_utf16().count());
    let is_long =
        |field: &Value| length(&field["name"]) > FIELD_NAME_MAX || length(&field["value"]) > FIELD_VALUE_MAX;
    let sizes = fields.iter().map(|field| length(&field["name"]) + length(&field["value"]));
    let (title_length, text_length) = (title.encode_utf16().count(), description.encode_utf16().count());
    let all = title_length + text_length + sizes.sum::<usize>();
    if title_length > EMBED_TITLE_MAX
        || text_length > EMBED_TEXT_MAX
        || all > EMBED_MAX
        || fields.len() > FIELDS_MAX
        || fields.iter().any(is_long)
    {
        return None;
    }
    let mut embed = json!({"title": title});
    if !description.trim().is_empty() {
        embed["description"] = json!(description);
    }
    if !fields.is_empty() {
        embed["fields"] = json!(fields);
    }
    if let Some(colour) = colour(card.tone) {
        embed["color"] = json!(colour);
    }
    let mut payload = json!({"embeds": [embed]});
    if !buttons.is_empty() {
        payload["components"] = components(buttons);
    }
    Some(Outgoing { payload })
}

/// Escapes a text for use without marks; `None` if nothing of it is visible, because Discord would refuse such a text.
fn plain(text: &str) -> Option<String> {
    let text = Styled::plain(text).trimmed();
    let is_shown = text.text().chars().any(|c| !c.is_whitespace() && !is_invisible(c));
    is_shown.then(|| markdown(&text))
}

/// The colour at the side of a card, as RGB.
fn colour(tone: Tone) -> Option<u32> {
    match tone {
        Tone::Plain => None,
        Tone::Primary => Some(0x34_98_db),
        Tone::Success => Some(0x2e_cc_71),
        Tone::Warning => Some(0xe6_7e_22),
        Tone::Danger => Some(0xe7_4c_3c),
    }
}

fn label(label: &str) -> String {
    let label: String = label.chars().take(LABEL_MAX_CHARS).collect();
    if label.chars().all(|c| c.is_whitespace() || is_invisible(c)) { "…".to_owned() } else { label }
}

/// The maximum length of a text with its marks, in code units of UTF-16, of which there are never fewer than characters.
struct Marked;

impl Cost for Marked {
    fn text(&self, text: &str, style: &Style) -> usize {
        let is_code = style.code || matches!(style.place, Place::Code(_));
        let again = 2 * marks(style).chars().count() + 3 + target(style).map_or(0, |url| url.len() + 6);
        let cost = |c: char| match c {
            '\n' if matches!(style.place, Place::Code(_)) => 1,
            // Marks are closed at the end of each line and opened again on the next one.
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
            // The marks on both sides, the mark of a quotation, and the separators between pieces.
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

/// The address of a style's link, in the form that can be written in a link.
fn target(style: &Style) -> Option<String> {
    style.link.as_ref().filter(|_| !style.code).and_then(|url| shown(url))
}

/// An address in the form that can be written in a link; `None` if it cannot be.
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
            // Three backticks would end the block.
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
        // Discord removes spaces next to the marks of code at its ends.
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
    use ::tests::platforms::discord::check_message;
    use proptest::prelude::*;

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

    fn buttons() -> Vec<Button> {
        let token = |n: usize| format!("{n:032}");
        (0..10).map(|n| Button { label: "@everyone *x*".to_owned(), token: token(n) }).collect()
    }

    #[test]
    fn a_card_is_an_embed() {
        let mut full = crate::card::tests::full();
        assert!(card(&full, &buttons()).is_none(), "a table after fields would stand above them");
        full.blocks.swap(1, 3);
        let card = card(&full, &buttons()).unwrap().payload;
        let embed = &card["embeds"][0];
        assert_eq!(embed["title"], "Deploy \\*now\\*?");
        assert_eq!(embed["fields"], json!([{"name": "Branch", "value": "main\\_2", "inline": true}]));
        assert!(embed["description"].as_str().unwrap().contains("```\na | b\n1 | 2 3\n```"), "{embed}");
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
