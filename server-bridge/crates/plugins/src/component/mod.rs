//! The parts of plugins that Sandbridge uses: skills, commands, roles, hooks, servers.

mod command;
pub(crate) mod head;
mod role;
pub(crate) mod servers;
mod skill;

use serde_json::Value;

/// Fields of heads that have an effect in other programs only.
pub(crate) mod head_fields {
    pub(crate) use super::command::UNUSED as COMMAND;
    pub(crate) use super::role::UNUSED as ROLE;
    pub(crate) use super::skill::UNUSED as SKILL;
}

pub use command::Command;
pub use role::Role;
pub use skill::{Requires, Skill};

/// A document of hooks, as crate `hooks` reads it in its format for plugins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookDocument {
    /// The place of its definition: a file, or a field of the manifest.
    pub place: String,
    /// The document; if it is a file, exactly as it was written. Variables are not replaced yet.
    pub text: String,
}

/// An MCP server that a plugin defines.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// The place of its definition: a file, or a field of the manifest.
    pub place: String,
    /// The server's name.
    pub name: String,
    /// The server's entry of `mcpServers`, in which variables are not replaced.
    pub definition: Value,
}
