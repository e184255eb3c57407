//! The whole question that a person is asked to allow, in one shape for the page, the terminals and programs.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a tool wants to do. All texts are shown as they are: what cannot be seen in them is written out already.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalDocument {
    /// What it does, in words.
    pub effect: String,
    /// The file that it changes, absolute and whole, as the machine resolved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub target: Option<String>,
    /// Where it does it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub place: Option<ApprovalPlace>,
    /// What the model wrote.
    pub parts: Vec<ApprovalPart>,
    /// What is not asked for any more where it is allowed for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub always: Option<String>,
    /// Why it cannot be allowed for good, where it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub only_once: Option<String>,
    /// What could not be found out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub note: Option<String>,
}

/// A place that something is done in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalPlace {
    /// The machine's name, `__docker__`, or `none` for the server itself.
    pub machine: String,
    /// The directory that it begins in, absolute and resolved.
    pub directory: String,
    /// The user of the machine, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub user: Option<String>,
}

/// Something that the model wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalPart {
    /// What it is.
    pub label: String,
    /// It, with runs of blank lines counted.
    pub text: String,
    /// Whether the change beside it, where there is one, shows it too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_in_edit: bool,
}
