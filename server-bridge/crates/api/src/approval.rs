//! The whole question that a person is asked to allow, in one shape for the page, the terminals and programs.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a tool wants to do. All texts can be shown as they are: invisible characters in them are already written out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalDocument {
    /// What it does, in words.
    pub effect: String,
    /// The full, absolute path of the file that it changes, as the machine resolved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub target: Option<String>,
    /// Where it does it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub place: Option<ApprovalPlace>,
    /// What the model wrote.
    pub parts: Vec<ApprovalPart>,
    /// The calls that need no further approval if this is allowed for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub always: Option<String>,
    /// The reason if it cannot be allowed for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub only_once: Option<String>,
    /// What could not be found out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub note: Option<String>,
}

/// The place where something is done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalPlace {
    /// The machine's name, `__docker__`, or `none` for the server itself.
    pub machine: String,
    /// The directory that it begins in, absolute and resolved.
    pub directory: String,
    /// The user of the machine, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub user: Option<String>,
}

/// Something that the model wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalPart {
    /// What it is.
    pub label: String,
    /// The text, with runs of blank lines replaced by their number.
    pub text: String,
    /// Whether the accompanying change, if there is one, shows it too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_in_edit: bool,
}
