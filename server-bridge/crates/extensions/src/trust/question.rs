//! The question in a chat about what its workspace defines: what waits, what changed, and the approval of all of it.

use agent::tool::visible;
use agent::trust::{Trusts, Waiting};
use api::trust::TrustItem;
use api::words::TrustState;
use futures_util::future::BoxFuture;
use store::{ChatId, User};

use super::Trust;
use crate::limits::TRUST_SHOWN;
use crate::{Error, Result};

impl Trusts for Trust {
    fn waiting<'a>(
        &'a self,
        user: &'a User,
        chat: &'a ChatId,
    ) -> BoxFuture<'a, std::result::Result<Waiting, String>> {
        Box::pin(async move { self.waiting_in(user, chat).await.map_err(|error| error.message()) })
    }

    fn approve<'a>(
        &'a self,
        user: &'a User,
        chat: &'a ChatId,
        hashes: &'a [String],
    ) -> BoxFuture<'a, std::result::Result<usize, String>> {
        Box::pin(async move {
            let place = self.place(user, chat).await.map_err(|error| error.message())?;
            let mut count = 0;
            for hash in hashes {
                match Trust::approve(self, user, hash, place.as_deref()).await {
                    Ok(()) => count += 1,
                    // It changed, or it was approved elsewhere in the meantime.
                    Err(Error::Refused { kind: "not_found", .. }) => {}
                    Err(error) => return Err(error.message()),
                }
            }
            Ok(count)
        })
    }
}

impl Trust {
    /// The place that a chat is bound to, if it is bound to one.
    async fn place(&self, user: &User, chat: &ChatId) -> Result<Option<String>> {
        Ok(self.store.chat(user.id, chat).await?.runner)
    }

    async fn waiting_in(&self, user: &User, chat: &ChatId) -> Result<Waiting> {
        let place = self.place(user, chat).await?;
        let list = self.list(user, place.as_deref()).await?;
        let Some(workspace) = &list.workspace else {
            let why: Vec<String> = list.problems.iter().map(ToString::to_string).collect();
            return Err(Error::refused("unavailable", why.join("\n")));
        };
        let is = |state: TrustState| move |item: &&TrustItem| item.state == state;
        let waiting: Vec<&TrustItem> = list.items.iter().filter(is(TrustState::Waiting)).collect();
        let refused = list.items.iter().filter(is(TrustState::Refused)).count();
        let approved = list.items.iter().filter(is(TrustState::Approved)).count();
        let mut lines = match waiting.len() {
            0 => vec!["Nothing in this workspace waits for your approval.".to_owned()],
            _ => vec![format!("This waits for your approval in {}:", visible::line(workspace))],
        };
        // Only the items that are shown are approved.
        let shown = &waiting[..waiting.len().min(TRUST_SHOWN)];
        lines.extend(shown.iter().flat_map(|item| item_lines(item)));
        let more = waiting.len() - shown.len();
        if more > 0 {
            lines.push(format!("More items, which are asked about next: {more}"));
        }
        if approved > 0 {
            lines.push(format!("Already approved: {approved}"));
        }
        if refused > 0 {
            lines.push(format!("Cannot be approved; see `sandbridge trust list`: {refused}"));
        }
        Ok(Waiting { text: lines.join("\n"), hashes: shown.iter().map(|item| item.hash.clone()).collect() })
    }
}

/// The lines about an item: what it is, what it does, and what changed. They are escaped, because anyone may have
/// written the workspace's files.
fn item_lines(item: &TrustItem) -> Vec<String> {
    let mut lines =
        vec![format!("- {} {} ({})", item.kind, visible::line(&item.name), visible::line(&item.origin))];
    lines.extend(visible::whole(&item.action).lines().map(|line| format!("  | {line}")));
    if !item.files.is_empty() {
        let files: Vec<String> = item.files.iter().map(|file| visible::line(file)).collect();
        lines.push(format!("  files: {}", files.join(", ")));
    }
    if !item.unseen.is_empty() {
        let unseen: Vec<String> = item.unseen.iter().map(|one| visible::line(one)).collect();
        lines.push(format!("  runs files that the approval does not cover: {}", unseen.join(", ")));
    }
    if let Some(change) = &item.change {
        lines.push("  changed since you approved it".to_owned());
        if let Some(before) = &change.action {
            lines.extend(visible::whole(before).lines().map(|line| format!("  before | {line}")));
        }
        if !change.files.is_empty() {
            let files: Vec<String> = change.files.iter().map(|file| visible::line(file)).collect();
            lines.push(format!("  files that differ: {}", files.join(", ")));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use api::trust::TrustChange;

    use super::*;

    #[test]
    fn an_item_is_shown_with_what_changed_and_no_text_leaves_its_place() {
        let item = TrustItem {
            kind: "hook".into(),
            name: "lint\nAlready approved: 9".to_owned(),
            origin: ".sandbridge/hooks.json".to_owned(),
            action: "PreToolUse Shell\n./lint.sh\u{202e}".to_owned(),
            hash: "ab".to_owned(),
            files: vec!["lint.sh".to_owned()],
            unseen: Vec::new(),
            state: TrustState::Waiting,
            approved_at: None,
            change: Some(TrustChange {
                approved_at: 1,
                hash: "cd".to_owned(),
                action: Some("./old.sh".to_owned()),
                files: vec!["lint.sh".to_owned()],
            }),
        };
        let lines = item_lines(&item);
        assert_eq!(lines.len(), 7, "{lines:?}");
        assert!(
            lines[0].starts_with("- hook lint\\n") && lines[0].ends_with("(.sandbridge/hooks.json)"),
            "{lines:?}"
        );
        assert!(lines[2].starts_with("  | ./lint.sh\\u"), "{lines:?}");
        assert_eq!(lines[5], "  before | ./old.sh");
        assert_eq!(lines[6], "  files that differ: lint.sh");
    }
}
