//! The caller's plugins, the marketplaces that they added, and the plugins that users of the server share.

use api::plugin::{
    MarketplaceList, MarketplaceView, NewMarketplace, NewPlugin, PluginChange, PluginList, PluginSharing,
    PluginView, ShelfList,
};
use axum::extract::{Path, State};
use axum::http::StatusCode;

use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::json::Json;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of plugins. A key can list the installed plugins, but cannot install any.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::Full, route!(list))
        .add(Access::Session, route!(look))
        .add(Access::Session, route!(install))
        .add(Access::Session, route!(change))
        .add(Access::Session, route!(remove))
        .add(Access::Session, route!(share))
        .add(Access::Full, route!(shelf))
        .add(Access::Session, route!(take_off_shelf))
        .add(Access::Full, route!(marketplaces))
        .add(Access::Session, route!(add_marketplace))
        .add(Access::Session, route!(update_marketplace))
        .add(Access::Session, route!(remove_marketplace))
}

/// The caller's plugins, with their contents.
#[utoipa::path(get, path = "/api/v1/plugins", tag = "settings", responses((status = 200, body = PluginList)))]
pub async fn list(State(state): State<AppState>, caller: Caller) -> Result<Json<PluginList>, ApiError> {
    Ok(Json(state.extensions.plugins.list(&caller.user).await?))
}

/// Look at a plugin before it is installed: its contents, the programs that it runs, and what it would replace. Nothing is stored. Needs a session.
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

/// Share a plugin with every user of the server, who may then install a copy, or stop sharing it. Copies that others have installed
/// stay. Needs a session.
#[utoipa::path(put, path = "/api/v1/plugins/{name}/sharing", tag = "settings", params(("name" = String, Path)),
    request_body = PluginSharing, responses((status = 200, body = PluginView), (status = 403), (status = 404)))]
pub async fn share(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
    extract::Json(sharing): extract::Json<PluginSharing>,
) -> Result<Json<PluginView>, ApiError> {
    Ok(Json(state.extensions.plugins.share(&caller.user, &name, sharing.shared).await?))
}

/// The plugins that users of the server share.
#[utoipa::path(get, path = "/api/v1/shelf", tag = "settings", responses((status = 200, body = ShelfList)))]
pub async fn shelf(State(state): State<AppState>, caller: Caller) -> Result<Json<ShelfList>, ApiError> {
    Ok(Json(state.extensions.plugins.shelf(&caller.user).await?))
}

/// Stop the sharing of a plugin. For its owner and for administrators; needs a session.
#[utoipa::path(delete, path = "/api/v1/shelf/{owner}/{name}", tag = "settings",
    params(("owner" = String, Path), ("name" = String, Path)),
    responses((status = 204), (status = 403), (status = 404)))]
pub async fn take_off_shelf(
    State(state): State<AppState>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    state.extensions.plugins.take_off_shelf(&caller.user, &owner, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The marketplaces that the caller added, with the plugins that each offers, as they were last read.
#[utoipa::path(get, path = "/api/v1/marketplaces", tag = "settings", responses((status = 200, body = MarketplaceList)))]
pub async fn marketplaces(
    State(state): State<AppState>,
    caller: Caller,
) -> Result<Json<MarketplaceList>, ApiError> {
    Ok(Json(state.extensions.plugins.marketplaces(&caller.user).await?))
}

/// Add a marketplace, after reading it. Nothing is installed. Needs a session.
#[utoipa::path(post, path = "/api/v1/marketplaces", tag = "settings", request_body = NewMarketplace,
    responses((status = 201, body = MarketplaceView), (status = 400), (status = 403), (status = 409)))]
pub async fn add_marketplace(
    State(state): State<AppState>,
    caller: Caller,
    extract::Json(new): extract::Json<NewMarketplace>,
) -> Result<(StatusCode, Json<MarketplaceView>), ApiError> {
    Ok((StatusCode::CREATED, Json(state.extensions.plugins.add_marketplace(&caller.user, &new).await?)))
}

/// Read a marketplace again. Nothing that is installed changes. Needs a session.
#[utoipa::path(post, path = "/api/v1/marketplaces/{name}/update", tag = "settings", params(("name" = String, Path)),
    responses((status = 200, body = MarketplaceView), (status = 400), (status = 403), (status = 404), (status = 409)))]
pub async fn update_marketplace(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Json<MarketplaceView>, ApiError> {
    Ok(Json(state.extensions.plugins.update_marketplace(&caller.user, &name).await?))
}

/// Remove a marketplace; plugins that were installed from it stay. Needs a session.
#[utoipa::path(delete, path = "/api/v1/marketplaces/{name}", tag = "settings", params(("name" = String, Path)),
    responses((status = 204), (status = 403), (status = 404)))]
pub async fn remove_marketplace(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiError> {
    state.extensions.plugins.remove_marketplace(&caller.user, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}
