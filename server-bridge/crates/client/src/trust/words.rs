//! Texts about trust. Text from a workspace's file cannot imitate other output: anybody may have written the file.

use api::trust::{TrustItem, TrustList};
use api::words::{TrustKind, TrustState};

use crate::extension::{short_hash, unseen, warning};
use crate::output;
use crate::output::{one_line, short_line};

/// The workspace's definitions, their problems, and advice; with `all`, every approval too.
pub(super) fn list(list: &TrustList, all: bool) -> String {
    let mut parts = Vec::new();
    match list.items.as_slice() {
        [] if list.workspace.is_some() => {
            parts.push("this workspace defines nothing that needs approval".to_owned())
        }
        [] => {}
        items => parts.push(table(items)),
    }
    let changed = list.items.iter().filter(|item| item.change.is_some());
    parts.extend(changed.map(|item| format!("{}: {}", named(item), change(item).join("; "))));
    if list.items.iter().any(|item| item.state == TrustState::Waiting) {
        parts
            .push("to approve one: `sandbridge trust approve HASH`; it has no effect before that".to_owned());
    }
    parts.extend(list.problems.iter().map(warning));
    if all {
        parts.push(String::new());
        parts.push(approvals(list));
    }
    parts.join("\n")
}

/// Everything that the approval of an item covers.
pub(super) fn whole(item: &TrustItem) -> String {
    let mut lines = vec![
        format!("{}", named(item)),
        format!("  file:   {}", one_line(&item.origin)),
        format!("  hash:   {}", one_line(&item.hash)),
        "  effect:".to_owned(),
    ];
    lines.extend(item.action.split('\n').map(|line| format!("    | {}", one_line(line))));
    lines.extend(item.files.iter().map(|file| format!("  covers: {}", one_line(file))));
    lines.extend(unseen(&item.unseen).map(|line| format!("  {line}")));
    lines.extend(change(item).iter().map(|line| format!("  {line}")));
    lines.join("\n")
}

/// The kind and the name of an item, as a part of a sentence.
pub(super) fn named(item: &TrustItem) -> String {
    format!("the {} {}", kind_words(&item.kind), short_line(&item.name))
}

/// What changed since the last approval.
fn change(item: &TrustItem) -> Vec<String> {
    let Some(change) = &item.change else { return Vec::new() };
    let mut lines = vec![format!("changed since you approved it {}", output::ago(change.approved_at))];
    if let Some(action) = &change.action {
        lines.push(format!("its effect was: {}", one_line(action)));
    }
    if !change.files.is_empty() {
        let files: Vec<String> = change.files.iter().map(|file| one_line(file)).collect();
        lines.push(format!("changed files: {}", files.join(", ")));
    }
    lines
}

fn table(items: &[TrustItem]) -> String {
    let heading = ["HASH", "STATE", "KIND", "NAME", "EFFECT", "FILE"].map(str::to_owned).to_vec();
    let rows = items.iter().map(|item| {
        vec![
            short_hash(&item.hash),
            state_words(item).to_owned(),
            kind_words(&item.kind).to_owned(),
            short_line(&item.name),
            short_line(&item.action),
            short_line(&item.origin),
        ]
    });
    output::table(&std::iter::once(heading).chain(rows).collect::<Vec<_>>())
}

fn approvals(list: &TrustList) -> String {
    if list.approvals.is_empty() {
        return "you have approved nothing".to_owned();
    }
    let heading = ["HASH", "APPROVED", "KIND", "WORKSPACE", "EFFECT"].map(str::to_owned).to_vec();
    let rows = list.approvals.iter().map(|approval| {
        vec![
            short_hash(&approval.hash),
            output::ago(approval.approved_at),
            kind_words(&approval.kind).to_owned(),
            short_line(&approval.workspace),
            short_line(&approval.action),
        ]
    });
    output::table(&std::iter::once(heading).chain(rows).collect::<Vec<_>>())
}

fn state_words(item: &TrustItem) -> &str {
    match &item.state {
        TrustState::Waiting if item.change.is_some() => "changed, waits",
        TrustState::Waiting => "waits",
        TrustState::Approved => "approved",
        TrustState::Refused => "cannot be checked",
        TrustState::Unknown(word) => word,
    }
}

fn kind_words(kind: &TrustKind) -> &str {
    match kind {
        TrustKind::Hook => "hook",
        TrustKind::McpServer => "MCP server",
        TrustKind::CustomTool => "custom tool",
        TrustKind::Skill => "skill",
        TrustKind::HttpTool => "HTTP tool",
        TrustKind::Unknown(word) => word,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use api::problem::Problem;
    use api::trust::{TrustApproval, TrustChange};

    use super::*;

    pub(in crate::trust) fn item(name: &str, state: TrustState) -> TrustItem {
        TrustItem {
            kind: TrustKind::CustomTool,
            name: name.to_owned(),
            origin: "custom-tools/lint".to_owned(),
            action: "runs custom-tools/lint on this machine".to_owned(),
            hash: "ab".repeat(32),
            files: vec!["custom-tools/lint".to_owned()],
            unseen: vec!["$X".to_owned()],
            state,
            approved_at: None,
            change: None,
        }
    }

    fn approval(hash: &str) -> TrustApproval {
        TrustApproval {
            kind: TrustKind::Hook,
            name: "lint".to_owned(),
            workspace: "laptop:/w".to_owned(),
            action: "runs lint.sh".to_owned(),
            hash: hash.to_owned(),
            approved_at: 0,
        }
    }

    #[test]
    fn what_changed_is_told_and_nothing_of_a_workspace_leaves_its_line() {
        let mut changed = item("lint\nsandbridge: approved", TrustState::Waiting);
        changed.change = Some(TrustChange {
            approved_at: 0,
            hash: "cd".repeat(32),
            action: Some("runs\nnothing".to_owned()),
            files: vec!["custom-tools/lint".to_owned()],
        });
        let whole = whole(&changed);
        assert!(whole.contains("changed files: custom-tools/lint"), "{whole}");
        assert!(!whole.contains("\nsandbridge") && !whole.contains("\nnothing"), "{whole}");
        let all = TrustList {
            workspace: Some("laptop:/w".to_owned()),
            items: vec![changed],
            approvals: vec![approval(&"cd".repeat(32))],
            problems: vec![Problem::of("custom-tools/x", "it is not a tool")],
        };
        let text = list(&all, true);
        for part in
            ["changed, waits", "custom tool", "to approve one", "warning: custom-tools/x", "laptop:/w"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!list(&all, false).contains("laptop:/w"));
        let nothing = TrustList { workspace: Some("laptop:/w".to_owned()), ..TrustList::default() };
        assert_eq!(list(&nothing, false), "this workspace defines nothing that needs approval");
    }
}
