//! The body of error responses.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The body of an error response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    /// The error, for programs and for people.
    pub error: ErrorView,
}

/// An error, for programs and for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorView {
    /// The kind of error, for programs.
    pub kind: String,
    /// For people: what happened, and what to do.
    #[serde(serialize_with = "crate::language::text")]
    pub message: String,
}
