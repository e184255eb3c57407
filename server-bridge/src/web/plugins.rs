//! The caller's plugins.

use api::plugin::{NewPlugin, PluginChange, PluginList, PluginView};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;

use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of plugins. A key can list what is installed, but cannot install anything that runs.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::Full, route!(list))
        .add(Access::Session, route!(look))
        .add(Access::Session, route!(install))
        .add(Access::Session, route!(change))
        .add(Access::Session, route!(remove))
}

/// The caller's plugins, with what is in each.
#[utoipa::path(get, path = "/api/v1/plugins", tag = "settings", responses((status = 200, body = PluginList)))]
pub async fn list(State(state): State<AppState>, caller: Caller) -> Result<Json<PluginList>, ApiError> {
    Ok(Json(state.extensions.plugins.list(&caller.user).await?))
}

/// Look at a plugin before it is installed: what is in it, what it runs, and what it would replace. Nothing is kept. Needs a session.
#[utoipa::path(post, path = "/api/v1/plugins/look", tag = "settings", request_body = NewPlugin,
    responses((status = 200, body = PluginView), (status = 400), (status = 403), (status = 413)))]
pub async fn look(
    State(state): State<AppState>,
    caller: Caller,
    extract::LargeJson(new): extract::LargeJson<NewPlugin>,
) -> Result<Json<PluginView>, ApiError> {
    Ok(Json(state.extensions.plugins.look(&caller.user, &new).await?))
}

/// Install a plugin that was looked at, by its hash, in place of another copy of it: it is used from the next turn on. Needs a session.
#[utoipa::path(post, path = "/api/v1/plugins", tag = "settings", request_body = NewPlugin,
    responses((status = 200, body = PluginView), (status = 400), (status = 403), (status = 409), (status = 413)))]
pub async fn install(
    State(state): State<AppState>,
    caller: Caller,
    extract::LargeJson(new): extract::LargeJson<NewPlugin>,
) -> Result<Json<PluginView>, ApiError> {
    Ok(Json(state.extensions.plugins.install(&caller.user, &new).await?))
}

/// Enable or disable a plugin, from the next turn on. Needs a session.
#[utoipa::path(put, path = "/api/v1/plugins/{name}", tag = "settings", params(("name" = String, Path)),
    request_body = PluginChange, responses((status = 200, body = PluginView), (status = 403), (status = 404)))]
pub async fn change(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
    extract::Json(change): extract::Json<PluginChange>,
) -> Result<Json<PluginView>, ApiError> {
    Ok(Json(state.extensions.plugins.enable(&caller.user, &name, change.enabled).await?))
}

/// Remove a plugin. Needs a session.
#[utoipa::path(delete, path = "/api/v1/plugins/{name}", tag = "settings", params(("name" = String, Path)),
    responses((status = 204), (status = 403), (status = 404)))]
pub async fn remove(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiError> {
    state.extensions.plugins.remove(&caller.user, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}
