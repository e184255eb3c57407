//! The rules for text messages.

use serde_json::Value;

/// The longest text, in code units of UTF-16: never less than what Telegram counts.
const TEXT_MAX: usize = 4096;
/// The maximum number of entities. Telegram drops further ones; here they are refused.
const ENTITIES_MAX: usize = 100;
/// The types that a bot may send.
const TYPES: [&str; 10] = [
    "bold",
    "italic",
    "underline",
    "strikethrough",
    "spoiler",
    "blockquote",
    "code",
    "pre",
    "text_link",
    "text_mention",
];

/// Checks a message against Telegram's rules.
///
/// # Errors
/// The rule that it breaks.
pub fn check_message(parameters: &Value) -> Result<(), String> {
    let text = parameters["text"].as_str().ok_or("message text is empty")?;
    if !parameters["parse_mode"].is_null() {
        return Err("this stand-in takes entities only".to_owned());
    }
    let units: Vec<u16> = text.encode_utf16().collect();
    if units.len() > TEXT_MAX {
        return Err("message is too long".to_owned());
    }
    if text.trim() != text {
        return Err("the text has white space at its ends, which moves its entities".to_owned());
    }
    let is_shown = |c: char| {
        !c.is_whitespace()
            && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{ad}' | '\u{2800}' | '\u{fe0f}')
    };
    if !text.chars().any(is_shown) {
        return Err("message text is empty".to_owned());
    }
    check_entities(&units, &parameters["entities"])?;
    check_keyboard(&parameters["reply_markup"])
}

fn check_entities(units: &[u16], entities: &Value) -> Result<(), String> {
    if entities.is_null() {
        return Ok(());
    }
    let entities = entities.as_array().ok_or("can't parse entities: expected an array")?;
    if entities.len() > ENTITIES_MAX {
        return Err("too many entities".to_owned());
    }
    let is_low = |at: usize| units.get(at).is_some_and(|unit| (0xdc00..0xe000).contains(unit));
    let mut ranges = Vec::new();
    for entity in entities {
        let number = |key: &str| usize::try_from(entity[key].as_u64()?).ok();
        let (Some(from), Some(length)) = (number("offset"), number("length")) else {
            return Err(format!("can't parse entities: no range in {entity}"));
        };
        let kind = entity["type"].as_str().unwrap_or_default();
        if !TYPES.contains(&kind) {
            return Err(format!("can't parse entities: unsupported type {kind:?}"));
        }
        let to = from + length;
        if length == 0 || to > units.len() {
            return Err(format!("ENTITY_BOUNDS_INVALID: {entity}"));
        }
        if is_low(from) || is_low(to) {
            return Err(format!("entity cuts a UTF-16 symbol: {entity}"));
        }
        if kind == "text_link" {
            let url = entity["url"].as_str().unwrap_or_default();
            if !(url.starts_with("http://") || url.starts_with("https://")) || url.len() > 2048 {
                return Err(format!("wrong HTTP URL: {entity}"));
            }
        }
        ranges.push((from, to, kind));
    }
    for (at, one) in ranges.iter().enumerate() {
        for other in &ranges[at + 1..] {
            if one.1 <= other.0 || other.1 <= one.0 {
                continue;
            }
            let is_inside = |inner: &(usize, usize, &str), outer: &(usize, usize, &str)| {
                outer.0 <= inner.0 && inner.1 <= outer.1
            };
            if !is_inside(one, other) && !is_inside(other, one) {
                return Err(format!("entities cross: {one:?} {other:?}"));
            }
            let kinds = [one.2, other.2];
            if one.2 == other.2 {
                return Err(format!("an entity within one of its kind: {one:?} {other:?}"));
            }
            if kinds.contains(&"pre") || kinds.contains(&"code") && !kinds.contains(&"blockquote") {
                return Err(format!("code with another entity: {one:?} {other:?}"));
            }
        }
    }
    Ok(())
}

fn check_keyboard(markup: &Value) -> Result<(), String> {
    let Some(rows) = markup["inline_keyboard"].as_array() else {
        return if markup.is_null() { Ok(()) } else { Err("object expected as reply markup".to_owned()) };
    };
    for button in rows.iter().flat_map(|row| row.as_array().into_iter().flatten()) {
        if button["text"].as_str().is_none_or(|text| text.trim().is_empty()) {
            return Err("text buttons are unallowed to be empty".to_owned());
        }
        let data = button["callback_data"].as_str().unwrap_or_default();
        if data.is_empty() || data.len() > 64 {
            return Err("BUTTON_DATA_INVALID".to_owned());
        }
    }
    Ok(())
}
