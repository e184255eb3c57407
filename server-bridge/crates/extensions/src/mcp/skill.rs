//! Skills that a server serves: instructions for some work, each offered as a tool that reads them.
//!
//! Nothing of a skill is read before a model calls it. What is read is compared with what the server listed and with what the turn
//! knows: size, digest, and the head of `SKILL.md`.

use agent::tool::Outcome;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{ReadResourceResult, ResourceContents, SKILL_MD, Skill, SkillResource, SkillResources};
use serde_json::{Map, Value, json};

use super::content;
use super::listing::Definition;
use crate::limits::{MCP_SKILL_FILE_BYTES, MCP_SKILL_FILES_NAMED, MCP_TOOL_DESCRIPTION_BYTES};

/// The prefix of a skill's name among the tools of its server.
const PREFIX: &str = "skill:";

/// The argument that names a file of a skill.
const FILE: &str = "file";

impl From<Skill> for Definition {
    fn from(skill: Skill) -> Self {
        let about = &skill.frontmatter.description;
        let about = &about[..about.floor_char_boundary(MCP_TOOL_DESCRIPTION_BYTES)];
        let file = json!({
            "type": "string",
            "description": format!("A file that the skill refers to, relative to its {SKILL_MD}; absent for the skill itself"),
        });
        let schema = json!({"type": "object", "properties": {FILE: file}});
        let Value::Object(schema) = schema else { return Self::default() };
        Self {
            name: format!("{PREFIX}{}", skill.frontmatter.name),
            description: format!("A skill, to be read before the work that it is about: {about}"),
            schema,
            annotations: json!({"readOnlyHint": true}),
            skill: Some(skill),
            ..Self::default()
        }
    }
}

/// The reason why a skill cannot be offered, if there is one.
pub(super) fn problem(skill: &Skill) -> Option<String> {
    skill.validate().err().map(|why| why.to_string())
}

/// The address of the file that a call asks for.
///
/// Fails with the reason as text.
pub(super) fn address(skill: &Skill, arguments: &Map<String, Value>) -> Result<String, String> {
    let file = match arguments.get(FILE) {
        None | Some(Value::Null) => return Ok(skill.uri.clone()),
        Some(Value::String(file)) => file.trim_start_matches("./"),
        Some(_) => return Err(format!("the arguments are invalid: `{FILE}` must be a string")),
    };
    let base = skill.uri.strip_suffix(SKILL_MD).unwrap_or(&skill.uri);
    let inside = file.strip_prefix(base).unwrap_or(file);
    match &skill.resources {
        SkillResources::Files(files) => {
            let wanted = format!("{base}{inside}");
            match files.iter().any(|known| known.uri == wanted) {
                true => Ok(wanted),
                false => Err(format!("the skill has no file {file:?}; it has {}", named(skill, files))),
            }
        }
        SkillResources::Dynamic => {
            let is_inside = !inside.is_empty()
                && !inside.starts_with('/')
                && !inside.contains([':', '?', '#', '%', '\\'])
                && inside.split('/').all(|part| part != ".." && part != ".");
            match is_inside {
                true => Ok(format!("{base}{inside}")),
                false => Err(format!("{file:?} is not a path inside of the skill")),
            }
        }
        _ => Err("its files are listed in an unknown way".to_owned()),
    }
}

/// The names of files, without the skill's own address.
fn named(skill: &Skill, files: &[SkillResource]) -> String {
    let base = skill.uri.strip_suffix(SKILL_MD).unwrap_or(&skill.uri);
    let names = files.iter().map(|file| file.uri.strip_prefix(base).unwrap_or(&file.uri));
    names.take(MCP_SKILL_FILES_NAMED).collect::<Vec<_>>().join(", ")
}

/// A file of a skill as a model reads it, if it is the one that the server listed.
///
/// Fails with the reason as text; the reason contains nothing of content that was not listed.
pub(super) fn loaded(skill: &Skill, uri: &str, read: &ReadResourceResult) -> Result<Outcome, String> {
    let [contents] = &read.contents[..] else {
        return Err(format!(
            "the server returned {} contents for one file of the skill",
            read.contents.len()
        ));
    };
    let bytes = match contents {
        ResourceContents::TextResourceContents { text, .. } => text.clone().into_bytes(),
        ResourceContents::BlobResourceContents { blob, .. } => {
            STANDARD.decode(blob).map_err(|_| "a file of the skill is not in base64".to_owned())?
        }
        _ => return Err("it gave a file of the skill in an unknown form".to_owned()),
    };
    if bytes.len() > MCP_SKILL_FILE_BYTES {
        return Err(format!("a file of the skill has more than {MCP_SKILL_FILE_BYTES} bytes"));
    }
    let other = |why: String| format!("the skill is not what the server listed, and was not loaded: {why}");
    let files = match &skill.resources {
        SkillResources::Files(files) => {
            let listed = files.iter().find(|file| file.uri == uri);
            let listed = listed.ok_or_else(|| other(format!("{uri} is not one of its files")))?;
            listed.verify(&bytes).map_err(|why| other(why.to_string()))?;
            &files[..]
        }
        _ => &[],
    };
    if uri != skill.uri {
        return Ok(content::read(read));
    }
    let text = String::from_utf8(bytes).map_err(|_| other(format!("{SKILL_MD} is not text")))?;
    let Some((head, Some(body))) = frontmatter::split(&text) else {
        return Err(other(format!("{SKILL_MD} has no head")));
    };
    // Crate `frontmatter` also reads heads that are not YAML, and ignores types: here the two readings must agree.
    let head: Value =
        yaml_serde::from_str(head).map_err(|_| other(format!("the head of {SKILL_MD} is not YAML")))?;
    if serde_json::to_value(&skill.frontmatter).ok().as_ref() != Some(&head) {
        return Err(other(format!("the head of {SKILL_MD} differs")));
    }
    let more = match files {
        [] | [_] => String::new(),
        files => format!("\n\n(Its files, for the argument `{FILE}`: {}.)", named(skill, files)),
    };
    Ok(Outcome::part(format!("{}{more}", body.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const URI: &str = "skill://pdf/SKILL.md";
    const TEXT: &str =
        "---\nname: pdf\ndescription: >\n  Fills\n  forms\nmetadata:\n  version: 2\n---\n\nOpen it first.\n";

    fn skill(text: &str) -> Skill {
        let files = [
            SkillResource::from_bytes(URI, text.as_bytes()),
            SkillResource::from_bytes("skill://pdf/a/b.md", b"B"),
        ];
        let frontmatter = json!({"name": "pdf", "description": "Fills forms\n", "metadata": {"version": 2}});
        serde_json::from_value(json!({"uri": URI, "frontmatter": frontmatter, "resources": files})).unwrap()
    }

    fn read(uri: &str, text: &str) -> ReadResourceResult {
        serde_json::from_value(json!({"contents": [{"uri": uri, "text": text}]})).unwrap()
    }

    #[test]
    fn a_skill_is_loaded_if_it_is_the_one_that_was_listed() {
        let whole = skill(TEXT);
        assert_eq!(problem(&whole), None);
        let text = loaded(&whole, URI, &read(URI, TEXT)).unwrap().text;
        assert!(text.starts_with("Open it first.") && text.contains("SKILL.md, a/b.md"), "{text}");
        let refused = |skill: &Skill, text: &str| loaded(skill, URI, &read(URI, text)).unwrap_err();
        assert!(refused(&whole, &TEXT.replace("first", "frist")).contains("digest"));
        assert!(refused(&whole, &format!("{TEXT}more")).contains("bytes"));
        for other in [
            TEXT.replace("Fills", "Steals"),
            TEXT.replace("version: 2", "version: 3"),
            "no head".to_owned(),
            "---\n{\n---\n".to_owned(),
        ] {
            let why = refused(&skill(&other), &other);
            assert!(why.contains("head") && !why.contains("Steals"), "{why}");
        }
    }

    #[test]
    fn only_files_of_the_skill_are_read() {
        let of =
            |skill: &Skill, file: &str| address(skill, &Map::from_iter([(FILE.to_owned(), json!(file))]));
        let listed = skill(TEXT);
        assert_eq!(address(&listed, &Map::new()).unwrap(), URI);
        assert_eq!(of(&listed, "./a/b.md").unwrap(), "skill://pdf/a/b.md");
        assert_eq!(of(&listed, "skill://pdf/a/b.md").unwrap(), "skill://pdf/a/b.md");
        let mut dynamic = skill(TEXT);
        dynamic.resources = SkillResources::Dynamic;
        assert_eq!(of(&dynamic, "x/y.md").unwrap(), "skill://pdf/x/y.md");
        for outside in ["../other/SKILL.md", "/etc/passwd", "file:///etc/passwd", "", "a/../../b", "%2e%2e/b"]
        {
            assert!(of(&listed, outside).is_err() && of(&dynamic, outside).is_err(), "{outside}");
        }
    }
}
