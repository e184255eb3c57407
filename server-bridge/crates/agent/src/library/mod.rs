//! The skills and roles of a workspace: each a text with a head that describes its purpose.
//!
//! ```text
//!   .sandbridge/skills/NAME/SKILL.md    how to do something; read when it is needed
//!   .sandbridge/agents/NAME.md          who a sub-agent can be
//! ```
//! The catalogues are read again at each turn, only the heads, side by side. Entries that are too long, too many or not text
//! are left out. Nothing here is trusted more than the rest of the workspace.
//!
//! | module | holds |
//! |---|---|
//! | `skills`, `roles` | one kind each |

pub mod roles;
pub mod skills;

use frontmatter::Text;
use futures_util::{StreamExt, stream};
use sandbox::{FileKind, Range, Sandbox, SandboxError};

use crate::limits::{LIBRARY_DESCRIPTION_CHARS, LIBRARY_ENTRIES, LIBRARY_FILES_AT_ONCE, LIBRARY_NAME_CHARS};

/// The beginning of a file, if it exists and is text.
///
/// Fails if the place cannot be reached.
pub async fn beginning(
    sandbox: &Sandbox,
    file: &str,
    most_bytes: u64,
) -> Result<Option<String>, SandboxError> {
    let range = Range { offset: 0, length: Some(most_bytes) };
    let mut reader = match sandbox.read_file(file.as_bytes(), range).await {
        Ok(reader) => reader,
        Err(error) => return absent(error),
    };
    let mut content = Vec::new();
    while let Some(piece) = reader.next().await {
        match piece {
            Ok(piece) => content.extend_from_slice(&piece),
            Err(error) => return absent(error),
        }
        if content.len() as u64 > most_bytes {
            break;
        }
    }
    let text = String::from_utf8_lossy(&content).trim().to_owned();
    Ok((!text.is_empty()).then_some(text))
}

/// These files are optional.
fn absent<T>(error: SandboxError) -> Result<Option<T>, SandboxError> {
    match error {
        SandboxError::Offline { .. } | SandboxError::Lost { .. } => Err(error),
        _ => Ok(None),
    }
}

/// The names in a directory that have this kind and could be listed in a catalogue, sorted.
async fn names(sandbox: &Sandbox, directory: &str, kind: FileKind) -> Result<Vec<String>, SandboxError> {
    let mut reader = match sandbox.read_dir(directory.as_bytes()).await {
        Ok(reader) => reader,
        Err(error) => return Ok(absent::<Vec<String>>(error)?.unwrap_or_default()),
    };
    let mut names = Vec::new();
    while let Some(batch) = reader.next_batch().await {
        let entries = match batch {
            Ok(entries) => entries,
            Err(error) => return Ok(absent::<Vec<String>>(error)?.unwrap_or_default()),
        };
        // The runner decides where a link may lead.
        let found = entries.into_iter().filter(|entry| entry.kind == kind || entry.kind == FileKind::Symlink);
        names.extend(found.filter_map(|entry| String::from_utf8(entry.name).ok()));
        // Dropping the reader stops the runner: a directory may be made to be endless.
        if names.len() > LIBRARY_ENTRIES * LIBRARY_ENTRIES {
            break;
        }
    }
    names.retain(|name| is_name(name.trim_end_matches(".md")));
    names.sort_unstable();
    names.truncate(LIBRARY_ENTRIES);
    Ok(names)
}

/// True if something may have this name: a file name that needs no quoting in a path or in a line of text.
fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty()
        && !name.starts_with('.')
        && name.chars().all(is_plain)
        && name.chars().count() <= LIBRARY_NAME_CHARS
}

/// The beginnings of files, in order; missing files are left out.
async fn beginnings(
    sandbox: &Sandbox,
    files: Vec<(String, String)>,
    most_bytes: u64,
) -> Result<Vec<(String, String)>, SandboxError> {
    let read = files.into_iter().map(|(name, file)| async move {
        Ok(beginning(sandbox, &file, most_bytes).await?.map(|text| (name, text)))
    });
    let found: Vec<Result<Option<(String, String)>, SandboxError>> =
        stream::iter(read).buffered(LIBRARY_FILES_AT_ONCE).collect().await;
    found.into_iter().filter_map(Result::transpose).collect()
}

/// The purpose of an entry, on one line.
fn about(text: &str) -> String {
    Text::read(text).line("description").chars().take(LIBRARY_DESCRIPTION_CHARS).collect()
}

/// Lines of a catalogue: `- NAME: DESCRIPTION`.
fn lines<'a>(entries: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let line = |(name, about): (&str, &str)| {
        if about.is_empty() { format!("- {name}") } else { format!("- {name}: {about}") }
    };
    entries.map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_descriptions_are_cut() {
        let long = format!("---\ndescription: {}\n---", "é".repeat(LIBRARY_DESCRIPTION_CHARS + 9));
        assert_eq!(about(&long).chars().count(), LIBRARY_DESCRIPTION_CHARS);
    }

    #[test]
    fn only_plain_names_are_names() {
        for name in ["review", "git-commit", "a.b_c", "überprüfen"] {
            assert!(is_name(name), "{name}");
        }
        let long = "x".repeat(LIBRARY_NAME_CHARS + 1);
        for name in ["", ".", "..", ".hidden", "a/b", "a b", "a\nb", "../x", long.as_str()] {
            assert!(!is_name(name), "{name}");
        }
    }
}
