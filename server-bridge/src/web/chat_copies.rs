//! Copying conversations, and exporting them as files.

use api::chat::{ChatView, ExportView, Fork};
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use chats::{Export, Format, MessageId, chat_view};
use futures_util::stream;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::web::auth::Caller;
use crate::web::chats::chat_id;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::json::Json;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of forks and exports of a chat.
pub(in crate::web) fn routes() -> Routes {
    Routes::new().add(Access::Full, route!(fork)).add(Access::Look, route!(export))
}

/// Continue a conversation in a copy: the messages so far, the machine, the directory and the approval mode are the same;
/// tool calls that were allowed permanently need approval again.
#[utoipa::path(post, path = "/api/v1/chats/{id}/fork", tag = "chats", request_body = Fork,
    params(("id" = String, Path)), responses((status = 201, body = ChatView), (status = 404)))]
pub async fn fork(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
    extract::Json(wanted): extract::Json<Fork>,
) -> Result<(StatusCode, Json<ChatView>), ApiError> {
    let copy = state.chats.fork(&caller.user, &chat_id(&id)?, wanted.message_id.map(MessageId)).await?;
    Ok((StatusCode::CREATED, Json(chat_view(copy))))
}

/// The format of an export.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ExportQuery {
    /// `json` (all of it, for programs; the default) or `markdown` (to be read).
    format: Option<String>,
}

/// Export a whole conversation as a file.
#[utoipa::path(get, path = "/api/v1/chats/{id}/export", tag = "chats",
    params(("id" = String, Path), ExportQuery),
    responses((status = 200, content((ExportView = "application/json"), (String = "text/markdown"))), (status = 404)))]
pub async fn export(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
    extract::Query(query): extract::Query<ExportQuery>,
) -> Result<Response, ApiError> {
    let format = match query.format.as_deref() {
        None | Some("json") => Format::Json,
        Some("markdown") => Format::Markdown,
        Some(_) => return Err(ApiError::invalid("format must be json or markdown")),
    };
    let exported = state.chats.export(&caller.user, &chat_id(&id)?, format).await?;
    let (content_type, ending) = match format {
        Format::Json => ("application/json", "json"),
        Format::Markdown => ("text/markdown; charset=utf-8", "md"),
    };
    let disposition = format!("attachment; filename=\"chat-{}.{ending}\"", exported.id());
    let headers =
        [(header::CONTENT_TYPE, content_type.to_owned()), (header::CONTENT_DISPOSITION, disposition)];
    Ok((headers, Body::from_stream(stream::try_unfold(exported, Export::next))).into_response())
}
