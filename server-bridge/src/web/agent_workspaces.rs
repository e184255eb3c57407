//! Workspaces of a group's agents.

use api::workspace::{AgentTemplate, AgentWorkspace, WorkspaceMake};
use axum::extract::{Path, State};

use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::json::Json;
use crate::web::language::Wanted;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of workspaces. API keys have no access: only people may read and write files on a person's machine for an agent.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::Full, route!(templates))
        .add(Access::Session, route!(show))
        .add(Access::Session, route!(make))
}

/// The templates of agents' workspaces, in the language that the request asks for.
#[utoipa::path(get, path = "/api/v1/agent-templates", tag = "groups", responses((status = 200, body = Vec<AgentTemplate>)))]
pub async fn templates(
    State(state): State<AppState>,
    _caller: Caller,
    wanted: Wanted,
) -> Json<Vec<AgentTemplate>> {
    Json(state.groups.templates(wanted.0))
}

/// The workspace of one of the caller's own agents, as it is on its machine. Needs a session.
#[utoipa::path(get, path = "/api/v1/groups/{group}/agents/{handle}/workspace", tag = "groups", params(("group" = i64, Path), ("handle" = String, Path)), responses((status = 200, body = AgentWorkspace), (status = 400), (status = 403), (status = 404), (status = 503)))]
pub async fn show(
    State(state): State<AppState>,
    caller: Caller,
    Path((group, handle)): Path<(i64, String)>,
) -> Result<Json<AgentWorkspace>, ApiError> {
    Ok(Json(state.groups.workspace(&caller.user, group, &handle).await?))
}

/// Make the folder and the missing documents of one of the caller's own agents on its machine; existing documents are kept. The
/// response lists what was created. Needs a session.
#[utoipa::path(post, path = "/api/v1/groups/{group}/agents/{handle}/workspace", tag = "groups", params(("group" = i64, Path), ("handle" = String, Path)), request_body = WorkspaceMake, responses((status = 200, body = AgentWorkspace), (status = 400), (status = 403), (status = 404), (status = 503), (status = 507)))]
pub async fn make(
    State(state): State<AppState>,
    caller: Caller,
    wanted: Wanted,
    Path((group, handle)): Path<(i64, String)>,
    extract::Json(make): extract::Json<WorkspaceMake>,
) -> Result<Json<AgentWorkspace>, ApiError> {
    Ok(Json(state.groups.make_workspace(&caller.user, group, &handle, make, wanted.0).await?))
}
