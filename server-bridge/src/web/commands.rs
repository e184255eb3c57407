//! What can be written into a chat besides messages.

use axum::Json;
use chats::command_usages;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use crate::web::auth::Caller;
use crate::web::routes::Routes;
use crate::web::scope::Access;

/// The routes of what can be written in a chat.
pub(in crate::web) fn routes() -> Routes {
    Routes::new().add(Access::Look, routes!(list))
}

/// A way to write a slash command.
#[derive(Serialize, ToSchema)]
pub struct CommandView {
    /// What it is called, without the slash.
    word: &'static str,
    /// How it is written: `/undo --force`.
    usage: &'static str,
    /// What it does.
    about: &'static str,
}

/// All slash commands, in the order of `/help`; one may be written in several ways.
#[utoipa::path(get, path = "/api/v1/commands", tag = "chats", responses((status = 200, body = [CommandView])))]
pub async fn list(_caller: Caller) -> Json<Vec<CommandView>> {
    let word =
        |usage: &'static str| usage.trim_start_matches('/').split_whitespace().next().unwrap_or_default();
    let view = |(usage, about)| CommandView { word: word(usage), usage, about };
    Json(command_usages().map(view).collect())
}
