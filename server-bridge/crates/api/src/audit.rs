//! The audit trail.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An entry of the audit trail: one recorded action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditView {
    /// The entry's id: later entries have larger ones.
    pub id: i64,
    /// When the action happened, in Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub at: i64,
    /// Who did it; null if unknown.
    #[schema(required)]
    pub user: Option<String>,
    /// The kind of action: `exec`, `file.write`, `login`, ….
    #[serde(default)]
    #[schema(required)]
    pub action: String,
    /// The place: a runner's name, `__docker__` or `none`; null if the action has no place.
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

/// A page of the audit trail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditPage {
    /// The entries, the newest first.
    pub entries: Vec<AuditView>,
    /// Whether older entries exist.
    #[serde(default)]
    #[schema(required)]
    pub more: bool,
}
