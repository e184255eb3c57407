//! Who is asking: a session's token from the Authorization header or the cookie.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use store::User;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::limits::SESSION_CHECK_INTERVAL;
use crate::state::AppState;
use crate::web::error::ApiError;
use crate::web::guard::changes_state;

/// The cookie that holds the session's token.
pub const SESSION_COOKIE: &str = "sandbridge_session";

/// An authenticated request.
pub struct Caller {
    /// Whose it is.
    pub user: User,
    /// The session's token, to end it or to check it again.
    pub token: String,
}

impl FromRequestParts<AppState> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let token = match bearer_token(&parts.headers) {
            Some(token) => token,
            None => cookie_token(&parts.headers).ok_or_else(ApiError::unauthorized)?,
        };
        // A browser adds the cookie by itself, so it must also say which page asks; the guard has compared it.
        if bearer_token(&parts.headers).is_none()
            && changes_state(&parts.method, &parts.headers)
            && !parts.headers.contains_key(header::ORIGIN)
        {
            return Err(ApiError::new(
                "forbidden",
                "a request with the session cookie needs an Origin header; programs use an Authorization header instead",
            ));
        }
        let user = state.store.session_user(token).await?.ok_or_else(ApiError::unauthorized)?;
        Ok(Self { user, token: token.to_owned() })
    }
}

impl Caller {
    /// Returns once the session is over, soon after: logged out, expired, its password changed or its user removed,
    /// maybe by another process. That the store does not answer is no end.
    pub async fn session_ended(&self, state: &AppState) {
        let mut check = interval_at(Instant::now() + SESSION_CHECK_INTERVAL, SESSION_CHECK_INTERVAL);
        check.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            check.tick().await;
            match state.store.session_user(&self.token).await {
                Ok(Some(_)) => {}
                Ok(None) => return,
                Err(error) => tracing::error!(%error, "cannot check a session"),
            }
        }
    }
}

/// The Set-Cookie header of a session, or with no token the one that ends it.
pub fn session_cookie(token: Option<&str>, max_age_s: i64, secure: bool) -> HeaderValue {
    let secure = if secure { "; Secure" } else { "" };
    let (token, max_age_s) = token.map_or(("", 0), |token| (token, max_age_s));
    let cookie =
        format!("{SESSION_COOKIE}={token}; Path=/; HttpOnly; SameSite=Lax; Max-Age={max_age_s}{secure}");
    HeaderValue::try_from(cookie).expect("a token is base64 and the rest is ASCII")
}

fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn cookie_token(headers: &HeaderMap) -> Option<&str> {
    headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok()).find_map(|cookies| {
        cookies.split(';').find_map(|cookie| {
            let (name, value) = cookie.trim().split_once('=')?;
            (name == SESSION_COOKIE).then_some(value)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.append(header::COOKIE, HeaderValue::from_static("a=b; xsandbridge_session=no"));
        headers.append(header::COOKIE, HeaderValue::from_static("c=d; sandbridge_session=sbs_x; e=f"));
        assert_eq!(cookie_token(&headers), Some("sbs_x"));
    }

    #[test]
    fn the_cookie_is_kept_from_scripts_and_other_sites() {
        let cookie = session_cookie(Some("sbs_x"), 60, true);
        assert_eq!(cookie, "sandbridge_session=sbs_x; Path=/; HttpOnly; SameSite=Lax; Max-Age=60; Secure");
        assert!(session_cookie(None, 60, false).to_str().unwrap().ends_with("Max-Age=0"));
    }
}
