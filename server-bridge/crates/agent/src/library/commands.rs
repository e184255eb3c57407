//! The slash commands of a workspace: prompts that people start, each in a file `NAME.md` in a directory of commands or in one of its subdirectories.

use std::collections::BTreeMap;

use futures_util::future::{join_all, try_join_all};
use plugins::{Command, PluginPath};
use sandbox::{FileKind, Sandbox, SandboxError};

use super::{beginning, beginnings, is_name, names};
use crate::limits::{COMMAND_BYTES, LIBRARY_ENTRIES, LIBRARY_HEAD_BYTES};

/// The directories of a workspace that contain commands; if two have a command with the same name, the first one is used.
const DIRECTORIES: [&str; 2] = [".sandbridge/commands", ".claude/commands"];

/// All commands of a workspace, sorted by name, with only the beginnings of their texts.
///
/// Fails if the place cannot be reached.
pub async fn heads(sandbox: &Sandbox) -> Result<Vec<Command>, SandboxError> {
    let mut files = BTreeMap::new();
    let found = try_join_all(DIRECTORIES.map(|directory| of_directory(sandbox, directory))).await?;
    for (name, file) in found.into_iter().flatten() {
        files.entry(name).or_insert(file);
    }
    let files: Vec<(String, String)> = files.into_iter().take(LIBRARY_ENTRIES).collect();
    let texts = beginnings(sandbox, files, LIBRARY_HEAD_BYTES).await?;
    Ok(texts.iter().filter_map(|(name, text)| parsed(DIRECTORIES[0], name, text)).collect())
}

/// A command of a workspace with its whole text; `None` if no command has this name.
///
/// Fails if the place cannot be reached.
pub async fn read(sandbox: &Sandbox, name: &str) -> Result<Option<Command>, SandboxError> {
    if !name.split(':').all(is_name) {
        return Ok(None);
    }
    for directory in DIRECTORIES {
        if let Some(text) = beginning(sandbox, &file(directory, name), COMMAND_BYTES).await? {
            return Ok(parsed(directory, name, &text));
        }
    }
    Ok(None)
}

/// The commands in a directory and in its subdirectories: their names and their files.
async fn of_directory(sandbox: &Sandbox, directory: &str) -> Result<Vec<(String, String)>, SandboxError> {
    let below = names(sandbox, directory, FileKind::Directory).await?;
    let mut found: Vec<(String, String)> = Vec::new();
    let mut add = |prefix: &str, files: Vec<String>| {
        let plain = files.iter().filter_map(|file| file.strip_suffix(".md"));
        found.extend(plain.map(|name| {
            let name = format!("{prefix}{name}");
            let file = file(directory, &name);
            (name, file)
        }));
    };
    add("", names(sandbox, directory, FileKind::File).await?);
    let paths: Vec<String> = below.iter().map(|name| format!("{directory}/{name}")).collect();
    let files = join_all(paths.iter().map(|path| names(sandbox, path, FileKind::File))).await;
    for (name, files) in below.iter().zip(files) {
        add(&format!("{name}:"), files?);
    }
    Ok(found)
}

fn parsed(directory: &str, name: &str, text: &str) -> Option<Command> {
    Some(Command::of_text(name, PluginPath::parse(&file(directory, name)).ok()?, text))
}

fn file(directory: &str, name: &str) -> String {
    format!("{directory}/{}.md", name.replace(':', "/"))
}
