//! The caller's active place.

use api::settings::{ChoiceView, SettingsChange, SettingsChanged, SettingsView};
use api::words::ChoiceKind;
use axum::extract::State;
use execs::sandbox_user;
use sandbox::{Choice, RouteError, RouteRequest, Target};

use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::json::Json;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of a user's settings.
pub(in crate::web) fn routes() -> Routes {
    Routes::new().add(Access::Full, route!(show)).add(Access::Full, route!(change))
}

/// The word for leaving the choice of place to the server.
const AUTO: &str = "auto";

/// The caller's settings.
#[utoipa::path(get, path = "/api/v1/settings", tag = "settings", responses((status = 200, body = SettingsView)))]
pub async fn show(State(state): State<AppState>, caller: Caller) -> Result<Json<SettingsView>, ApiError> {
    let user = sandbox_user(&caller.user);
    let registered = registered(&state, &caller).await?;
    let runners = registered.iter().map(|name| Target::Runner(name.clone()));
    let connected = state.router.runners(&user.key);
    let mut choices = Vec::new();
    for place in runners.chain([Target::Docker, Target::Local]) {
        let name = place.name().to_owned();
        let route_request =
            RouteRequest { choice: Choice::Place(place.clone()), registered: registered.clone() };
        let looked = state.router.look(&user, &route_request).await;
        let available = looked.is_ok();
        let (kind, online) = match place {
            Target::Runner(name) => (ChoiceKind::Runner, connected.iter().any(|runner| runner.name == name)),
            // An engine that has yet to pull its image can be chosen: the first command pulls it.
            Target::Docker => {
                (ChoiceKind::Docker, available || matches!(&looked, Err(RouteError::ImageNotPulled { .. })))
            }
            Target::Local => (ChoiceKind::None, available),
        };
        let note = looked.err().map(|error| error.to_string());
        choices.push(ChoiceView { name, kind, online, available, note });
    }
    Ok(Json(SettingsView { active_runner: state.accounts.active_runner(caller.user.id).await?, choices }))
}

/// Choose where work goes from the next command on. Any place that exists can be chosen; if a command would not run
/// there now, the response contains a warning.
#[utoipa::path(put, path = "/api/v1/settings", tag = "settings", request_body = SettingsChange,
    responses((status = 200, body = SettingsChanged), (status = 404)))]
pub async fn change(
    State(state): State<AppState>,
    caller: Caller,
    extract::Json(change): extract::Json<SettingsChange>,
) -> Result<Json<SettingsChanged>, ApiError> {
    let choice = change.active_runner.filter(|name| name != AUTO);
    state
        .accounts
        .choose_runner(&caller.user, choice.as_deref(), &[Target::Docker.name(), Target::Local.name()])
        .await?;
    let registered = registered(&state, &caller).await?;
    let request = RouteRequest { choice: Choice::parse(choice.as_deref()), registered };
    let refused = state.router.look(&sandbox_user(&caller.user), &request).await.err();
    let warning = refused.map(|error| error.to_string());
    Ok(Json(SettingsChanged { active_runner: choice, warning }))
}

async fn registered(state: &AppState, caller: &Caller) -> Result<Vec<String>, ApiError> {
    Ok(state.accounts.runners(caller.user.id).await?.into_iter().map(|runner| runner.name).collect())
}
