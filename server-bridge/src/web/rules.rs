//! The caller's permission rules.

use api::rules::{NewRule, RuleTrial, RuleTrialView, RuleView};
use axum::extract::{Path, State};
use axum::http::StatusCode;

use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::json::Json;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of permission rules. A key may read and try them, but not change them.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::Full, route!(list))
        .add(Access::Session, route!(add))
        .add(Access::Session, route!(remove))
        .add(Access::Full, route!(attempt))
}

/// The rules that apply to the caller: the administrator's, the caller's own, those of the workspace of the active runner, and those
/// of the server itself.
#[utoipa::path(get, path = "/api/v1/rules", tag = "settings", responses((status = 200, body = [RuleView])))]
pub async fn list(State(state): State<AppState>, caller: Caller) -> Result<Json<Vec<RuleView>>, ApiError> {
    Ok(Json(state.chats.rules(&caller.user).await?))
}

/// Add a rule of the caller's, for all chats or for one. Needs a session: a key cannot change rules.
#[utoipa::path(post, path = "/api/v1/rules", tag = "settings", request_body = NewRule,
    responses((status = 201, body = RuleView), (status = 400), (status = 403)))]
pub async fn add(
    State(state): State<AppState>,
    caller: Caller,
    extract::Json(new): extract::Json<NewRule>,
) -> Result<(StatusCode, Json<RuleView>), ApiError> {
    let added = state.chats.add_rule(&caller.user, &new).await?;
    Ok((StatusCode::CREATED, Json(added)))
}

/// Remove a rule of the caller's: it no longer applies from the next call on. Needs a session: a key cannot change rules.
#[utoipa::path(delete, path = "/api/v1/rules/{id}", tag = "settings",
    params(("id" = i64, Path)), responses((status = 204), (status = 403), (status = 404)))]
pub async fn remove(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    let id = id.parse().map_err(|_| ApiError::invalid("a rule's id must be a number"))?;
    state.chats.remove_rule(&caller.user, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Try the rules on a call: the response contains their decision, and nothing is run.
#[utoipa::path(post, path = "/api/v1/rules/try", tag = "settings", request_body = RuleTrial,
    responses((status = 200, body = RuleTrialView), (status = 400)))]
pub async fn attempt(
    State(state): State<AppState>,
    caller: Caller,
    extract::Json(trial): extract::Json<RuleTrial>,
) -> Result<Json<RuleTrialView>, ApiError> {
    Ok(Json(state.chats.try_rules(&caller.user, &trial).await?))
}
