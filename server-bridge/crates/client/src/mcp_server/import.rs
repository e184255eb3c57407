//! Documents of MCP servers, as other programs have them. Values may be secrets: no error repeats them.

use std::collections::BTreeMap;

use api::mcp::McpServerEntry;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::failure::Failure;

/// The fields of an entry that are used.
const FIELDS: [&str; 9] = ["type", "command", "args", "env", "url", "via", "headers", "oauth", "timeout"];

/// The fields that turn an entry off, each with the value that does so.
const SWITCHES: [(&str, &str); 2] = [("disabled", "true"), ("enabled", "false")];

/// The fields that may contain the entries: in `.mcp.json`, and in VS Code's `mcp.json`.
const HOLDERS: [&str; 2] = ["mcpServers", "servers"];

/// The fields of an object, with their unparsed values.
type Object = BTreeMap<String, Box<RawValue>>;

/// An entry of a document.
#[derive(Debug, PartialEq)]
pub(super) enum Entry {
    /// An entry that can be added, with the names of its fields that are not used.
    Whole(Box<McpServerEntry>, Vec<String>),
    /// An entry that the document turns off.
    Off,
    /// An entry that cannot be read, with the reason.
    Wrong(String),
}

/// The result of an import.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct Imported {
    /// The servers that were added.
    pub(super) added: Vec<Added>,
    /// The names of the servers that the document turns off.
    pub(super) turned_off: Vec<String>,
    /// The servers that were not added for another reason.
    pub(super) refused: Vec<Refused>,
}

/// A server that was added.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Added {
    pub(super) name: String,
    /// The fields of its entry that are not used.
    pub(super) unused: Vec<String>,
}

/// A server that was not added.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Refused {
    pub(super) name: String,
    pub(super) reason: String,
}

impl Imported {
    pub(super) fn add(&mut self, name: String, unused: Vec<String>) {
        self.added.push(Added { name, unused });
    }

    pub(super) fn refuse(&mut self, name: String, reason: String) {
        self.refused.push(Refused { name, reason });
    }
}

/// The entries of a document, by name.
///
/// # Errors
/// `invalid` if it is not a JSON object, or has no entries.
pub(super) fn entries(document: &str) -> Result<Vec<(String, Entry)>, Failure> {
    let invalid = |why: String| Failure::other("invalid", format!("{why}; nothing was changed"));
    let mut top: Object = serde_json::from_str(document.trim_start_matches('\u{feff}')).map_err(|error| {
        invalid(match error.is_data() {
            true => "the document is not a JSON object".to_owned(),
            false => format!("the document is not JSON: line {}, column {}", error.line(), error.column()),
        })
    })?;
    let held = HOLDERS.iter().find_map(|holder| Some((holder, top.remove(*holder)?)));
    let servers = match held {
        Some((holder, servers)) => {
            object(&servers).ok_or_else(|| invalid(format!("{holder} is not an object")))?
        }
        None => top,
    };
    if servers.is_empty() {
        return Err(invalid("the document has no MCP servers".to_owned()));
    }
    Ok(servers.into_iter().map(|(name, value)| (name.clone(), entry(&name, &value))).collect())
}

fn object(value: &RawValue) -> Option<Object> {
    serde_json::from_str(value.get()).ok()
}

fn entry(name: &str, value: &RawValue) -> Entry {
    if name.is_empty() {
        return Entry::Wrong("it has no name".to_owned());
    }
    let Some(fields) = object(value) else { return Entry::Wrong("it is not an object".to_owned()) };
    let is_off = |(field, off): &(&str, &str)| fields.get(*field).is_some_and(|value| value.get() == *off);
    if SWITCHES.iter().any(is_off) {
        return Entry::Off;
    }
    // An error of the parser would repeat the value that it rejects, so each field is tried alone.
    let is_wrong = |field: &&String| {
        let alone = api::to_line(&BTreeMap::from([(field, &fields[*field])]));
        serde_json::from_str::<McpServerEntry>(&alone).is_err()
    };
    if let Some(field) = fields.keys().find(is_wrong) {
        return Entry::Wrong(format!("its field {field} does not have the form that it has in .mcp.json"));
    }
    let Ok(entry) = serde_json::from_str(value.get()) else {
        return Entry::Wrong("it does not have the form of an entry of .mcp.json".to_owned());
    };
    let is_known =
        |field: &str| FIELDS.contains(&field) || SWITCHES.iter().any(|(switch, _)| *switch == field);
    Entry::Whole(Box::new(entry), fields.into_keys().filter(|field| !is_known(field)).collect())
}

#[cfg(test)]
mod tests {
    use api::mcp::McpOAuth;

    use super::*;

    fn read(document: &str) -> Vec<(String, Entry)> {
        entries(document).unwrap()
    }

    #[test]
    fn all_three_forms_are_read() {
        for document in [
            r#"{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}"#,
            r#"{"inputs": [], "servers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}"#,
            "\u{feff}{\"time\": {\"command\": \"uvx\", \"args\": [\"mcp-server-time\"]}}",
        ] {
            let entry = McpServerEntry {
                command: Some("uvx".to_owned()),
                args: vec!["mcp-server-time".to_owned()],
                ..McpServerEntry::default()
            };
            assert_eq!(read(document), [("time".to_owned(), Entry::Whole(Box::new(entry), Vec::new()))]);
        }
    }

    #[test]
    fn an_entry_that_cannot_be_read_does_not_stop_the_others() {
        let read = read(
            r#"{"mcpServers": {"a": {"url": "https://x.example", "cwd": "/", "disabled": false}, "b": {"command": "x", "env": {"K": 53}},
                "c": "s3cret", "": {"command": "x"}, "d": {"command": "x", "args": "s3cret"}, "e": {"command": "x", "disabled": true},
                "f": {"command": "x", "enabled": false}}}"#,
        );
        let entries: Vec<&Entry> = read.iter().map(|(_, entry)| entry).collect();
        let [unnamed, a, b, c, d, e, f] = entries[..] else { panic!("{read:?}") };
        assert!(matches!(a, Entry::Whole(_, unused) if *unused == ["cwd"]), "{a:?}");
        assert_eq!((e, f), (&Entry::Off, &Entry::Off));
        for (entry, why) in [(unnamed, "no name"), (b, "field env"), (c, "not an object"), (d, "field args")]
        {
            let Entry::Wrong(reason) = entry else { panic!("{entry:?}") };
            assert!(reason.contains(why) && !reason.contains("53") && !reason.contains("s3cret"), "{reason}");
        }
    }

    #[test]
    fn a_document_without_servers_is_refused_as_a_whole() {
        for (document, why) in [
            ("", "line 1, column 0"),
            (r#"{"mcpServers": {"#, "not JSON"),
            (r#"["s3cret"]"#, "not a JSON object"),
            (r#"{"mcpServers": ["s3cret"]}"#, "mcpServers is not an object"),
            (r#"{"servers": {}}"#, "no MCP servers"),
            ("{}", "no MCP servers"),
        ] {
            let failure = entries(document).unwrap_err();
            assert!(failure.kind == "invalid" && failure.message.contains(why), "{document} {failure:?}");
            assert!(!failure.message.contains("s3cret"), "{failure:?}");
        }
    }

    #[test]
    fn every_field_of_an_entry_is_known() {
        let text = || Some("x".to_owned());
        let map = || BTreeMap::from([("x".to_owned(), "x".to_owned())]);
        let whole = McpServerEntry {
            transport: text(),
            command: text(),
            args: vec!["x".to_owned()],
            env: map(),
            url: text(),
            via: text(),
            headers: map(),
            oauth: Some(McpOAuth::default()),
            timeout: Some(1),
        };
        let fields: Object = serde_json::from_str(&api::to_line(&whole)).unwrap();
        assert!(
            fields.len() == FIELDS.len() && FIELDS.iter().all(|field| fields.contains_key(*field)),
            "{fields:?}"
        );
    }
}
