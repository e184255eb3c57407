//! Roles: who a sub-agent can be, in `NAME.md` of a directory of roles.

use std::collections::BTreeMap;

use futures_util::future::try_join_all;
use sandbox::{FileKind, Sandbox, SandboxError};

use super::head::Text;
use super::{beginning, beginnings, is_name, lines, names};
use crate::limits::{LIBRARY_ENTRIES, LIBRARY_HEAD_BYTES, ROLE_BYTES};

/// The directories of a workspace that hold roles; of two with the same name the first one is used.
const DIRECTORIES: [&str; 2] = [".sandbridge/agents", ".claude/agents"];

/// A role, whole.
#[derive(Debug, PartialEq, Eq)]
pub struct Role {
    /// The role's name.
    pub name: String,
    /// The tools it works with; `None` for all that a sub-agent may have.
    pub tools: Option<Vec<String>>,
    /// The tier of the model it asks; empty for that of its user's chat.
    pub model: String,
    /// The text of the role.
    pub text: String,
}

/// The names of all roles, each with its purpose; `None` if there are none.
///
/// Fails if the place cannot be reached.
pub async fn catalogue(sandbox: &Sandbox) -> Result<Option<String>, SandboxError> {
    let found = try_join_all(DIRECTORIES.map(|directory| names(sandbox, directory, FileKind::File))).await?;
    let mut files = BTreeMap::new();
    for (directory, names) in DIRECTORIES.into_iter().zip(found) {
        for name in names.iter().filter_map(|file| file.strip_suffix(".md")) {
            files.entry(name.to_owned()).or_insert_with(|| file(directory, name));
        }
    }
    let files = files.into_iter().take(LIBRARY_ENTRIES).collect();
    let found = beginnings(sandbox, files, LIBRARY_HEAD_BYTES).await?;
    let abouts: Vec<(String, String)> =
        found.into_iter().map(|(name, text)| (name, Text::read(&text).line("description"))).collect();
    let text = lines(abouts.iter().map(|(name, about)| (name.as_str(), about.as_str())));
    Ok((!text.is_empty()).then_some(text))
}

/// A role; `None` if there is none of that name.
///
/// Fails if the place cannot be reached.
pub async fn read(sandbox: &Sandbox, name: &str) -> Result<Option<Role>, SandboxError> {
    if !is_name(name) {
        return Ok(None);
    }
    for directory in DIRECTORIES {
        if let Some(text) = beginning(sandbox, &file(directory, name), ROLE_BYTES).await? {
            return Ok(Some(parsed(name, &text)));
        }
    }
    Ok(None)
}

fn parsed(name: &str, text: &str) -> Role {
    let text = Text::read(text);
    Role {
        name: name.to_owned(),
        tools: text.list("tools").map(|tools| tools.iter().map(|tool| own_name(tool)).collect()),
        model: text.line("model"),
        text: text.body.to_owned(),
    }
}

/// Our name of a tool that a role asks for; roles that were written for other products know it by another one.
fn own_name(tool: &str) -> String {
    // `Bash(git *)` limits the calls; a role has the tool or not, and rules limit its calls.
    let name = tool.split('(').next().unwrap_or(tool).trim();
    hooks::dialect::own_name(name).unwrap_or(name).to_owned()
}

fn file(directory: &str, name: &str) -> String {
    format!("{directory}/{name}.md")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_says_who_it_is_and_what_it_works_with() {
        let role =
            parsed("looker", "---\nname: looker\ntools: Read, Grep\nmodel: swift\n---\nYou only look.");
        assert_eq!(role.tools.as_deref(), Some(&["Read".to_owned(), "Grep".to_owned()][..]));
        let words = (role.name.as_str(), role.model.as_str(), role.text.as_str());
        assert_eq!(words, ("looker", "swift", "You only look."));
        assert_eq!(parsed("plain", "Just be.").tools, None);
        let others = parsed(
            "x",
            "---\ntools: Bash(git *), Edit, Write, WebFetch, Read, mcp__a__b\nmodel: sonnet\n---\n",
        );
        let known = ["Shell", "FileReplace", "FileCreate", "Fetch", "Read", "mcp__a__b"];
        assert_eq!(others.tools.unwrap(), known.map(str::to_owned));
    }
}
