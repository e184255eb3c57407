//! The content of an answer to a card, and the answers that can be given by pressing one button.

use std::collections::BTreeMap;

use api::card::{CardDocument, CardPart, CardReply};

use crate::limits::VALUE_MAX_BYTES;
use crate::{Error, Result};

/// A button or an option that answers the card when it is pressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The label of the button or option.
    pub label: String,
    /// The answer to send when it is pressed.
    pub reply: CardReply,
}

/// All parts of a card, in their order.
fn parts(card: &CardDocument) -> impl Iterator<Item = &CardPart> {
    card.blocks.iter().flat_map(|block| &block.parts)
}

/// The fields and choices of a card, in their order.
pub fn controls(card: &CardDocument) -> Vec<&CardPart> {
    parts(card).filter(|part| matches!(part, CardPart::Select { .. } | CardPart::Input { .. })).collect()
}

fn buttons(card: &CardDocument) -> impl Iterator<Item = (&str, &str)> {
    parts(card).filter_map(|part| match part {
        CardPart::Button { name, label, .. } => Some((name.as_str(), label.as_str())),
        _ => None,
    })
}

/// True if a card can be answered: it was sent, asks for something, and has no answer yet.
pub fn open(card: &CardDocument) -> bool {
    let asks = buttons(card).next().is_some() || !controls(card).is_empty();
    card.is_sent && card.answer.is_none() && asks
}

/// The answers that one press can give: each button of a card without fields, or each option of a card with one choice and nothing
/// else. `None` for a card whose fields have to be filled in; empty for a card that asks nothing.
pub fn choices(card: &CardDocument) -> Option<Vec<Choice>> {
    let buttons: Vec<Choice> = buttons(card)
        .map(|(name, label)| Choice {
            label: label.to_owned(),
            reply: CardReply { button: name.to_owned(), values: BTreeMap::new() },
        })
        .collect();
    match controls(card).as_slice() {
        [] => Some(buttons),
        [CardPart::Select { name, options, .. }] if buttons.is_empty() => {
            let choice = |option: &String| Choice {
                label: option.clone(),
                reply: CardReply {
                    button: String::new(),
                    values: BTreeMap::from([(name.clone(), option.clone())]),
                },
            };
            Some(options.iter().map(choice).collect())
        }
        _ => None,
    }
}

/// Checks an answer; returns its label: the button's, or the chosen option, or `None` if there is neither.
///
/// # Errors
/// [`Error`] if the card has no such button or field, an option was not offered, a value is missing or too long.
pub fn label_of(card: &CardDocument, reply: &CardReply) -> Result<Option<String>> {
    let named = buttons(card).find(|(name, _)| *name == reply.button);
    if named.is_none() && (!reply.button.is_empty() || buttons(card).next().is_some()) {
        return Err(Error::new("this card has no such button"));
    }
    let controls = controls(card);
    let mut label = named.map(|(_, label)| label.to_owned());
    let mut known = 0;
    for control in &controls {
        let (name, title, is_required) = match control {
            CardPart::Select { name, label, is_required, .. }
            | CardPart::Input { name, label, is_required, .. } => (name, label, *is_required),
            _ => continue,
        };
        let given = reply.values.get(name);
        known += usize::from(given.is_some());
        let value = given.map(String::as_str).unwrap_or_default();
        if value.trim().is_empty() {
            if is_required {
                return Err(Error::new(format!("“{title}” has to be filled in")));
            }
            continue;
        }
        if value.len() > VALUE_MAX_BYTES {
            return Err(Error::new(format!("“{title}” can have at most {VALUE_MAX_BYTES} bytes")));
        }
        if let CardPart::Select { options, .. } = control {
            if !options.iter().any(|option| option == value) {
                return Err(Error::new(format!("“{title}” does not offer this option")));
            }
            if label.is_none() && controls.len() == 1 {
                label = Some(value.to_owned());
            }
        }
    }
    if known != reply.values.len() {
        return Err(Error::new("this card has no such field"));
    }
    Ok(label)
}

/// An answer as the person's own message: what was chosen, then each value on a line of its own. It never begins like a command.
///
/// # Errors
/// The same as for [`label_of`].
pub fn message(card: &CardDocument, reply: &CardReply) -> Result<String> {
    let label = label_of(card, reply)?;
    let mut text = match &label {
        Some(label) => format!("→ {label} ({})", card.title),
        None => format!("→ {}", card.title),
    };
    for control in controls(card) {
        let (CardPart::Select { name, label: title, .. } | CardPart::Input { name, label: title, .. }) =
            control
        else {
            continue;
        };
        let value = reply.values.get(name).map(|value| value.trim()).filter(|value| !value.is_empty());
        match value {
            Some(value) if label.as_deref() != Some(value) || !reply.button.is_empty() => {
                text.push_str(&format!("\n{title}: {value}"));
            }
            _ => {}
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use api::card::{CardBlock, CardTone};
    use proptest::prelude::*;

    use super::*;
    use crate::{add, begin, close};

    fn sent(parts: Vec<CardPart>) -> CardDocument {
        let mut card = begin("card-1".to_owned(), "Deploy?", CardTone::Plain).unwrap();
        add(&mut card, CardBlock { parts, ..CardBlock::default() }).unwrap();
        close(&mut card).unwrap();
        card
    }

    fn button(name: &str, label: &str) -> CardPart {
        CardPart::Button { name: name.to_owned(), label: label.to_owned(), tone: CardTone::Plain }
    }

    fn select(is_required: bool) -> CardPart {
        let options = vec!["red".to_owned(), "blue".to_owned()];
        CardPart::Select { name: "colour".to_owned(), label: "Colour".to_owned(), options, is_required }
    }

    fn input() -> CardPart {
        CardPart::Input {
            name: "why".to_owned(),
            label: "Why".to_owned(),
            placeholder: String::new(),
            is_long: false,
            is_required: true,
        }
    }

    fn reply(button: &str, values: &[(&str, &str)]) -> CardReply {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        CardReply { button: button.to_owned(), values }
    }

    #[test]
    fn a_button_or_an_option_is_one_press() {
        let card = sent(vec![button("yes", "Yes"), button("no", "No")]);
        let choices = super::choices(&card).unwrap();
        assert_eq!(choices.iter().map(|choice| choice.label.as_str()).collect::<Vec<_>>(), ["Yes", "No"]);
        assert_eq!(message(&card, &choices[0].reply).unwrap(), "→ Yes (Deploy?)");
        let card = sent(vec![select(true)]);
        let choices = super::choices(&card).unwrap();
        assert_eq!(message(&card, &choices[1].reply).unwrap(), "→ blue (Deploy?)");
        assert_eq!(super::choices(&sent(vec![select(true), button("go", "Go")])), None);
        assert_eq!(super::choices(&sent(vec![input()])), None);
        let shows = sent(vec![CardPart::Divider]);
        assert!(super::choices(&shows).unwrap().is_empty() && !open(&shows) && open(&card));
    }

    #[test]
    fn an_answer_says_what_was_offered_and_nothing_else() {
        let card = sent(vec![select(false), input(), button("go", "Go")]);
        let good = reply("go", &[("colour", "red"), ("why", "because\nof it")]);
        assert_eq!(message(&card, &good).unwrap(), "→ Go (Deploy?)\nColour: red\nWhy: because\nof it");
        assert_eq!(message(&card, &reply("go", &[("why", "x")])).unwrap(), "→ Go (Deploy?)\nWhy: x");
        let long = "x".repeat(VALUE_MAX_BYTES + 1);
        for bad in [
            reply("", &[("why", "x")]),
            reply("stop", &[("why", "x")]),
            reply("go", &[]),
            reply("go", &[("why", " ")]),
            reply("go", &[("why", "x"), ("colour", "green")]),
            reply("go", &[("why", "x"), ("other", "y")]),
            reply("go", &[("why", &long)]),
        ] {
            assert!(message(&card, &bad).is_err(), "{bad:.100?}");
        }
    }

    proptest! {
        #[test]
        fn an_answer_is_never_a_command(title in "[!/a-z ]{0,8}[a-z!/]", label in "[!/a-z]{1,8}") {
            let mut card = begin("c".to_owned(), &title, CardTone::Plain).unwrap();
            let parts = vec![button("b", &label)];
            add(&mut card, CardBlock { parts, ..CardBlock::default() }).unwrap();
            let said = message(&card, &reply("b", &[])).unwrap();
            prop_assert!(!said.trim_start().starts_with(['!', '/']));
        }
    }
}
