//! The port for definitions of a workspace that its user has not approved, so that a chat can ask about them.

use futures_util::future::BoxFuture;
use records::{ChatId, User};

/// The definitions in a chat's workspace that wait for the user's approval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// A description, in lines, of what waits and of what changed since it was approved.
    pub text: String,
    /// The hashes of the definitions that can be approved; if there are none, no question is asked.
    pub hashes: Vec<String>,
}

/// Access to the approvals of definitions in workspaces.
pub trait Trusts: Send + Sync {
    /// The hooks, servers and tools of a chat's workspace that wait for approval.
    ///
    /// Fails with the reason in words.
    fn waiting<'a>(&'a self, user: &'a User, chat: &'a ChatId) -> BoxFuture<'a, Result<Waiting, String>>;

    /// Approves the definitions that were shown, by their hashes: a definition that changed meanwhile is not approved. Returns the number approved.
    ///
    /// Fails with the reason in words.
    fn approve<'a>(
        &'a self,
        user: &'a User,
        chat: &'a ChatId,
        hashes: &'a [String],
    ) -> BoxFuture<'a, Result<usize, String>>;
}
