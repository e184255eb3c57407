//! The changes since the last approval of an item with the same name in the same workspace.

use std::collections::BTreeMap;

use api::trust::TrustChange;
use store::Trust;

use super::Item;
use crate::approvals::kept;

/// The change since the newest approval of this item's name in its workspace; `None` if there is none.
pub(super) fn since(kind: &str, item: &Item, approvals: &[Trust], workspace: &str) -> Option<TrustChange> {
    let is_before = |approval: &&Trust| {
        approval.kind == kind
            && approval.workspace == workspace
            && approval.name == item.name
            && approval.hash != item.hash
    };
    // The oldest approvals are first.
    let before = approvals.iter().rfind(is_before)?;
    let files: Vec<(String, String)> = serde_json::from_str(&before.files_json).unwrap_or_default();
    Some(TrustChange {
        approved_at: before.created_at_ms,
        hash: before.hash.clone(),
        action: (before.shown != kept(&item.action)).then(|| before.shown.clone()),
        files: differing(&files, &item.files),
    })
}

/// The paths of files that differ, or that only one side has.
fn differing(before: &[(String, String)], now: &[(String, String)]) -> Vec<String> {
    let map = |files: &[(String, String)]| files.iter().cloned().collect::<BTreeMap<_, _>>();
    let (before, now) = (map(before), map(now));
    let mut paths: Vec<&String> = before.keys().chain(now.keys()).collect();
    paths.sort_unstable();
    paths.dedup();
    paths.into_iter().filter(|path| before.get(*path) != now.get(*path)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(files: &[(&str, &str)]) -> Vec<(String, String)> {
        files.iter().map(|(path, hash)| ((*path).to_owned(), (*hash).to_owned())).collect()
    }

    fn approval(name: &str, workspace: &str, hash: &str, at: i64) -> Trust {
        Trust {
            kind: "hook".to_owned(),
            hash: hash.to_owned(),
            shown: "runs lint.sh".to_owned(),
            name: name.to_owned(),
            workspace: workspace.to_owned(),
            files_json: r#"[["a","1"],["b","1"],["c","1"]]"#.to_owned(),
            created_at_ms: at,
        }
    }

    #[test]
    fn a_change_is_told_against_the_newest_approval_of_the_same_name_and_workspace() {
        let item = Item {
            name: "lint".to_owned(),
            origin: String::new(),
            action: "runs lint.sh -x".to_owned(),
            hash: "now".to_owned(),
            files: files(&[("a", "1"), ("b", "2"), ("d", "1")]),
            unseen: Vec::new(),
            is_approved: false,
            is_approvable: true,
        };
        let approvals = [
            approval("lint", "laptop:/w", "first", 1),
            approval("lint", "laptop:/w", "second", 2),
            approval("lint", "laptop:/v", "elsewhere", 3),
            approval("format", "laptop:/w", "other", 4),
        ];
        let change = since("hook", &item, &approvals, "laptop:/w").unwrap();
        assert_eq!((change.hash.as_str(), change.approved_at), ("second", 2));
        assert_eq!(change.action.as_deref(), Some("runs lint.sh"));
        assert_eq!(change.files, ["b", "c", "d"]);
        assert_eq!(since("tool", &item, &approvals, "laptop:/w"), None);
        assert_eq!(since("hook", &item, &approvals, "desk:/w"), None);
    }
}
