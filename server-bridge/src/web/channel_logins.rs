//! The caller's logins to the services of channels: agents use a service's tools with the caller's own token.

use api::channel::{ChannelLoggedIn, ChannelLoginList, ChannelLoginStart};
use api::mcp::{McpLogin, McpLoginEnd};
use axum::extract::{Path, State};
use axum::http::StatusCode;

use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::json::Json;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of logins to the services of channels. API keys can list logins, but not begin or end them.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::Full, route!(list))
        .add(Access::Session, route!(begin))
        .add(Access::Session, route!(end))
        .add(Access::Session, route!(remove))
}

/// The channels whose services the caller can log in to, the caller's logins, and the tools that these are for.
#[utoipa::path(get, path = "/api/v1/channel-logins", tag = "channels", responses((status = 200, body = ChannelLoginList)))]
pub async fn list(State(state): State<AppState>, caller: Caller) -> Result<Json<ChannelLoginList>, ApiError> {
    Ok(Json(state.extensions.service_logins.list(&caller.user).await?))
}

/// Begin a login to the service of a channel (OAuth 2.0 with PKCE). The response has the page to open. Needs a session.
#[utoipa::path(post, path = "/api/v1/channels/{name}/login", tag = "channels", params(("name" = String, Path)),
    request_body = ChannelLoginStart,
    responses((status = 200, body = McpLogin), (status = 400), (status = 403), (status = 404), (status = 422)))]
pub async fn begin(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
    extract::Json(start): extract::Json<ChannelLoginStart>,
) -> Result<Json<McpLogin>, ApiError> {
    let (logins, own) = (&state.extensions.service_logins, state.public_url.as_deref());
    Ok(Json(logins.begin(&caller.user, &caller.token, &name, &start.redirect_uri, own).await?))
}

/// Complete a login with the URL to which the service redirected the browser. Needs the session that began it.
#[utoipa::path(post, path = "/api/v1/channel-logins", tag = "channels", request_body = McpLoginEnd,
    responses((status = 200, body = ChannelLoggedIn), (status = 403), (status = 422)))]
pub async fn end(
    State(state): State<AppState>,
    caller: Caller,
    extract::Json(end): extract::Json<McpLoginEnd>,
) -> Result<Json<ChannelLoggedIn>, ApiError> {
    Ok(Json(state.extensions.service_logins.end(&caller.user, &caller.token, &end.url).await?))
}

/// Delete the caller's login to the service of a channel. Needs a session.
#[utoipa::path(delete, path = "/api/v1/channels/{name}/login", tag = "channels", params(("name" = String, Path)),
    responses((status = 204), (status = 403), (status = 404)))]
pub async fn remove(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiError> {
    state.extensions.service_logins.remove(&caller.user, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}
