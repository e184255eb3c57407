//! Signing a browser in without a password: a code that a logged-in program asks for, and a page exchanges for a session.
//!
//! The code stands behind `#` in the address of a page, which browsers send to nobody. It works once and soon, and only while
//! the session lasts that asked for it; what the page gets for it is an ordinary session of a page, cookie and all.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use axum::{Extension, Json};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;
use utoipa_axum::routes;

use crate::limits::{SIGN_IN_BYTES, SIGN_IN_LIFETIME, SIGN_INS};
use crate::state::AppState;
use crate::web::accept::Connection;
use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::rate::address_key;
use crate::web::routes::Routes;
use crate::web::scope::Access;
use crate::web::session::{LoggedIn, begin_session, is_page};

/// The routes of signing in without a password.
pub(in crate::web) fn routes() -> Routes {
    Routes::new().add(Access::Session, routes!(issue)).add(Access::Anybody, routes!(redeem))
}

/// The codes that are not used yet, by their hashes.
#[derive(Default)]
pub struct SignIns(Mutex<HashMap<[u8; 32], SignIn>>);

struct SignIn {
    /// The session that asked for it.
    token: String,
    until: Instant,
}

impl SignIns {
    /// A code of this session; `None` while there are too many.
    fn issue(&self, token: &str, now: Instant) -> Option<String> {
        let code = URL_SAFE_NO_PAD.encode(rand::random::<[u8; SIGN_IN_BYTES]>());
        let mut codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|_, code| code.until > now);
        if codes.len() >= SIGN_INS {
            return None;
        }
        let made = SignIn { token: token.to_owned(), until: now + SIGN_IN_LIFETIME };
        codes.insert(Sha256::digest(&code).into(), made);
        Some(code)
    }

    /// The token of the session that asked for this code, which is used up.
    fn redeem(&self, code: &str, now: Instant) -> Option<String> {
        let hash: [u8; 32] = Sha256::digest(code).into();
        let found = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&hash)?;
        (found.until > now).then_some(found.token)
    }
}

/// A code that signs a page in.
#[derive(Serialize, ToSchema)]
pub struct SignInView {
    /// Goes into the page's address, as `/#sign-in=…`.
    code: String,
    /// How long it works, in seconds.
    expires_in_s: u64,
}

/// A code that is shown.
#[derive(Deserialize, ToSchema)]
pub struct ShownCode {
    code: String,
}

/// Ask for a code that signs a page in as the caller: once, within 5 minutes. For programs that are logged in, such as
/// `sandbridge here --web`; neither for keys nor for pages.
#[utoipa::path(post, path = "/api/v1/sign-ins", tag = "session",
    responses((status = 201, body = SignInView), (status = 401), (status = 403), (status = 429)))]
pub async fn issue(
    State(state): State<AppState>,
    caller: Caller,
) -> Result<(StatusCode, Json<SignInView>), ApiError> {
    // A script in a page must not be able to take the session elsewhere.
    if caller.key.is_some() || caller.browser.is_some() {
        let message = "only a program that is logged in may ask for that; log in with `sandbridge login`";
        return Err(ApiError::new("forbidden", message));
    }
    let code = state.sign_ins.issue(&caller.token, Instant::now()).ok_or_else(|| {
        ApiError::rate_limited("codes that were asked for and not used", SIGN_IN_LIFETIME.as_secs())
    })?;
    state.audit(Some(&caller.user.name), "sign_in.issue", None, &caller.user.name, "ok").await;
    Ok((StatusCode::CREATED, Json(SignInView { code, expires_in_s: SIGN_IN_LIFETIME.as_secs() })))
}

/// Exchange a code for a page's session, as after a login. For pages alone: the request needs an Origin.
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
    // Or anyone could send others an address that signs them in as somebody else, and be given what they enter.
    if !connection.client.is_loopback() {
        let message =
            "such an address works in a browser on the server's own machine; log in with your password";
        return Err(ApiError::new("forbidden", message));
    }
    let address = address_key(connection.client);
    let user = match state.sign_ins.redeem(&code, Instant::now()) {
        Some(token) => state.store.session_user(&token).await?,
        None => None,
    };
    let Some(user) = user else {
        // Wrong ones come as slowly as wrong passwords (the empty name is nobody's).
        let limited = |seconds| ApiError::rate_limited("attempts", seconds);
        state.logins.take(address, "", true, Instant::now()).map_err(limited)?;
        state.audit(None, "sign_in", None, &address.to_string(), "unauthorized").await;
        return Err(ApiError::new(
            "unauthorized",
            "this address was used already or is too old; ask for another one where this one was printed",
        ));
    };
    connection.prove();
    state.audit(Some(&user.name), "sign_in", None, &address.to_string(), "ok").await;
    let (cookie, body) = begin_session(&state, user, true).await?;
    Ok((cookie, Json(body)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_works_once_and_soon_and_there_are_not_too_many() {
        let (codes, now) = (SignIns::default(), Instant::now());
        let code = codes.issue("sbs_a", now).unwrap();
        assert_eq!(codes.redeem(&code[1..], now), None);
        assert_eq!(codes.redeem(&code, now).as_deref(), Some("sbs_a"));
        assert_eq!(codes.redeem(&code, now), None, "once");
        let late = codes.issue("sbs_a", now).unwrap();
        assert_eq!(codes.redeem(&late, now + SIGN_IN_LIFETIME), None);
        for _ in 0..SIGN_INS {
            codes.issue("sbs_a", now).unwrap();
        }
        assert_eq!(codes.issue("sbs_a", now), None);
        assert!(codes.issue("sbs_a", now + SIGN_IN_LIFETIME).is_some());
    }
}
