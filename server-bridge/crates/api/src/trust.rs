//! Trust: definitions of a workspace that its user must approve before they have an effect.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::problem::Problem;
use crate::words::{TrustKind, TrustState};

/// The definitions of a place's workspace that need approval, and all approvals of a user.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrustList {
    /// The machine and the directory of the workspace; null if the place cannot be reached.
    #[serde(default)]
    #[schema(required)]
    pub workspace: Option<String>,
    /// The definitions of the workspace.
    #[serde(default)]
    #[schema(required)]
    pub items: Vec<TrustItem>,
    /// The approvals that the user gave, in all workspaces, the newest first.
    #[serde(default)]
    #[schema(required)]
    pub approvals: Vec<TrustApproval>,
    /// Problems with the workspace's definitions, or with its machine.
    #[serde(default)]
    #[schema(required)]
    pub problems: Vec<Problem>,
}

/// A definition of a workspace that needs its user's approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrustItem {
    /// The kind of definition.
    pub kind: TrustKind,
    /// The definition's name, unique within its kind.
    pub name: String,
    /// The file that defines it.
    #[serde(serialize_with = "crate::language::text")]
    pub origin: String,
    /// A description of what happens once it is approved.
    pub action: String,
    /// The SHA-256 of what runs; approvals refer to this hash.
    pub hash: String,
    /// The files of the workspace that the approval covers: a change to one of them requires a new approval.
    #[serde(default)]
    #[schema(required)]
    pub files: Vec<String>,
    /// What it may run that the approval does not cover, in words: variables, patterns, directories, programs that choose files
    /// themselves.
    #[serde(default, serialize_with = "crate::language::text")]
    #[schema(required)]
    pub unseen: Vec<String>,
    /// Whether it was approved.
    pub state: TrustState,
    /// When it was approved, in Unix milliseconds; null if it was not.
    #[serde(default)]
    #[schema(required)]
    pub approved_at: Option<i64>,
    /// What changed since the user last approved it; null if they never did, or if nothing changed.
    #[serde(default)]
    #[schema(required)]
    pub change: Option<TrustChange>,
}

/// What changed since an approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrustChange {
    /// When it was approved, in Unix milliseconds.
    pub approved_at: i64,
    /// The hash that was approved.
    pub hash: String,
    /// The description of its effect at that time; null if it has not changed.
    #[serde(default)]
    #[schema(required)]
    pub action: Option<String>,
    /// The files that changed, were added or were removed.
    #[serde(default)]
    #[schema(required)]
    pub files: Vec<String>,
}

/// An approval that a user gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrustApproval {
    /// The kind of definition that was approved.
    pub kind: TrustKind,
    /// The definition's name, unique within its kind.
    pub name: String,
    /// The machine and the directory of its workspace; empty for an approval that is older than this field.
    pub workspace: String,
    /// A description of what was approved.
    pub action: String,
    /// The hash that was approved.
    pub hash: String,
    /// When it was approved, in Unix milliseconds.
    pub approved_at: i64,
}

/// A request to approve a definition of a workspace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TrustRequest {
    /// The hash of the definition that the user looked at.
    pub hash: String,
}
