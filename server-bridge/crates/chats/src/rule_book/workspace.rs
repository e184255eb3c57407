//! The rules of a workspace, from files in its repository. They deny and ask without a person's approval, because that only restricts an
//! agent; rules that allow are left out and reported.
//!
//! A turn reads them once, when it first needs them, so if its own model changes a file, no rule is loosened before the next turn.

use agent::library::beginning;
use futures_util::future::join_all;
use rules::{Document, Effect, Layer, LoadedRule, Origin, ProblemKind, RuleSet};
use sandbox::Sandbox;

use super::unusable;
use crate::limits::WORKSPACE_RULES_BYTES;

/// The paths of the files, relative to the workspace.
const FILES: [&str; 4] = [
    ".sandbridge/permissions.json",
    ".sandbridge/permissions.local.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
];

/// The rules of a workspace.
#[derive(Default)]
pub(crate) struct WorkspaceRules {
    /// The rules that have an effect.
    pub(crate) set: RuleSet,
    /// All entries of the files, in order.
    pub(crate) entries: Vec<Entry>,
    /// The rules of the set, in the form in which they were read.
    loaded: Vec<LoadedRule>,
}

impl WorkspaceRules {
    /// These rules together with those of another workspace: a call that either denies or asks about is denied or asked about.
    pub(crate) fn and(&self, other: Self) -> Self {
        let loaded = [self.loaded.clone(), other.loaded].concat();
        let entries = [self.entries.clone(), other.entries].concat();
        Self { set: set_of(loaded.clone()), entries, loaded }
    }
}

/// A rule of a file, or the file itself if none of its rules can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The path of the file.
    pub(crate) file: &'static str,
    /// The rule's effect; deny for a file that cannot be read.
    pub(crate) effect: Effect,
    /// The rule as it was written; empty for a file that cannot be read.
    pub(crate) rule: String,
    /// The reason that was given with the rule.
    pub(crate) justification: String,
    /// The reasons why the rule has no effect, or less than its text suggests.
    pub(crate) warnings: Vec<String>,
}

/// The rules of a machine's workspace. A file that cannot be read contributes no rules.
pub(crate) async fn of_workspace(sandbox: &Sandbox) -> WorkspaceRules {
    let read = FILES.map(|file| async move {
        let text = beginning(sandbox, file, WORKSPACE_RULES_BYTES + 1).await.ok().flatten()?;
        Some((file, text))
    });
    let mut rules = WorkspaceRules::default();
    let mut loaded = Vec::new();
    for (file, text) in join_all(read).await.into_iter().flatten() {
        let (of_file, entries) = read_file(file, &text);
        loaded.extend(of_file);
        rules.entries.extend(entries);
    }
    (rules.set, rules.loaded) = (set_of(loaded.clone()), loaded);
    rules
}

fn set_of(rules: Vec<LoadedRule>) -> RuleSet {
    RuleSet::new([Layer { origin: Origin::Workspace, rules }])
}

/// The rules of a file, and entries for everything in it.
fn read_file(file: &'static str, text: &str) -> (Vec<LoadedRule>, Vec<Entry>) {
    let broken = |why: String| {
        let warnings = vec![format!("none of its rules has an effect: {why}")];
        let entry =
            Entry { file, effect: Effect::Deny, rule: String::new(), justification: String::new(), warnings };
        (Vec::new(), vec![entry])
    };
    if text.len() as u64 > WORKSPACE_RULES_BYTES {
        return broken(format!("it is larger than {} KiB", WORKSPACE_RULES_BYTES / 1024));
    }
    let document = match Document::parse(text, Origin::Workspace, &[]) {
        Ok(document) => document,
        Err(error) => return broken(error.to_string()),
    };
    let mut entries: Vec<Entry> = Vec::new();
    let mut rules = Vec::new();
    for rule in document.rules {
        let warnings = unusable(&rule.rule).into_iter().collect::<Vec<_>>();
        entries.push(Entry {
            file,
            effect: rule.effect,
            rule: rule.rule.text().to_owned(),
            justification: rule.justification.clone().unwrap_or_default(),
            warnings,
        });
        rules.push(LoadedRule { id: format!("{file}: {}", rule.id), ..rule });
    }
    for problem in document.problems {
        // The tools of MCP servers are not known here.
        if let ProblemKind::Warning(rules::Warning::UnknownTool { .. }) = &problem.kind {
            continue;
        }
        let warning = problem.kind.to_string();
        let same = |entry: &&mut Entry| entry.effect == problem.effect && entry.rule == problem.text;
        match entries.iter_mut().find(same) {
            Some(entry) => entry.warnings.push(warning),
            None => entries.push(Entry {
                file,
                effect: problem.effect,
                rule: if problem.text.is_empty() { problem.place } else { problem.text },
                justification: String::new(),
                warnings: vec![warning],
            }),
        }
    }
    (rules, entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_denies_and_asks_and_what_it_allows_is_named() {
        let text = r#"{"permissions": {"deny": ["Bash(rm *)"], "ask": ["WebFetch"], "allow": ["Bash(npm *)"]}, "hooks": {}}"#;
        let (rules, entries) = read_file(FILES[2], text);
        let effects: Vec<Effect> = rules.iter().map(|rule| rule.effect).collect();
        assert_eq!(effects, [Effect::Deny, Effect::Ask]);
        let allowed = entries.iter().find(|entry| entry.effect == Effect::Allow).unwrap();
        assert!(allowed.rule == "Bash(npm *)" && !allowed.warnings.is_empty(), "{allowed:?}");
    }

    #[test]
    fn a_broken_file_is_named_and_settings_without_rules_are_not() {
        for broken in ["{", "[]", r#"{"permissions": {"deny": "x"}}"#, &" ".repeat(2 * 1024 * 1024)] {
            let (rules, entries) = read_file(FILES[0], broken);
            assert!(rules.is_empty() && entries[0].warnings[0].contains("none of its rules"), "{entries:?}");
        }
        assert_eq!(read_file(FILES[2], r#"{"hooks": {}, "model": "x"}"#).1, []);
        let (rules, entries) =
            read_file(FILES[2], r#"{"permissions": {"deny": ["Bash(", "Read(~/.ssh/**)"]}}"#);
        assert_eq!((rules.len(), entries.len()), (1, 2));
        assert!(entries.iter().all(|entry| !entry.warnings.is_empty()), "{entries:?}");
    }
}
