//! Where the work of a chat should go.

pub(crate) use execs::{sandbox_user, wish_for};
use sandbox::Wish;
use store::{ChatId, Store, UserId};

/// Where a user's work should go: where `chat` is bound to, else to their active runner, else where the router finds.
///
/// # Errors
/// [`store::Error::NotFound`] for a chat that is gone or another user's.
pub async fn wish(store: &Store, user: UserId, chat: Option<&ChatId>) -> store::Result<Wish> {
    let bound = match chat {
        Some(chat) => store.chat(user, chat).await?.runner,
        None => None,
    };
    wish_for(store, user, bound.as_deref()).await
}
