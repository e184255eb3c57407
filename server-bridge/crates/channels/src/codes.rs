//! Codes that link a person on a messenger with a user: `SB-ABC-DEFGHJKM`, 40 bits of which are secret.

use sha2::{Digest as _, Sha256};
use store::hex;

/// The digits of codes: Crockford's base 32, without letters that look like digits.
const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// The beginning of every code.
const MARK: &str = "SB-";
/// The number of digits that identify the user who requested the code.
const PREFIX_DIGITS: usize = 3;
/// The number of secret digits.
const SECRET_DIGITS: usize = 8;

/// A code, with its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Code {
    prefix: String,
    secret: String,
}

impl Code {
    /// Creates a random code.
    pub(crate) fn random() -> Self {
        let digits = |count: usize| -> String {
            (0..count).map(|_| char::from(DIGITS[usize::from(rand::random::<u8>() % 32)])).collect()
        };
        Self { prefix: digits(PREFIX_DIGITS), secret: digits(SECRET_DIGITS) }
    }

    /// Reads a text that is a code, in upper or lower case, with or without spaces around it.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_uppercase();
        let (prefix, secret) = text.strip_prefix(MARK)?.split_once('-')?;
        let are_digits = |text: &str| text.bytes().all(|byte| DIGITS.contains(&byte));
        let is_one = prefix.len() == PREFIX_DIGITS
            && secret.len() == SECRET_DIGITS
            && are_digits(prefix)
            && are_digits(secret);
        is_one.then(|| Self { prefix: prefix.to_owned(), secret: secret.to_owned() })
    }

    /// Finds the codes anywhere in a text, at most `most` of them.
    pub(crate) fn all(text: &str, most: usize) -> Vec<Self> {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        words.filter_map(|word| Self::of(word.trim_matches('-'))).take(most).collect()
    }

    /// Returns the part that identifies the user who requested the code.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns the hash that is stored instead of the code.
    pub(crate) fn hash(&self) -> String {
        hex(&Sha256::digest(self.to_string()))
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{MARK}{}-{}", self.prefix, self.secret)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_as_people_type_it_and_nothing_else_is_one() {
        let code = Code::random();
        assert_eq!(Code::of(&format!("  {}\n", code.to_string().to_lowercase())), Some(code.clone()));
        let other = Code::random();
        let text = format!("my code is ({code}), 码{other}。 -{code}- SB-ABC");
        assert_eq!(Code::all(&text, 9), [code.clone(), other, code.clone()]);
        assert_eq!(Code::all(&text, 1), std::slice::from_ref(&code));
        assert_ne!(code.hash(), Code::random().hash());
        for other in [
            "",
            "SB-",
            "SB-ABC-DEFGHJK",
            "SB-ABC-DEFGHJKMN",
            "SB-ABC-DEFGHJKU",
            "XB-ABC-DEFGHJKM",
            "SB-A💥-DEFGHJKM",
        ] {
            assert_eq!(Code::of(other), None, "{other}");
        }
    }
}
