//! A conversation with all that stands beside its messages.

use api::chat::ChatView;
use api::words::Approval;
use axum::Json;
use axum::extract::{Path, State};
use chats::{ContextUse, Detail, chat_view};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use crate::limits::USAGE_MAX_DAYS;
use crate::state::AppState;
use crate::web::auth::Caller;
use crate::web::chats::chat_id;
use crate::web::error::ApiError;
use crate::web::routes::Routes;
use crate::web::scope::Access;
use crate::web::usage::Sum;

/// The routes of a chat's details.
pub(in crate::web) fn routes() -> Routes {
    Routes::new().add(Access::Look, routes!(show))
}

/// A conversation and how it stands.
#[derive(Serialize, ToSchema)]
pub struct ChatDetail {
    #[serde(flatten)]
    chat: ChatView,
    /// How much its model may do without asking.
    approval: Approval,
    /// The model that was chosen for it, or else for all; null where the first subscription answers.
    #[schema(required)]
    model: Option<String>,
    /// Whether any model answers its user.
    model_configured: bool,
    /// Where its agent is, relative to the workspace.
    cwd: String,
    /// Whether an answer or a command is under way.
    busy: bool,
    /// How full the window of its model is; null where no model answers.
    #[schema(required)]
    context: Option<ContextView>,
    /// What it took, with its sub-agents.
    usage: Sum,
    /// For a sub-agent's: the conversation whose agent called it.
    #[schema(required)]
    parent_id: Option<String>,
}

/// How full a window is.
#[derive(Serialize, ToSchema)]
pub struct ContextView {
    /// About how many tokens the next call begins with.
    used_tokens: usize,
    /// How many it holds.
    window_tokens: usize,
    /// The model, as `SUBSCRIPTION/MODEL`.
    model: String,
}

/// A conversation with its model, how much that may do, how full its window is and what it took.
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
        usage: Sum::of(&usage.rows),
        parent_id: parent.map(|parent| parent.to_string()),
    }))
}
