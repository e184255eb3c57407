//! A plugin, read from its files.

mod claude;
mod declared;
mod portable;
mod reader;

use crate::component::{Command, HookDocument, Role, Server, Skill};
use crate::findings::{Problem, Unused};
use crate::manifest::{Format, Manifest};
use crate::marketplace::Entry;
use crate::tree::Tree;

/// Where Claude Code's manifest is.
const CLAUDE_MANIFEST: &str = ".claude-plugin/plugin.json";
/// Where the manifest of Agent Plugins is.
const PORTABLE_MANIFEST: &str = "plugin.json";

/// A plugin.
#[derive(Clone, Debug, PartialEq)]
pub struct Plugin {
    /// What it says about itself.
    pub manifest: Manifest,
    /// Its identity: the hash of its files, see [`Tree::hash`].
    pub hash: String,
    /// Its skills; no two have one name.
    pub skills: Vec<Skill>,
    /// Its commands; no two have one name.
    pub commands: Vec<Command>,
    /// Its roles; no two have one name.
    pub roles: Vec<Role>,
    /// Its documents of hooks.
    pub hooks: Vec<HookDocument>,
    /// Its MCP servers; no two have one name.
    pub servers: Vec<Server>,
    /// What is in it and is not used here.
    pub unused: Vec<Unused>,
    /// What is wrong with its parts.
    pub problems: Vec<Problem>,
}

/// The reason why a plugin is refused as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PluginError {
    /// The manifest cannot be read.
    #[error("{place} {reason}; correct it there")]
    Manifest {
        /// The manifest's path.
        place: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// Nothing gives it a name.
    #[error(
        "the plugin has no usable name; give it a `name` of letters, digits and `-` in .claude-plugin/plugin.json"
    )]
    NoName,
    /// The files contain no part of a plugin.
    #[error(
        "this is not a plugin: it has neither a manifest nor skills, commands, agents, hooks or MCP servers"
    )]
    NoPlugin,
}

impl Plugin {
    /// Reads a plugin. `name` is that of its directory or package, for plugins without a manifest.
    ///
    /// With a manifest in `.claude-plugin/`, the plugin is read as one of Claude Code, which has more parts. Without
    /// that manifest, a plugin with a `plugin.json` at the root that names the schema of Agent Plugins is read as an Agent Plugin.
    ///
    /// # Errors
    ///
    /// A manifest that cannot be read, and files that are no plugin.
    pub fn read(tree: &Tree, name: &str) -> Result<Self, PluginError> {
        Self::read_as(tree, name, None)
    }

    /// Reads a plugin as a marketplace's entry describes it, which may name parts of it.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    pub fn read_entry(tree: &Tree, entry: &Entry) -> Result<Self, PluginError> {
        Self::read_as(tree, &entry.manifest.name, Some(entry))
    }

    fn read_as(tree: &Tree, name: &str, entry: Option<&Entry>) -> Result<Self, PluginError> {
        let plugin = if tree.at(CLAUDE_MANIFEST).is_none()
            && tree.at(PORTABLE_MANIFEST).is_some_and(portable::is_one)
        {
            portable::read(tree)?
        } else {
            claude::read(tree, name, entry)?
        };
        let is_empty = plugin.skills.is_empty()
            && plugin.commands.is_empty()
            && plugin.roles.is_empty()
            && plugin.hooks.is_empty()
            && plugin.servers.is_empty()
            && plugin.unused.is_empty()
            && plugin.problems.is_empty();
        let has_manifest =
            plugin.manifest.format == Format::AgentPlugins || tree.at(CLAUDE_MANIFEST).is_some();
        if is_empty && !has_manifest && entry.is_none() {
            return Err(PluginError::NoPlugin);
        }
        Ok(plugin)
    }

    /// The document of all servers, in the form of `.mcp.json`.
    pub fn servers_document(&self) -> serde_json::Value {
        let servers = self.servers.iter().map(|server| (server.name.clone(), server.definition.clone()));
        serde_json::json!({ "mcpServers": servers.collect::<serde_json::Map<_, _>>() })
    }
}

#[cfg(test)]
mod tests;
