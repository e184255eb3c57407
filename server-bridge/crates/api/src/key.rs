//! Keys for programs. Times are Unix milliseconds.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::Scope;

/// A key, without its secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct KeyView {
    /// Its name.
    pub name: String,
    /// What it may do.
    #[serde(default)]
    #[schema(required)]
    pub scope: Scope,
    /// Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub created_at: i64,
    /// Unix milliseconds, to the minute; null if it was never used.
    #[schema(required)]
    pub last_used: Option<i64>,
    /// Unix milliseconds; null if it does not end.
    #[schema(required)]
    pub expires_at: Option<i64>,
    /// Whether it has ended.
    #[serde(default)]
    #[schema(required)]
    pub expired: bool,
}

/// A key to create.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NewKey {
    /// Its name.
    pub name: String,
    /// `exec` if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub scope: Option<Scope>,
    /// How long it is valid, in seconds: 60 at least; no expiry if absent.
    pub ttl_seconds: Option<u32>,
}

/// A new key. The secret is shown only once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MadeKey {
    /// For the Authorization header: `Bearer sbk_…`.
    pub key: String,
    /// The key.
    #[serde(flatten)]
    pub view: KeyView,
}
