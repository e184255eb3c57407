//! Skills: how to do something, in `.sandbridge/skills/NAME/SKILL.md`.

use frontmatter::Text;
use sandbox::{FileKind, Sandbox, SandboxError};

use super::{about, beginning, beginnings, is_name, lines, names};
use crate::limits::{LIBRARY_HEAD_BYTES, SKILL_BYTES};

const DIRECTORY: &str = ".sandbridge/skills";

/// A skill, whole.
pub struct Skill {
    /// Its directory, relative to the workspace.
    pub directory: String,
    /// Its text.
    pub text: String,
}

/// The names of all skills, each with its purpose; `None` if there are none.
///
/// Fails if the place cannot be reached.
pub async fn catalogue(sandbox: &Sandbox) -> Result<Option<String>, SandboxError> {
    let names = names(sandbox, DIRECTORY, FileKind::Directory).await?;
    let files = names.into_iter().map(|name| {
        let file = file(&name);
        (name, file)
    });
    let found = beginnings(sandbox, files.collect(), LIBRARY_HEAD_BYTES).await?;
    let abouts: Vec<(String, String)> = found.into_iter().map(|(name, text)| (name, about(&text))).collect();
    let text = lines(abouts.iter().map(|(name, about)| (name.as_str(), about.as_str())));
    Ok((!text.is_empty()).then_some(text))
}

/// A skill; `None` if there is none of that name.
///
/// Fails if the place cannot be reached.
pub async fn read(sandbox: &Sandbox, name: &str) -> Result<Option<Skill>, SandboxError> {
    if !is_name(name) {
        return Ok(None);
    }
    let found = beginning(sandbox, &file(name), SKILL_BYTES).await?;
    Ok(found.map(|text| Skill {
        directory: format!("{DIRECTORY}/{name}"),
        text: Text::read(&text).body.to_owned(),
    }))
}

fn file(name: &str) -> String {
    format!("{DIRECTORY}/{name}/SKILL.md")
}
