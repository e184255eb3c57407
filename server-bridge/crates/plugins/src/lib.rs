//! The formats of plugins, Claude Code's and Agent Plugins 1.0.0, read as they are published.
//!
//! There is no I/O, no clock and no lock here, and nothing of a plugin is run.
//!
//! ```text
//!   files, .tar.gz, .zip ─▶ Tree ─▶ Plugin: manifest, skills, commands, roles, hooks, MCP servers; what is unused; problems
//!                            │ refused: `../`, links, bombs, two of one name              │
//!   marketplace.json ─▶ Marketplace ─▶ Entry: the source to fetch ────────────────────────┤
//!                                                                                         ▼
//!                                           Command, arguments ─▶ Expansion: text, lines of shell, files
//! ```
//! A plugin is identified by the hash of its files. A part that cannot be read is a [`Problem`] and does not affect the
//! others; a part that is not used here is reported as [`Unused`].
//!
//! | module | holds |
//! |---|---|
//! | [`tree`] | the files: checked paths, archives, the hash |
//! | [`manifest`] | a plugin's description of itself |
//! | [`plugin`] | a plugin, read from its files |
//! | [`component`] | skills, commands, roles, hooks, servers |
//! | [`tools`] | names of tools in heads |
//! | [`expand`] | a command with its arguments, as a prompt |
//! | [`variables`] | variables such as `${CLAUDE_PLUGIN_ROOT}` |
//! | [`marketplace`] | lists of plugins with their sources |
//! | [`findings`] | parts that are broken or not used |
//! | [`limits`] | every limit |
//! | `json`, `text` | documents and texts from untrusted sources |

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod component;
pub mod expand;
pub mod findings;
mod json;
pub mod limits;
pub mod manifest;
pub mod marketplace;
pub mod plugin;
mod text;
pub mod tools;
pub mod tree;
pub mod variables;

pub use component::{Command, HookDocument, Requires, Role, Server, Skill};
pub use expand::{Expansion, ExpansionError, Part, Template};
pub use findings::{Problem, Unused};
pub use manifest::{Author, Format, Manifest};
pub use marketplace::{Entry, Marketplace, MarketplaceError, Revision, Source};
pub use plugin::{Plugin, PluginError};
pub use tools::Tool;
pub use tree::{ArchiveError, File, PathError, PluginPath, Tree, TreeBuilder, TreeError};
pub use variables::Variables;
