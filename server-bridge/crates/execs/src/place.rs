//! The sandbox's view of a user, and the place for their work.

use sandbox::{Choice, RouteRequest};
use store::{ChatId, Store, UserId};

/// The sandbox's view of a user. Its key permanently names their containers and folders, so it is made only here.
pub fn sandbox_user(user: &store::User) -> sandbox::User {
    sandbox::User { key: user_key(user.id), name: user.name.clone(), is_admin: user.admin }
}

/// The key by which the sandbox knows a user.
pub fn user_key(user: UserId) -> String {
    format!("u{user}")
}

/// The route for a user's work: to the place called `on`, else to their active runner, else the router's choice.
///
/// # Errors
/// [`store::Error::Database`].
pub async fn route_request(store: &Store, user: UserId, on: Option<&str>) -> store::Result<RouteRequest> {
    let chosen = match on {
        Some(name) => Some(name.to_owned()),
        None => store.active_runner(user).await?,
    };
    let registered = store.runners(user).await?.into_iter().map(|runner| runner.name).collect();
    Ok(RouteRequest { choice: Choice::parse(chosen.as_deref()), registered })
}

/// The route for a user's work: to the place that `chat` is bound to, else to their active runner, else the router's choice.
///
/// # Errors
/// [`store::Error::NotFound`] for a chat that was deleted or belongs to another user.
pub async fn chat_route_request(
    store: &Store,
    user: UserId,
    chat: Option<&ChatId>,
) -> store::Result<RouteRequest> {
    let bound = match chat {
        Some(chat) => store.chat(user, chat).await?.runner,
        None => None,
    };
    route_request(store, user, bound.as_deref()).await
}
