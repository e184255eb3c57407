//! A user's registered machines.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use accounts::{Accounts, NewToken, Runner, User, UserId};
use api::event::Event;
use api::runner::{LayerView, NewRunner, RunAsView, RunnerView, TokenView};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use sandbox::{Layer, RunAsNames, RunnerFacts, RunnerState, SandboxRouter};

use execs::sandbox_user;

use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::guard::host;
use crate::web::install::{self, HandOut};
use crate::web::json::Json;
use crate::web::routes::{Routes, route};
use crate::web::runner_updates::offer;
use crate::web::scope::Access;
use crate::web::state::AppState;
use crate::web::workspace_option::workspace_option;

/// The routes of a user's runners.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::LookToWork, route!(list))
        .add(Access::Session, route!(add))
        .add(Access::Session, route!(rotate))
        .add(Access::Full, route!(revoke))
}

/// The caller's runners.
#[utoipa::path(get, path = "/api/v1/runners", tag = "runners", responses((status = 200, body = [RunnerView])))]
pub async fn list(State(state): State<AppState>, caller: Caller) -> Result<Json<Vec<RunnerView>>, ApiError> {
    Ok(Json(Views::of(&state).all(&caller.user).await?.1))
}

/// Register a machine under a name. The response contains its token, which is shown only once.
#[utoipa::path(post, path = "/api/v1/runners", tag = "runners", request_body = NewRunner,
    responses((status = 201, body = TokenView), (status = 400), (status = 409)))]
pub async fn add(
    State(state): State<AppState>,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
    extract::Json(new): extract::Json<NewRunner>,
) -> Result<(StatusCode, Json<TokenView>), ApiError> {
    caller.check_confirmed(&state)?;
    let workspace = new.workspace.as_deref().map(workspace_option).transpose()?.unwrap_or_default();
    let ttl_ms = new.ttl_seconds.map(|seconds| i64::from(seconds) * 1_000);
    let new = accounts::NewRunner { name: &new.name, enrol: new.enrol, ttl_ms };
    let token = state.accounts.add_runner(&caller.user, new).await?;
    let base = base(&state, &uri, &headers);
    let line = install::line(&state, &base, &token.name, token.token.expose());
    let mut view = token_view(token, &base, line);
    view.command.push_str(&workspace);
    Ok((StatusCode::CREATED, Json(view)))
}

/// Issue a new token for a machine; the previous one stays valid for a while. If the machine's runner is older than the one
/// that this server hands out, and cannot replace itself, the line to paste installs the newer one.
#[utoipa::path(post, path = "/api/v1/runners/{name}/rotate", tag = "runners",
    params(("name" = String, Path)), responses((status = 200, body = TokenView), (status = 404)))]
pub async fn rotate(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Json<TokenView>, ApiError> {
    caller.check_confirmed(&state)?;
    let runner = state.accounts.runner(caller.user.id, &name).await?;
    let connected = state.router.runners(&sandbox_user(&caller.user).key);
    let view = Views::of(&state).one(runner, &connected, None);
    let token = state.accounts.rotate_token(&caller.user, &name).await?;
    let base = base(&state, &uri, &headers);
    let must_install = view.update.is_some_and(|update| !update.can);
    let line =
        must_install.then(|| install::line(&state, &base, &token.name, token.token.expose())).flatten();
    Ok(Json(token_view(token, &base, line)))
}

/// Revoke a machine: its tokens are no longer valid, and its connection is closed.
#[utoipa::path(delete, path = "/api/v1/runners/{name}", tag = "runners",
    params(("name" = String, Path)), responses((status = 204), (status = 404)))]
pub async fn revoke(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiError> {
    state.accounts.revoke_runner(&caller.user, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Sends a user's clients the current state of a runner; sends nothing if the runner no longer belongs to the user.
pub async fn publish(state: &AppState, user: UserId, name: &str) {
    let view = async {
        let runner = state.accounts.runner(user, name).await?;
        let active = state.accounts.active_runner(user).await?;
        let Some(user) = state.accounts.user(user).await? else { return Ok(None) };
        let connected = state.router.runners(&sandbox_user(&user).key);
        accounts::Result::Ok(Some(Views::of(state).one(runner, &connected, active.as_deref())))
    };
    match view.await {
        Ok(Some(runner)) => state.hub.publish(user, &Event::Runner { runner: Box::new(runner) }),
        Ok(None) | Err(accounts::Error::NotFound(_)) => {}
        Err(error) => tracing::error!(%error, "cannot report a runner's state"),
    }
}

/// Runners in the form for clients: the records, the connections, and the available updates.
#[derive(Clone)]
pub struct Views {
    /// The accounts, which register runners.
    pub accounts: Accounts,
    /// The router, which knows the connected runners.
    pub router: SandboxRouter,
    /// The runner for machines.
    pub hand_out: Arc<HandOut>,
}

impl Views {
    fn of(state: &AppState) -> Self {
        let (accounts, router) = (state.accounts.clone(), state.router.clone());
        Self { accounts, router, hand_out: Arc::clone(&state.hand_out) }
    }

    /// A user's active place, and all their runners.
    ///
    /// # Errors
    /// As for [`Accounts::runners`].
    pub async fn all(&self, user: &User) -> accounts::Result<(Option<String>, Vec<RunnerView>)> {
        let active = self.accounts.active_runner(user.id).await?;
        let connected = self.router.runners(&sandbox_user(user).key);
        let runners = self.accounts.runners(user.id).await?;
        let view = |runner| self.one(runner, &connected, active.as_deref());
        let views = runners.into_iter().map(view).collect();
        Ok((active, views))
    }

    /// A runner in the form for clients.
    fn one(&self, runner: Runner, connected: &[RunnerState], active: Option<&str>) -> RunnerView {
        let live = connected.iter().find(|live| live.name == runner.name);
        let stored = || serde_json::from_str::<RunnerFacts>(runner.facts_json.as_deref()?).ok();
        let facts = live.map(|live| RunnerFacts::clone(&live.facts)).or_else(stored);
        let fact = |of: fn(&RunnerFacts) -> &String| {
            facts.as_ref().map(|facts| of(facts).clone()).filter(|fact| !fact.is_empty())
        };
        RunnerView {
            online: live.is_some(),
            last_seen: runner.last_seen_ms,
            created_at: runner.created_at_ms,
            token_expires_at: runner.token_expires_at_ms,
            active: active == Some(runner.name.as_str()),
            profile: fact(|facts| &facts.profile),
            os: fact(|facts| &facts.os),
            arch: fact(|facts| &facts.arch),
            hostname: fact(|facts| &facts.hostname),
            version: fact(|facts| &facts.version),
            update: facts.as_ref().and_then(|facts| offer(&self.hand_out, facts)),
            update_error: facts.as_ref().and_then(|facts| facts.update_error.clone()),
            connected_at: live.map(|live| unix_ms(live.since)),
            workspace: fact(|facts| &facts.workspace),
            kill_tier: fact(|facts| &facts.kill_tier),
            refused: facts
                .as_ref()
                .map(|facts| self.router.lacking(facts))
                .unwrap_or_default()
                .into_iter()
                .map(str::to_owned)
                .collect(),
            run_as: facts.as_ref().and_then(|facts| facts.run_as.clone()).map(run_as_view),
            layers: facts.map(|facts| facts.layers.into_iter().map(layer_view).collect()).unwrap_or_default(),
            name: runner.name,
        }
    }
}

/// Converts a time to Unix milliseconds.
fn unix_ms(at: SystemTime) -> i64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn run_as_view(names: RunAsNames) -> RunAsView {
    RunAsView { default: names.default, privileged: names.privileged }
}

fn layer_view(layer: Layer) -> LayerView {
    // Recognised here by the runner's words, because a client may get them translated.
    let is_off =
        layer.name == "network" || layer.name == "limits" && layer.detail.starts_with("switched off");
    LayerView {
        name: layer.name,
        holds: layer.holds,
        by_choice: is_off && !layer.holds,
        detail: layer.detail,
    }
}

/// The server's address for the machine: the one at which the requesting client reached the server, unless one is configured.
fn base(state: &AppState, uri: &Uri, headers: &HeaderMap) -> String {
    state.public_base(host(uri, headers).unwrap_or("localhost"))
}

/// `line` is the line to paste on the machine, unless that starts an installed runner.
fn token_view(new: NewToken, base: &str, line: Option<String>) -> TokenView {
    TokenView {
        command: line.unwrap_or_else(|| runner_command(base, &new.name, new.token.expose())),
        name: new.name,
        expires_at: new.expires_at_ms,
        old_token_expires_at: new.old_token_expires_at_ms,
        token: new.token.into_exposed(),
    }
}

/// The line that starts an installed runner. The token is piped from the shell's own `printf`, so it appears in no process's arguments
/// or environment.
fn runner_command(base: &str, name: &str, token: &str) -> String {
    let (scheme, host) = match base.split_once("://") {
        Some(("https", host)) => ("wss", host),
        Some((_, host)) => ("ws", host),
        None => ("ws", base),
    };
    let insecure = if install::is_open_to_others(base) { " --insecure" } else { "" };
    format!(
        "printf %s '{token}' | sandbridge-runner --server '{scheme}://{host}' --name '{name}' --token-file -{insecure}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_that_its_user_left_out_is_not_missing() {
        let by_choice = |name: &str, holds: bool, detail: &str| {
            layer_view(Layer { name: name.to_owned(), holds, detail: detail.to_owned() }).by_choice
        };
        assert!(by_choice("network", false, "all: what this machine reaches, its own services included"));
        assert!(by_choice("limits", false, "switched off: unlimited memory, processes and processors"));
        assert!(!by_choice("limits", false, "the kernel has no cgroups"));
        assert!(!by_choice("landlock", false, "switched off"));
        assert!(!by_choice("network", true, "none: no sockets but those of the file system"));
    }

    #[test]
    fn the_command_follows_how_the_server_is_reached() {
        assert_eq!(
            runner_command("http://127.0.0.1:8080", "laptop", "sbr_x"),
            "printf %s 'sbr_x' | sandbridge-runner --server 'ws://127.0.0.1:8080' --name 'laptop' --token-file -"
        );
        assert!(runner_command("https://b.example", "l", "t").contains("'wss://b.example'"));
        assert!(!runner_command("https://b.example", "l", "t").contains("--insecure"));
        assert!(runner_command("http://b.example:80", "l", "t").ends_with("--token-file - --insecure"));
        assert!(!runner_command("http://[::1]:80", "l", "t").contains("--insecure"));
    }
}
