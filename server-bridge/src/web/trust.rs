//! The hooks, tools, servers and skills that workspaces define, and the caller's approvals of them.

use api::trust::{TrustList, TrustRequest};
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

/// The routes of trust. A key may read them, but cannot let a repository run anything.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::Full, route!(list))
        .add(Access::Session, route!(approve))
        .add(Access::Session, route!(revoke))
}

/// Everything that the workspace of a place defines and the caller must approve: hooks, MCP servers, custom tools, and skills for every prompt;
/// with the changes since the last approval, and all of the caller's approvals.
#[utoipa::path(get, path = "/api/v1/trust", tag = "settings", params(PlaceQuery),
    responses((status = 200, body = TrustList), (status = 404)))]
pub async fn list(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(query): extract::Query<PlaceQuery>,
) -> Result<Json<TrustList>, ApiError> {
    Ok(Json(state.extensions.trust.list(&caller.user, query.on.as_deref()).await?))
}

/// Approve something that waits in a workspace, by its hash: it takes effect from the next turn on, until it changes. Needs a
/// session.
#[utoipa::path(post, path = "/api/v1/trust/approvals", tag = "settings", params(PlaceQuery), request_body = TrustRequest,
    responses((status = 204), (status = 400), (status = 403), (status = 404)))]
pub async fn approve(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(query): extract::Query<PlaceQuery>,
    extract::Json(request): extract::Json<TrustRequest>,
) -> Result<StatusCode, ApiError> {
    state.extensions.trust.approve(&caller.user, &request.hash, query.on.as_deref()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Revoke an approval, in any workspace; everything that runs under it ends. Needs a session.
#[utoipa::path(delete, path = "/api/v1/trust/approvals/{hash}", tag = "settings",
    params(("hash" = String, Path)), responses((status = 204), (status = 403), (status = 404)))]
pub async fn revoke(
    State(state): State<AppState>,
    caller: Caller,
    Path(hash): Path<String>,
) -> Result<StatusCode, ApiError> {
    state.extensions.trust.revoke(&caller.user, &hash).await?;
    Ok(StatusCode::NO_CONTENT)
}
