//! Who is asking: a session's token from the Authorization header or the cookie, or a program's key from the header.

use std::time::Instant as Moment;

use axum::extract::{FromRequestParts, MatchedPath};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use store::{API_KEY_PREFIX, ApiKey, KeyScope, User};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::limits::SESSION_CHECK_INTERVAL;
use crate::state::AppState;
use crate::web::accept::Connection;
use crate::web::error::ApiError;
use crate::web::guard::changes_state;
use crate::web::rate::address_key;
use crate::web::scope;

/// The cookie that holds the session's token.
pub const SESSION_COOKIE: &str = "sandbridge_session";

/// An authenticated request.
#[derive(Clone)]
pub struct Caller {
    /// Whose it is.
    pub user: User,
    /// The session's token, or the key, to end it or to check it again.
    pub token: String,
    /// The program's key, where it was no session.
    pub key: Option<ApiKey>,
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
        match Self::of_token(state, token).await? {
            Some(caller) => {
                if let Some(connection) = parts.extensions.get::<Connection>() {
                    connection.prove();
                }
                caller.within_scope(parts, state).await
            }
            None if token.starts_with(API_KEY_PREFIX) => Err(refused_key(parts, state)),
            None => Err(ApiError::unauthorized()),
        }
    }
}

impl Caller {
    /// Whose token or key this is; `None` if it is unknown or has ended.
    async fn of_token(state: &AppState, token: &str) -> store::Result<Option<Self>> {
        let found = if token.starts_with(API_KEY_PREFIX) {
            state.store.key_user(token).await?.map(|(user, key)| (user, Some(key)))
        } else {
            state.store.session_user(token).await?.map(|user| (user, None))
        };
        Ok(found.map(|(user, key)| Self { user, token: token.to_owned(), key }))
    }

    /// What the caller may do: all of it, unless it is a program with a key for less.
    pub fn scope(&self) -> KeyScope {
        self.key.as_ref().map_or(KeyScope::Full, |key| key.scope)
    }

    /// Whether the caller administers the server.
    ///
    /// # Errors
    /// `forbidden` if not.
    pub fn check_admin(&self) -> Result<(), ApiError> {
        if self.user.admin {
            return Ok(());
        }
        Err(ApiError::new("forbidden", "only an administrator of the server may do that; ask one"))
    }

    /// Who approves what this request does: its user, unless a program with a key for less says that they did.
    pub fn may_approve(&self) -> Option<&str> {
        (self.scope() == KeyScope::Full).then_some(self.user.name.as_str())
    }

    /// The same caller, if their key is for such requests.
    async fn within_scope(self, parts: &Parts, state: &AppState) -> Result<Self, ApiError> {
        let Some(key) = &self.key else { return Ok(self) };
        let route = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
        let is_upgrade = parts.headers.contains_key(header::UPGRADE);
        if scope::allows(key.scope, &parts.method, route, is_upgrade) {
            return Ok(self);
        }
        let asked = format!("{}: {} {route}", key.name, parts.method);
        state.audit(Some(&self.user.name), "key.use", None, &asked, "forbidden").await;
        let (name, scope) = (&key.name, key.scope.as_str());
        let message = match key.scope {
            KeyScope::Full => format!("no key may do this, and {name:?} is one; log in and do it yourself"),
            KeyScope::Exec | KeyScope::Read => {
                format!(
                    "the key {name:?} is for {scope} only; make one with another scope (`sandbridge key add`)"
                )
            }
        };
        Err(ApiError::new("forbidden", message))
    }

    /// Returns once the session, or the key, is over, soon after: logged out, expired, removed, its password changed or its
    /// user removed, maybe by another process. That the store does not answer is no end.
    pub async fn session_ended(&self, state: &AppState) {
        let mut check = interval_at(Instant::now() + SESSION_CHECK_INTERVAL, SESSION_CHECK_INTERVAL);
        check.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            check.tick().await;
            match Self::of_token(state, &self.token).await {
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

/// A key that opens nothing. Nobody guesses 256 bits, but somebody may try for ever.
fn refused_key(parts: &Parts, state: &AppState) -> ApiError {
    let address = parts.extensions.get::<Connection>().map(|connection| address_key(connection.client));
    match address.map(|address| state.refused_keys.take(&address, Moment::now())) {
        Some(Err(seconds)) => ApiError::rate_limited("refused keys", seconds),
        Some(Ok(())) | None => ApiError::new(
            "unauthorized",
            "this key is unknown, was removed or has expired; make another one with `sandbridge key add`",
        ),
    }
}

/// The token of an Authorization header, if there is one.
pub fn bearer_token(headers: &HeaderMap) -> Option<&str> {
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
