//! The settings of the whole server, for administrators.

use api::server_settings::{ServerSettings, ServerSettingsChange};
use axum::extract::State;

use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::json::Json;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of the server's settings.
pub(in crate::web) fn routes() -> Routes {
    Routes::new().add(Access::Full, route!(show)).add(Access::Session, route!(change))
}

/// The settings of the whole server. For administrators.
#[utoipa::path(get, path = "/api/v1/server-settings", tag = "settings",
    responses((status = 200, body = ServerSettings), (status = 403)))]
pub async fn show(State(state): State<AppState>, caller: Caller) -> Result<Json<ServerSettings>, ApiError> {
    caller.check_admin()?;
    Ok(Json(state.chats.server_settings().await))
}

/// Change settings of the whole server: they apply from the next answers on, and after a restart. For administrators.
#[utoipa::path(put, path = "/api/v1/server-settings", tag = "settings",
    request_body = ServerSettingsChange,
    responses((status = 200, body = ServerSettings), (status = 400), (status = 403)))]
pub async fn change(
    State(state): State<AppState>,
    caller: Caller,
    extract::Json(change): extract::Json<ServerSettingsChange>,
) -> Result<Json<ServerSettings>, ApiError> {
    caller.check_admin()?;
    Ok(Json(state.chats.change_server_settings(&caller.user, change).await?))
}
