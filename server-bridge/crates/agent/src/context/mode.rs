//! The modes that determine which layers change a conversation.

use std::fmt;
use std::str::FromStr;

/// The layers that change a conversation automatically. Existing edits, masks and summaries stay in every mode, and a user's own
/// `/compress` always works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContextMode {
    /// All layers are on.
    #[default]
    Full,
    /// All layers except summaries are on: long results are put aside, old ones masked, and the model may edit.
    NoCompression,
    /// No layer is on: the model sees everything that was said, as long as it fits the window.
    None,
}

impl ContextMode {
    /// All modes, the one with most layers first.
    pub const ALL: [Self; 3] = [Self::Full, Self::NoCompression, Self::None];

    /// The mode's name in settings and documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::NoCompression => "no-compression",
            Self::None => "none",
        }
    }

    /// True if long results are put aside.
    pub fn offloads(self) -> bool {
        self != Self::None
    }

    /// True if lines replace old results.
    pub fn masks(self) -> bool {
        self != Self::None
    }

    /// True if the model may edit its conversation.
    pub fn edits(self) -> bool {
        self != Self::None
    }

    /// True if a summary replaces the beginning without a request of the user.
    pub fn compresses(self) -> bool {
        self == Self::Full
    }

    /// A description for people.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Full => {
                "long results are put aside, old ones shrink to one line, and a conversation that fills the model's window is compressed automatically"
            }
            Self::NoCompression => {
                "long results are put aside and old ones shrink to one line; nothing is compressed unless you say /compress"
            }
            Self::None => {
                "the model is shown everything in full; nothing is compressed unless you say /compress"
            }
        }
    }
}

impl fmt::Display for ContextMode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The error for a word that names no mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be full, no-compression or none")]
pub struct UnknownContextMode;

impl FromStr for ContextMode {
    type Err = UnknownContextMode;

    fn from_str(word: &str) -> Result<Self, UnknownContextMode> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == word).ok_or(UnknownContextMode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_read_from_its_own_word_and_no_other() {
        for mode in ContextMode::ALL {
            assert_eq!(mode.to_string().parse(), Ok(mode));
            assert!(UnknownContextMode.to_string().contains(mode.as_str()));
        }
        assert_eq!("Full".parse::<ContextMode>(), Err(UnknownContextMode));
    }
}
