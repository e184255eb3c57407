//! Commands that list or show something also print JSON for programs.

use serde_json::Value;
use tests::{Person, Server};

use crate::world::put;

/// Every command that lists or shows something, with the shape of its output.
const LISTINGS: &[(&str, Shape)] = &[
    ("user list", Shape::List(&["admin", "created_at", "name"])),
    ("runner list", Shape::List(&["active", "last_seen", "name", "online", "profile", "version"])),
    ("key list", Shape::List(&["created_at", "expires_at", "last_used", "name", "scope"])),
    ("rule list", Shape::List(&["created_at", "effect", "hits", "id", "last_hit_at", "origin", "rule"])),
    ("memory list", Shape::List(&["id", "kind", "proposed", "source", "text", "updated_at"])),
    ("memory proposals", Shape::List(&["id", "proposed", "text"])),
    ("memory show", Shape::Document(&["history", "memory"])),
    ("hook list", Shape::Document(&["callbacks", "hooks", "problems"])),
    ("hook show", Shape::Document(&["text"])),
    ("hook log", Shape::List(&["action", "at", "event", "outcome"])),
    ("mcp-server list", Shape::Document(&["problems", "servers"])),
    ("mcp-server show", Shape::Document(&["hash", "name", "state", "tools"])),
    ("http-tool list", Shape::Document(&["problems", "tools"])),
    ("http-tool show", Shape::Document(&["document", "hash", "name", "state"])),
    ("knowledge list", Shape::Document(&["collections"])),
    ("knowledge show", Shape::Document(&["documents"])),
    ("knowledge status", Shape::Document(&["ahead", "waiting"])),
    ("plugin list", Shape::Document(&["plugins"])),
    ("plugin show", Shape::Document(&["hash", "hooks", "name", "servers", "skills", "unused"])),
    ("plugin shelf list", Shape::Document(&["plugins"])),
    ("plugin marketplace list", Shape::Document(&["marketplaces"])),
    ("trust list", Shape::Document(&["approvals", "items", "problems", "workspace"])),
    ("cron list", Shape::List(&["automation", "kind", "last_run", "name", "next_at", "state"])),
    ("cron runs", Shape::List(&["chat_id", "due_at", "id", "outcome", "reason"])),
    ("trigger list", Shape::List(&["automation", "kind", "name", "state"])),
    ("trigger runs", Shape::List(&["id", "outcome"])),
    ("channel kinds", Shape::List(&["name", "setup", "title"])),
    ("channel list", Shape::List(&["kind", "name", "owner", "shared", "state", "waiting"])),
    ("channel status", Shape::Document(&["connected_as", "last_error", "name", "state"])),
    ("channel links", Shape::List(&["channel", "id", "person", "user"])),
    ("channel logins", Shape::Document(&["logins", "tools"])),
    ("node list", Shape::List(&[])),
    ("group list", Shape::List(&["access", "agents", "id", "people", "title"])),
    ("group show", Shape::Document(&["access", "agents", "id", "lead", "people", "title"])),
    ("group log", Shape::Document(&["entries", "more"])),
    ("group calls", Shape::List(&["agent", "id", "state"])),
    ("group chain list", Shape::List(&["chain", "name", "text"])),
    ("group chain runs", Shape::List(&["id", "state"])),
    ("group chain show", Shape::Refusal("not_found")),
    ("group templates", Shape::List(&["about", "files", "name", "title"])),
    ("group workspace show", Shape::Refusal("not_found")),
    ("container status", Shape::Refusal("denied")),
    ("model list", Shape::Document(&["chosen", "models"])),
    ("model usage", Shape::Document(&["days", "models", "total"])),
    ("ps", Shape::List(&["exec_id"])),
    ("chat list", Shape::List(&["created_at", "id", "runner", "title", "updated_at"])),
];

#[derive(Clone, Copy)]
enum Shape {
    /// A list of documents with at least these fields.
    List(&'static [&'static str]),
    /// A document with at least these fields.
    Document(&'static [&'static str]),
    /// An error of this kind, because there is nothing to show.
    Refusal(&'static str),
}

/// Returns all commands at or below `above` that list or show something, according to `--help`.
fn listings(person: &Person, above: &str) -> Vec<String> {
    let mut words: Vec<&str> = above.split_whitespace().collect();
    words.push("--help");
    let help = person.run(&words).stdout;
    let Some((_, commands)) = help.split_once("\nCommands:\n") else { return Vec::new() };
    let commands = commands.lines().take_while(|line| !line.is_empty());
    commands
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.trim().split_once(' '))
        .filter(|(name, _)| *name != "help")
        .flat_map(|(name, about)| {
            let path = format!("{above} {name}").trim().to_owned();
            let mut found = listings(person, &path);
            if ["List ", "Show "].iter().any(|word| about.trim().starts_with(word)) {
                found.push(path);
            }
            found
        })
        .collect()
}

#[test]
fn every_listing_also_prints_json() {
    let server = Server::start();
    let alice = server.person("alice");
    alice.add_runner("laptop");
    assert_eq!(alice.run(&["key", "add", "ci"]).code, 0);
    assert_eq!(alice.run(&["chat", "--new", "/help"]).code, 0);
    assert_eq!(
        alice.run(&["mcp-server", "add", "time", "--no-check", "--", "uvx", "mcp-server-time"]).code,
        0
    );
    let tool = br#"{"name": "time", "description": "d", "method": "GET", "url": "https://time.example/now"}"#;
    let added = alice.with_stdin(&["http-tool", "add", "-"], tool);
    assert_eq!(added.code, 0, "{added:?}");
    put(&alice.home().join("time/skills/now/SKILL.md"), "Look at the clock.");
    assert_eq!(
        alice.run(&["plugin", "install", alice.home().join("time").to_str().unwrap(), "--yes"]).code,
        0
    );
    assert_eq!(alice.run(&["cron", "add", "time", "what time is it?", "--every", "1d"]).code, 0);
    assert_eq!(alice.run(&["cron", "run", "time"]).code, 0);
    assert_eq!(alice.run(&["trigger", "add", "push", "look", "--from", "github"]).code, 0);
    let added = alice.with_stdin(
        &["channel", "add", "time", "telegram", "--off", "--secrets-stdin"],
        b"token=123456789:AAAAAAAAAAAAAAAAAAAAAAAAAAA",
    );
    assert_eq!(added.code, 0, "{added:?}");
    assert_eq!(alice.run(&["group", "create", "Work"]).code, 0);
    assert_eq!(alice.run(&["memory", "add", "likes tabs"]).code, 0);
    assert_eq!(alice.run(&["knowledge", "create", "time"]).code, 0);
    let added = alice.with_stdin(&["user", "add", "bob", "--password-stdin"], b"correct horse battery");
    assert_eq!(added.code, 0, "{added:?}");
    let mut found = listings(&alice, "");
    found.sort_unstable();
    let mut known: Vec<&str> = LISTINGS.iter().map(|(path, _)| *path).collect();
    known.sort_unstable();
    assert_eq!(found, known, "every listing must support --json and be in the table LISTINGS");
    for (path, shape) in LISTINGS {
        // The names for those of the commands that need one.
        let name = match *path {
            "mcp-server show" | "http-tool show" | "plugin show" | "knowledge show" | "cron runs"
            | "channel status" => Some("time"),
            "trigger runs" => Some("push"),
            "group show" | "group log" | "group calls" | "group chain list" | "group chain runs" => Some("1"),
            "group chain show" => Some("1 1"),
            "group workspace show" => Some("1 nobody"),
            "memory show" => Some("1"),
            _ => None,
        };
        let words: Vec<&str> = path
            .split_whitespace()
            .chain(name.into_iter().flat_map(str::split_whitespace))
            .chain(["--json"])
            .collect();
        let output = alice.run(&words);
        let value: Value = serde_json::from_str(&output.stdout)
            .unwrap_or_else(|error| panic!("{path} prints no single JSON value: {error}: {output:?}"));
        let (document, keys): (&Value, &[&str]) = match shape {
            Shape::List(keys) => {
                let list = value.as_array().unwrap_or_else(|| panic!("{path}: {value}"));
                // No command, hook or trigger runs here, no model proposes anything, nobody is linked, no agent was asked, and a single server
                // is not a node.
                let Some(first) = list.first() else {
                    assert!(
                        [
                            "ps",
                            "hook log",
                            "trigger runs",
                            "memory proposals",
                            "channel links",
                            "node list",
                            "group calls",
                            "group chain list",
                            "group chain runs"
                        ]
                        .contains(path),
                        "{path}"
                    );
                    continue;
                };
                (first, keys)
            }
            Shape::Document(keys) => (&value, keys),
            Shape::Refusal(kind) => {
                assert_eq!((&value["type"], &value["kind"]), (&"error".into(), &(*kind).into()), "{path}");
                continue;
            }
        };
        assert_eq!(output.code, 0, "{path}: {output:?}");
        for key in keys {
            assert!(document.get(key).is_some(), "{path} has no {key}: {document}");
        }
    }
}
