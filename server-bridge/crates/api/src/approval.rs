//! The complete request that a person is asked to approve, in one format for the page, the terminals and programs.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An action that a tool asks permission for. All texts can be shown as they are: invisible characters in them are already escaped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalDocument {
    /// A description of the action, in words.
    pub effect: String,
    /// The absolute path of the file that the action changes, as the machine resolved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub target: Option<String>,
    /// The place where the action is carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub place: Option<ApprovalPlace>,
    /// The texts that the model wrote, each with its label.
    pub parts: Vec<ApprovalPart>,
    /// The calls that need no further approval if this is allowed for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub always: Option<String>,
    /// Why the action cannot be allowed for good; absent if it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub only_once: Option<String>,
    /// A note on what could not be determined about the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub note: Option<String>,
}

/// The place where an action is carried out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalPlace {
    /// The machine's name, `__docker__`, or `none` for the server itself.
    pub machine: String,
    /// The directory that the action starts in, absolute and resolved.
    pub directory: String,
    /// The machine's user who runs the action, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub user: Option<String>,
}

/// A text that the model wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalPart {
    /// The text's label, for people.
    pub label: String,
    /// The text, with runs of blank lines replaced by their number.
    pub text: String,
    /// Whether the displayed change of a file, if there is one, contains this text too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_in_edit: bool,
}
