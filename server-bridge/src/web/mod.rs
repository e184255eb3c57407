//! What the server shows to the outside: the HTTP API, the WebSockets, the page.
//!
//! | module | what is in it |
//! |---|---|
//! | [`session`], [`keys`], [`runners`], [`settings`], [`chats`], [`agents`], [`models`], [`usage`], [`files`], [`container`] | one area of the API each |
//! | [`providers`], [`welcome`] | a model before it is kept; the first steps of a user |
//! | [`answers`], [`attachments`], [`commands`] | answers to what a model asks; files with a message; what can be written |
//! | [`chat_detail`], [`tasks`] | what stands beside a chat's messages; commands that go on by themselves |
//! | [`users`], [`audit`], [`setup`] | accounts, the trail of what was done, the first account and what the server is |
//! | [`chat_turns`], [`chat_copies`] | what of a chat is taken back; a chat forked and exported |
//! | [`exec`], [`events`] | the WebSockets of clients |
//! | [`mcp`] | the endpoint of the Model Context Protocol |
//! | [`runner_socket`], [`runner_admission`], [`presence`] | the socket of runners; who is let in; telling who is connected |
//! | [`tickets`], [`confirm`], [`sign_ins`] | what a browser brings in an address, where it sends no header; the password once more; signing in without one |
//! | [`mod@routes`], [`scope`] | the table of routes, and the keys that open each |
//! | [`guard`], [`auth`], [`rate`], [`logins`], [`searches`] | Host and Origin, sessions and keys, limits on attempts |
//! | [`hub`] | events, spread to a user's sockets |
//! | [`accept`], [`framing`], [`stream`] | the listening socket: connections, TLS, buffers; where each request ends; a connection's bytes |
//! | [`forwarded`], [`proxy_protocol`] | for whom a proxy asks |
//! | [`pool`], [`standing`], [`body`] | what a connection may do, and send, before somebody on it has shown who they are |
//! | [`install`], [`workspace_option`] | the runner, handed out to machines; the workspace in the line to paste |
//! | [`assets`], [`openapi`], [`metrics`] | the page, the API's description, what is counted |
//! | [`state`] | what every request shares: accounts, router, chats, hub, rate limits |
//! | [`error`], [`extract`] | the error contract |
//!
//! A new route: a handler in the file of its area, with its description (`#[utoipa::path]`), and a line in the `routes` function
//! there, which says which keys open it. A new area: its file, and a line in [`routes()`]. Its documents are types of crate
//! `api`, a caller in the command line is a method of `client/src/routes.rs`, and `scripts/contract` writes the page's types. What no
//! service offers yet becomes a query in `store` and a method of its service (`chats`, `accounts`): handlers do not name the store.

pub mod accept;
pub mod agents;
pub mod answers;
pub mod assets;
pub mod attachments;
pub mod audit;
pub mod auth;
pub mod body;
pub mod chat_copies;
pub mod chat_detail;
pub mod chat_turns;
pub mod chats;
pub mod commands;
pub mod confirm;
pub mod container;
pub mod error;
pub mod events;
pub mod exec;
pub mod extract;
pub mod files;
pub mod forwarded;
pub mod framing;
pub mod guard;
pub mod hub;
pub mod install;
pub mod keys;
pub mod language;
pub mod logins;
pub mod mcp;
pub mod metrics;
pub mod models;
pub mod openapi;
pub mod pool;
pub mod presence;
pub mod providers;
pub mod proxy_protocol;
pub mod rate;
pub mod routes;
pub mod runner_admission;
pub mod runner_socket;
pub mod runner_updates;
pub mod runners;
pub mod scope;
pub mod searches;
pub mod server_settings;
pub mod session;
pub mod settings;
pub mod setup;
pub mod sign_ins;
pub mod socket;
pub mod standing;
pub mod state;
pub mod stream;
pub mod tasks;
pub mod tickets;
pub mod usage;
pub mod users;
pub mod welcome;
pub mod workspace_option;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodFilter;

use crate::limits::JSON_BODY_BYTES;
use crate::web::error::ApiError;
use crate::web::routes::Routes;
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The API and the other endpoints: one line for each area, which adds its own routes.
pub fn routes() -> Routes {
    Routes::new()
        .merge(session::routes())
        .merge(confirm::routes())
        .merge(tickets::routes())
        .merge(sign_ins::routes())
        .merge(welcome::routes())
        .merge(setup::routes())
        .merge(users::routes())
        .merge(audit::routes())
        .merge(keys::routes())
        .merge(runners::routes())
        .merge(runner_updates::routes())
        .merge(server_settings::routes())
        .merge(settings::routes())
        .merge(chats::routes())
        .merge(chat_detail::routes())
        .merge(attachments::routes())
        .merge(chat_turns::routes())
        .merge(chat_copies::routes())
        .merge(answers::routes())
        .merge(agents::routes())
        .merge(commands::routes())
        .merge(tasks::routes())
        .merge(models::routes())
        .merge(providers::routes())
        .merge(usage::routes())
        .merge(files::routes())
        .merge(container::routes())
        .merge(exec::routes())
        .merge(events::routes())
        .merge(mcp::routes())
        .merge(runner_socket::routes())
        .merge(install::routes())
        .undescribed(Access::Anybody, MethodFilter::GET, "/api/v1/openapi.json", openapi::serve)
        .undescribed(Access::Anybody, MethodFilter::GET, "/healthz", async || "ok")
        // An administrator's only, as for a session.
        .undescribed(Access::Look, MethodFilter::GET, "/metrics", metrics::page)
}

/// Every route of the server, and what all of them pass.
pub fn router(state: AppState) -> Router {
    routes()
        .router()
        .fallback(assets::serve)
        .method_not_allowed_fallback(assets::wrong_method)
        .layer(DefaultBodyLimit::max(JSON_BODY_BYTES))
        .layer(from_fn_with_state(state.clone(), to_its_end))
        .layer(from_fn_with_state(state.clone(), guard::guard))
        .layer(from_fn(language::translate_errors))
        .layer(from_fn(metrics::count))
        .with_state(state)
}

/// Runs a request that changes something to its end, even if its client goes away meanwhile: what was done must not be
/// missing from the audit trail, nor be told to only some of the user's windows.
async fn to_its_end(State(state): State<AppState>, request: Request, next: Next) -> Response {
    if request.method().is_safe() {
        return next.run(request).await;
    }
    match state.tasks.spawn(next.run(request)).await {
        Ok(response) => response,
        Err(error) => ApiError::internal(&error).into_response(),
    }
}
