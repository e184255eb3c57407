//! Confirming the password before an action whose effect outlives the session: creating keys, users and runner tokens, and replacing a
//! machine's runner.
//!
//! An intruder with brief access to a page must not gain lasting access. A program's session began with the password, so the program does not
//! have to confirm it.

use api::session::Confirmation;
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;

use crate::limits::CONFIRMATION_LIFETIME;
use crate::web::accept::Connection;
use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::logins::begin_attempt;
use crate::web::rate::address_key;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of confirming the password.
pub(in crate::web) fn routes() -> Routes {
    Routes::new().add(Access::Session, route!(confirm))
}

/// Confirm the caller's password. For 10 minutes, as after a login, this page's session may create keys, users and runner
/// tokens, and update runners; after that such a request is answered with `password_required`.
#[utoipa::path(post, path = "/api/v1/confirm", tag = "session", request_body = Confirmation,
    responses((status = 204), (status = 401), (status = 403), (status = 429)))]
pub async fn confirm(
    State(state): State<AppState>,
    Extension(connection): Extension<Connection>,
    caller: Caller,
    extract::Json(Confirmation { password }): extract::Json<Confirmation>,
) -> Result<StatusCode, ApiError> {
    let name = &caller.user.name;
    // Attempts with a session are limited like those without one.
    let address = address_key(connection.client);
    let attempt = begin_attempt(&state, (address, name, true), "failed attempts").await?;
    state.accounts.confirm(&caller.user, &caller.token, &password).await?;
    attempt.succeeded().await;
    Ok(StatusCode::NO_CONTENT)
}

impl Caller {
    /// Checks that a caller who uses the page has given their password recently.
    ///
    /// # Errors
    /// `password_required` if they have not.
    pub fn check_confirmed(&self, state: &AppState) -> Result<(), ApiError> {
        let Some(session) = self.browser.filter(|_| !state.facts.one_person) else { return Ok(()) };
        let age_ms = state.accounts.now_ms() - session.confirmed_at_ms;
        if u128::try_from(age_ms).is_ok_and(|age_ms| age_ms < CONFIRMATION_LIFETIME.as_millis()) {
            return Ok(());
        }
        Err(ApiError::new(
            "password_required",
            "give your password once more (POST /api/v1/confirm), then try again",
        ))
    }
}
