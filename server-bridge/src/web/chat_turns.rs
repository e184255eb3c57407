//! Taking back parts of a conversation.

use api::turn::{FileView, Rewind, TakenBackView, Undo};
use axum::extract::{Path, State};
use chats::{MessageId, RestoredFile, TakeBack, TakenBack, Turns, message_view};

use crate::web::auth::Caller;
use crate::web::chats::chat_id;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::json::Json;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of taking parts of a chat back.
pub(in crate::web) fn routes() -> Routes {
    Routes::new().add(Access::Full, route!(undo)).add(Access::Full, route!(rewind))
}

/// Take back the last message with its effects: the answers to it, and the changes to files.
#[utoipa::path(post, path = "/api/v1/chats/{id}/undo", tag = "chats", request_body = Undo,
    params(("id" = String, Path)), responses((status = 200, body = TakenBackView), (status = 404),
    (status = 409, description = "a file was changed since"), (status = 429, description = "an answer is in progress"),
    (status = 503, description = "a file's machine is offline")))]
pub async fn undo(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
    extract::Json(Undo { force }): extract::Json<Undo>,
) -> Result<Json<TakenBackView>, ApiError> {
    take_back(&state, &caller, &id, TakeBack { turns: Turns::Last(1), files: true, force }).await
}

/// Take back the last messages; files stay as they are unless the request says otherwise.
#[utoipa::path(post, path = "/api/v1/chats/{id}/rewind", tag = "chats", request_body = Rewind,
    params(("id" = String, Path)), responses((status = 200, body = TakenBackView), (status = 404),
    (status = 409, description = "a file was changed since"), (status = 429, description = "an answer is in progress"),
    (status = 503, description = "a file's machine is offline")))]
pub async fn rewind(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
    extract::Json(wanted): extract::Json<Rewind>,
) -> Result<Json<TakenBackView>, ApiError> {
    let Rewind { turns, message_id, files, force } = wanted;
    let turns = match (turns, message_id) {
        (Some(count), None) if count > 0 => Turns::Last(count),
        (None, Some(message)) => Turns::From(MessageId(message)),
        _ => return Err(ApiError::invalid("give either turns (at least 1) or message_id, not both")),
    };
    take_back(&state, &caller, &id, TakeBack { turns, files, force }).await
}

async fn take_back(
    state: &AppState,
    caller: &Caller,
    id: &str,
    wanted: TakeBack,
) -> Result<Json<TakenBackView>, ApiError> {
    let taken = state.chats.take_back(&caller.user, &chat_id(id)?, wanted).await?;
    let TakenBack { text, turns, restored, not_restored, commands, notice } = taken;
    let view = |RestoredFile { place, path }, error| FileView { place, path, error };
    Ok(Json(TakenBackView {
        text,
        turns,
        restored: restored.into_iter().map(|file| view(file, None)).collect(),
        not_restored: not_restored.into_iter().map(|(file, why)| view(file, Some(why))).collect(),
        commands,
        notice: message_view(notice),
    }))
}
