//! Plugins: skills, roles, commands, hooks and MCP servers that are installed together.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::problem::Problem;

/// A plugin to inspect or to install: its files, an archive, or a source to fetch it from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NewPlugin {
    /// A source: `https://…` (a `.tar.gz` or `.zip` archive), `npm:NAME[@VERSION]`, `github:OWNER/REPOSITORY[@REVISION][#DIRECTORY]`, the
    /// same with `gitlab:GROUP/REPOSITORY`, `codeberg:OWNER/REPOSITORY`, `gitlab:https://HOST/GROUP/REPOSITORY` or
    /// `forgejo:https://HOST/OWNER/REPOSITORY`, `PLUGIN@MARKETPLACE` or `PLUGIN@github:OWNER/REPOSITORY` (a plugin of a marketplace), or
    /// `shelf:OWNER/NAME` (a plugin that a user of this server shares).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The archive itself, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<String>,
    /// The files themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<PluginUpload>>,
    /// The name of its directory or archive, for plugins that state no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// To install it: the hash of the files that the user looked at. If the files have another hash, nothing is installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

/// A file of a plugin.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PluginUpload {
    /// The file's path in the plugin.
    pub path: String,
    /// The file's content, in base64.
    pub content: String,
    /// True if it may be run.
    #[serde(default)]
    #[schema(required)]
    pub executable: bool,
}

/// The plugins of a user.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PluginList {
    /// The plugins, by name.
    #[serde(default)]
    #[schema(required)]
    pub plugins: Vec<PluginView>,
}

/// A plugin.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PluginView {
    /// The name that the plugin states.
    pub name: String,
    /// The version that the plugin states; empty if it states none.
    pub version: String,
    /// The description that the plugin gives.
    pub description: String,
    /// The hash of its files.
    pub hash: String,
    /// The plugin's source, in words.
    pub source: String,
    /// True if it is used.
    pub enabled: bool,
    /// True if every user of this server may install a copy of it.
    #[serde(default)]
    #[schema(required)]
    pub shared: bool,
    /// True if the marketplace or the user that it came from has another copy now.
    #[serde(default)]
    #[schema(required)]
    pub has_update: bool,
    /// When this copy was installed, in Unix milliseconds; null for a plugin that was only inspected.
    #[serde(default)]
    #[schema(required)]
    pub installed_at: Option<i64>,
    /// The plugin's skills.
    #[serde(default)]
    #[schema(required)]
    pub skills: Vec<PluginPart>,
    /// The plugin's roles for sub-agents.
    #[serde(default)]
    #[schema(required)]
    pub roles: Vec<PluginPart>,
    /// The plugin's slash commands.
    #[serde(default)]
    #[schema(required)]
    pub commands: Vec<PluginPart>,
    /// The plugin's hooks: the event, and what is run.
    #[serde(default)]
    #[schema(required)]
    pub hooks: Vec<PluginPart>,
    /// The plugin's MCP servers: the name, and what is run or reached.
    #[serde(default)]
    #[schema(required)]
    pub servers: Vec<PluginPart>,
    /// The parts that are not used here, with the reason.
    #[serde(default)]
    #[schema(required)]
    pub unused: Vec<UnusedPart>,
    /// Problems with its files.
    #[serde(default)]
    #[schema(required)]
    pub problems: Vec<Problem>,
    /// For a plugin that was only inspected: the installed copy that it would replace.
    #[serde(default)]
    #[schema(required)]
    pub replaces: Option<PluginReplaced>,
}

/// A part of a plugin.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PluginPart {
    /// The part's name, as it is used here.
    pub name: String,
    /// The part's purpose, or what it does.
    pub about: String,
}

/// A part of a plugin that is not used here.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UnusedPart {
    /// The part's name in the plugin.
    pub name: String,
    /// Why it is not used.
    #[serde(serialize_with = "crate::language::text")]
    pub about: String,
}

/// An installed copy that a new one would replace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PluginReplaced {
    /// The version of the installed copy.
    pub version: String,
    /// The hash of the installed copy's files.
    pub hash: String,
    /// The files that changed, were added or were removed; at most 50.
    #[serde(default)]
    #[schema(required)]
    pub files: Vec<String>,
}

/// A request to use a plugin, or to stop using it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PluginChange {
    /// True to use it.
    pub enabled: bool,
}

/// A request to share a plugin with every user, or to stop sharing it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PluginSharing {
    /// True to let every user install a copy of it.
    pub shared: bool,
}

/// A marketplace to add.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NewMarketplace {
    /// The marketplace's source: `github:OWNER/REPOSITORY[@REVISION]`, the same with another git host as in the source of a plugin, `https://…` (a
    /// `.tar.gz` or `.zip` archive, or a `marketplace.json`), or `runner:NAME[:DIRECTORY]`, a directory of the workspace of one of the user's runners.
    pub source: String,
}

/// The marketplaces of a user.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MarketplaceList {
    /// The marketplaces, by name.
    #[serde(default)]
    #[schema(required)]
    pub marketplaces: Vec<MarketplaceView>,
}

/// A marketplace, as it was last read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MarketplaceView {
    /// The name of the marketplace.
    pub name: String,
    /// The description that the marketplace gives of itself.
    pub description: String,
    /// Who maintains it.
    pub owner: String,
    /// The source that it is read from.
    pub source: String,
    /// When it was last read, in Unix milliseconds.
    pub updated_at: i64,
    /// The plugins that it offers, in its order.
    #[serde(default)]
    #[schema(required)]
    pub plugins: Vec<MarketplacePlugin>,
    /// Problems with its files.
    #[serde(default)]
    #[schema(required)]
    pub problems: Vec<Problem>,
}

/// A plugin that a marketplace offers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MarketplacePlugin {
    /// The name of the plugin.
    pub name: String,
    /// The version that the marketplace states; empty if it states none.
    pub version: String,
    /// The marketplace's description of the plugin.
    pub description: String,
    /// The category that it belongs to; empty if there is none.
    pub category: String,
    /// The source to install it from.
    pub source: String,
    /// True if the user installed it from this marketplace.
    pub installed: bool,
    /// True if the copy that the user installed from this marketplace differs from the current one.
    pub has_update: bool,
}

/// The plugins that users of this server share.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ShelfList {
    /// The plugins, by owner and name.
    #[serde(default)]
    #[schema(required)]
    pub plugins: Vec<ShelfPlugin>,
}

/// A plugin that a user shares.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ShelfPlugin {
    /// The user who shares it.
    pub owner: String,
    /// The name of the plugin.
    pub name: String,
    /// The version that the plugin states; empty if it states none.
    pub version: String,
    /// The description that the plugin gives.
    pub description: String,
    /// The hash of its files.
    pub hash: String,
    /// The source to install it from.
    pub source: String,
    /// True if it is the caller's own.
    pub own: bool,
    /// True if the caller installed it from this user.
    pub installed: bool,
    /// True if the copy that the caller installed from this user differs from the current one.
    pub has_update: bool,
}
