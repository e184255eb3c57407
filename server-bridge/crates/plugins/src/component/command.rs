//! Commands: `commands/NAME.md`, with directories as namespaces.

use frontmatter::Value;

use super::head::Head;
use crate::tools::Tool;
use crate::tree::PluginPath;

/// A command that people start by `/NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The command's name, with its directories before it, such as `git:commit`; without the plugin's name.
    pub name: String,
    /// A description of its purpose.
    pub description: String,
    /// A hint about its arguments; empty if it takes none.
    pub argument_hint: String,
    /// The names of its arguments.
    pub arguments: Vec<String>,
    /// The tools that may be used without a question while the command is followed, if its user agrees.
    pub allowed_tools: Vec<Tool>,
    /// The model that it requests; empty for the chat's model.
    pub model: String,
    /// False if only people can start it.
    pub is_for_models: bool,
    /// The command's file; `None` if it is defined in the manifest.
    pub path: Option<PluginPath>,
    /// The prompt, see [`crate::expand`].
    pub text: String,
}

/// Fields of heads that have an effect in other programs only.
pub(crate) const UNUSED: &[&str] =
    &["agent", "context", "disallowed-tools", "effort", "hooks", "paths", "shell"];

impl Command {
    /// Reads a command from its text.
    pub fn of_text(name: &str, path: PluginPath, text: &str) -> Self {
        let head = Head::of(text);
        let (body, _) = head.body();
        Self::read(name.to_owned(), Some(path), &head, body)
    }

    pub(crate) fn read(name: String, path: Option<PluginPath>, head: &Head<'_>, text: String) -> Self {
        Self {
            name,
            description: head.description(),
            argument_hint: head.field("argument-hint"),
            arguments: head.get("arguments").map(Value::words).unwrap_or_default(),
            allowed_tools: head.get("allowed-tools").map(Tool::list).unwrap_or_default(),
            model: head.field("model"),
            is_for_models: !head.truth("disable-model-invocation").unwrap_or(false),
            path,
            text,
        }
    }
}
