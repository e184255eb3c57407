//! The user of the machine that a command runs as, and whether that needs the approval of the machine's owner.

use api::exec::RunAsQuestion;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::json::Json;
use crate::web::state::AppState;

/// The place of a command, and the machine's user that it is to run as.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct UserQuery {
    /// A place to use instead of the active one.
    on: Option<String>,
    /// The name of a user of the place's machine.
    run_as: String,
}

/// Whether a command that runs as a given user of the runner's machine needs the caller's approval.
#[utoipa::path(get, path = "/api/v1/exec/user", tag = "exec", params(UserQuery),
    responses((status = 200, body = RunAsQuestion), (status = 403), (status = 409), (status = 503)))]
pub async fn show(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(query): extract::Query<UserQuery>,
) -> Result<Json<RunAsQuestion>, ApiError> {
    let UserQuery { on, run_as } = query;
    let sandbox = state.sandbox(&caller.user, on.as_deref()).await?;
    let needs_approval = sandbox.needs_approval(&run_as);
    Ok(Json(RunAsQuestion { runner: sandbox.place().to_owned(), run_as, needs_approval }))
}
