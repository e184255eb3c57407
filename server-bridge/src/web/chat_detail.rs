//! A conversation with its details.

use api::chat::{ChatDetail, ContextView};
use axum::extract::{Path, State};
use chats::{ContextUse, Detail, chat_view};

use crate::limits::USAGE_MAX_DAYS;
use crate::web::auth::Caller;
use crate::web::chats::chat_id;
use crate::web::error::ApiError;
use crate::web::json::Json;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;
use crate::web::usage::sum_of;

/// The routes of a chat's details.
pub(in crate::web) fn routes() -> Routes {
    Routes::new().add(Access::Look, route!(show))
}

/// A conversation with its model, the approval mode, how full the window is, and the usage.
#[utoipa::path(get, path = "/api/v1/chats/{id}", tag = "chats", params(("id" = String, Path)),
    responses((status = 200, body = ChatDetail), (status = 404)))]
pub async fn show(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<ChatDetail>, ApiError> {
    let (id, user) = (chat_id(&id)?, &caller.user);
    let detail = state.chats.detail(user, &id).await?;
    let usage = state.accounts.usage(user.id, Some(&id), USAGE_MAX_DAYS).await?;
    let Detail { chat, approval, model, has_model, cwd, is_busy, context, parent } = detail;
    Ok(Json(ChatDetail {
        chat: chat_view(chat),
        approval: approval.into(),
        model,
        model_configured: has_model,
        cwd,
        busy: is_busy,
        context: context.map(|ContextUse { model, used_tokens, window_tokens }| ContextView {
            used_tokens,
            window_tokens,
            model,
        }),
        usage: sum_of(&usage.rows),
        parent_id: parent.map(|parent| parent.to_string()),
    }))
}
