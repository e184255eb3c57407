//! The parts of plugins that Sandbridge uses: skills, commands, roles, hooks, servers.

mod command;
pub(crate) mod head;
mod role;
pub(crate) mod servers;
mod skill;

use serde_json::Value;

/// Fields of heads that have an effect elsewhere and none here.
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
    /// Where it is defined: a file, or a field of the manifest.
    pub place: String,
    /// The document, as it was written where it is a file. Variables are not replaced yet.
    pub text: String,
}

/// An MCP server.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// Where it is defined: a file, or a field of the manifest.
    pub place: String,
    /// Its name.
    pub name: String,
    /// Its entry of `mcpServers`. Variables are left in place.
    pub definition: Value,
}
