//! The machine that an extension works on.

use execs::Ledger;
use sandbox::{Sandbox, SandboxRouter};
use store::{ChatId, Store, User};

/// The machine of the place that a user names, or else of their active place; or the reason why it cannot be reached.
pub(crate) async fn of_place(
    ledger: &Ledger,
    user: &User,
    on: Option<&str>,
) -> (Option<Sandbox>, Option<String>) {
    match ledger.sandbox(user, on).await {
        Ok(sandbox) => (Some(sandbox), None),
        Err(error) => (None, Some(error.message())),
    }
}

/// The machine of a chat's work, or of a user's active place; `None` if it cannot be reached.
///
/// # Errors
/// [`store::Error::NotFound`] for a chat that does not exist; [`store::Error::Database`].
pub(crate) async fn of_chat(
    store: &Store,
    router: &SandboxRouter,
    user: &User,
    chat: Option<&ChatId>,
) -> store::Result<Option<Sandbox>> {
    let route = execs::chat_route_request(store, user.id, chat).await?;
    Ok(router.for_user(&execs::sandbox_user(user), &route).await.ok())
}
