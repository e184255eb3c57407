//! Reading the audit trail.

use accounts::{AuditRecord, Trail};
use api::audit::{AuditPage, AuditView};
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::limits::AUDIT_PAGE_ROWS;
use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::json::Json;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of the audit trail.
pub(in crate::web) fn routes() -> Routes {
    Routes::new().add(Access::Full, route!(list))
}

/// The filter for entries of the audit trail.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AuditQuery {
    /// Only entries before the one with this id.
    before: Option<i64>,
    /// The maximum number of entries, 500 at most; 100 if absent.
    limit: Option<u32>,
    /// Only actions of this user; for administrators, because others see only their own.
    user: Option<String>,
    /// Only actions whose name begins with this text, such as `file.`.
    #[serde(default)]
    action: String,
}

/// The recorded actions, with their users and places: administrators see all of them, others only their own.
#[utoipa::path(get, path = "/api/v1/audit", tag = "users", params(AuditQuery), responses((status = 200, body = AuditPage)))]
pub async fn list(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(query): extract::Query<AuditQuery>,
) -> Result<Json<AuditPage>, ApiError> {
    let wanted = Trail {
        user: query.user.as_deref(),
        action: &query.action,
        before: query.before,
        limit: query.limit.unwrap_or(AUDIT_PAGE_ROWS),
    };
    let page = state.accounts.trail(&caller.user, wanted).await?;
    Ok(Json(AuditPage { entries: page.entries.into_iter().map(audit_view).collect(), more: page.more }))
}

fn audit_view(record: AuditRecord) -> AuditView {
    let AuditRecord { id, at_ms, user, action, location, target, outcome } = record;
    AuditView { id: id.0, at: at_ms, user, action, location, target, outcome }
}
