//! Roles of sub-agents, in `agents/NAME.md`.

use super::head::Head;
use crate::tools::Tool;
use crate::tree::PluginPath;

/// A role that a sub-agent can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// The role's name: the one in its front matter, or else that of its file.
    pub name: String,
    /// A description of when to call it.
    pub description: String,
    /// The tools that it uses; `None` for all tools that a sub-agent may have.
    pub tools: Option<Vec<Tool>>,
    /// The tools that it may not use.
    pub denied_tools: Vec<Tool>,
    /// The model that it requests; empty for the model of its user's chat.
    pub model: String,
    /// The file that defines it.
    pub path: PluginPath,
    /// The instructions of the role, without the head.
    pub text: String,
}

/// Fields of heads that have an effect in other programs only.
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
    /// Reads a role from its text, which may be cut.
    pub fn of_text(name: &str, path: PluginPath, text: &str) -> Self {
        let head = Head::of(text);
        let (body, _) = head.body();
        Self::read(name.to_owned(), path, &head, body)
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_of_a_text_says_who_it_is_and_what_it_works_with() {
        let path = PluginPath::parse("agents/looker.md").unwrap();
        let role = |text: &str| Role::of_text("looker", path.clone(), text);
        let looker = role(
            "---\nname: other\ntools: Bash(git *), Edit, Read, mcp__a__b\nmodel: swift\n---\nYou only look.",
        );
        assert_eq!(
            (looker.name.as_str(), looker.model.as_str(), looker.text.as_str()),
            ("looker", "swift", "You only look.")
        );
        let tools: Vec<String> = looker.tools.unwrap().into_iter().map(|tool| tool.name).collect();
        assert_eq!(tools, ["Shell", "FileReplace", "Read", "mcp__a__b"]);
        assert_eq!(role("Just be.").tools, None);
    }
}
