//! Ids, one type each, so that one cannot be passed for another.

use std::fmt;

use crate::Invalid;

/// The id of a user's row. Never reused, even after the user is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(transparent))]
pub struct UserId(pub i64);

/// The id of a runner's row. A runner that is revoked and added again under the same name gets a new id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(transparent))]
pub struct RunnerId(pub i64);

/// The id of the row of a program's key. A key that is removed and created again under the same name gets a new id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(transparent))]
pub struct KeyId(pub i64);

/// The id of a message's row. Ids grow with time, so they order a chat's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(transparent))]
pub struct MessageId(pub i64);

/// The id of a turn's row. Ids grow with time, so they order a chat's turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(transparent))]
pub struct TurnId(pub i64);

/// The id of the row of an item: a part of a model's input or output. Ids grow with time, so they order a chat's items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(transparent))]
pub struct ItemId(pub i64);

/// The id of an audit entry's row. Ids grow with time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(transparent))]
pub struct AuditId(pub i64);

/// The id of a collection's row. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(transparent))]
pub struct CollectionId(pub i64);

/// The id of a document's row. A document that is removed and added again under the same name gets a new id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(transparent))]
pub struct DocumentId(pub i64);

/// The id of an indexing job's row. Ids grow with time; a job's id is also the version of the document that the job makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(transparent))]
pub struct JobId(pub i64);

/// The id of a passage's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(transparent))]
pub struct ChunkId(pub i64);

/// A chat's id: 128 random bits as 32 lower-case hex digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(transparent))]
pub struct ChatId(String);

/// An exec's id: 128 bits as 32 lower-case hex digits, chosen by its originator.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(transparent))]
pub struct ExecId(String);

impl ChatId {
    /// A new random id.
    pub fn random() -> Self {
        Self(hex(&rand::random::<[u8; 16]>()))
    }

    /// Parses 32 hex digits of either case.
    ///
    /// # Errors
    /// [`Invalid`] for anything else.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        parse_hex("chat id", text).map(Self)
    }

    /// The 32 lower-case hex digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ExecId {
    /// A new random id.
    pub fn random() -> Self {
        Self::from_bytes(rand::random())
    }

    /// The id with these 128 bits.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(hex(&bytes))
    }

    /// Parses 32 hex digits of either case.
    ///
    /// # Errors
    /// [`Invalid`] for anything else.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        parse_hex("exec id", text).map(Self)
    }

    /// The 32 lower-case hex digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UserId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl fmt::Display for RunnerId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl fmt::Display for TurnId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl fmt::Display for ChatId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl fmt::Display for ExecId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Encodes bytes in lower-case hex, the form in which ids and hashes are written.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 0xf)]])
        .map(char::from)
        .collect()
}

/// Decodes hex digits of either case to bytes; `None` for any other text.
pub fn unhex(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pair = |pair: &[u8]| match pair {
        [high, low] => u8::try_from(digit(*high)? * 16 + digit(*low)?).ok(),
        _ => None,
    };
    digits.as_bytes().chunks(2).map(pair).collect()
}

fn parse_hex(what: &'static str, text: &str) -> Result<String, Invalid> {
    if text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        Ok(text.to_ascii_lowercase())
    } else {
        Err(Invalid { what, rule: "must be 32 hexadecimal digits" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exec_id_from_bytes_reads_back() {
        let id = ExecId::from_bytes([0x0f; 16]);
        assert_eq!(id.as_str(), "0f".repeat(16));
        assert_eq!(ExecId::parse(&id.as_str().to_uppercase()).unwrap(), id);
    }

    #[test]
    fn hexadecimal_digits_read_back_and_nothing_else_does() {
        assert_eq!(unhex(&hex(&[0, 0x7f, 0xff])), Some(vec![0, 0x7f, 0xff]));
        assert_eq!((unhex("aAF0"), unhex("")), (Some(vec![0xaa, 0xf0]), Some(Vec::new())));
        for text in ["0", "000", "0g", "+1", "ää", " 0"] {
            assert_eq!(unhex(text), None, "{text:?}");
        }
    }

    #[test]
    fn only_32_hex_digits_are_an_id() {
        for text in ["", "0f", &"0".repeat(31), &"0".repeat(33), &"g".repeat(32), &"ä".repeat(16)] {
            assert!(ChatId::parse(text).is_err(), "{text:?}");
            assert!(ExecId::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn random_ids_differ() {
        assert_ne!(ChatId::random(), ChatId::random());
        assert_ne!(ExecId::random(), ExecId::random());
    }
}
