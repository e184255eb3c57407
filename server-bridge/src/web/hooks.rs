//! The caller's hooks.

use api::hooks::{HookApproval, HookDocument, HookList, HookRunView, HookTrial, HookTrialView};
use axum::extract::{Path, State};
use axum::http::StatusCode;

use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::json::Json;
use crate::web::place_query::PlaceQuery;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of hooks. A key may read them, but neither change nor approve hooks.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::Full, route!(list))
        .add(Access::Full, route!(document))
        .add(Access::Session, route!(set_document))
        .add(Access::Session, route!(approve))
        .add(Access::Session, route!(revoke))
        .add(Access::Full, route!(log))
        .add(Access::Full, route!(attempt))
}

/// The hooks that apply to the caller at a place: those that run, those that wait for approval, and those that are not
/// enabled.
#[utoipa::path(get, path = "/api/v1/hooks", tag = "settings", params(PlaceQuery),
    responses((status = 200, body = HookList), (status = 404)))]
pub async fn list(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(query): extract::Query<PlaceQuery>,
) -> Result<Json<HookList>, ApiError> {
    Ok(Json(state.extensions.hooks.list(&caller.user, query.on.as_deref()).await?))
}

/// The caller's own document of hooks.
#[utoipa::path(get, path = "/api/v1/hooks/document", tag = "settings", responses((status = 200, body = HookDocument)))]
pub async fn document(State(state): State<AppState>, caller: Caller) -> Result<Json<HookDocument>, ApiError> {
    Ok(Json(HookDocument { text: state.extensions.hooks.document(caller.user.id).await? }))
}

/// Replace the caller's own document of hooks, or remove it; this takes effect from the next turn on. Needs a session: a key cannot
/// change hooks.
#[utoipa::path(put, path = "/api/v1/hooks/document", tag = "settings", request_body = HookDocument,
    responses((status = 200, body = HookList), (status = 400), (status = 403)))]
pub async fn set_document(
    State(state): State<AppState>,
    caller: Caller,
    extract::Json(document): extract::Json<HookDocument>,
) -> Result<Json<HookList>, ApiError> {
    Ok(Json(state.extensions.hooks.set_document(&caller.user, document.text.as_deref()).await?))
}

/// Approve a waiting hook of a workspace: it runs from the next turn on, until it changes. Needs a session: a key cannot let a
/// repository run anything.
#[utoipa::path(post, path = "/api/v1/hooks/approvals", tag = "settings", params(PlaceQuery), request_body = HookApproval,
    responses((status = 204), (status = 400), (status = 403), (status = 404)))]
pub async fn approve(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(query): extract::Query<PlaceQuery>,
    extract::Json(approval): extract::Json<HookApproval>,
) -> Result<StatusCode, ApiError> {
    state.extensions.hooks.approve(&caller.user, &approval.hash, query.on.as_deref()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Revoke the approval of a hook: from the next turn on it no longer runs. Needs a session.
#[utoipa::path(delete, path = "/api/v1/hooks/approvals/{hash}", tag = "settings",
    params(("hash" = String, Path)), responses((status = 204), (status = 403), (status = 404)))]
pub async fn revoke(
    State(state): State<AppState>,
    caller: Caller,
    Path(hash): Path<String>,
) -> Result<StatusCode, ApiError> {
    state.extensions.hooks.revoke(&caller.user, &hash).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The newest runs of the caller's hooks, the last first; at most 200.
#[utoipa::path(get, path = "/api/v1/hooks/log", tag = "settings", responses((status = 200, body = [HookRunView])))]
pub async fn log(State(state): State<AppState>, caller: Caller) -> Result<Json<Vec<HookRunView>>, ApiError> {
    Ok(Json(state.extensions.hooks.log(caller.user.id)))
}

/// Try hooks on a sample or on a payload: their handlers run, and the decision is shown instead of carried out. Hooks that wait for
/// approval do not run.
#[utoipa::path(post, path = "/api/v1/hooks/try", tag = "settings", params(PlaceQuery), request_body = HookTrial,
    responses((status = 200, body = HookTrialView), (status = 400), (status = 404), (status = 409), (status = 413)))]
pub async fn attempt(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(query): extract::Query<PlaceQuery>,
    extract::Json(trial): extract::Json<HookTrial>,
) -> Result<Json<HookTrialView>, ApiError> {
    Ok(Json(state.extensions.hooks.attempt(&caller.user, query.on.as_deref(), &trial).await?))
}
