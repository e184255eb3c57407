//! Roles: who a sub-agent can be, in `agents/NAME.md`.

use super::head::Head;
use crate::tools::Tool;
use crate::tree::PluginPath;

/// A role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Its name: that of its head, else that of its file.
    pub name: String,
    /// When to call it.
    pub description: String,
    /// The tools it works with; `None` for all that a sub-agent may have.
    pub tools: Option<Vec<Tool>>,
    /// The tools that it may not use.
    pub denied_tools: Vec<Tool>,
    /// The model that it asks for; empty for that of its user's chat.
    pub model: String,
    /// Its file.
    pub path: PluginPath,
    /// The text of the role.
    pub text: String,
}

/// Fields of heads that have an effect elsewhere.
pub(crate) const UNUSED: &[&str] = &[
    "background",
    "effort",
    "hooks",
    "initialPrompt",
    "isolation",
    "maxTurns",
    "mcpServers",
    "memory",
    "permissionMode",
    "skills",
];

impl Role {
    pub(crate) fn read(name: String, path: PluginPath, head: &Head<'_>, text: String) -> Self {
        let model = head.field("model");
        let tools = |field| head.get(field).map(Tool::list);
        Self {
            name,
            description: head.description(),
            tools: tools("tools").filter(|tools| !tools.iter().any(|tool| tool.name == "*")),
            denied_tools: tools("disallowedTools").unwrap_or_default(),
            model: if model == "inherit" { String::new() } else { model },
            path,
            text,
        }
    }
}
