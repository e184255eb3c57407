//! The caller: a session's token or a program's key, from the Authorization header.
//!
//! A browser sends cookies to every port of a host, for any server there. So a page's session has two halves: a token, which the
//! page keeps for its own origin and sends in a header, and a cookie, which no script can read. Neither is valid alone.

use std::time::Instant as Moment;

use accounts::{API_KEY_PREFIX, ApiKey, KeyScope, SignedIn, User};
use axum::extract::{FromRequestParts, MatchedPath};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use chats::Surface;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::limits::SESSION_CHECK_INTERVAL;
use crate::web::accept::Connection;
use crate::web::error::ApiError;
use crate::web::guard::changes_state;
use crate::web::language;
use crate::web::rate::address_key;
use crate::web::scope::Access;
use crate::web::socket::offered_token;
use crate::web::state::AppState;
use crate::web::tickets;

/// An authenticated request.
#[derive(Clone)]
pub struct Caller {
    /// The user who made the request.
    pub user: User,
    /// The session's token, or the key, for ending or checking it later.
    pub token: String,
    /// The program's key, if the request was not made with a session.
    pub key: Option<ApiKey>,
    /// The page's session, if the request was made with one.
    pub browser: Option<BrowserSession>,
}

/// The properties of a page's session that are needed later.
#[derive(Clone, Copy, Debug)]
pub struct BrowserSession {
    /// When its user last gave their password, in Unix milliseconds.
    pub confirmed_at_ms: i64,
}

impl FromRequestParts<AppState> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let token = bearer_token(&parts.headers).or_else(|| offered_token(&parts.headers)).map(str::to_owned);
        let token = match token {
            Some(token) => Some(token),
            None => tickets::redeem(state, parts).await?,
        };
        let token = token.ok_or_else(ApiError::unauthorized)?;
        let cookies: Vec<&str> = cookies(&parts.headers, &state.cookie_name).collect();
        match Self::of_token(state, &token, &cookies).await? {
            // The page sent its origin, which the guard has checked.
            Some(caller)
                if caller.browser.is_some()
                    && changes_state(&parts.method, &parts.headers)
                    && !parts.headers.contains_key(header::ORIGIN) =>
            {
                Err(ApiError::new(
                    "forbidden",
                    "a request with a page's session needs an Origin header; a program that logs in without that header gets a session that does not need it",
                ))
            }
            Some(caller) => {
                if let Some(connection) = parts.extensions.get::<Connection>() {
                    connection.prove();
                }
                // Sockets and event streams are opened by the browser itself, which sends its own language and not its
                // page's.
                if !parts.method.is_safe()
                    && let Some(language) = language::named(&parts.headers)
                {
                    state.chats.speaks(caller.user.id, language);
                }
                caller.within_scope(parts, state).await
            }
            None if token.starts_with(API_KEY_PREFIX) => Err(refused_key(parts, state)),
            None => Err(ApiError::unauthorized()),
        }
    }
}

impl Caller {
    /// The surface of the request, as recorded with answers to questions.
    pub fn surface(&self) -> Surface<'_> {
        match (&self.key, &self.browser) {
            (Some(key), _) => Surface(&key.name),
            (None, Some(_)) => Surface("page"),
            (None, None) => Surface("cli"),
        }
    }

    /// The caller with this token or key; `None` if the token is unknown or has ended, or if it is a page's and `cookies` does not
    /// contain the matching cookie.
    async fn of_token(state: &AppState, token: &str, cookies: &[&str]) -> accounts::Result<Option<Self>> {
        let found = state.accounts.signed_in(token, cookies).await?;
        Ok(found.map(|SignedIn { user, key, page_confirmed_at_ms }| {
            let browser = page_confirmed_at_ms.map(|confirmed_at_ms| BrowserSession { confirmed_at_ms });
            Self { user, token: token.to_owned(), key, browser }
        }))
    }

    /// The caller's scope: everything, unless it is a program with a limited key.
    pub fn scope(&self) -> KeyScope {
        self.key.as_ref().map_or(KeyScope::Full, |key| key.scope)
    }

    /// True if the caller administers the server.
    ///
    /// # Errors
    /// `forbidden` if not.
    pub fn check_admin(&self) -> Result<(), ApiError> {
        if self.user.admin {
            return Ok(());
        }
        Err(ApiError::new("forbidden", "only an administrator of the server may do that; ask one"))
    }

    /// The approver of this request's action: its user, unless it is a program with a limited key.
    pub fn may_approve(&self) -> Option<&str> {
        (self.scope() == KeyScope::Full).then_some(self.user.name.as_str())
    }

    /// The same caller, if their key permits such requests.
    async fn within_scope(self, parts: &Parts, state: &AppState) -> Result<Self, ApiError> {
        let Some(key) = &self.key else { return Ok(self) };
        let is_upgrade = parts.headers.contains_key(header::UPGRADE);
        let access = parts.extensions.get::<Access>();
        if access.is_some_and(|access| access.allows(key.scope, is_upgrade)) {
            return Ok(self);
        }
        let route = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
        let asked = format!("{}: {} {route}", key.name, parts.method);
        state.audit(Some(&self.user.name), "key.use", None, &asked, "forbidden").await;
        let (name, scope) = (&key.name, key.scope.as_str());
        let message = match key.scope {
            KeyScope::Full => {
                format!("the API key {name:?} has no permission to do this; log in and do it yourself")
            }
            KeyScope::Exec | KeyScope::Read => {
                format!(
                    "the key {name:?} is for {scope} only; make one with another scope (`sandbridge key add`)"
                )
            }
        };
        Err(ApiError::new("forbidden", message))
    }

    /// Returns soon after the session or the key has ended: by logout, expiry or removal, a changed password or a removed user, maybe
    /// by another process. If the store does not answer, the session counts as valid.
    pub async fn session_ended(&self, state: &AppState) {
        let mut check = interval_at(Instant::now() + SESSION_CHECK_INTERVAL, SESSION_CHECK_INTERVAL);
        check.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            check.tick().await;
            match state.accounts.still_opens(&self.token).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => tracing::error!(%error, "cannot check a session"),
            }
        }
    }
}

/// The name of a server's cookie, which contains its port or another distinguishing word: two servers on one host share the host's
/// cookies and must not overwrite each other's.
pub fn cookie_name(server: impl std::fmt::Display) -> String {
    format!("sandbridge_{server}")
}

/// The Set-Cookie header of a page's session; without a secret, the header that removes the cookie.
pub fn session_cookie(name: &str, secret: Option<&str>, max_age_s: i64, secure: bool) -> HeaderValue {
    let secure = if secure { "; Secure" } else { "" };
    let (secret, max_age_s) = secret.map_or(("", 0), |secret| (secret, max_age_s));
    let cookie = format!("{name}={secret}; Path=/; HttpOnly; SameSite=Strict; Max-Age={max_age_s}{secure}");
    HeaderValue::try_from(cookie).expect("a secret is base64 and the rest is ASCII")
}

/// Answers a request with an invalid key, and limits such requests: 256 bits cannot be guessed, but an attacker may keep trying.
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

/// The values of the cookies of this name; a page on another port may have added some.
pub(in crate::web) fn cookies<'a>(headers: &'a HeaderMap, wanted: &'a str) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|cookies| cookies.split(';')).filter_map(move |cookie| {
        let (name, value) = cookie.trim().split_once('=')?;
        (name == wanted).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cookie_of_the_name_is_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.append(header::COOKIE, HeaderValue::from_static("a=b; xsandbridge_80=no; sandbridge_8=no"));
        headers.append(
            header::COOKIE,
            HeaderValue::from_static("c=d; sandbridge_80=planted; sandbridge_80=sbc_x"),
        );
        assert_eq!(cookies(&headers, &cookie_name(80)).collect::<Vec<_>>(), ["planted", "sbc_x"]);
    }

    #[test]
    fn the_cookie_is_kept_from_scripts_and_other_sites() {
        let cookie = session_cookie("sandbridge_80", Some("sbc_x"), 60, true);
        assert_eq!(cookie, "sandbridge_80=sbc_x; Path=/; HttpOnly; SameSite=Strict; Max-Age=60; Secure");
        assert!(session_cookie("n", None, 60, false).to_str().unwrap().ends_with("Max-Age=0"));
    }
}
