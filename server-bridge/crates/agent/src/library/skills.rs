//! The skills of a workspace: instructions on how to do something, each in a file `NAME/SKILL.md` in a directory of skills.

use std::collections::HashSet;

use futures_util::future::try_join_all;
use plugins::{PluginPath, Skill};
use sandbox::{FileKind, Sandbox, SandboxError};

use super::{beginning, beginnings, is_name, names};
use crate::limits::{LIBRARY_ENTRIES, LIBRARY_HEAD_BYTES, SKILL_BYTES};

/// The directories of a workspace that contain skills; if two have a skill with the same name, the first one is used.
const DIRECTORIES: [&str; 4] = [".sandbridge/skills", ".agents/skills", ".claude/skills", "skills"];

/// All skills of a workspace, sorted by name, with only the beginnings of their texts.
///
/// Fails if the place cannot be reached.
pub async fn heads(sandbox: &Sandbox) -> Result<Vec<Skill>, SandboxError> {
    let found = try_join_all(DIRECTORIES.map(|directory| names(sandbox, directory, FileKind::Directory)));
    let mut known = HashSet::new();
    let mut skills = Vec::new();
    for (directory, names) in DIRECTORIES.into_iter().zip(found.await?) {
        let new = names.into_iter().filter(|name| known.insert(name.clone()));
        let files = new.map(|name| {
            let file = file(directory, &name);
            (name, file)
        });
        let texts = beginnings(sandbox, files.collect(), LIBRARY_HEAD_BYTES).await?;
        skills.extend(texts.iter().filter_map(|(name, text)| parsed(directory, name, text)));
    }
    skills.sort_by(|one, other| one.name.cmp(&other.name));
    skills.truncate(LIBRARY_ENTRIES);
    Ok(skills)
}

/// A skill of a workspace with its whole text; `None` if no skill has this name.
///
/// Fails if the place cannot be reached.
pub async fn read(sandbox: &Sandbox, name: &str) -> Result<Option<Skill>, SandboxError> {
    if !is_name(name) {
        return Ok(None);
    }
    for directory in DIRECTORIES {
        if let Some(text) = beginning(sandbox, &file(directory, name), SKILL_BYTES).await? {
            return Ok(parsed(directory, name, &text));
        }
    }
    Ok(None)
}

fn parsed(directory: &str, name: &str, text: &str) -> Option<Skill> {
    let directory = PluginPath::parse(&format!("{directory}/{name}")).ok()?;
    Some(Skill::of_text(name, directory, text))
}

fn file(directory: &str, name: &str) -> String {
    format!("{directory}/{name}/SKILL.md")
}
