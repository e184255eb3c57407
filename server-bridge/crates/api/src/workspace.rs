//! Workspaces of a group's agents: the folder that an agent works in, and the documents there that describe its role.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::WorkspaceFileState;

/// A template of a workspace, in the language that the request asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentTemplate {
    /// The template's name, the same in all languages.
    pub name: String,
    /// The template's name for people.
    pub title: String,
    /// The tasks of such an agent.
    pub about: String,
    /// The template's documents: `SOUL.md`, `IDENTITY.md`, `USER.md` and `TOOLS.md`.
    pub files: Vec<WorkspaceFile>,
}

/// The text of a document of a workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkspaceFile {
    /// The document's name: `SOUL.md`, `IDENTITY.md`, `USER.md` or `TOOLS.md`.
    pub name: String,
    /// The document's text, at most 8 KiB, which is as much as the agent reads of it.
    pub text: String,
}

/// The documents to create in an agent's workspace. Existing documents are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkspaceMake {
    /// The name of the template whose documents are created, in the language that the request asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// Texts that replace those of the template, or all texts if there is no template. A document with an empty text is not created.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<WorkspaceFile>,
}

/// The workspace of an agent, as it is on its machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentWorkspace {
    /// The place that the agent works on.
    pub runner: String,
    /// The agent's folder, relative to the workspace of that place; empty for the whole workspace.
    pub folder: String,
    /// True if the folder exists.
    pub exists: bool,
    /// The documents that an agent reads.
    pub files: Vec<WorkspaceFileView>,
}

/// A document of a workspace, as it is on the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkspaceFileView {
    /// The name of the document, such as `SOUL.md`.
    pub name: String,
    /// Whether the document exists, is missing or is blocked.
    pub state: WorkspaceFileState,
    /// The document's size in bytes; null if it is not present.
    #[serde(default)]
    #[schema(required)]
    pub size_bytes: Option<u64>,
    /// Why its name cannot be used; empty unless it is blocked.
    #[serde(default, serialize_with = "crate::language::text")]
    #[schema(required)]
    pub reason: String,
    /// True if the request created it.
    #[serde(default)]
    #[schema(required)]
    pub made: bool,
}
