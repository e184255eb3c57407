//! Cards as data: building and checking them, their text form, and the content of an answer. No I/O.
//!
//! ```text
//!   card_create ─▶ card_add_… ─▶ card_send ─▶ shown ─▶ answered once, by a button and the values of the fields
//! ```
//! A card is answered as a whole: all its fields and choices are sent with the button that is pressed, as in a form.
//!
//! | module | holds |
//! |---|---|
//! | `build` | starting a card, adding to it, and checking it |
//! | `answer` | the content of an answer, and the answers that one press can give |
//! | `text` | a card as plain text, for terminals, files and models |
//! | [`limits`] | limits, with their units |

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod answer;
mod build;
pub mod limits;
mod text;

pub use answer::{Choice, choices, controls, label_of, message, open};
pub use build::{add, begin, check, close};
pub use text::text;

/// Shorthand for this crate's results.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A card or an answer that breaks a rule: the caller's fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl Error {
    fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}
