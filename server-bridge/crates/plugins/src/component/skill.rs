//! Skills: `skills/NAME/SKILL.md`.

use frontmatter::{Map, Value};

use super::head::Head;
use crate::limits::{FIELD_CHARS, LIST_ITEMS};
use crate::text::line;
use crate::tools::Tool;
use crate::tree::PluginPath;

/// A skill of a plugin or a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// The skill's name, which is that of its directory.
    pub name: String,
    /// The name in its head, if it is a different one; otherwise empty.
    pub title: String,
    /// A description of its purpose, and of when to use it.
    pub description: String,
    /// The directory that contains its files.
    pub directory: PluginPath,
    /// The tools that may be used without a question while the skill is followed, if its user agrees.
    pub allowed_tools: Vec<Tool>,
    /// A hint about the arguments; empty if it takes none.
    pub argument_hint: String,
    /// The names of its arguments.
    pub arguments: Vec<String>,
    /// False if only people can start it.
    pub is_for_models: bool,
    /// False if only models can start it.
    pub is_for_people: bool,
    /// True if its text is part of every prompt.
    pub always: bool,
    /// The programs and variables that the machine must have.
    pub requires: Requires,
    /// The model that it requests; empty for the chat's model.
    pub model: String,
    /// The skill's text, without the head.
    pub text: String,
}

/// The programs and variables that a skill needs on the machine. A skill is left out if something is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requires {
    /// Programs, all of which are needed.
    pub programs: Vec<String>,
    /// Programs, one of which is needed.
    pub any_program: Vec<String>,
    /// Environment variables, all of which are needed.
    pub variables: Vec<String>,
}

impl Requires {
    /// True if nothing is needed.
    pub fn is_empty(&self) -> bool {
        self.programs.is_empty() && self.any_program.is_empty() && self.variables.is_empty()
    }

    /// A list of the missing requirements as text; empty if none is missing. `lacking` contains the programs and `$VARIABLES` that
    /// a machine lacks.
    pub fn lacks(&self, lacking: &[String]) -> String {
        let is_lacking = |name: &String| lacking.contains(name);
        let programs = self.programs.iter().filter(|name| is_lacking(name)).map(|name| format!("`{name}`"));
        let any = (!self.any_program.is_empty() && self.any_program.iter().all(is_lacking))
            .then(|| format!("one of {}", self.any_program.join(" or ")));
        let variables = self.variables.iter().map(|name| format!("${name}")).filter(is_lacking);
        programs.chain(any).chain(variables).collect::<Vec<_>>().join(", ")
    }

    /// A list of all requirements as text; empty if there are none.
    pub fn words(&self) -> String {
        let any = (!self.any_program.is_empty()).then(|| format!("one of {}", self.any_program.join(" or ")));
        let variables = self.variables.iter().map(|name| format!("${name}"));
        self.programs.iter().cloned().chain(any).chain(variables).collect::<Vec<_>>().join(", ")
    }
}

/// Fields of heads that have an effect in other programs only.
pub(crate) const UNUSED: &[&str] =
    &["agent", "context", "disallowed-tools", "effort", "hooks", "paths", "shell"];

impl Skill {
    /// Reads a skill from its text, which may be cut.
    pub fn of_text(name: &str, directory: PluginPath, text: &str) -> Self {
        let head = Head::of(text);
        let (body, _) = head.body();
        Self::read(name.to_owned(), directory, &head, body)
    }

    pub(crate) fn read(name: String, directory: PluginPath, head: &Head<'_>, text: String) -> Self {
        let title = head.field("name");
        let when = line(&head.field("when_to_use"), FIELD_CHARS);
        let mut description = head.description();
        if !when.is_empty() {
            description = [description, when].join(" ").trim().to_owned();
        }
        let metadata = Metadata::of(head);
        Self {
            title: if title == name { String::new() } else { title },
            description,
            directory,
            allowed_tools: head.get("allowed-tools").map(Tool::list).unwrap_or_default(),
            argument_hint: head.field("argument-hint"),
            arguments: head.get("arguments").map(Value::words).unwrap_or_default(),
            is_for_models: !head.truth("disable-model-invocation").unwrap_or(false),
            is_for_people: head.truth("user-invocable").unwrap_or(true),
            always: metadata.always,
            requires: metadata.requires,
            model: head.field("model"),
            text,
            name,
        }
    }
}

/// `always` and `requires`. They are in the head or in its `metadata`, where they may also be inside a field with a
/// program's name.
#[derive(Default)]
struct Metadata {
    always: bool,
    requires: Requires,
}

impl Metadata {
    fn of(head: &Head<'_>) -> Self {
        let mut found = Self::default();
        found.take(&head.text.head);
        // The value may be written as fields, or as JSON in quotes.
        let json =
            head.get("metadata").and_then(Value::text).map(|text| format!("---\nmetadata: {text}\n---\n"));
        let json = json.as_deref().map(frontmatter::Text::read);
        let metadata = json.as_ref().and_then(|text| text.head.get("metadata")).or(head.get("metadata"));
        if let Some(metadata) = metadata.and_then(Value::map) {
            found.take(metadata);
            for name in metadata.keys() {
                if let Some(Value::Map(inner)) = metadata.get(name) {
                    found.take(inner);
                }
            }
        }
        found
    }

    fn take(&mut self, fields: &Map) {
        self.always |= fields.get("always").and_then(Value::truth).unwrap_or(false);
        let mut take = |fields: &Map, names: [&str; 3]| {
            let Requires { programs, any_program, variables } = &mut self.requires;
            for (name, list) in names.into_iter().zip([programs, any_program, variables]) {
                let words = fields.get(name).map(Value::words).unwrap_or_default();
                list.extend(words.iter().take(LIST_ITEMS).map(|word| line(word, FIELD_CHARS)));
            }
        };
        take(fields, ["requires_bins", "requires_any_bins", "requires_env"]);
        if let Some(requires) = fields.get("requires").and_then(Value::map) {
            take(requires, ["bins", "anyBins", "env"]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skill(text: &str) -> Skill {
        Skill::of_text("x", PluginPath::parse("skills/x").unwrap(), text)
    }

    #[test]
    fn a_skill_of_a_text_says_when_it_is_used_and_what_it_needs() {
        let plain = skill("---\ndescription: Makes releases\n---\nTag it.");
        assert_eq!((plain.name.as_str(), plain.description.as_str()), ("x", "Makes releases"));
        assert_eq!((plain.directory.as_str(), plain.text.as_str()), ("skills/x", "Tag it."));
        assert!(!plain.always && plain.is_for_models && plain.requires.words().is_empty());
        let own = skill(
            "---\nalways: true\nrequires_bins: [git, gh]\nrequires_any_bins: [vi, ed]\nrequires_env: GH_TOKEN\ndisable-model-invocation: true\n---\n",
        );
        assert!(own.always && !own.is_for_models);
        assert_eq!(own.requires.words(), "git, gh, one of vi or ed, $GH_TOKEN");
        let nested = r#"{"nanobot":{"always":true,"requires":{"bins":["git"],"env":["A"]}}}"#;
        let others = skill(&format!("---\nmetadata: '{nested}'\n---\n"));
        assert!(others.always);
        assert_eq!(others.requires.words(), "git, $A");
        for broken in ["{", "[]", "1", r#"{"a":1}"#, r#"{"a":{"always":"maybe"}}"#] {
            let broken = skill(&format!("---\nmetadata: '{broken}'\n---\n"));
            assert!(!broken.always && broken.requires.words().is_empty());
        }
        assert_eq!(skill("---\ndescription: cut").text, "");
    }
}
