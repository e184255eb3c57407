//! Answers in text to a model's questions, answers to cards, and terminals' answers.

use agent::ask::Reply;
use api::card::CardAnswerRequest;
use api::tui::TuiAnswer;
use api::turn::QuestionAnswer;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use chats::MessageId;

use crate::web::auth::Caller;
use crate::web::chats::chat_id;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of answers to a model's questions and cards.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::Full, route!(answer))
        .add(Access::Full, route!(answer_card))
        .add(Access::Full, route!(answer_tui))
}

/// Answer a model's question.
#[utoipa::path(post, path = "/api/v1/chats/{id}/answers", tag = "chats", request_body = QuestionAnswer,
    params(("id" = String, Path)), responses((status = 204), (status = 404, description = "it no longer waits for an answer")))]
pub async fn answer(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
    extract::Json(QuestionAnswer { message_id, text }): extract::Json<QuestionAnswer>,
) -> Result<StatusCode, ApiError> {
    let words = text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let (chat, message) = (chat_id(&id)?, MessageId(message_id));
    state.chats.answer(&caller.user, &chat, message, Reply::Words(words), caller.surface()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Answer a card: the answer becomes the user's next message.
#[utoipa::path(post, path = "/api/v1/chats/{id}/cards", tag = "chats", request_body = CardAnswerRequest,
    params(("id" = String, Path)), responses((status = 204), (status = 400, description = "the card does not offer this answer"),
    (status = 404, description = "there is no such card"), (status = 409, description = "another answer came first")))]
pub async fn answer_card(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
    extract::Json(CardAnswerRequest { message_id, reply }): extract::Json<CardAnswerRequest>,
) -> Result<StatusCode, ApiError> {
    let (chat, message) = (chat_id(&id)?, MessageId(message_id));
    state.chats.answer_card(&caller.user, &chat, message, &reply, caller.surface()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Answer, as a terminal UI, the action that an agent asks it for in a `tui_control` event: take it, then report its end.
#[utoipa::path(post, path = "/api/v1/chats/{id}/tui", tag = "chats", request_body = TuiAnswer,
    params(("id" = String, Path)), responses((status = 204), (status = 400),
    (status = 404, description = "no action waits for an answer of this terminal"),
    (status = 409, description = "it was taken already, or not yet")))]
pub async fn answer_tui(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
    extract::Json(answer): extract::Json<TuiAnswer>,
) -> Result<StatusCode, ApiError> {
    state.chats.answer_tui(caller.user.id, &chat_id(&id)?, &answer)?;
    Ok(StatusCode::NO_CONTENT)
}
