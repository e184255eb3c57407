//! Replaces runners that are older than this server with the runner that it hands out.

use api::runner::{UpdateStarted, UpdateView};
use axum::extract::{Path, State};
use sandbox::{RouteError, RunnerFacts};
use tokio::time::timeout;

use execs::sandbox_user;

use crate::limits::RUNNER_UPDATE_TIMEOUT;
use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::install::HandOut;
use crate::web::json::Json;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of updating a runner.
pub(in crate::web) fn routes() -> Routes {
    Routes::new().add(Access::Full, route!(update))
}

/// The update for a runner that reported these details; `None` if the runner is not older, or if this server hands out none.
pub fn offer(hand_out: &HandOut, facts: &RunnerFacts) -> Option<UpdateView> {
    let version = hand_out.version().filter(|version| facts.is_older_than(version))?;
    Some(UpdateView { version: version.to_owned(), can: facts.can_update() })
}

/// Let a machine's runner replace its program with the newer one that this server hands out. Responds once the machine has
/// downloaded and checked it, after 10 minutes at most; a second request joins the one in progress. The runner then waits until
/// nothing runs there, and reconnects with the new version, or unchanged and with `update_error`.
#[utoipa::path(post, path = "/api/v1/runners/{name}/update", tag = "runners", params(("name" = String, Path)),
    responses((status = 200, body = UpdateStarted), (status = 404), (status = 409), (status = 422), (status = 503)))]
pub async fn update(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Json<UpdateStarted>, ApiError> {
    caller.check_confirmed(&state)?;
    let name = state.accounts.runner(caller.user.id, &name).await?.name;
    let begun = begin(&state, &caller, &name).await;
    let outcome = begun.as_ref().map_or_else(|error| error.kind, |_| "ok");
    state.audit(Some(&caller.user.name), "runner.update", Some(&name), &name, outcome).await;
    begun.map(Json)
}

async fn begin(state: &AppState, caller: &Caller, name: &str) -> Result<UpdateStarted, ApiError> {
    let key = sandbox_user(&caller.user).key;
    let connected = state.router.runners(&key).into_iter().find(|runner| runner.name == name);
    let offered = state.hand_out.offered()?;
    // A runner that is not connected may be in the middle of this update; this request then joins it.
    if let Some(runner) = connected
        && !runner.facts.is_older_than(offered)
    {
        let text = match runner.facts.version.as_str() {
            "" => format!("runner {name} does not report its version, so it cannot be updated from here"),
            version => format!(
                "runner {name} has version {version} and this server hands out {offered}: there is nothing newer"
            ),
        };
        return Err(ApiError::new("conflict", text));
    }
    let asked = state.router.update_runner(&key, name);
    let begun = tokio::select! {
        begun = timeout(RUNNER_UPDATE_TIMEOUT, asked) => begun,
        () = state.shutdown.cancelled() => return Err(ApiError::new("shutting_down", "the server is stopping")),
    };
    let running = begun.map_err(|_| {
        let minutes = RUNNER_UPDATE_TIMEOUT.as_secs() / 60;
        let text = format!(
            "runner {name} has not downloaded its new program within {minutes} min; it may still do so: look again later, or \
             ask again"
        );
        ApiError::new("unavailable", text)
    })?;
    let running = running.map_err(|error| match error {
        sandbox::SandboxError::Offline { runner } => RouteError::Offline { runner }.into(),
        error => ApiError::from(error),
    })?;
    Ok(UpdateStarted { version: offered.to_owned(), running })
}
