//! Starting a card, adding blocks to it, and checking it.

use std::collections::HashSet;

use api::card::{CardBlock, CardDocument, CardPart, CardTone};

use crate::limits::{
    BLOCKS_MAX, BUTTONS_MAX, CARD_MAX_BYTES, COLUMNS_MAX, FIELD_MAX_BYTES, FIELDS_MAX, INPUTS_MAX,
    LABEL_MAX_BYTES, NAME_MAX_BYTES, OPTIONS_MAX, PARTS_MAX, ROWS_MAX, TEXT_MAX_BYTES, TITLE_MAX_BYTES,
    URL_MAX_BYTES,
};
use crate::{Error, Result};

/// Begins a card.
///
/// # Errors
/// [`Error`] if the title is empty, too long, or has several lines.
pub fn begin(card_id: String, title: &str, tone: CardTone) -> Result<CardDocument> {
    let card = CardDocument { card_id, title: title.trim().to_owned(), tone, ..CardDocument::default() };
    check(&card)?;
    Ok(card)
}

/// Adds a block to a card. If the block would violate a rule, the card stays unchanged.
///
/// # Errors
/// [`Error`] with the rule that the block breaks, or if the card was sent.
pub fn add(card: &mut CardDocument, block: CardBlock) -> Result<()> {
    if card.is_sent {
        return Err(Error::new("this card has already been sent; create another one with card_create"));
    }
    if block.parts.is_empty() {
        return Err(Error::new("there is nothing to add; give at least one part"));
    }
    card.blocks.push(block);
    check(card).inspect_err(|_| drop(card.blocks.pop()))
}

/// Marks a card as sent.
///
/// # Errors
/// [`Error`] if it has no content, or was sent already.
pub fn close(card: &mut CardDocument) -> Result<()> {
    if card.is_sent {
        return Err(Error::new("this card has already been sent; create another one with card_create"));
    }
    if card.blocks.is_empty() {
        return Err(Error::new("this card is empty; add something to it first"));
    }
    card.is_sent = true;
    Ok(())
}

/// Checks a whole card.
///
/// # Errors
/// [`Error`] with the first rule that it breaks.
pub fn check(card: &CardDocument) -> Result<()> {
    line("the title", &card.title, TITLE_MAX_BYTES)?;
    most("blocks", card.blocks.len(), BLOCKS_MAX)?;
    let (mut names, mut buttons, mut inputs, mut bytes) = (HashSet::new(), 0, 0, card.title.len());
    for block in &card.blocks {
        if !block.title.is_empty() {
            line("the heading of a block", &block.title, TITLE_MAX_BYTES)?;
        }
        most("parts in one block", block.parts.len(), PARTS_MAX)?;
        bytes += block.title.len();
        for part in &block.parts {
            bytes += check_part(part)?;
            match part {
                CardPart::Button { name, .. } => {
                    buttons += 1;
                    new_name(&mut names, name)?;
                }
                CardPart::Select { name, .. } | CardPart::Input { name, .. } => {
                    inputs += 1;
                    new_name(&mut names, name)?;
                }
                CardPart::Text { .. }
                | CardPart::Fields { .. }
                | CardPart::Table { .. }
                | CardPart::Link { .. }
                | CardPart::Divider => {}
            }
        }
    }
    most("buttons", buttons, BUTTONS_MAX)?;
    most("fields and choices", inputs, INPUTS_MAX)?;
    most("bytes of text", bytes, CARD_MAX_BYTES)
}

/// Checks a part; returns the bytes of its texts.
fn check_part(part: &CardPart) -> Result<usize> {
    Ok(match part {
        CardPart::Text { text } => {
            words("a text", text, TEXT_MAX_BYTES)?;
            text.len()
        }
        CardPart::Fields { fields } => {
            most("fields", fields.len(), FIELDS_MAX)?;
            some("fields", fields.len())?;
            for field in fields {
                line("the name of a field", &field.name, LABEL_MAX_BYTES)?;
                words("the value of a field", &field.value, FIELD_MAX_BYTES)?;
            }
            fields.iter().map(|field| field.name.len() + field.value.len()).sum()
        }
        CardPart::Table { columns, rows } => {
            most("columns", columns.len(), COLUMNS_MAX)?;
            most("rows", rows.len(), ROWS_MAX)?;
            some("columns", columns.len())?;
            some("rows", rows.len())?;
            for heading in columns {
                line("the heading of a column", heading, LABEL_MAX_BYTES)?;
            }
            for cell in rows.iter().flatten() {
                sized("a cell", cell, FIELD_MAX_BYTES)?;
            }
            if rows.iter().any(|row| row.len() != columns.len()) {
                return Err(Error::new(format!(
                    "each row needs {} cells, one for each column",
                    columns.len()
                )));
            }
            columns.iter().chain(rows.iter().flatten()).map(String::len).sum()
        }
        CardPart::Link { text, url } => {
            line("the text of a link", text, LABEL_MAX_BYTES)?;
            sized("a link", url, URL_MAX_BYTES)?;
            if !is_web(url) {
                return Err(Error::new(
                    "a link must begin with http:// or https://, and must not contain spaces",
                ));
            }
            text.len() + url.len()
        }
        CardPart::Divider => 0,
        CardPart::Button { label, .. } => {
            line("the label of a button", label, LABEL_MAX_BYTES)?;
            label.len()
        }
        CardPart::Select { label, options, .. } => {
            line("the label of a choice", label, LABEL_MAX_BYTES)?;
            most("options", options.len(), OPTIONS_MAX)?;
            some("options", options.len())?;
            for option in options {
                line("an option", option, LABEL_MAX_BYTES)?;
            }
            if options.iter().collect::<HashSet<_>>().len() != options.len() {
                return Err(Error::new("the options of a choice must differ from each other"));
            }
            label.len() + options.iter().map(String::len).sum::<usize>()
        }
        CardPart::Input { label, placeholder, .. } => {
            line("the label of a field", label, LABEL_MAX_BYTES)?;
            if !placeholder.is_empty() {
                line("a placeholder", placeholder, LABEL_MAX_BYTES)?;
            }
            label.len() + placeholder.len()
        }
    })
}

/// True for an address that a browser opens as a page.
fn is_web(url: &str) -> bool {
    let lower = url.to_ascii_lowercase();
    let rest = lower.strip_prefix("https://").or_else(|| lower.strip_prefix("http://"));
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && !matches!(c, '<' | '>' | '"' | '\\');
    rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_alphanumeric() || c == '['))
        && url.chars().all(is_plain)
}

fn new_name<'a>(names: &mut HashSet<&'a str>, name: &'a str) -> Result<()> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() || name.len() > NAME_MAX_BYTES || !name.chars().all(is_word) {
        let rule = format!("a name must have 1 to {NAME_MAX_BYTES} letters, digits, _ or -");
        return Err(Error::new(rule));
    }
    if !names.insert(name) {
        return Err(Error::new(format!("the name {name} is used twice in this card")));
    }
    Ok(())
}

fn sized(what: &str, text: &str, max_bytes: usize) -> Result<()> {
    if text.len() > max_bytes {
        return Err(Error::new(format!("{what} can have at most {max_bytes} bytes")));
    }
    Ok(())
}

fn words(what: &str, text: &str, max_bytes: usize) -> Result<()> {
    if text.trim().is_empty() {
        return Err(Error::new(format!("{what} is empty")));
    }
    sized(what, text, max_bytes)
}

fn line(what: &str, text: &str, max_bytes: usize) -> Result<()> {
    words(what, text, max_bytes)?;
    if text.chars().any(char::is_control) {
        return Err(Error::new(format!("{what} must be a single line")));
    }
    Ok(())
}

fn most(what: &str, count: usize, max: usize) -> Result<()> {
    if count > max {
        return Err(Error::new(format!("a card can have at most {max} {what}")));
    }
    Ok(())
}

fn some(what: &str, count: usize) -> Result<()> {
    if count == 0 {
        return Err(Error::new(format!("{what} must not be empty")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use api::card::{CardField, CardLayout};

    use super::*;

    fn block(parts: Vec<CardPart>) -> CardBlock {
        CardBlock { layout: CardLayout::Stack, title: String::new(), parts }
    }

    fn card() -> CardDocument {
        begin("card-1".to_owned(), " A title ", CardTone::Plain).unwrap()
    }

    fn button(name: &str) -> CardPart {
        CardPart::Button { name: name.to_owned(), label: "Go".to_owned(), tone: CardTone::Plain }
    }

    fn link(url: &str) -> CardPart {
        CardPart::Link { text: "here".to_owned(), url: url.to_owned() }
    }

    #[test]
    fn a_card_that_a_block_would_break_stays_as_it_is() {
        let mut card = card();
        assert_eq!(card.title, "A title");
        let cells = |count| vec!["x".to_owned(); count];
        let field = CardField { name: "n".to_owned(), value: String::new() };
        let bad = [
            vec![],
            vec![CardPart::Text { text: " \n".to_owned() }],
            vec![CardPart::Text { text: "x".repeat(TEXT_MAX_BYTES + 1) }],
            vec![CardPart::Divider; PARTS_MAX + 1],
            vec![CardPart::Fields { fields: vec![field] }],
            vec![CardPart::Table { columns: cells(2), rows: vec![cells(1)] }],
            vec![CardPart::Table { columns: cells(COLUMNS_MAX + 1), rows: vec![cells(COLUMNS_MAX + 1)] }],
            vec![CardPart::Table { columns: cells(1), rows: vec![cells(1); ROWS_MAX + 1] }],
            vec![button("a"), button("a")],
            vec![button("a b")],
            vec![button("")],
            (0..=BUTTONS_MAX).map(|n| button(&n.to_string())).collect(),
            vec![CardPart::Select {
                name: "s".to_owned(),
                label: "S".to_owned(),
                options: cells(2),
                is_required: true,
            }],
        ];
        for parts in bad {
            let text = format!("{parts:.200?}");
            assert!(add(&mut card, block(parts)).is_err(), "{text}");
            assert!(card.blocks.is_empty());
        }
        add(&mut card, block(vec![button("a"), CardPart::Divider])).unwrap();
        close(&mut card).unwrap();
        assert!(add(&mut card, block(vec![CardPart::Divider])).is_err() && close(&mut card).is_err());
    }

    #[test]
    fn titles_are_one_line_and_cards_have_a_size() {
        for title in ["", " ", "a\nb", "a\u{7}", &"x".repeat(TITLE_MAX_BYTES + 1)] {
            assert!(begin("c".to_owned(), title, CardTone::Plain).is_err(), "{title:?}");
        }
        let mut card = card();
        let text = || CardPart::Text { text: "x".repeat(TEXT_MAX_BYTES) };
        add(&mut card, block(vec![text()])).unwrap();
        assert!(add(&mut card, block(vec![text()])).is_err(), "more than {CARD_MAX_BYTES} bytes");
        assert!(close(&mut begin("c".to_owned(), "t", CardTone::Plain).unwrap()).is_err(), "nothing in it");
    }

    #[test]
    fn links_lead_to_pages_only() {
        let refused = [
            "javascript:alert(1)",
            "http://",
            "file:///etc/passwd",
            "https:// a",
            "HTTPS://",
            "http://\"x",
            "//a",
        ];
        for url in refused {
            assert!(add(&mut card(), block(vec![link(url)])).is_err(), "{url}");
        }
        for url in ["https://a.example/b?c=(d)", "HTTP://a", "http://[::1]:8080/"] {
            assert!(add(&mut card(), block(vec![link(url)])).is_ok(), "{url}");
        }
    }
}
