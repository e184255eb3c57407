//! The commands of a chat.

use api::chat::CommandView;
use axum::extract::{Path, Query, State};
use chats::command_usages;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::web::auth::Caller;
use crate::web::chats::chat_id;
use crate::web::error::ApiError;
use crate::web::json::Json;
use crate::web::language::Wanted;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of the commands of a chat.
pub(in crate::web) fn routes() -> Routes {
    Routes::new().add(Access::Look, route!(list)).add(Access::Full, route!(complete))
}

/// The chat of a request about commands.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// A chat, for the commands of its machine's workspace; if absent, the caller's active machine is used.
    chat: Option<String>,
}

/// The beginning of a command.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CompleteQuery {
    /// The text written so far: `/WORD ARGUMENT`.
    text: String,
}

/// All slash commands, in the order of `/help`; some can be written in several ways. Those of extensions come last.
#[utoipa::path(get, path = "/api/v1/commands", tag = "chats", params(ListQuery), responses((status = 200, body = [CommandView])))]
pub async fn list(
    State(state): State<AppState>,
    caller: Caller,
    Wanted(language): Wanted,
    Query(query): Query<ListQuery>,
) -> Result<Json<Vec<CommandView>>, ApiError> {
    let chat = query.chat.as_deref().map(chat_id).transpose()?;
    let word =
        |usage: &str| usage.trim_start_matches('/').split_whitespace().next().unwrap_or_default().to_owned();
    let view = |(usage, about): (&str, &str)| CommandView {
        word: word(usage),
        usage: usage.to_owned(),
        about: language.translated(about).into_owned(),
    };
    let more = state.chats.commands().commands(&caller.user, chat.as_ref()).await;
    let more = more.into_iter().map(|command| CommandView {
        word: command.word,
        usage: command.usage,
        about: command.about,
    });
    Ok(Json(command_usages().map(view).chain(more).collect()))
}

/// Values for the last argument of an extension's slash command that is being written; none if there are no suggestions.
#[utoipa::path(get, path = "/api/v1/chats/{id}/completions", tag = "chats", params(("id" = String, Path), CompleteQuery),
    responses((status = 200, body = [String]), (status = 404)))]
pub async fn complete(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<CompleteQuery>,
) -> Result<Json<Vec<String>>, ApiError> {
    let chat = chat_id(&id)?;
    let text = query.text.trim_start().trim_start_matches('/');
    let (word, arguments) = text.split_once(' ').unwrap_or((text, ""));
    Ok(Json(state.chats.commands().complete(&caller.user, &chat, word, arguments).await))
}
