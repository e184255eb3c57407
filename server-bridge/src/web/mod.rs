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
//! | [`guard`], [`auth`], [`scope`], [`rate`], [`logins`], [`searches`] | Host and Origin, sessions and keys, what a key is for, limits on attempts |
//! | [`hub`] | events, spread to a user's sockets |
//! | [`accept`], [`framing`], [`stream`] | the listening socket: connections, TLS, buffers; where each request ends; a connection's bytes |
//! | [`forwarded`], [`proxy_protocol`] | for whom a proxy asks |
//! | [`pool`], [`standing`], [`body`] | what a connection may do, and send, before somebody on it has shown who they are |
//! | [`install`], [`workspace_option`], [`shell_word`] | the runner, handed out to machines; the workspace and words in the line to paste |
//! | [`assets`], [`openapi`], [`metrics`] | the page, the API's description, what is counted |
//! | [`error`], [`extract`] | the error contract |

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
pub mod runner_admission;
pub mod runner_socket;
pub mod runner_updates;
pub mod runners;
pub mod scope;
pub mod searches;
pub mod session;
pub mod settings;
pub mod setup;
pub mod shell_word;
pub mod sign_ins;
pub mod socket;
pub mod standing;
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
use axum::routing::{delete, get, post, put};

use crate::limits::JSON_BODY_BYTES;
use crate::state::AppState;
use crate::web::error::ApiError;

/// Every route of the server.
pub fn router(state: AppState) -> Router {
    let api = Router::new()
        .route("/login", post(session::login))
        .route("/logout", post(session::logout))
        .route("/confirm", post(confirm::confirm))
        .route("/tickets", post(tickets::issue))
        .route("/sign-ins", post(sign_ins::issue))
        .route("/sign-ins/redeem", post(sign_ins::redeem))
        .route("/me", get(session::me))
        .route("/me/welcomed", post(welcome::end))
        .route("/status", get(setup::status))
        .route("/setup", post(setup::make))
        .route("/about", get(setup::about))
        .route("/password", post(users::change_password))
        .route("/users", get(users::list).post(users::add))
        .route("/users/{name}", put(users::change).delete(users::remove))
        .route("/audit", get(audit::list))
        .route("/commands", get(commands::list))
        .route("/tasks", get(tasks::list))
        .route("/tasks/{id}", get(tasks::show).delete(tasks::kill))
        .route("/keys", get(keys::list).post(keys::add))
        .route("/keys/{name}", delete(keys::remove))
        .route("/runners", get(runners::list).post(runners::add))
        .route("/runners/{name}", delete(runners::revoke))
        .route("/runners/{name}/rotate", post(runners::rotate))
        .route("/runners/{name}/update", post(runner_updates::update))
        .route("/settings", get(settings::show).put(settings::change))
        .route("/chats", get(chats::list).post(chats::create))
        .route("/chats/{id}", get(chat_detail::show).delete(chats::remove).put(chats::rename))
        .route("/chats/{id}/attachments", post(attachments::add))
        .route("/chats/{id}/messages", get(chats::messages).post(chats::post))
        .route("/chats/{id}/cancel", post(chats::cancel))
        .route("/chats/{id}/undo", post(chat_turns::undo))
        .route("/chats/{id}/rewind", post(chat_turns::rewind))
        .route("/chats/{id}/fork", post(chat_copies::fork))
        .route("/chats/{id}/export", get(chat_copies::export))
        .route("/chats/{id}/approvals", post(chats::approve))
        .route("/chats/{id}/answers", post(answers::answer))
        .route("/chats/{id}/approval", put(chats::set_approval))
        .route("/chats/{id}/agents", get(agents::list))
        .route("/settings/agent", get(agents::preferences).put(agents::set_preferences))
        .route("/memories", get(agents::memories))
        .route("/memories/{name}", delete(agents::forget))
        .route("/chats/{id}/model", put(models::choose_for_chat))
        .route("/models", get(models::list).post(models::add))
        .route("/models/default", put(models::choose))
        .route("/models/{name}", put(models::change).delete(models::remove))
        .route("/models/{name}/test", post(models::test))
        .route("/providers/models", post(providers::models))
        .route("/providers/trial", post(providers::trial))
        .route("/usage", get(usage::show))
        .route("/files", get(files::read).put(files::write).delete(files::remove))
        .route("/files/stat", get(files::stat))
        .route("/files/list", get(files::list))
        .route("/files/complete", get(files::complete::complete))
        .route("/files/mkdir", post(files::mkdir))
        .route("/files/rename", post(files::rename))
        .route("/files/tree", get(files::trees::read).put(files::trees::write))
        .route("/files/download", post(files::trees::download))
        .route("/container", get(container::show).delete(container::reset))
        .route("/container/stop", post(container::stop))
        .route("/container/commit", post(container::commit))
        .route("/container/export", get(container::export))
        .route("/container/import", put(container::import))
        .route("/exec", get(exec::connect))
        .route("/exec/user", get(exec::user::show))
        .route("/execs", get(exec::attach::list))
        .route("/execs/{id}", get(exec::attach::show))
        .route("/execs/{id}/cancel", post(exec::attach::cancel))
        .route("/execs/{id}/report", get(exec::attach::report))
        .route("/events", get(events::connect))
        .route("/openapi.json", get(openapi::serve));
    Router::new()
        .nest("/api/v1", api)
        .route(scope::MCP_PATH, get(mcp::serve).post(mcp::serve).delete(mcp::serve))
        .route("/runner", get(runner_socket::connect))
        .route("/ws/{user}", get(runner_socket::connect))
        .route("/install", get(install::script))
        .route("/download/{file}", get(install::download))
        .route("/healthz", get(async || "ok"))
        .route("/metrics", get(metrics::page))
        .fallback(assets::serve)
        .method_not_allowed_fallback(assets::wrong_method)
        .layer(DefaultBodyLimit::max(JSON_BODY_BYTES))
        .layer(from_fn_with_state(state.clone(), to_its_end))
        .layer(from_fn_with_state(state.clone(), guard::guard))
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
