//! Templates of workspaces: documents that describe an agent's role and way of working, for its owner to edit. Each template exists in every
//! language.

mod en;
mod zh;

use api::language::Language as Of;
use api::workspace::{AgentTemplate, WorkspaceFile};

use crate::error::{Error, Result};

/// The templates in one language.
struct Language {
    /// `USER.md`, which is the same in all templates.
    user: &'static str,
    templates: &'static [Template],
}

/// A template, without `USER.md`.
struct Template {
    /// The template's name, the same in all languages.
    name: &'static str,
    /// The template's title, as shown to people.
    title: &'static str,
    /// The agent's work, as a phrase that completes a sentence.
    about: &'static str,
    soul: &'static str,
    identity: &'static str,
    tools: &'static str,
}

/// Returns all templates in a language.
pub(crate) fn all(language: Of) -> Vec<AgentTemplate> {
    let Language { user, templates } = texts(language);
    templates.iter().map(|template| view(template, user)).collect()
}

/// Finds the template with this name.
///
/// # Errors
/// [`Error::Refused`], which names the existing templates.
pub(crate) fn named(language: Of, name: &str) -> Result<AgentTemplate> {
    let Language { user, templates } = texts(language);
    match templates.iter().find(|template| template.name == name) {
        Some(template) => Ok(view(template, user)),
        None => {
            let names: Vec<_> = templates.iter().map(|template| template.name).collect();
            Err(Error::invalid(format!("there is no template {name:?}; choose one of: {}", names.join(", "))))
        }
    }
}

fn texts(language: Of) -> &'static Language {
    match language {
        Of::English => &en::ALL,
        Of::Chinese => &zh::ALL,
    }
}

fn view(template: &Template, user: &str) -> AgentTemplate {
    let Template { name, title, about, soul, identity, tools } = template;
    let file = |name: &str, text: &str| WorkspaceFile { name: name.to_owned(), text: text.to_owned() };
    AgentTemplate {
        name: (*name).to_owned(),
        title: (*title).to_owned(),
        about: (*about).to_owned(),
        files: vec![
            file("SOUL.md", soul),
            file("IDENTITY.md", identity),
            file("USER.md", user),
            file("TOOLS.md", tools),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::WORKSPACE_FILE_MAX_BYTES;
    use crate::limits::WORKSPACE_FILES;

    #[test]
    fn each_template_exists_in_each_language_with_all_documents_that_fit_into_a_prompt() {
        let (english, chinese) = (all(Of::English), all(Of::Chinese));
        let names = |all: &[AgentTemplate]| all.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&english), names(&chinese));
        assert!(english.len() >= 6);
        for template in english.iter().chain(&chinese) {
            let mut files: Vec<_> = template.files.iter().map(|file| file.name.as_str()).collect();
            files.sort_unstable();
            let mut wanted = WORKSPACE_FILES;
            wanted.sort_unstable();
            assert_eq!(files, wanted, "{}", template.name);
            for file in &template.files {
                let length = file.text.len();
                assert!((1..=WORKSPACE_FILE_MAX_BYTES).contains(&length), "{} {length}", template.name);
                assert!(file.text.ends_with('\n') && file.text.starts_with("# "), "{}", template.name);
            }
        }
        let is_chinese = |text: &str| text.chars().any(|character| ('一'..='鿿').contains(&character));
        assert!(chinese.iter().all(|one| one.files.iter().all(|file| is_chinese(&file.text))));
        assert!(!english.iter().any(|one| one.files.iter().any(|file| is_chinese(&file.text))));
    }

    #[test]
    fn an_unknown_template_is_answered_with_the_names_of_all() {
        let error = named(Of::English, "pirate").unwrap_err().message();
        assert!(error.contains("\"pirate\"") && error.contains("coder, reviewer"), "{error}");
        assert_eq!(named(Of::Chinese, "coder").unwrap().title, "程序员");
    }
}
