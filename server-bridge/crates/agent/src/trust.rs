//! What a workspace defines and its user has not approved: a port, so that a chat can ask about it.

use futures_util::future::BoxFuture;
use records::{ChatId, User};

/// What waits for a user's approval in the workspace of a chat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// What waits and what changed since it was approved, in lines of text.
    pub text: String,
    /// The hashes of what waits and can be approved; nothing is asked if there are none.
    pub hashes: Vec<String>,
}

/// The approvals of what workspaces define.
pub trait Trusts: Send + Sync {
    /// The hooks, servers and tools of a chat's workspace that wait for approval.
    ///
    /// Fails with the reason in words.
    fn waiting<'a>(&'a self, user: &'a User, chat: &'a ChatId) -> BoxFuture<'a, Result<Waiting, String>>;

    /// Approves what was shown, by its hashes: what changed meanwhile is not approved. Returns how many were approved.
    ///
    /// Fails with the reason in words.
    fn approve<'a>(
        &'a self,
        user: &'a User,
        chat: &'a ChatId,
        hashes: &'a [String],
    ) -> BoxFuture<'a, Result<usize, String>>;
}
