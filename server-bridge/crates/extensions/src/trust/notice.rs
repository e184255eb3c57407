//! The notice in a chat that something in its workspace waits for approval: shown once per chat.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use agent::hooks::{Hook, HookedTurn, Place, Words};
use futures_util::future::BoxFuture;
use sandbox::SandboxRouter;
use store::{ChatId, User};

use super::Trust;
use crate::Notice;
use crate::limits::TRUST_CHATS_KEPT;
use crate::machine::of_chat;

/// Checks the workspace of a chat when its first turn begins.
#[derive(Clone)]
pub struct TrustNotice(Arc<Inner>);

struct Inner {
    trust: Trust,
    router: SandboxRouter,
    notice: Notice,
    /// The chats in which a turn has begun since the server started.
    seen: Mutex<HashSet<ChatId>>,
}

impl TrustNotice {
    /// Notices about missing approvals.
    pub fn new(trust: Trust, router: SandboxRouter, notice: Notice) -> Self {
        Self(Arc::new(Inner { trust, router, notice, seen: Mutex::default() }))
    }
}

impl Hook for TrustNotice {
    fn at<'a>(&'a self, turn: HookedTurn<'a>, place: Place<'a>) -> BoxFuture<'a, Words> {
        Box::pin(async move {
            let begins = matches!(place, Place::TurnBegins { .. });
            if begins && !turn.is_sub_agent() && self.0.is_new(turn.root) {
                self.0.look(turn.user, turn.root.clone()).await;
            }
            Words::default()
        })
    }
}

impl Inner {
    /// True the first time that this is called for a chat since the server started.
    fn is_new(&self, chat: &ChatId) -> bool {
        // Each change is a single step, so the data stays consistent if another thread panics.
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= TRUST_CHATS_KEPT {
            seen.clear();
        }
        seen.insert(chat.clone())
    }

    /// Shows a notice in a chat if something in its workspace waits for approval.
    async fn look(&self, user: &User, chat: ChatId) {
        match self.text(user, &chat).await {
            Ok(Some(text)) => (self.notice)(user.id, chat, text).await,
            Ok(None) => {}
            Err(error) => tracing::error!(%error, "what waits for approval could not be read"),
        }
    }

    /// The text of the notice for a chat; `None` if nothing waits.
    async fn text(&self, user: &User, chat: &ChatId) -> crate::Result<Option<String>> {
        let trust = &self.trust;
        let Some(sandbox) = of_chat(&trust.store, &self.router, user, Some(chat)).await? else {
            return Ok(None);
        };
        let mut waiting = Vec::new();
        for (kind, items) in trust.items(user, &sandbox).await? {
            let items = items.items.iter();
            let count = items.filter(|item| !item.is_approved && item.is_approvable).count();
            if count > 0 {
                waiting.push(counted(kind, count));
            }
        }
        Ok(words(&waiting))
    }
}

/// A line with the number of items of a kind.
fn counted(kind: &str, count: usize) -> String {
    match kind {
        "hook" => format!("hooks: {count}"),
        "mcp_server" => format!("MCP servers: {count}"),
        "custom_tool" => format!("custom tools: {count}"),
        "skill" => format!("skills: {count}"),
        "http_tool" => format!("HTTP tools: {count}"),
        other => format!("{other}: {count}"),
    }
}

/// Each item has a separate line, so that each line can be translated.
fn words(waiting: &[String]) -> Option<String> {
    let title = "Waiting for your approval in this workspace; write /trust to look at it and approve it:";
    (!waiting.is_empty()).then(|| format!("{title}\n{}", waiting.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_counts_what_waits() {
        assert_eq!(words(&[]), None);
        let all = [counted("hook", 2), counted("mcp_server", 1), counted("custom_tool", 3)];
        let all = words(&all).unwrap();
        assert!(all.ends_with("\nhooks: 2\nMCP servers: 1\ncustom tools: 3"), "{all}");
    }
}
