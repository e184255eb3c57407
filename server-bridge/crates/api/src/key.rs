//! API keys for programs. Times are Unix milliseconds.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::Scope;

/// A key, without its secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct KeyView {
    /// The name that its owner gave it.
    pub name: String,
    /// The requests that it may make.
    #[serde(default)]
    #[schema(required)]
    pub scope: Scope,
    /// When it was created, in Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub created_at: i64,
    /// When it was last used, in Unix milliseconds, to the minute; null if it was never used.
    #[schema(required)]
    pub last_used: Option<i64>,
    /// When it expires, in Unix milliseconds; null if it does not expire.
    #[schema(required)]
    pub expires_at: Option<i64>,
    /// Whether it has expired.
    #[serde(default)]
    #[schema(required)]
    pub expired: bool,
}

/// A key to create.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NewKey {
    /// The name: a-z, 0-9, `_`, `.` and `-`.
    pub name: String,
    /// The requests that it may make; `exec` if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub scope: Option<Scope>,
    /// How long it is valid, in seconds: 60 at least; no expiry if absent.
    pub ttl_seconds: Option<u32>,
}

/// A new key. The secret is shown only once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MadeKey {
    /// The secret for the Authorization header: `Bearer sbk_…`.
    pub key: String,
    /// The key without its secret.
    #[serde(flatten)]
    pub view: KeyView,
}
