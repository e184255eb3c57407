//! As whom a command may run: whether its owner is to be asked first.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::state::AppState;
use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;

/// Where, and as whom.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct UserQuery {
    /// A place to use instead of the active one.
    on: Option<String>,
    /// The user of its machine.
    run_as: String,
}

/// What is to be known before a command runs as somebody.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RunAsQuestion)]
pub struct UserView {
    /// Where it would run.
    runner: String,
    /// As whom.
    run_as: String,
    /// Whether the request must say `approved`, once the person has agreed.
    needs_approval: bool,
}

/// Whether a command as a user of the runner's machine needs its owner's approval.
#[utoipa::path(get, path = "/api/v1/exec/user", tag = "exec", params(UserQuery),
    responses((status = 200, body = UserView), (status = 403), (status = 409), (status = 503)))]
pub async fn show(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(query): extract::Query<UserQuery>,
) -> Result<Json<UserView>, ApiError> {
    let UserQuery { on, run_as } = query;
    let sandbox = state.sandbox(&caller.user, on.as_deref()).await?;
    let needs_approval = sandbox.needs_approval(&run_as);
    Ok(Json(UserView { runner: sandbox.place().to_owned(), run_as, needs_approval }))
}
