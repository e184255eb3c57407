//! Newtypes for the identifiers that travel.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::codec::{Decode, Encode};

/// The error for a text that is not 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an id must be 32 hexadecimal digits")]
pub struct InvalidId;

macro_rules! id128 {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(pub [u8; 16]);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                parse_hex(text).map(Self)
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;

            fn try_from(text: String) -> Result<Self, InvalidId> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.to_string()
            }
        }
    };
}

id128! {
    /// Identifies one exec, or one change to files, permanently: 128 random bits chosen by its originator, shown as 32 hex
    /// digits.
    ExecId
}

id128! {
    /// Identifies one process of a runner: 128 random bits, new at each start.
    BootId
}

id128! {
    /// A random value for the runner to echo, so that an old connection cannot answer for a new one.
    Nonce
}

/// Counts the registrations of one runner; issued and persisted by the server, never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub u64);

/// Identifies one stream of a session; 0 is the session itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u32);

impl StreamId {
    /// The stream of messages that belong to the session and to no request.
    pub const SESSION: StreamId = StreamId(0);
}

fn parse_hex(text: &str) -> Result<[u8; 16], InvalidId> {
    let digits = text.as_bytes();
    if digits.len() != 32 {
        return Err(InvalidId);
    }
    let mut bytes = [0u8; 16];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let high = (pair[0] as char).to_digit(16).ok_or(InvalidId)?;
        let low = (pair[1] as char).to_digit(16).ok_or(InvalidId)?;
        *byte = (high << 4 | low) as u8;
    }
    Ok(bytes)
}
