//! Keys for programs.

use accounts::{ApiKey, KeyScope};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use crate::state::AppState;
use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::routes::Routes;
use crate::web::scope::Access;

/// The routes of programs' keys.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::Full, routes!(list))
        .add(Access::Session, routes!(add))
        .add(Access::Session, routes!(remove))
}

/// A key, without its secret.
#[derive(Debug, Serialize, ToSchema)]
pub struct KeyView {
    name: String,
    scope: Scope,
    /// Unix milliseconds.
    created_at: i64,
    /// Unix milliseconds, to the minute; null if it never was.
    #[schema(required)]
    last_used: Option<i64>,
    /// Unix milliseconds; null if it does not end.
    #[schema(required)]
    expires_at: Option<i64>,
    /// Whether it has ended.
    expired: bool,
}

/// What a key may do.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Whatever its owner may, but for making keys and changing passwords.
    Full,
    /// Commands, files and tasks on its owner's runners.
    #[default]
    Exec,
    /// Looking only.
    Read,
}

/// A key to be made.
#[derive(Deserialize, ToSchema)]
pub struct NewKey {
    name: String,
    /// `exec` if left out.
    #[serde(default)]
    scope: Scope,
    /// How long it works, in seconds: 60 at least; for ever if left out.
    ttl_seconds: Option<u32>,
}

/// A key just made. The secret is shown this once.
#[derive(Serialize, ToSchema)]
pub struct MadeKey {
    /// For the Authorization header: `Bearer sbk_…`.
    key: String,
    #[serde(flatten)]
    view: KeyView,
}

/// The caller's keys.
#[utoipa::path(get, path = "/api/v1/keys", tag = "keys", responses((status = 200, body = [KeyView]), (status = 403)))]
pub async fn list(State(state): State<AppState>, caller: Caller) -> Result<Json<Vec<KeyView>>, ApiError> {
    let now_ms = state.accounts.now_ms();
    let keys = state.accounts.keys(&caller.user).await?;
    Ok(Json(keys.into_iter().map(|key| KeyView::new(key, now_ms)).collect()))
}

/// Make a key for a program. Answers with its secret, which is shown this once. Needs a session: no key makes another one.
#[utoipa::path(post, path = "/api/v1/keys", tag = "keys", request_body = NewKey,
    responses((status = 201, body = MadeKey), (status = 400), (status = 403), (status = 409)))]
pub async fn add(
    State(state): State<AppState>,
    caller: Caller,
    extract::Json(new): extract::Json<NewKey>,
) -> Result<(StatusCode, Json<MadeKey>), ApiError> {
    caller.check_confirmed(&state)?;
    let ttl_ms = new.ttl_seconds.map(|seconds| i64::from(seconds) * 1_000);
    let new = accounts::NewKey { name: &new.name, scope: new.scope.into(), ttl_ms };
    let (key, secret) = state.accounts.add_key(&caller.user, new).await?;
    let view = KeyView::new(key, state.accounts.now_ms());
    Ok((StatusCode::CREATED, Json(MadeKey { key: secret.into_exposed(), view })))
}

/// Remove a key: it opens nothing any more, and what it has open is closed soon after.
#[utoipa::path(delete, path = "/api/v1/keys/{name}", tag = "keys", params(("name" = String, Path)),
    responses((status = 204), (status = 403), (status = 404)))]
pub async fn remove(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiError> {
    state.accounts.remove_key(&caller.user, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

impl KeyView {
    fn new(key: ApiKey, now_ms: i64) -> Self {
        Self {
            name: key.name,
            scope: key.scope.into(),
            created_at: key.created_at_ms,
            last_used: key.last_used_ms,
            expires_at: key.expires_at_ms,
            expired: key.expires_at_ms.is_some_and(|expires_at_ms| expires_at_ms <= now_ms),
        }
    }
}

impl From<KeyScope> for Scope {
    fn from(scope: KeyScope) -> Self {
        match scope {
            KeyScope::Full => Self::Full,
            KeyScope::Exec => Self::Exec,
            KeyScope::Read => Self::Read,
        }
    }
}

impl From<Scope> for KeyScope {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Full => Self::Full,
            Scope::Exec => Self::Exec,
            Scope::Read => Self::Read,
        }
    }
}
