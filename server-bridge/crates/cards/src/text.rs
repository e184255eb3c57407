//! A card as plain text.

use api::card::{CardDocument, CardPart};

/// A card as plain text, without a line feed at its end: for terminals, for files, and for a model that checks the card it has built.
pub fn text(card: &CardDocument) -> String {
    let mut lines = vec![format!("▌ {}", card.title)];
    for block in &card.blocks {
        if !block.title.is_empty() {
            lines.push(format!("▎ {}", block.title));
        }
        lines.extend(block.parts.iter().map(part));
    }
    if let Some(answer) = &card.answer {
        lines.push(format!("→ {}", answer.label));
    }
    lines.join("\n")
}

fn part(part: &CardPart) -> String {
    match part {
        CardPart::Text { text } => text.trim().to_owned(),
        CardPart::Fields { fields } => {
            let lines: Vec<String> =
                fields.iter().map(|field| format!("{}: {}", field.name, field.value.trim())).collect();
            lines.join("\n")
        }
        CardPart::Table { columns, rows } => {
            let row = |cells: &Vec<String>| {
                let cells: Vec<String> =
                    cells.iter().map(|cell| cell.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
                cells.join(" | ")
            };
            let rows: Vec<String> = std::iter::once(columns).chain(rows).map(row).collect();
            rows.join("\n")
        }
        CardPart::Link { text, url } => format!("{text}: {url}"),
        CardPart::Divider => "———".to_owned(),
        CardPart::Button { label, .. } => format!("[ {label} ]"),
        CardPart::Select { label, options, is_required, .. } => {
            format!("{label}{}: ( {} )", required(*is_required), options.join(" | "))
        }
        CardPart::Input { label, placeholder, is_required, .. } => {
            let rest = if placeholder.is_empty() { "____" } else { placeholder };
            format!("{label}{}: {rest}", required(*is_required))
        }
    }
}

fn required(is_required: bool) -> &'static str {
    if is_required { " *" } else { "" }
}

#[cfg(test)]
mod tests {
    use api::card::{CardBlock, CardTone};

    use super::*;

    #[test]
    fn every_part_has_a_line() {
        let mut card = crate::begin("c".to_owned(), "T", CardTone::Plain).unwrap();
        let strings = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let parts = vec![
            CardPart::Text { text: "hello".to_owned() },
            CardPart::Table { columns: strings(&["a", "b"]), rows: vec![strings(&["1\n2", "3"])] },
            CardPart::Link { text: "log".to_owned(), url: "https://a.example".to_owned() },
            CardPart::Button { name: "x".to_owned(), label: "Go".to_owned(), tone: CardTone::Primary },
        ];
        crate::add(&mut card, CardBlock { title: "H".to_owned(), parts, ..CardBlock::default() }).unwrap();
        assert_eq!(text(&card), "▌ T\n▎ H\nhello\na | b\n1 2 | 3\nlog: https://a.example\n[ Go ]");
    }
}
