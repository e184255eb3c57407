//! The tools of a workspace, and what approvals cover.

use std::collections::HashSet;

use agent::library::is_name;
use api::problem::Problem;
use futures_util::future::join_all;
use sandbox::{FileKind, Sandbox};
use store::{Store, UserId};

use crate::approvals::{approved, hash_of, workspace_of};
use crate::limits::{CUSTOM_TOOL_NAME_CHARS, CUSTOM_TOOLS};
use crate::trust::Item;

/// The kind under which approvals of custom tools are stored.
pub(super) const KIND: &str = "custom_tool";

/// The directory of a workspace that contains its custom tools.
const DIRECTORY: &str = "custom-tools";

/// The bits of a file's mode that make it executable.
const EXECUTABLE: u32 = 0o111;

/// The prefix of the hashed data: changing it invalidates earlier approvals.
const HASHED: &str = "custom_tool 1";

/// A tool of a workspace.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// The name of its file up to the first dot.
    pub(super) name: String,
    /// The path of its file in the workspace.
    pub(super) path: String,
    /// The SHA-256 of its content.
    pub(super) content: String,
    /// The hash that its user approves.
    pub(super) hash: String,
    pub(super) is_approved: bool,
}

impl Found {
    pub(super) fn item(self) -> Item {
        Item {
            name: self.name,
            origin: self.path.clone(),
            action: format!("runs {} on this machine, when a model calls it", self.path),
            hash: self.hash,
            files: vec![(self.path, self.content)],
            unseen: Vec::new(),
            is_approved: self.is_approved,
            is_approvable: true,
        }
    }
}

/// The tools, and the problems of files that only look like tools.
#[derive(Debug, Default)]
pub(super) struct FoundTools {
    pub(super) tools: Vec<Found>,
    pub(super) problems: Vec<Problem>,
}

/// The custom tools of a workspace, in the order of their names. A directory that cannot be read counts as empty.
pub(super) async fn find(store: &Store, user: UserId, sandbox: &Sandbox) -> store::Result<FoundTools> {
    let mut found = FoundTools::default();
    let files = names(sandbox).await;
    if files.is_empty() {
        return Ok(found);
    }
    let (approved, workspace) = (approved(store, user, KIND).await?, workspace_of(sandbox));
    let mut known = HashSet::new();
    let mut candidates = Vec::new();
    for file in files {
        let name = file.split('.').next().unwrap_or_default().to_owned();
        if !is_tool_name(&name) {
            let why = format!(
                "a tool's name can have only letters, digits, - and _, at most {CUSTOM_TOOL_NAME_CHARS} characters"
            );
            let text = format!("it is not a tool: {why}");
            found.problems.push(Problem::of(format!("{DIRECTORY}/{file}"), text));
        } else if !known.insert(name.clone()) {
            let text = format!("another file already defines the tool {name}");
            found.problems.push(Problem::of(format!("{DIRECTORY}/{file}"), text));
        } else if candidates.len() == CUSTOM_TOOLS {
            let text = format!("only the first {CUSTOM_TOOLS} tools are used");
            found.problems.push(Problem::of(DIRECTORY, text));
            break;
        } else {
            candidates.push((name, format!("{DIRECTORY}/{file}")));
        }
    }
    let looks = candidates.into_iter().map(|(name, path)| async move {
        let resolved = sandbox.resolve(path.as_bytes()).await;
        (name, path, resolved)
    });
    for (name, path, resolved) in join_all(looks).await {
        let resolved = match resolved {
            Ok(Some(resolved)) => resolved,
            Ok(None) => {
                found.problems.push(Problem::of(path, "its content cannot be checked on this machine"));
                continue;
            }
            // A link that leads nowhere or out of the workspace.
            Err(error) => {
                found.problems.push(Problem::of(path, error.to_string()));
                continue;
            }
        };
        let file = resolved.found.filter(|file| file.kind == FileKind::File);
        let (Some(file), Some(content)) = (file, resolved.sha256) else { continue };
        if file.mode & EXECUTABLE == 0 {
            let text = format!("it is not a tool: make it executable with `chmod +x {path}`");
            found.problems.push(Problem::of(path, text));
            continue;
        }
        let content = store::hex(&content);
        let hash = hash_of(HASHED, &workspace, &path, &content);
        let is_approved = approved.contains(&hash);
        found.tools.push(Found { name, path, content, hash, is_approved });
    }
    Ok(found)
}

/// The valid names in the directory, sorted.
async fn names(sandbox: &Sandbox) -> Vec<String> {
    let Ok(mut reader) = sandbox.read_dir(DIRECTORY.as_bytes()).await else { return Vec::new() };
    let mut names = Vec::new();
    while let Some(Ok(entries)) = reader.next_batch().await {
        let may_be_one = |kind: FileKind| matches!(kind, FileKind::File | FileKind::Symlink);
        let files = entries.into_iter().filter(|entry| may_be_one(entry.kind));
        names.extend(files.filter_map(|file| String::from_utf8(file.name).ok()).filter(|name| is_name(name)));
        // Dropping the reader makes the runner stop listing: a directory could be made to look endless.
        if names.len() > CUSTOM_TOOLS * CUSTOM_TOOLS {
            break;
        }
    }
    names.sort_unstable();
    names
}

fn is_tool_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.len() <= CUSTOM_TOOL_NAME_CHARS && name.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_models_can_call() {
        for name in ["weather", "a-b_C9"] {
            assert!(is_tool_name(name), "{name}");
        }
        for name in ["", "wetter heute", "überblick", &"x".repeat(CUSTOM_TOOL_NAME_CHARS + 1)] {
            assert!(!is_tool_name(name), "{name}");
        }
    }
}
