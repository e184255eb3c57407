//! The caller's HTTP tools: requests that agents may send, described by documents.

use api::http_tools::{
    HttpToolApproval, HttpToolDraft, HttpToolImport, HttpToolImported, HttpToolList, HttpToolSaved,
    HttpToolSecretValue, HttpToolTried, HttpToolTry,
};
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

/// The routes of HTTP tools. A key may read them, but may not change, call or approve them.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::Full, route!(list))
        .add(Access::Session, route!(put))
        .add(Access::Session, route!(remove))
        .add(Access::Session, route!(secret))
        .add(Access::Session, route!(import))
        .add(Access::Session, route!(try_it))
        .add(Access::Session, route!(approve))
        .add(Access::Session, route!(revoke))
}

/// The caller's HTTP tools at a place.
#[utoipa::path(get, path = "/api/v1/http-tools", tag = "settings", params(PlaceQuery),
    responses((status = 200, body = HttpToolList), (status = 404)))]
pub async fn list(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(query): extract::Query<PlaceQuery>,
) -> Result<Json<HttpToolList>, ApiError> {
    Ok(Json(state.extensions.http_tools.list(&caller.user, query.on.as_deref()).await?))
}

/// Add a tool of the caller's own, or replace it. Its secrets stay as long as its scheme, host and port do. Needs a session.
#[utoipa::path(put, path = "/api/v1/http-tools/{name}", tag = "settings", params(("name" = String, Path)),
    request_body = HttpToolDraft, responses((status = 200, body = HttpToolSaved), (status = 400), (status = 403)))]
pub async fn put(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
    extract::Json(draft): extract::Json<HttpToolDraft>,
) -> Result<Json<HttpToolSaved>, ApiError> {
    Ok(Json(state.extensions.http_tools.put(&caller.user, &name, &draft).await?))
}

/// Remove a tool of the caller's own, with its secrets. Needs a session.
#[utoipa::path(delete, path = "/api/v1/http-tools/{name}", tag = "settings", params(("name" = String, Path)),
    responses((status = 204), (status = 403), (status = 404)))]
pub async fn remove(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiError> {
    state.extensions.http_tools.remove(&caller.user, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Set a secret of a tool of the caller's own, or remove it. It is bound to the tool's scheme, host and port, and cannot be read again.
/// Needs a session.
#[utoipa::path(put, path = "/api/v1/http-tools/{name}/secrets/{secret}", tag = "settings",
    params(("name" = String, Path), ("secret" = String, Path)), request_body = HttpToolSecretValue,
    responses((status = 204), (status = 400), (status = 403), (status = 404)))]
pub async fn secret(
    State(state): State<AppState>,
    caller: Caller,
    Path((name, secret)): Path<(String, String)>,
    extract::Json(value): extract::Json<HttpToolSecretValue>,
) -> Result<StatusCode, ApiError> {
    state.extensions.http_tools.set_secret(&caller.user, &name, &secret, value.value.as_deref()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Add the operations of an OpenAPI document as tools of the caller's own, or list those that would be added. Needs a
/// session.
#[utoipa::path(post, path = "/api/v1/http-tool-imports", tag = "settings", request_body = HttpToolImport,
    responses((status = 200, body = HttpToolImported), (status = 400), (status = 403)))]
pub async fn import(
    State(state): State<AppState>,
    caller: Caller,
    extract::Json(import): extract::Json<HttpToolImport>,
) -> Result<Json<HttpToolImported>, ApiError> {
    Ok(Json(state.extensions.http_tools.import(&caller.user, &import).await?))
}

/// Send the request of a tool. The response contains the request as it was sent, with the names of secrets in place of their values. Needs a session.
#[utoipa::path(post, path = "/api/v1/http-tools/{name}/try", tag = "settings",
    params(("name" = String, Path), PlaceQuery), request_body = HttpToolTry,
    responses((status = 200, body = HttpToolTried), (status = 400), (status = 403), (status = 404)))]
pub async fn try_it(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
    extract::Query(query): extract::Query<PlaceQuery>,
    extract::Json(call): extract::Json<HttpToolTry>,
) -> Result<Json<HttpToolTried>, ApiError> {
    Ok(Json(
        state.extensions.http_tools.try_it(&caller.user, &name, &call.arguments, query.on.as_deref()).await?,
    ))
}

/// Approve a waiting tool of a workspace: it is offered from the next turn on, until it changes. Needs a session: a key cannot
/// let a repository send anything.
#[utoipa::path(post, path = "/api/v1/http-tool-approvals", tag = "settings", params(PlaceQuery),
    request_body = HttpToolApproval, responses((status = 204), (status = 403), (status = 404)))]
pub async fn approve(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(query): extract::Query<PlaceQuery>,
    extract::Json(approval): extract::Json<HttpToolApproval>,
) -> Result<StatusCode, ApiError> {
    state.extensions.http_tools.approve(&caller.user, &approval.hash, query.on.as_deref()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Revoke the approval of a workspace's tool. Needs a session.
#[utoipa::path(delete, path = "/api/v1/http-tool-approvals/{hash}", tag = "settings",
    params(("hash" = String, Path)), responses((status = 204), (status = 403), (status = 404)))]
pub async fn revoke(
    State(state): State<AppState>,
    caller: Caller,
    Path(hash): Path<String>,
) -> Result<StatusCode, ApiError> {
    state.extensions.http_tools.revoke(&caller.user, &hash).await?;
    Ok(StatusCode::NO_CONTENT)
}
