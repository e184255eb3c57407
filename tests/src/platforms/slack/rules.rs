//! The rules for messages.

use std::collections::HashSet;

use serde_json::Value;

/// The longest text of a message, in characters.
const TEXT_MAX: usize = 40_000;
/// The longest text of all blocks together, in characters.
const BLOCKS_TEXT_MAX: usize = 13_200;
/// The longest header, and the longest field of a section, in characters.
const HEADER_MAX: usize = 150;
const FIELD_MAX: usize = 2000;
/// How many fields a section may have.
const FIELDS_MAX: usize = 10;
/// How many blocks a message may have.
const BLOCKS_MAX: usize = 50;

/// Checks a message against Slack's rules.
///
/// # Errors
/// The rule that it breaks.
pub fn check_message(parameters: &Value) -> Result<(), String> {
    let text = parameters["text"].as_str().unwrap_or_default();
    if text.chars().count() > TEXT_MAX {
        return Err("msg_too_long".to_owned());
    }
    if text.contains('<')
        || text.contains('>')
        || text.replace("&amp;", "").replace("&lt;", "").replace("&gt;", "").contains('&')
    {
        return Err("the text has marks that were not escaped".to_owned());
    }
    let Some(blocks) = parameters["blocks"].as_array() else {
        return if text.trim().is_empty() { Err("no_text".to_owned()) } else { Ok(()) };
    };
    if blocks.is_empty() || blocks.len() > BLOCKS_MAX {
        return Err("invalid number of blocks".to_owned());
    }
    let mut length = 0;
    let mut ids = HashSet::new();
    for block in blocks {
        match block["type"].as_str() {
            Some("rich_text") => length += rich(&block["elements"])?,
            Some("actions") => actions(&block["elements"], &mut ids)?,
            Some("header") => length += plain(&block["text"], HEADER_MAX)?,
            Some("section") => length += section(block)?,
            Some("divider") if block.as_object().is_some_and(|block| block.len() == 1) => {}
            other => return Err(format!("a block of type {other:?}")),
        }
    }
    if length > BLOCKS_TEXT_MAX {
        return Err("msg_blocks_too_long".to_owned());
    }
    Ok(())
}

/// The length of a text without marks.
fn plain(text: &Value, max: usize) -> Result<usize, String> {
    let words = text["text"].as_str().unwrap_or_default();
    let length = words.chars().count();
    if text["type"] != "plain_text" || words.trim().is_empty() || length > max {
        return Err(format!("no plain text of 1 to {max} characters"));
    }
    Ok(length)
}

/// The length of a section, which has fields without marks here: text in Slack's own markup would have to be escaped.
fn section(block: &Value) -> Result<usize, String> {
    let fields = block["fields"].as_array().filter(|fields| (1..=FIELDS_MAX).contains(&fields.len()));
    let fields = fields.filter(|_| block["text"].is_null());
    fields.ok_or("no section of 1 to 10 fields")?.iter().map(|field| plain(field, FIELD_MAX)).sum()
}

fn rich(elements: &Value) -> Result<usize, String> {
    let mut length = 0;
    let elements = elements.as_array().filter(|elements| !elements.is_empty()).ok_or("an empty rich_text")?;
    for block in elements {
        let kind = block["type"].as_str().unwrap_or_default();
        if !["rich_text_section", "rich_text_quote", "rich_text_preformatted"].contains(&kind) {
            return Err(format!("a {kind:?} in rich_text"));
        }
        let pieces = block["elements"].as_array().filter(|pieces| !pieces.is_empty());
        for piece in pieces.ok_or_else(|| format!("an empty {kind}"))? {
            let text = piece["text"].as_str().unwrap_or_default();
            if text.is_empty() {
                return Err("a piece without text".to_owned());
            }
            length += text.chars().count();
            match piece["type"].as_str() {
                Some("text") => {}
                Some("link") => {
                    let url = piece["url"].as_str().unwrap_or_default();
                    length += url.chars().count() / 100;
                    let is_open = ["http://", "https://", "mailto:"]
                        .iter()
                        .any(|scheme| url.to_ascii_lowercase().starts_with(scheme));
                    if !is_open || url.len() > 3000 {
                        return Err(format!("a link to {url:?}"));
                    }
                }
                other => return Err(format!("a piece of type {other:?}")),
            }
            for (name, value) in piece["style"].as_object().into_iter().flatten() {
                if !["bold", "italic", "strike", "code"].contains(&name.as_str())
                    || !value.is_boolean()
                    || kind == "rich_text_preformatted"
                {
                    return Err(format!("the style {name} in {kind}"));
                }
            }
        }
    }
    Ok(length)
}

fn actions(elements: &Value, ids: &mut HashSet<String>) -> Result<(), String> {
    let elements = elements
        .as_array()
        .filter(|elements| (1..=25).contains(&elements.len()))
        .ok_or("no actions, or too many")?;
    for button in elements {
        let text = button["text"]["text"].as_str().unwrap_or_default();
        if button["type"] != "button" || button["text"]["type"] != "plain_text" {
            return Err("no button with plain text".to_owned());
        }
        if text.trim().is_empty() || text.chars().count() > 75 {
            return Err("a label of no length, or too long".to_owned());
        }
        if button["value"].as_str().is_none_or(|value| value.is_empty() || value.len() > 2000) {
            return Err("a value of no length, or too long".to_owned());
        }
        let id = button["action_id"].as_str().unwrap_or_default();
        if id.is_empty() || id.len() > 255 || !ids.insert(id.to_owned()) {
            return Err("an action_id twice, or none".to_owned());
        }
    }
    Ok(())
}
