//! The audit trail.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Something that was done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditView {
    /// Its id: later entries have larger ones.
    pub id: i64,
    /// Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub at: i64,
    /// Who did it; null if unknown.
    #[schema(required)]
    pub user: Option<String>,
    /// `exec`, `file.write`, `login`, ….
    #[serde(default)]
    #[schema(required)]
    pub action: String,
    /// Where: a runner's name, `__docker__`, `none`, or nothing.
    #[schema(required)]
    pub location: Option<String>,
    /// The target: a command, a path, a name.
    #[serde(default)]
    #[schema(required)]
    pub target: String,
    /// `ok`, or what went wrong.
    #[serde(default)]
    #[schema(required)]
    pub outcome: String,
}

/// Some entries, the newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditPage {
    /// The entries.
    pub entries: Vec<AuditView>,
    /// Whether there are older ones.
    #[serde(default)]
    #[schema(required)]
    pub more: bool,
}
