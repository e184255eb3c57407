//! The roles that a sub-agent can have, from a workspace: each in a file `NAME.md` in a directory of roles.

use std::collections::BTreeMap;

use futures_util::future::try_join_all;
use plugins::{PluginPath, Role};
use sandbox::{FileKind, Sandbox, SandboxError};

use super::{beginning, beginnings, is_name, names};
use crate::limits::{LIBRARY_ENTRIES, LIBRARY_HEAD_BYTES, ROLE_BYTES};

/// The directories of a workspace that contain roles; if two have a role with the same name, the first one is used.
const DIRECTORIES: [&str; 2] = [".sandbridge/agents", ".claude/agents"];

/// All roles of a workspace, sorted by name, with only the beginnings of their texts.
///
/// Fails if the place cannot be reached.
pub(super) async fn heads(sandbox: &Sandbox) -> Result<Vec<Role>, SandboxError> {
    let found = try_join_all(DIRECTORIES.map(|directory| names(sandbox, directory, FileKind::File))).await?;
    let mut files = BTreeMap::new();
    for (directory, names) in DIRECTORIES.into_iter().zip(found) {
        for name in names.iter().filter_map(|file| file.strip_suffix(".md")) {
            files.entry(name.to_owned()).or_insert_with(|| file(directory, name));
        }
    }
    let files: Vec<(String, String)> = files.into_iter().take(LIBRARY_ENTRIES).collect();
    let texts = beginnings(sandbox, files, LIBRARY_HEAD_BYTES).await?;
    Ok(texts.iter().filter_map(|(name, text)| parsed(DIRECTORIES[0], name, text)).collect())
}

/// A role of a workspace with its whole text; `None` if no role has this name.
///
/// Fails if the place cannot be reached.
pub(super) async fn read(sandbox: &Sandbox, name: &str) -> Result<Option<Role>, SandboxError> {
    if !is_name(name) {
        return Ok(None);
    }
    for directory in DIRECTORIES {
        if let Some(text) = beginning(sandbox, &file(directory, name), ROLE_BYTES).await? {
            return Ok(parsed(directory, name, &text));
        }
    }
    Ok(None)
}

/// Parses a role; its name is the name of its file.
fn parsed(directory: &str, name: &str, text: &str) -> Option<Role> {
    Some(Role::of_text(name, PluginPath::parse(&file(directory, name)).ok()?, text))
}

fn file(directory: &str, name: &str) -> String {
    format!("{directory}/{name}.md")
}
