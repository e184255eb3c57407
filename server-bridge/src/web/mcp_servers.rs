//! The caller's MCP servers: programs that offer tools to agents.

use api::mcp::{
    McpApproval, McpLoggedIn, McpLogin, McpLoginEnd, McpLoginStart, McpServerEntry, McpServerList,
    McpServerView,
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

/// The routes of MCP servers. A key may read them and ask them for their tools, but neither change nor approve them.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::Full, route!(list))
        .add(Access::Session, route!(put))
        .add(Access::Session, route!(remove))
        .add(Access::Full, route!(check))
        .add(Access::Session, route!(accept))
        .add(Access::Session, route!(approve))
        .add(Access::Session, route!(revoke))
        .add(Access::Session, route!(login))
        .add(Access::Session, route!(logout))
        .add(Access::Session, route!(end_login))
}

/// The caller's MCP servers at a place, with the tools that each listed there. This starts none of them.
#[utoipa::path(get, path = "/api/v1/mcp-servers", tag = "settings", params(PlaceQuery),
    responses((status = 200, body = McpServerList), (status = 404)))]
pub async fn list(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(query): extract::Query<PlaceQuery>,
) -> Result<Json<McpServerList>, ApiError> {
    Ok(Json(state.extensions.mcp_servers.list(&caller.user, query.on.as_deref()).await?))
}

/// Add a server of the caller's own, or replace it. Needs a session: a key cannot add programs that run.
#[utoipa::path(put, path = "/api/v1/mcp-servers/{name}", tag = "settings", params(("name" = String, Path)),
    request_body = McpServerEntry, responses((status = 204), (status = 400), (status = 403)))]
pub async fn put(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
    extract::Json(entry): extract::Json<McpServerEntry>,
) -> Result<StatusCode, ApiError> {
    state.extensions.mcp_servers.put(&caller.user, &name, &entry).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Remove a server of the caller's own. Needs a session.
#[utoipa::path(delete, path = "/api/v1/mcp-servers/{name}", tag = "settings", params(("name" = String, Path)),
    responses((status = 204), (status = 403), (status = 404)))]
pub async fn remove(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiError> {
    state.extensions.mcp_servers.remove(&caller.user, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Connect to a server and ask it for its tools: it is started if it is a program. A failure contains the reason, and the end of the
/// program's standard error.
#[utoipa::path(post, path = "/api/v1/mcp-servers/{name}/check", tag = "settings",
    params(("name" = String, Path), PlaceQuery),
    responses((status = 200, body = McpServerView), (status = 403), (status = 404), (status = 502), (status = 503)))]
pub async fn check(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
    extract::Query(query): extract::Query<PlaceQuery>,
) -> Result<Json<McpServerView>, ApiError> {
    Ok(Json(state.extensions.mcp_servers.check(&caller.user, &name, query.on.as_deref()).await?))
}

/// Accept the changed tools and instructions of a server, by the hash of the version that was reviewed: they are offered again from the next turn on.
/// Needs a session.
#[utoipa::path(post, path = "/api/v1/mcp-servers/{name}/changes", tag = "settings",
    params(("name" = String, Path), PlaceQuery), request_body = McpApproval,
    responses((status = 204), (status = 403), (status = 404)))]
pub async fn accept(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
    extract::Query(query): extract::Query<PlaceQuery>,
    extract::Json(approval): extract::Json<McpApproval>,
) -> Result<StatusCode, ApiError> {
    state.extensions.mcp_servers.accept(&caller.user, &name, &approval.hash, query.on.as_deref()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Approve a waiting server of a workspace: its tools are offered from the next turn on, until it changes. Needs a session:
/// a key cannot let a repository run anything.
#[utoipa::path(post, path = "/api/v1/mcp-server-approvals", tag = "settings", params(PlaceQuery),
    request_body = McpApproval, responses((status = 204), (status = 403), (status = 404)))]
pub async fn approve(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(query): extract::Query<PlaceQuery>,
    extract::Json(approval): extract::Json<McpApproval>,
) -> Result<StatusCode, ApiError> {
    state.extensions.mcp_servers.approve(&caller.user, &approval.hash, query.on.as_deref()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Revoke the approval of a workspace's server: it ends, and its tools are no longer offered. Needs a session.
#[utoipa::path(delete, path = "/api/v1/mcp-server-approvals/{hash}", tag = "settings",
    params(("hash" = String, Path)), responses((status = 204), (status = 403), (status = 404)))]
pub async fn revoke(
    State(state): State<AppState>,
    caller: Caller,
    Path(hash): Path<String>,
) -> Result<StatusCode, ApiError> {
    state.extensions.mcp_servers.revoke(&caller.user, &hash).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Begin a login to a server that requires one (OAuth 2.1): the response contains the page to open. Needs a session.
#[utoipa::path(post, path = "/api/v1/mcp-servers/{name}/login", tag = "settings",
    params(("name" = String, Path), PlaceQuery), request_body = McpLoginStart,
    responses((status = 200, body = McpLogin), (status = 400), (status = 403), (status = 404), (status = 502)))]
pub async fn login(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
    extract::Query(query): extract::Query<PlaceQuery>,
    extract::Json(start): extract::Json<McpLoginStart>,
) -> Result<Json<McpLogin>, ApiError> {
    let own = state.public_url.as_deref();
    Ok(Json(state.extensions.mcp_servers.login(&caller.user, &name, &start, own, query.on.as_deref()).await?))
}

/// Complete a login with the address to which the provider redirected the browser. Needs a session of the user who began it.
#[utoipa::path(post, path = "/api/v1/mcp-logins", tag = "settings", request_body = McpLoginEnd,
    responses((status = 200, body = McpLoggedIn), (status = 400), (status = 403), (status = 404), (status = 502)))]
pub async fn end_login(
    State(state): State<AppState>,
    caller: Caller,
    extract::Json(end): extract::Json<McpLoginEnd>,
) -> Result<Json<McpLoggedIn>, ApiError> {
    Ok(Json(McpLoggedIn { server: state.extensions.mcp_servers.end_login(&caller.user, &end.url).await? }))
}

/// Delete the login to a server. Needs a session.
#[utoipa::path(delete, path = "/api/v1/mcp-servers/{name}/login", tag = "settings", params(("name" = String, Path)),
    responses((status = 204), (status = 403), (status = 404)))]
pub async fn logout(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiError> {
    state.extensions.mcp_servers.logout(&caller.user, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}
