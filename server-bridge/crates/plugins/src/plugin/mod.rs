//! Reads a plugin from its files.

mod claude;
mod declared;
mod portable;
mod reader;

use crate::component::{Command, HookDocument, Role, Server, Skill};
use crate::findings::{Problem, Unused};
use crate::manifest::{Format, Manifest};
use crate::marketplace::Entry;
use crate::tree::Tree;

/// The path of Claude Code's manifest.
const CLAUDE_MANIFEST: &str = ".claude-plugin/plugin.json";
/// The path of the manifest of Agent Plugins.
const PORTABLE_MANIFEST: &str = "plugin.json";

/// A plugin that was read from its files.
#[derive(Clone, Debug, PartialEq)]
pub struct Plugin {
    /// The plugin's description of itself.
    pub manifest: Manifest,
    /// The plugin's identity: the hash of its files, see [`Tree::hash`].
    pub hash: String,
    /// The plugin's skills; their names are unique.
    pub skills: Vec<Skill>,
    /// The plugin's commands; their names are unique.
    pub commands: Vec<Command>,
    /// The plugin's roles; their names are unique.
    pub roles: Vec<Role>,
    /// The plugin's documents of hooks.
    pub hooks: Vec<HookDocument>,
    /// The plugin's MCP servers; their names are unique.
    pub servers: Vec<Server>,
    /// The parts that are not used here.
    pub unused: Vec<Unused>,
    /// The problems of its parts.
    pub problems: Vec<Problem>,
}

/// The reason why a plugin is refused as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PluginError {
    /// The manifest cannot be read.
    #[error("{place} {reason}; correct that file")]
    Manifest {
        /// The manifest's path.
        place: &'static str,
        /// The reason why it cannot be read.
        reason: String,
    },
    /// The plugin has no usable name.
    #[error(
        "the plugin has no usable name; give it a `name` of letters, digits and `-` in .claude-plugin/plugin.json"
    )]
    NoName,
    /// The files do not contain any part of a plugin.
    #[error(
        "this is not a plugin: it has neither a manifest nor skills, commands, agents, hooks or MCP servers"
    )]
    NoPlugin,
}

impl Plugin {
    /// Reads a plugin. `name` is the name of its directory or package, for plugins without a manifest.
    ///
    /// A plugin with a manifest in `.claude-plugin/` is read in Claude Code's format, which has more parts. Without that manifest,
    /// a plugin with a `plugin.json` at the root that names the schema of Agent Plugins is read in that format.
    ///
    /// # Errors
    ///
    /// Fails if the manifest cannot be read, or if the files are not a plugin.
    pub fn read(tree: &Tree, name: &str) -> Result<Self, PluginError> {
        Self::read_as(tree, name, None)
    }

    /// Reads a plugin as a marketplace's entry describes it; the entry may declare parts of it.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::read`] does.
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

    /// A document with all servers, in the form of `.mcp.json`.
    pub fn servers_document(&self) -> serde_json::Value {
        let servers = self.servers.iter().map(|server| (server.name.clone(), server.definition.clone()));
        serde_json::json!({ "mcpServers": servers.collect::<serde_json::Map<_, _>>() })
    }
}

#[cfg(test)]
mod tests;
