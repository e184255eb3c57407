//! The messenger's rules for cards.

use serde_json::Value;

/// The longest card, in bytes of its JSON, according to the API documentation.
const CARD_MAX_BYTES: usize = 30 * 1024;

/// The maximum number of elements of a card.
const ELEMENTS_MAX: usize = 200;

/// The colours of a title, according to the documentation of the component.
const TEMPLATES: &[&str] = &[
    "blue",
    "wathet",
    "turquoise",
    "green",
    "yellow",
    "orange",
    "red",
    "carmine",
    "violet",
    "purple",
    "indigo",
    "grey",
    "default",
];

/// The maximum number of tables of a card.
const TABLES_MAX: usize = 5;

/// The error for an invalid card of version 2.0, as code and reason; `None` if the card is accepted.
pub fn fault_of_card(text: &str) -> Option<(u64, String)> {
    if text.len() > CARD_MAX_BYTES {
        return Some((
            230025,
            format!("The length of the message content reaches its limit: {}", text.len()),
        ));
    }
    let refused = |why: String| Some((230099, format!("Failed to create card content: {why}")));
    let Ok(card) = serde_json::from_str::<Value>(text) else { return refused("no JSON".to_owned()) };
    if card["schema"] != "2.0" || card["config"]["update_multi"] != true {
        return refused("schema 2.0 needs a shared card".to_owned());
    }
    let Some(elements) = card["body"]["elements"].as_array() else {
        return refused("no elements".to_owned());
    };
    if elements.is_empty() || elements.len() > ELEMENTS_MAX {
        return refused(format!("{} elements", elements.len()));
    }
    if let Some(header) = card.get("header") {
        let title = &header["title"];
        let is_shown = title["content"].as_str().is_some_and(|title| !title.trim().is_empty());
        let is_known = header["template"].as_str().is_some_and(|template| TEMPLATES.contains(&template));
        if title["tag"] != "plain_text" || !is_shown || !is_known {
            return refused(format!("a bad header: {header}"));
        }
    }
    let mut tables = 0;
    for element in elements {
        match element["tag"].as_str() {
            Some("markdown") => {
                let Some(text) = element["content"].as_str().filter(|text| !text.trim().is_empty()) else {
                    return refused("an empty text".to_owned());
                };
                if ["<at", "<person", "<font", "<img", "<link"].iter().any(|tag| text.contains(tag)) {
                    return refused("a tag that nobody meant".to_owned());
                }
                if text.matches("```").count() % 2 == 1 {
                    return refused("a fence that is not closed".to_owned());
                }
                tables += text.lines().filter(|line| line.trim_start().starts_with("|-")).count();
            }
            Some("button") => {
                let label = element["text"]["content"].as_str().unwrap_or_default();
                let behavior = &element["behaviors"][0];
                let is_good = element["text"]["tag"] == "plain_text"
                    && !label.is_empty()
                    && label.chars().count() <= 100;
                if !is_good || behavior["type"] != "callback" || !behavior["value"].is_object() {
                    return refused(format!("a bad button: {element}"));
                }
            }
            Some("hr") => {}
            Some("table") => {
                tables += 1;
                if let Some(why) = fault_of_table(element) {
                    return refused(why);
                }
            }
            other => return refused(format!("an element {other:?}")),
        }
    }
    (tables > TABLES_MAX).then(|| (11310, "card table number over limit".to_owned()))
}

/// The error for an invalid table component; `None` if it is accepted.
fn fault_of_table(table: &Value) -> Option<String> {
    let columns = table["columns"].as_array().map_or(&[][..], Vec::as_slice);
    let rows = table["rows"].as_array().map_or(&[][..], Vec::as_slice);
    let names: Vec<&str> = columns.iter().filter_map(|column| column["name"].as_str()).collect();
    let is_column = |column: &Value| {
        column["data_type"] == "text"
            && column["display_name"].as_str().is_some_and(|name| !name.trim().is_empty())
    };
    let is_row = |row: &Value| {
        let is_cell = |(name, value): (&String, &Value)| names.contains(&name.as_str()) && value.is_string();
        row.as_object().is_some_and(|row| row.iter().all(is_cell))
    };
    let is_paged = table["page_size"].as_u64().is_some_and(|size| (1..=10).contains(&size));
    let is_good = !names.is_empty()
        && names.len() == columns.len()
        && columns.len() <= 50
        && columns.iter().all(is_column)
        && rows.iter().all(is_row)
        && is_paged;
    (!is_good).then(|| format!("a bad table: {table:.200}"))
}
