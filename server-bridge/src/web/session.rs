//! Logging in and out, and the current user.

use accounts::User;
use accounts::limits::LOGIN_NAME_BYTES;
use api::session::{LoggedIn, Login, Me, UserView};
use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse};

use crate::web::accept::Connection;
use crate::web::auth::{Caller, session_cookie};
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::json::Json;
use crate::web::logins::begin_login;
use crate::web::rate::address_key;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of logging in and out, and of the current user.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::Anybody, route!(login))
        .add(Access::Session, route!(logout))
        .add(Access::LookToWork, route!(me))
}

/// Log in. The response contains the token for the Authorization header. A page, whose request has an Origin, also gets a cookie;
/// the token and the cookie are valid only together.
#[utoipa::path(post, path = "/api/v1/login", tag = "session", request_body = Login, security(()),
    responses((status = 200, body = LoggedIn), (status = 401), (status = 429)))]
pub async fn login(
    State(state): State<AppState>,
    Extension(connection): Extension<Connection>,
    headers: HeaderMap,
    extract::Json(login): extract::Json<Login>,
) -> Result<impl IntoResponse, ApiError> {
    let address = address_key(connection.client);
    let name = &login.user[..login.user.floor_char_boundary(LOGIN_NAME_BYTES)];
    let is_known = state.accounts.is_known_address(&login.user, address).await?;
    let attempt = begin_login(&state, address, name, is_known).await?;
    let user = state.accounts.log_in(&login.user, &login.password, address).await?;
    connection.prove();
    attempt.succeeded().await;
    let (cookie, body) = begin_session(&state, user, is_page(&headers)).await?;
    Ok((cookie, Json(body)))
}

/// The Set-Cookie header of a response, if there is one.
pub(in crate::web) type SetCookie = AppendHeaders<Option<(header::HeaderName, HeaderValue)>>;

/// True if a page sent the request: a browser adds an Origin to everything except a plain navigation.
pub(in crate::web) fn is_page(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ORIGIN)
}

/// Logs an authenticated user in: returns the cookie of a page, and the response.
pub(in crate::web) async fn begin_session(
    state: &AppState,
    user: User,
    is_page: bool,
) -> Result<(SetCookie, LoggedIn), ApiError> {
    let session = state.accounts.begin_session(&user, is_page).await?;
    let cookie = session.cookie.map(|secret| {
        let cookie =
            session_cookie(&state.cookie_name, Some(secret.expose()), session.lasts_s, state.is_secure());
        (header::SET_COOKIE, cookie)
    });
    let answer = LoggedIn { token: session.token.into_exposed(), user: user_view(user) };
    Ok((AppendHeaders(cookie), answer))
}

/// Log out: the session's token is no longer valid.
#[utoipa::path(post, path = "/api/v1/logout", tag = "session", responses((status = 204)))]
pub async fn logout(
    State(state): State<AppState>,
    caller: Caller,
) -> Result<(StatusCode, SetCookie), ApiError> {
    state.accounts.log_out(&caller.token).await?;
    let ended = || session_cookie(&state.cookie_name, None, 0, state.is_secure());
    let cookie = caller.browser.map(|_| (header::SET_COOKIE, ended()));
    Ok((StatusCode::NO_CONTENT, AppendHeaders(cookie)))
}

/// The caller's account, with their active place.
#[utoipa::path(get, path = "/api/v1/me", tag = "session", responses((status = 200, body = Me), (status = 401)))]
pub async fn me(State(state): State<AppState>, caller: Caller) -> Result<Json<Me>, ApiError> {
    Ok(Json(Me {
        active_runner: state.accounts.active_runner(caller.user.id).await?,
        welcome_due: state.accounts.is_welcome_due(caller.user.id).await?,
        name: caller.user.name,
        admin: caller.user.admin,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }))
}

fn user_view(user: User) -> UserView {
    UserView { name: user.name, admin: user.admin }
}
