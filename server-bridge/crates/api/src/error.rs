//! The body of every refusal.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The body of every refusal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    /// The reason.
    pub error: ErrorView,
}

/// A reason, for programs and for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorView {
    /// For programs.
    pub kind: String,
    /// For people: what happened, and what to do.
    #[serde(serialize_with = "crate::language::text")]
    pub message: String,
}
