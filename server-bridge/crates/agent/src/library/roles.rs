//! Roles: who a sub-agent can be, in `.sandbridge/agents/NAME.md`.

use frontmatter::Text;
use sandbox::{FileKind, Sandbox, SandboxError};

use super::{about, beginning, beginnings, is_name, lines, names};
use crate::limits::{LIBRARY_HEAD_BYTES, ROLE_BYTES};

const DIRECTORY: &str = ".sandbridge/agents";

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
    let files = names(sandbox, DIRECTORY, FileKind::File).await?.into_iter().filter_map(|file| {
        let name = file.strip_suffix(".md")?.to_owned();
        let file = self::file(&name);
        Some((name, file))
    });
    let found = beginnings(sandbox, files.collect(), LIBRARY_HEAD_BYTES).await?;
    let abouts: Vec<(String, String)> = found.into_iter().map(|(name, text)| (name, about(&text))).collect();
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
    let found = beginning(sandbox, &file(name), ROLE_BYTES).await?;
    Ok(found.map(|text| parsed(name, &text)))
}

fn parsed(name: &str, text: &str) -> Role {
    let text = Text::read(text);
    Role {
        name: name.to_owned(),
        tools: text.list("tools"),
        model: text.line("model"),
        text: text.body.to_owned(),
    }
}

fn file(name: &str) -> String {
    format!("{DIRECTORY}/{name}.md")
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
    }
}
