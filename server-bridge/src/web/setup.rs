//! The first account, made in the page; and what the server is.
//!
//! While there is no user, `serve` prints a secret when it starts. Whoever shows it makes the first administrator, once: who can
//! read the server's output could make one with `sandbridge user add` as well.

use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use accounts::limits::PASSWORD_MIN_CHARS;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::IntoResponse;
use axum::{Extension, Json};
use chats::limits::{ATTACHMENT_BYTES, ATTACHMENTS, MESSAGE_TEXT_MAX_BYTES, TITLE_MAX_CHARS};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use crate::limits::{EVENTS_KEPT_FOR, TERMINAL_LINGER_MAX};
use crate::state::AppState;
use crate::web::accept::Connection;
use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::guard::{host, is_loopback};
use crate::web::rate::address_key;
use crate::web::routes::Routes;
use crate::web::scope::Access;
use crate::web::session::{LoggedIn, begin_session, is_page};

/// The routes of the first account, and what the server is.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::Anybody, routes!(status))
        .add(Access::Anybody, routes!(make))
        .add(Access::LookToWork, routes!(about))
}

/// What the server was started with, as people may know it.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// When, in Unix milliseconds.
    pub started_at_ms: i64,
    /// Whether users may have containers.
    pub docker: bool,
    /// Whether somebody may work on the server itself.
    pub local: bool,
    /// Whether secrets that have to be read again are sealed.
    pub sealed: bool,
    /// The address that is listened on.
    pub listen: SocketAddr,
    /// Whether its one user has no password, so that none can be asked for once more.
    pub one_person: bool,
}

/// What is known without a login.
#[derive(Serialize, ToSchema)]
pub struct StatusView {
    /// The server's version.
    version: &'static str,
    /// Whether there is no account yet, and the secret that `serve` printed makes the first one.
    setup_due: bool,
}

/// What the server is.
#[derive(Serialize, ToSchema)]
pub struct AboutView {
    /// Its version.
    version: &'static str,
    /// Unix milliseconds.
    started_at: i64,
    /// Seconds since then.
    uptime_s: i64,
    /// What keeps its data: `sqlite`.
    storage: &'static str,
    /// Whether a model answers the caller.
    model_configured: bool,
    /// Whether users may have containers.
    docker: bool,
    /// Whether somebody may work on the server itself.
    local: bool,
    /// Whether TLS is built in.
    tls: bool,
    /// Whether machines other than the server's own can reach it.
    reach: Reach,
    /// Whether the keys of users' models are sealed.
    sealed: bool,
    /// How many accounts there are; for administrators.
    #[schema(required)]
    users: Option<usize>,
    limits: LimitsView,
}

/// From where the address in a runner's line leads to this server.
#[derive(Serialize, ToSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// From other machines too, as far as the server knows.
    Network,
    /// From this machine alone, since the page was opened by a loopback address; the server listens on others too.
    LoopbackAddress,
    /// From this machine alone: the server listens on loopback only.
    LoopbackOnly,
}

/// What a client has to stay within.
#[derive(Serialize, ToSchema)]
pub struct LimitsView {
    /// Of a message's text.
    message_bytes: usize,
    /// Of one attachment.
    attachment_bytes: u64,
    /// Of a message.
    attachments: usize,
    /// Of a chat's title.
    title_chars: usize,
    /// At least.
    password_chars: usize,
    /// How long events are kept for a client that comes back.
    event_kept_s: u64,
    /// The longest that a terminal waits for its client.
    terminal_linger_s: u64,
}

/// The first account.
#[derive(Deserialize, ToSchema)]
pub struct FirstAccount {
    /// As `sandbridge serve` printed it.
    secret: String,
    name: String,
    /// At least 8 characters.
    password: String,
}

/// What is known without a login: above all whether the first account is to be made.
#[utoipa::path(get, path = "/api/v1/status", tag = "session", security(()), responses((status = 200, body = StatusView)))]
pub async fn status(State(state): State<AppState>) -> Result<Json<StatusView>, ApiError> {
    let setup_due = state.accounts.is_first_due().await?;
    Ok(Json(StatusView { version: env!("CARGO_PKG_VERSION"), setup_due }))
}

/// What the server is, and what a client has to stay within.
#[utoipa::path(get, path = "/api/v1/about", tag = "settings", responses((status = 200, body = AboutView)))]
pub async fn about(
    State(state): State<AppState>,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Json<AboutView>, ApiError> {
    let Facts { started_at_ms, docker, local, sealed, listen, one_person: _ } = state.facts;
    let base = state.public_base(host(&uri, &headers).unwrap_or("localhost"));
    let users = if caller.user.admin { Some(state.accounts.users(&caller.user).await?.len()) } else { None };
    Ok(Json(AboutView {
        version: env!("CARGO_PKG_VERSION"),
        started_at: started_at_ms,
        uptime_s: (state.accounts.now_ms() - started_at_ms) / 1000,
        storage: "sqlite",
        model_configured: state.chats.has_model(&caller.user).await?,
        docker,
        local,
        tls: state.tls,
        reach: Reach::of(&base, listen.ip()),
        sealed,
        users,
        limits: LimitsView {
            message_bytes: MESSAGE_TEXT_MAX_BYTES,
            attachment_bytes: ATTACHMENT_BYTES,
            attachments: ATTACHMENTS,
            title_chars: TITLE_MAX_CHARS,
            password_chars: PASSWORD_MIN_CHARS,
            event_kept_s: EVENTS_KEPT_FOR.as_secs(),
            terminal_linger_s: TERMINAL_LINGER_MAX.as_secs(),
        },
    }))
}

/// Make the first account, an administrator's, and log in. Only while there is none, with the secret that `serve` printed.
#[utoipa::path(post, path = "/api/v1/setup", tag = "session", request_body = FirstAccount, security(()),
    responses((status = 201, body = LoggedIn), (status = 400), (status = 403), (status = 409), (status = 429)))]
pub async fn make(
    State(state): State<AppState>,
    Extension(connection): Extension<Connection>,
    headers: HeaderMap,
    extract::Json(FirstAccount { secret, name, password }): extract::Json<FirstAccount>,
) -> Result<impl IntoResponse, ApiError> {
    let address = address_key(connection.client);
    // Wrong ones come as slowly as wrong passwords (the empty name is nobody's); the right one is kept out by no guesses.
    if !state.accounts.is_first_secret(&secret) {
        let limited = |seconds| ApiError::rate_limited("attempts", seconds);
        state.logins.take(address, "", true, Instant::now()).map_err(limited)?;
    }
    let user = state.accounts.make_first(&secret, &name, &password, address).await?;
    connection.prove();
    let (cookie, session) = begin_session(&state, user, is_page(&headers)).await?;
    Ok((StatusCode::CREATED, cookie, Json(session)))
}

impl Reach {
    /// Of a server that is reached as `base`, such as `http://HOST:PORT`, and listens on `listen`.
    fn of(base: &str, listen: IpAddr) -> Self {
        let host = base.split_once("://").map_or(base, |(_, host)| host);
        match (is_loopback(host), listen.is_loopback()) {
            (false, _) => Self::Network,
            (true, false) => Self::LoopbackAddress,
            (true, true) => Self::LoopbackOnly,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_behind_a_proxy_is_reached_though_it_listens_on_loopback_only() {
        let of = |base, listen: &str| Reach::of(base, listen.parse().unwrap());
        assert_eq!(of("http://127.0.0.1:8080", "127.0.0.1"), Reach::LoopbackOnly);
        assert_eq!(of("http://[::1]:8080", "::1"), Reach::LoopbackOnly);
        assert_eq!(of("http://localhost:8080", "0.0.0.0"), Reach::LoopbackAddress);
        assert_eq!(of("https://sandbridge.example", "127.0.0.1"), Reach::Network);
        assert_eq!(of("http://192.168.0.7:8080", "0.0.0.0"), Reach::Network);
    }
}
