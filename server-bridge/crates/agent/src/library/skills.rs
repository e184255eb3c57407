//! Skills: how to do something, in `NAME/SKILL.md` of a directory of skills.

use std::collections::HashSet;

use futures_util::future::try_join_all;
use sandbox::{FileKind, Sandbox, SandboxError};
use serde_json::Value;

use super::head::Text;
use super::{beginning, beginnings, is_name, lines, names};
use crate::limits::{LIBRARY_ENTRIES, LIBRARY_HEAD_BYTES, SKILL_BYTES};

/// The directories of a workspace that hold skills; of two with the same name the first one is used.
const DIRECTORIES: [&str; 4] = [".sandbridge/skills", ".agents/skills", ".claude/skills", "skills"];

/// The beginning of a skill's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its name: that of its directory.
    pub name: String,
    /// Its directory, relative to the workspace.
    pub directory: String,
    /// What it is for.
    pub description: String,
    /// True if its text is meant to stand in every prompt.
    pub is_always: bool,
    /// True if models may read it by themselves, and not only when their user asks for it.
    pub is_for_models: bool,
    /// The programs that it needs.
    pub programs: Vec<String>,
    /// The environment variables that it needs.
    pub variables: Vec<String>,
}

/// A skill, whole.
pub struct Skill {
    /// Its beginning.
    pub head: Head,
    /// Its text.
    pub text: String,
}

impl Head {
    /// Its text's file.
    pub fn file(&self) -> String {
        format!("{}/SKILL.md", self.directory)
    }

    /// What it needs, in words; empty if it needs nothing.
    pub fn needs(&self) -> String {
        let programs = self.programs.iter().cloned();
        let variables = self.variables.iter().map(|name| format!("${name}"));
        programs.chain(variables).collect::<Vec<_>>().join(", ")
    }

    fn read(name: &str, directory: &str, text: &Text<'_>) -> Self {
        let more = Metadata::read(text.whole("metadata"));
        let list = |key: &str, more: Vec<String>| text.list(key).unwrap_or(more);
        Self {
            name: name.to_owned(),
            directory: format!("{directory}/{name}"),
            description: text.line("description"),
            is_always: text.line("always") == "true" || more.is_always,
            is_for_models: text.line("disable-model-invocation") != "true",
            programs: list("requires_bins", more.programs),
            variables: list("requires_env", more.variables),
        }
    }
}

/// What some products write into `metadata`: `{"PRODUCT": {"always": true, "requires": {"bins": ["git"], "env": ["TOKEN"]}}}`.
#[derive(Default)]
struct Metadata {
    is_always: bool,
    programs: Vec<String>,
    variables: Vec<String>,
}

impl Metadata {
    fn read(json: &str) -> Self {
        let Ok(Value::Object(products)) = serde_json::from_str(json) else { return Self::default() };
        let mut all = Self::default();
        for product in products.values() {
            let list = |key: &str| -> Vec<String> {
                let list = product["requires"][key].as_array();
                list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
            };
            all.is_always |= product["always"] == true;
            all.programs.extend(list("bins"));
            all.variables.extend(list("env"));
        }
        all
    }
}

/// The heads of all skills, in the order of their names.
///
/// Fails if the place cannot be reached.
pub async fn heads(sandbox: &Sandbox) -> Result<Vec<Head>, SandboxError> {
    let found = try_join_all(DIRECTORIES.map(|directory| names(sandbox, directory, FileKind::Directory)));
    let mut known = HashSet::new();
    let mut skills = Vec::new();
    for (directory, names) in DIRECTORIES.into_iter().zip(found.await?) {
        let new = names.into_iter().filter(|name| known.insert(name.clone()));
        let files: Vec<(String, String)> = new
            .map(|name| {
                let file = file(directory, &name);
                (name, file)
            })
            .collect();
        let texts = beginnings(sandbox, files, LIBRARY_HEAD_BYTES).await?;
        skills.extend(texts.iter().map(|(name, text)| Head::read(name, directory, &Text::read(text))));
    }
    skills.sort_by(|one, other| one.name.cmp(&other.name));
    skills.truncate(LIBRARY_ENTRIES);
    Ok(skills)
}

/// The names of all skills that models may read by themselves, each with its purpose; `None` if there are none.
///
/// Fails if the place cannot be reached.
pub async fn catalogue(sandbox: &Sandbox) -> Result<Option<String>, SandboxError> {
    let heads = heads(sandbox).await?;
    let text = lines(
        heads
            .iter()
            .filter(|head| head.is_for_models)
            .map(|head| (head.name.as_str(), head.description.as_str())),
    );
    Ok((!text.is_empty()).then_some(text))
}

/// A skill; `None` if there is none of that name.
///
/// Fails if the place cannot be reached.
pub async fn read(sandbox: &Sandbox, name: &str) -> Result<Option<Skill>, SandboxError> {
    if !is_name(name) {
        return Ok(None);
    }
    for directory in DIRECTORIES {
        if let Some(text) = beginning(sandbox, &file(directory, name), SKILL_BYTES).await? {
            let text = Text::read(&text);
            let head = Head::read(name, directory, &text);
            return Ok(Some(Skill { head, text: text.body.to_owned() }));
        }
    }
    Ok(None)
}

fn file(directory: &str, name: &str) -> String {
    format!("{directory}/{name}/SKILL.md")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Head {
        Head::read("x", "skills", &Text::read(text))
    }

    #[test]
    fn a_skill_says_when_it_is_used_and_what_it_needs() {
        let plain = head("---\nname: other\ndescription: Makes releases\n---\nTag it.");
        assert_eq!((plain.name.as_str(), plain.description.as_str()), ("x", "Makes releases"));
        assert_eq!(plain.file(), "skills/x/SKILL.md");
        assert!(!plain.is_always && plain.is_for_models && plain.needs().is_empty());
        let own = head(
            "---\nalways: true\nrequires_bins: [git, gh]\nrequires_env: GH_TOKEN\ndisable-model-invocation: true\n---\n",
        );
        assert!(own.is_always && !own.is_for_models);
        assert_eq!(own.needs(), "git, gh, $GH_TOKEN");
        let nested = r#"{"nanobot":{"always":true,"requires":{"bins":["git"],"env":["A"]}}}"#;
        let others = head(&format!("---\nmetadata: '{nested}'\n---\n"));
        assert!(others.is_always);
        assert_eq!(others.needs(), "git, $A");
        for broken in ["{", "[]", "1", r#"{"a":1}"#, r#"{"a":{"always":"yes","requires":{"bins":"git"}}}"#] {
            let broken = head(&format!("---\nmetadata: '{broken}'\n---\n"));
            assert!(!broken.is_always && broken.needs().is_empty());
        }
    }
}
