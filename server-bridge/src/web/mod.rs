//! The server's external interface: the HTTP API, the WebSockets, the page.
//!
//! | module | holds |
//! |---|---|
//! | [`session`], [`keys`], [`runners`], [`settings`], [`chats`], [`agents`], [`rules`], [`hooks`], [`http_tools`], [`knowledge`], [`mcp_servers`], [`memories`], [`trust`], [`plugins`], [`automations`], [`channels`], [`channel_logins`], [`groups`], [`agent_workspaces`], [`models`], [`usage`], [`files`], [`container`] | one area of the API each |
//! | [`providers`], [`welcome`] | a model before it is stored; the first steps of a user |
//! | [`answers`], [`attachments`], [`commands`] | answers to a model's questions; attached files; chat commands |
//! | [`chat_detail`], [`tasks`] | a chat's details; background commands |
//! | [`users`], [`audit`], [`setup`] | accounts, the audit trail, the first account and information about the server |
//! | [`nodes`] | the nodes that share the database |
//! | [`cluster`], [`forward`], [`peer_accept`], `runner_pipe` | one of several nodes: users' homes, forwarded requests, the listener for other nodes, runners' links |
//! | [`chat_turns`], [`chat_copies`] | taking back parts of a chat; forking and exporting chats |
//! | [`exec`], [`events`] | the WebSockets of clients |
//! | `place_query` | the query that names a place |
//! | [`mcp`] | the endpoint of the Model Context Protocol |
//! | [`runner_socket`], [`runner_admission`], [`presence`] | the socket of runners; their admission; their presence |
//! | [`tickets`], [`confirm`], [`sign_ins`] | tokens in addresses, for requests without headers; confirming the password; signing in without one |
//! | [`mod@routes`], [`scope`] | the table of routes, and the keys that open each |
//! | [`guard`], [`auth`], [`rate`], [`logins`], [`searches`] | Host and Origin, sessions and keys, limits on attempts |
//! | [`hub`] | events for a user's sockets |
//! | [`accept`], [`framing`], [`stream`] | the listening socket: connections, TLS, buffers; where each request ends; a connection's bytes |
//! | [`forwarded`], [`proxy_protocol`] | the clients of proxies |
//! | [`pool`], [`standing`], [`body`] | the limits of unauthenticated connections |
//! | [`install`], [`workspace_option`] | the runner, handed out to machines; the workspace in the line to paste |
//! | [`assets`], [`openapi`], [`metrics`] | the page, the API's description, the metrics |
//! | [`ready`] | the server's health and readiness |
//! | [`state`] | the state shared by all requests: accounts, router, chats, hub, rate limits |
//! | [`error`], [`extract`] | the error contract |
//! | [`json`], [`language`] | documents as responses, in the language of the request |
//!
//! A new route needs a handler in the file of its area, with its description (`#[utoipa::path]`), and a line in the `routes` function
//! there, with the keys that open it. A new area needs its own file, and a line in [`routes()`]. The documents of a route are types of
//! crate `api`, its caller in the command line is a method in `client/src/routes.rs`, and `scripts/contract` writes the page's types.
//! A missing operation becomes a query in `store` and a method of its service (`chats`, `accounts`): handlers do not use the store.

pub mod accept;
pub mod agent_workspaces;
pub mod agents;
pub mod answers;
pub mod assets;
pub mod attachments;
pub mod audit;
pub mod auth;
pub mod automations;
pub mod body;
pub mod channel_logins;
pub mod channels;
pub mod chat_copies;
pub mod chat_detail;
pub mod chat_turns;
pub mod chats;
pub mod cluster;
pub mod commands;
pub mod confirm;
pub mod container;
pub mod error;
pub mod events;
pub mod exec;
pub mod extract;
pub mod files;
pub mod forward;
pub mod forwarded;
pub mod framing;
pub mod groups;
pub mod guard;
pub mod hooks;
pub mod http_tools;
pub mod hub;
pub mod install;
pub mod json;
pub mod keys;
pub mod knowledge;
pub mod language;
pub mod logins;
pub mod mcp;
pub mod mcp_servers;
pub mod memories;
pub mod metrics;
pub mod models;
pub mod nodes;
pub mod openapi;
pub mod peer_accept;
mod place_query;
pub mod plugins;
pub mod pool;
pub mod presence;
pub mod providers;
pub mod proxy_protocol;
pub mod rate;
pub mod ready;
pub mod routes;
pub mod rules;
pub mod runner_admission;
mod runner_pipe;
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
pub mod trust;
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
        .merge(nodes::routes())
        .merge(settings::routes())
        .merge(chats::routes())
        .merge(chat_detail::routes())
        .merge(attachments::routes())
        .merge(chat_turns::routes())
        .merge(chat_copies::routes())
        .merge(answers::routes())
        .merge(agents::routes())
        .merge(rules::routes())
        .merge(hooks::routes())
        .merge(http_tools::routes())
        .merge(memories::routes())
        .merge(knowledge::routes())
        .merge(mcp_servers::routes())
        .merge(trust::routes())
        .merge(plugins::routes())
        .merge(automations::routes())
        .merge(channels::routes())
        .merge(channel_logins::routes())
        .merge(groups::routes())
        .merge(agent_workspaces::routes())
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
        .undescribed(Access::Anybody, MethodFilter::GET, "/readyz", ready::ready)
        // The handler allows it to administrators only, with a key as with a session.
        .undescribed(Access::Look, MethodFilter::GET, "/metrics", metrics::page)
}

/// Every route of the server, with the middleware that they share.
pub fn router(state: AppState) -> Router {
    let handled = routes()
        .router()
        .fallback(assets::serve)
        .method_not_allowed_fallback(assets::wrong_method)
        .layer(DefaultBodyLimit::max(JSON_BODY_BYTES))
        .layer(from_fn_with_state(state.clone(), to_its_end));
    let routed = match &state.cluster {
        Some(_) => handled.layer(from_fn_with_state(state.clone(), forward::forward)),
        None => handled,
    };
    routed
        .layer(from_fn_with_state(state.clone(), guard::guard))
        .layer(from_fn(language::keep))
        .layer(from_fn(metrics::count))
        .with_state(state)
}

/// Runs a request that changes something to its end, even if its client disconnects in the meantime: the change must not be missing
/// from the audit trail, nor be sent to only some of the user's windows.
async fn to_its_end(State(state): State<AppState>, request: Request, next: Next) -> Response {
    if request.method().is_safe() {
        return next.run(request).await;
    }
    match state.tasks.spawn(language::keep_in_task(next.run(request))).await {
        Ok(response) => response,
        Err(error) => ApiError::internal(&error).into_response(),
    }
}
