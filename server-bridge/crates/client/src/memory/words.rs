//! Memories as text.

use api::memory::{MemoryAgent, MemoryDetail, MemorySettingsView, MemoryView, ReplacedMemory};
use api::words::MemorySource;

use crate::output;

/// A table of memories.
pub(super) fn list(memories: &[MemoryView], nothing: &str) -> String {
    if memories.is_empty() {
        return nothing.to_owned();
    }
    let heading = ["NUMBER", "KIND", "NAME", "CHANGED", "SOURCE", "TEXT"].map(str::to_owned).to_vec();
    let rows = memories.iter().map(|memory| {
        let text = memory.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let name = if memory.name.is_empty() { "-" } else { &memory.name };
        vec![
            memory.id.to_string(),
            memory.kind.to_string(),
            name.to_owned(),
            output::ago(memory.updated_at),
            source(&memory.source, memory.agent.is_some()).to_owned(),
            format!("{text}{}{}{}", holder(memory), state(memory), would_replace(memory)),
        ]
    });
    output::table(&std::iter::once(heading).chain(rows).collect::<Vec<_>>())
}

/// The state of a memory that is not in use; empty for one that is.
fn state(memory: &MemoryView) -> String {
    if let Some(replaces) = memory.replaces {
        return format!(" (would change {replaces})");
    }
    match memory.superseded_by {
        Some(by) => format!(" (superseded by {by})"),
        None if memory.proposed => " (proposed)".to_owned(),
        None => String::new(),
    }
}

/// The memories that a proposal would replace, with their texts, so that the user knows what they accept: ` (would replace 3: likes tabs)`;
/// empty if there are none.
fn would_replace(memory: &MemoryView) -> String {
    let one = |replaced: &ReplacedMemory| {
        let text = replaced.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let state = replaced.superseded_by.map(|by| format!(", already superseded by {by}"));
        format!(" (would replace {}: {text}{})", replaced.id, state.unwrap_or_default())
    };
    memory.would_replace.iter().map(one).collect()
}

/// The agent of a group that remembers a memory: ` (of @coder in "Work")`; empty for the user's own.
fn holder(memory: &MemoryView) -> String {
    let of = |agent: &MemoryAgent| format!(" (of @{} in \"{}\")", agent.handle, agent.group);
    memory.agent.as_ref().map(of).unwrap_or_default()
}

/// The origin of a memory; in a group it can be the request of a member.
fn source(source: &MemorySource, is_of_group: bool) -> &str {
    match source {
        MemorySource::Person => "you",
        MemorySource::Asked if is_of_group => "a person who asked it",
        MemorySource::Asked => "you, in a chat",
        MemorySource::Model => "an agent",
        MemorySource::Chat => "an earlier chat",
        MemorySource::Note => "an earlier note",
        MemorySource::Unknown(word) => word,
    }
}

/// A memory with its history.
pub(super) fn detail(detail: &MemoryDetail) -> String {
    let memory = &detail.memory;
    let is_of_group = memory.agent.is_some();
    let scope =
        if memory.scope_name.is_empty() { String::new() } else { format!(" of {}", memory.scope_name) };
    let mut lines = vec![
        format!("{} {}{}{}{}", memory.id, memory.kind, scope, holder(memory), state(memory)),
        memory.text.clone(),
        format!("from {}, changed {}", source(&memory.source, is_of_group), output::ago(memory.updated_at)),
    ];
    lines.extend(memory.would_replace.iter().map(|replaced| {
        format!("would replace {}:\n  {}", replaced.id, replaced.text.replace('\n', "\n  "))
    }));
    lines.extend(memory.chat_id.as_ref().map(|chat| format!("in the chat {chat}")));
    for revision in &detail.history {
        let (number, by) = (revision.revision, source(&revision.replaced_by, is_of_group));
        lines.push(format!("text {number}, replaced {} by {by}:", output::ago(revision.replaced_at)));
        lines.push(format!("  {}", revision.text.replace('\n', "\n  ")));
    }
    lines.join("\n")
}

/// The settings of memories, as text.
pub(super) fn settings(settings: &MemorySettingsView) -> String {
    let from_chats = if settings.from_chats { "on" } else { "off" };
    format!("mode {}; proposals from your chats: {from_chats}", settings.mode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_says_what_is_proposed_and_a_detail_has_the_history() {
        let text = r#"{"memory": {"id": 7, "kind": "semantic", "scope": "project", "scope_name": "laptop", "name": "", "text": "likes\ntabs",
            "source": "model", "chat_id": "c1", "message_id": null, "proposed": true, "replaces": 3,
            "would_replace": [{"id": 5, "text": "likes\nboth", "superseded_by": null}, {"id": 6, "text": "x", "superseded_by": 9}], "valid_from": 0, "valid_to": null,
            "superseded_by": null, "revision": 2, "created_at": 0, "updated_at": 0},
            "history": [{"revision": 1, "name": "", "text": "likes spaces", "replaced_by": "person", "replaced_at": 0}]}"#;
        let found: MemoryDetail = serde_json::from_str(text).unwrap();
        let words = list(std::slice::from_ref(&found.memory), "");
        let state = "likes tabs (would change 3) (would replace 5: likes both) (would replace 6: x, already superseded by 9)";
        assert!(words.contains(state) && words.contains("an agent"), "{words}");
        let words = detail(&found);
        assert!(
            words.starts_with("7 semantic of laptop (would change 3)\nlikes\ntabs\nfrom an agent"),
            "{words}"
        );
        assert!(words.contains("would replace 5:\n  likes\n  both\n"), "{words}");
        assert!(words.contains("in the chat c1") && words.ends_with("by you:\n  likes spaces"), "{words}");
        assert_eq!(list(&[], "nothing"), "nothing");
        let text = r#"{"id": 8, "text": "Deploys are on Fridays", "source": "asked", "agent": {"id": 3, "handle": "coder", "group": "Work"}}"#;
        let words = list(&[serde_json::from_str(text).unwrap()], "");
        assert!(
            words.contains("a person who asked it") && words.ends_with("on Fridays (of @coder in \"Work\")"),
            "{words}"
        );
    }
}
