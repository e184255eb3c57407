//! Signing a browser in without a password: a logged-in program requests a code, and a page exchanges it for a session.
//!
//! The code follows a `#` in the address of a page, a part that browsers never send. It is valid once, for a short time,
//! and only while the session that requested it lasts; the page gets an ordinary page session, including the cookie.

use accounts::limits::SIGN_IN_LIFETIME;
use api::session::{LoggedIn, ShownCode, SignInView};
use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;

use crate::web::accept::Connection;
use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::json::Json;
use crate::web::logins::begin_attempt;
use crate::web::rate::address_key;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::session::{begin_session, is_page};
use crate::web::state::AppState;

/// The routes of signing in without a password.
pub(in crate::web) fn routes() -> Routes {
    Routes::new().add(Access::Session, route!(issue)).add(Access::Anybody, route!(redeem))
}

/// Request a code that signs a page in as the caller, once, within 5 minutes. For programs that are logged in, such as
/// `sandbridge here --web`; not for keys or pages.
#[utoipa::path(post, path = "/api/v1/sign-ins", tag = "session",
    responses((status = 201, body = SignInView), (status = 401), (status = 403), (status = 429)))]
pub async fn issue(
    State(state): State<AppState>,
    caller: Caller,
) -> Result<(StatusCode, Json<SignInView>), ApiError> {
    // A script in a page must not be able to transfer the session to another browser.
    if caller.key.is_some() || caller.browser.is_some() {
        let message = "only a program that is logged in may ask for that; log in with `sandbridge login`";
        return Err(ApiError::new("forbidden", message));
    }
    let code = state.accounts.issue_sign_in(&caller.user, &caller.token).await?;
    Ok((StatusCode::CREATED, Json(SignInView { code, expires_in_s: SIGN_IN_LIFETIME.as_secs() })))
}

/// Exchange a code for a page's session, as after a login. Only for pages: the request needs an Origin.
#[utoipa::path(post, path = "/api/v1/sign-ins/redeem", tag = "session", request_body = ShownCode, security(()),
    responses((status = 200, body = LoggedIn), (status = 401), (status = 403), (status = 429)))]
pub async fn redeem(
    State(state): State<AppState>,
    Extension(connection): Extension<Connection>,
    headers: HeaderMap,
    extract::Json(ShownCode { code }): extract::Json<ShownCode>,
) -> Result<impl IntoResponse, ApiError> {
    if !is_page(&headers) {
        return Err(ApiError::new("forbidden", "a code signs a page in; programs log in with a password"));
    }
    // If codes were accepted from elsewhere, an attacker could send people an address that signs them in to the attacker's account, and read
    // what they enter.
    if !connection.client.is_loopback() {
        let message = "a sign-in address works only in a browser on the server's own machine; log in with your password";
        return Err(ApiError::new("forbidden", message));
    }
    let address = address_key(connection.client);
    if !state.accounts.is_sign_in(&code).await? {
        // Wrong codes are limited like wrong passwords (no account has the empty name).
        let _failed = begin_attempt(&state, (address, "", true), "attempts").await?;
    }
    let user = state.accounts.redeem_sign_in(&code, address).await?;
    connection.prove();
    let (cookie, body) = begin_session(&state, user, true).await?;
    Ok((cookie, Json(body)))
}
