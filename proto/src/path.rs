//! Paths on the wire: bytes, since a file name need not be UTF-8.

use std::fmt;

use crate::codec::{Decode, Encode};

/// A path relative to the workspace, or absolute below it; at most 4,096 bytes, checked by the runner.
#[derive(Clone, PartialEq, Eq, Hash, Encode, Decode)]
pub struct WirePath(pub Vec<u8>);

impl WirePath {
    /// The bytes on the wire.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<&str> for WirePath {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<&[u8]> for WirePath {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl fmt::Display for WirePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl fmt::Debug for WirePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(&self.0))
    }
}
