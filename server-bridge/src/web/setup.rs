//! The first account, which can be created on the page; and information about the server.
//!
//! While there is no user, `serve` prints a secret when it starts. A person who presents it can create the first administrator, once: anyone
//! who can read the server's output could also create one with `sandbridge user add`.

use std::net::{IpAddr, SocketAddr};

use accounts::limits::PASSWORD_MIN_CHARS;
use api::server::{AboutView, FirstAccount, LimitsView, StatusView};
use api::session::LoggedIn;
use api::words::{Reach, Storage};
use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::IntoResponse;
use chats::limits::{ATTACHMENT_BYTES, ATTACHMENTS, MESSAGE_TEXT_MAX_BYTES, TITLE_MAX_CHARS};

use crate::limits::{EVENTS_KEPT_FOR, TERMINAL_LINGER_MAX};
use crate::web::accept::Connection;
use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::guard::{host, is_loopback};
use crate::web::json::Json;
use crate::web::logins::begin_attempt;
use crate::web::rate::address_key;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::session::{begin_session, is_page};
use crate::web::state::AppState;

/// The routes of the first account, and of information about the server.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::Anybody, route!(status))
        .add(Access::Anybody, route!(make))
        .add(Access::LookToWork, route!(about))
}

/// Public information about the server, determined when it starts.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// The time of the start, in Unix milliseconds.
    pub started_at_ms: i64,
    /// True if users may have containers.
    pub docker: bool,
    /// True if any user may work on the server itself.
    pub local: bool,
    /// True if stored secrets that the server has to read again, such as model keys, are sealed.
    pub sealed: bool,
    /// The address that is listened on.
    pub listen: SocketAddr,
    /// True if the data is stored in PostgreSQL instead of a file.
    pub on_postgres: bool,
    /// True if the server's only user has no password, so that the page cannot ask for it again.
    pub one_person: bool,
}

/// The status that can be read without a login: above all, whether the first account has to be created.
#[utoipa::path(get, path = "/api/v1/status", tag = "session", security(()), responses((status = 200, body = StatusView)))]
pub async fn status(State(state): State<AppState>) -> Result<Json<StatusView>, ApiError> {
    let setup_due = state.accounts.is_first_due().await?;
    Ok(Json(StatusView { version: env!("CARGO_PKG_VERSION").to_owned(), setup_due }))
}

/// Information about the server, and the limits for clients.
#[utoipa::path(get, path = "/api/v1/about", tag = "settings", responses((status = 200, body = AboutView)))]
pub async fn about(
    State(state): State<AppState>,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Json<AboutView>, ApiError> {
    let Facts { started_at_ms, docker, local, sealed, listen, on_postgres, one_person: _ } = state.facts;
    let base = state.public_base(host(&uri, &headers).unwrap_or("localhost"));
    let users = if caller.user.admin { Some(state.accounts.users(&caller.user).await?.len()) } else { None };
    Ok(Json(AboutView {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: started_at_ms,
        uptime_s: (state.accounts.now_ms() - started_at_ms) / 1000,
        storage: if on_postgres { Storage::Postgres } else { Storage::Sqlite },
        model_configured: state.chats.has_model(&caller.user).await?,
        docker,
        local,
        tls: state.tls,
        reach: reach(&base, listen.ip()),
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

/// Create the first account, an administrator's, and log in. Only possible while there is none, with the secret that `serve`
/// printed.
#[utoipa::path(post, path = "/api/v1/setup", tag = "session", request_body = FirstAccount, security(()),
    responses((status = 201, body = LoggedIn), (status = 400), (status = 403), (status = 409), (status = 429)))]
pub async fn make(
    State(state): State<AppState>,
    Extension(connection): Extension<Connection>,
    headers: HeaderMap,
    extract::Json(FirstAccount { secret, name, password }): extract::Json<FirstAccount>,
) -> Result<impl IntoResponse, ApiError> {
    let address = address_key(connection.client);
    // Wrong secrets are limited like wrong passwords (no account has the empty name); wrong guesses do not block the right secret.
    if !state.accounts.is_first_secret(&secret).await? {
        let _failed = begin_attempt(&state, (address, "", true), "attempts").await?;
    }
    let user = state.accounts.make_first(&secret, &name, &password, address).await?;
    connection.prove();
    let (cookie, session) = begin_session(&state, user, is_page(&headers)).await?;
    Ok((StatusCode::CREATED, cookie, Json(session)))
}

/// The machines that can reach a server that is addressed as `base`, such as `http://HOST:PORT`, and listens on `listen`.
fn reach(base: &str, listen: IpAddr) -> Reach {
    let host = base.split_once("://").map_or(base, |(_, host)| host);
    match (is_loopback(host), listen.is_loopback()) {
        (false, _) => Reach::Network,
        (true, false) => Reach::LoopbackAddress,
        (true, true) => Reach::LoopbackOnly,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_behind_a_proxy_is_reached_though_it_listens_on_loopback_only() {
        let of = |base, listen: &str| reach(base, listen.parse().unwrap());
        assert_eq!(of("http://127.0.0.1:8080", "127.0.0.1"), Reach::LoopbackOnly);
        assert_eq!(of("http://[::1]:8080", "::1"), Reach::LoopbackOnly);
        assert_eq!(of("http://localhost:8080", "0.0.0.0"), Reach::LoopbackAddress);
        assert_eq!(of("https://sandbridge.example", "127.0.0.1"), Reach::Network);
        assert_eq!(of("http://192.168.0.7:8080", "0.0.0.0"), Reach::Network);
    }
}
