//! The commands of a chat.

use api::chat::CommandView;
use axum::Json;
use chats::command_usages;

use crate::web::auth::Caller;
use crate::web::language::Wanted;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;

/// The routes of the commands of a chat.
pub(in crate::web) fn routes() -> Routes {
    Routes::new().add(Access::Look, route!(list))
}

/// All slash commands, in the order of `/help`; one may be written in several ways.
#[utoipa::path(get, path = "/api/v1/commands", tag = "chats", responses((status = 200, body = [CommandView])))]
pub async fn list(_caller: Caller, Wanted(language): Wanted) -> Json<Vec<CommandView>> {
    let word =
        |usage: &str| usage.trim_start_matches('/').split_whitespace().next().unwrap_or_default().to_owned();
    let view = |(usage, about): (&str, &str)| CommandView {
        word: word(usage),
        usage: usage.to_owned(),
        about: language.translated(about).into_owned(),
    };
    Json(command_usages().map(view).collect())
}
