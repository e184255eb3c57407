//! Background commands.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::exec::ExecView;

/// A task and its output so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskOutput {
    /// The task.
    pub task: ExecView,
    /// Whether it runs.
    #[serde(default)]
    #[schema(required)]
    pub running: bool,
    /// All it wrote, in bytes.
    #[serde(default)]
    #[schema(required)]
    pub output_bytes: u64,
    /// The beginning of that.
    #[serde(default)]
    #[schema(required)]
    pub head: String,
    /// The end of what is behind the beginning.
    #[serde(default)]
    #[schema(required)]
    pub tail: String,
    /// What is between them, in bytes.
    #[serde(default)]
    #[schema(required)]
    pub left_out_bytes: u64,
}
