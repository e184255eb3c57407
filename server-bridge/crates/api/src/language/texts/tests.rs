use std::path::Path;

use serde_json::{Value, json};

use super::*;
use crate::error::{ErrorBody, ErrorView};
use crate::problem::Problem;

/// The fields that hold no text of the server, by name, or by document and name if other documents have a field of that name with texts: ids,
/// names, numbers, words for programs, and what people, models, programs and files wrote. Three hold texts that their sender translates:
/// `CommandView.about` and `GroupEntry.text`, which are sometimes a person's, and `ServerFrame.message`.
#[rustfmt::skip]
const OTHERS: &[&str] = &[
    "AgentTemplate.about", "AuditView.outcome", "ChainTemplate.what", "CommandView.about", "ForgetAbout.about",
    "PluginPart.about", "PostedView.error", "ServerFrame.message", "action", "active_runner", "added",
    "address", "agent", "agents", "allow", "answer", "api_key", "api_key_end", "arch", "archive", "args", "arguments",
    "asked_by", "asks", "at", "attachments", "author", "base_prompt", "base_url", "begun_by", "body", "bound_by",
    "by_agent", "call_id", "category", "chain", "changed", "changes", "channel", "chat_id", "chat_title", "chosen",
    "citation", "client", "client_id", "client_secret", "code", "collection", "command", "connected_as",
    "content", "context", "conversation", "cron", "current", "cwd", "day", "default", "definition", "delivery_path",
    "description", "directory", "document", "dropped_secrets", "embedder", "epoch", "equals", "errors",
    "event", "events", "every", "excerpt", "exec_id", "fallback", "fields", "file", "files", "folder",
    "from", "from_runner", "grant_type", "group", "handle", "hash", "head", "headers", "headings", "hook",
    "hostname", "icon", "id", "image", "input", "instance", "instruction", "instructions", "justification", "key",
    "kill_tier", "kind", "language", "lead", "location", "matched", "matcher", "messages", "messenger", "method",
    "missing_secrets", "mode", "model", "name", "name_base64", "network", "new", "on", "only", "os",
    "output", "outputs", "owner", "page_title", "parent_id", "password", "path", "payload", "person",
    "person_name", "persona", "place", "pointer", "private_key", "privileged", "profile", "project", "q",
    "query", "readers", "reasons", "redirect_uri", "refused", "request", "role", "rule", "run_as", "runner",
    "scope_name", "scopes", "secret", "secrets", "send_id", "server", "sha256", "shell",
    "signing_algorithm", "source", "strangers", "subject", "subscription", "tail", "target", "template", "term", "text",
    "ticket", "title", "to", "to_runner", "token", "tool", "tools", "transport", "url", "usage", "user",
    "value", "version", "via", "wire_name", "word", "workspace", "zone",
];

/// Documents of messages, which are stored in the language of their user.
const STORED: &[&str] = &["approval.rs", "card.rs", "document.rs"];

/// A field of a document, as it is declared.
struct Field {
    document: String,
    name: String,
    is_text: bool,
}

/// The fields of the documents that are declared in a source file and hold one text, or several.
fn fields(source: &str) -> Vec<Field> {
    let (mut fields, mut document, mut attributes) = (Vec::new(), String::new(), String::new());
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    for line in code.lines().map(str::trim).filter(|line| !line.starts_with("//")) {
        let declared = ["pub struct ", "pub enum "].iter().find_map(|start| line.strip_prefix(start));
        if let Some(declared) = declared {
            document = declared.chars().take_while(|letter| letter.is_alphanumeric()).collect();
        }
        if line.starts_with("#[") {
            attributes.push_str(line);
            continue;
        }
        let field = line.strip_suffix(',').and_then(|line| line.split_once(": "));
        if let Some((name, "String" | "Option<String>" | "Vec<String>")) = field {
            let name = name.trim_start_matches("pub ").to_owned();
            let is_text = attributes.contains("crate::language::text");
            fields.push(Field { document: document.clone(), name, is_text });
        }
        attributes.clear();
    }
    fields
}

/// Every text field of a document is either marked for translation or listed above, so that the decision is not forgotten.
#[test]
fn every_field_is_known_to_hold_a_text_of_the_server_or_none() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut undecided, mut texts, mut others) = (Vec::new(), 0, Vec::new());
    for entry in std::fs::read_dir(sources).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        if !path.is_file() || STORED.contains(&file.as_str()) {
            continue;
        }
        for Field { document, name, is_text } in fields(&std::fs::read_to_string(&path).unwrap()) {
            let whole = format!("{document}.{name}");
            match OTHERS.iter().find(|other| **other == name || **other == whole) {
                _ if is_text => texts += 1,
                Some(other) => others.push(*other),
                None => undecided.push(format!("{file}: {whole}")),
            }
        }
    }
    assert!(
        undecided.is_empty(),
        "mark as a text of the server, or add to OTHERS in {}: {undecided:#?}",
        file!()
    );
    assert!(texts > 40, "only {texts} texts: the fields are no longer found");
    let gone: Vec<_> = OTHERS.iter().filter(|other| !others.contains(other)).collect();
    assert!(gone.is_empty(), "remove from OTHERS, no field has this name: {gone:?}");
}

#[test]
fn the_texts_of_a_document_are_written_in_its_language_and_nothing_else_is() {
    let problem = Problem::of("your servers", "it has more than 3 headers").at("your servers");
    let written =
        |language: Language| serde_json::from_str::<Value>(&language.to_json(&problem).unwrap()).unwrap();
    assert_eq!(
        written(Language::Chinese),
        json!({"origin": "你的服务器", "place": "your servers", "text": "请求头超过 3 个"})
    );
    let english = serde_json::to_value(&problem).unwrap();
    assert_eq!(written(Language::English), english);
    // A document that is written by other means, for example to be stored, is English.
    assert_eq!(english["text"], "it has more than 3 headers");
}

#[test]
fn texts_that_are_missing_and_lists_of_texts_are_written_too() {
    #[derive(Serialize)]
    struct Document {
        #[serde(serialize_with = "crate::language::text")]
        one: Option<String>,
        #[serde(serialize_with = "crate::language::text")]
        none: Option<String>,
        #[serde(serialize_with = "crate::language::text")]
        all: Vec<String>,
    }
    let (one, other) = ("it was cancelled".to_owned(), "nothing that a table has".to_owned());
    let document = Document { one: Some(one.clone()), none: None, all: vec![one, other] };
    let written: Value = serde_json::from_str(&Language::Chinese.to_json(&document).unwrap()).unwrap();
    assert_eq!(
        written,
        json!({"one": "已取消", "none": null, "all": ["已取消", "nothing that a table has"]})
    );
}

#[test]
fn a_document_within_another_one_does_not_change_its_language() {
    /// Writes an error in English while it is written.
    struct Outer(ErrorBody);
    impl Serialize for Outer {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            assert!(Language::English.to_json(&self.0).unwrap().contains("it was cancelled"));
            self.0.serialize(serializer)
        }
    }
    let error = ErrorView { kind: "lost".to_owned(), message: "it was cancelled".to_owned() };
    let written = Language::Chinese.to_json(&Outer(ErrorBody { error })).unwrap();
    assert_eq!(written, r#"{"error":{"kind":"lost","message":"已取消"}}"#);
}
