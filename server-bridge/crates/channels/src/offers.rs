//! Choices below a message: buttons, or numbers where the messenger has no buttons.

use api::language::Language;
use platforms::{Button, Platform};
use sha2::{Digest as _, Sha256};
use store::{NewPress, hex};

use crate::house::{Inner, to_json};
use crate::limits::ASK_PATIENCE_MS;
use crate::questions::Choice;

/// The choices below a message.
pub(crate) struct Offer {
    /// The buttons; empty if the messenger has no buttons.
    pub(crate) buttons: Vec<Button>,
    /// The stored record of each choice.
    pub(crate) presses: Vec<NewPress>,
    /// The choices as numbered lines; empty if the messenger has buttons.
    pub(crate) numbers: String,
}

impl Inner {
    /// Returns the time until which a question that is asked now can be answered, in Unix milliseconds.
    pub(crate) fn ask_until_ms(&self) -> i64 {
        self.store.now_ms() + ASK_PATIENCE_MS
    }
}

/// Creates the choices, numbered from `first` on, each with its own token. They are valid until `until_ms`, in Unix milliseconds.
pub(crate) fn offer(
    platform: &dyn Platform,
    language: Language,
    first: i64,
    options: &[(String, Choice)],
    until_ms: i64,
) -> Offer {
    let (mut buttons, mut presses) = (Vec::new(), Vec::new());
    for (place, (label, choice)) in (first..).zip(options) {
        let token = hex(&rand::random::<[u8; 16]>());
        presses.push(NewPress {
            token_sha256: hex(&Sha256::digest(&token)),
            place,
            label: label.clone(),
            reply_json: to_json(choice),
            expires_at_ms: until_ms,
        });
        buttons.push(Button { label: label.clone(), token });
    }
    let mut numbers = String::new();
    if !platform.caps().buttons && !presses.is_empty() {
        buttons.clear();
        numbers.push_str(&format!("\n\n{}", language.translated("Answer with a number:")));
        for press in &presses {
            numbers.push_str(&format!("\n{} {}", press.place, press.label));
        }
    }
    Offer { buttons, presses, numbers }
}
