//! Names of users and runners: checked when they are parsed, and valid from then on.

use std::fmt;

use crate::error::{Error, Result};
use crate::limits::NAME_MAX_CHARS;

/// Values of `active_runner` that are not names of runners, so no runner may have such a name.
///
/// `__docker__` does not have to be listed, since a name cannot begin with an underscore.
const RESERVED_FOR_RUNNERS: [&str; 2] = ["none", "auto"];

/// A user's name: `^[a-z0-9][a-z0-9_.-]{0,62}$`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(String);

/// A runner's name: a [`Name`] that is neither `none` nor `auto`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunnerName(Name);

impl Name {
    /// Parses a name.
    ///
    /// # Errors
    /// [`Error::InvalidName`], whose text states the rule.
    pub fn parse(text: &str) -> Result<Self> {
        let first_is_plain =
            text.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit());
        let all_allowed = text.bytes().all(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'.' | b'-')
        });
        if first_is_plain && all_allowed && text.len() <= NAME_MAX_CHARS {
            Ok(Self(text.to_owned()))
        } else {
            Err(Error::InvalidName { name: text.chars().take(NAME_MAX_CHARS + 1).collect() })
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl RunnerName {
    /// Parses a runner's name.
    ///
    /// # Errors
    /// [`Error::InvalidName`] or [`Error::ReservedName`].
    pub fn parse(text: &str) -> Result<Self> {
        let name = Name::parse(text)?;
        if RESERVED_FOR_RUNNERS.contains(&name.as_str()) {
            return Err(Error::ReservedName { name: name.0 });
        }
        Ok(Self(name))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl fmt::Display for RunnerName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_formed_names_are_accepted() {
        for text in ["a", "0", "laptop", "dev-1.example_x", "a--", &"a".repeat(63)] {
            assert_eq!(Name::parse(text).unwrap().as_str(), text);
            assert_eq!(RunnerName::parse(text).unwrap().as_str(), text);
        }
    }

    #[test]
    fn malformed_names_are_refused_with_the_rule() {
        let long = "a".repeat(64);
        for text in [
            "",
            "A",
            "Laptop",
            "-a",
            "_a",
            ".a",
            "..",
            "__docker__",
            "a b",
            "a/b",
            "a\n",
            "a\0",
            "ä",
            "aä",
            "а",
            &long,
        ] {
            let error = Name::parse(text).unwrap_err();
            assert!(matches!(error, Error::InvalidName { .. }), "{text:?}");
            assert!(error.to_string().contains("1 to 63 characters of a-z"), "{error}");
        }
    }

    #[test]
    fn an_endless_name_is_not_echoed_whole() {
        assert!(Name::parse(&"A".repeat(1 << 20)).unwrap_err().to_string().len() < 400);
    }

    #[test]
    fn reserved_words_are_no_runner_names() {
        for text in ["none", "auto"] {
            assert!(matches!(RunnerName::parse(text), Err(Error::ReservedName { .. })));
            assert!(Name::parse(text).is_ok());
        }
    }
}
