//! Background commands.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::exec::ExecView;

/// A background command and its output so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskOutput {
    /// The command's exec.
    pub task: ExecView,
    /// Whether it is still running.
    #[serde(default)]
    #[schema(required)]
    pub running: bool,
    /// The length of its whole output, in bytes.
    #[serde(default)]
    #[schema(required)]
    pub output_bytes: u64,
    /// The beginning of the output.
    #[serde(default)]
    #[schema(required)]
    pub head: String,
    /// The end of the output, without what the beginning contains.
    #[serde(default)]
    #[schema(required)]
    pub tail: String,
    /// The length of the part that is left out between `head` and `tail`, in bytes.
    #[serde(default)]
    #[schema(required)]
    pub left_out_bytes: u64,
}
