//! A user's first steps on the page, which are shown until the user has completed or postponed them.

use axum::extract::State;
use axum::http::StatusCode;

use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of the first steps of a user.
pub(in crate::web) fn routes() -> Routes {
    Routes::new().add(Access::Full, route!(end))
}

/// End the caller's first steps: they are not shown again.
#[utoipa::path(post, path = "/api/v1/me/welcomed", tag = "session", responses((status = 204)))]
pub async fn end(State(state): State<AppState>, caller: Caller) -> Result<StatusCode, ApiError> {
    state.accounts.end_welcome(caller.user.id).await?;
    Ok(StatusCode::NO_CONTENT)
}
