//! The endpoint of the Model Context Protocol, through which any MCP client can work on the user's runners.
//!
//! ```text
//!   POST, GET, DELETE /mcp ─► Origin, key or session, scope ─► whose session ─► rmcp ─► a tool ─► the router, as the HTTP API
//! ```
//! The protocol itself (versions, sessions, streams, cancellation) is implemented by crate `rmcp`, which has neither users nor
//! limits. So each request is authenticated here, carries its caller, and finds only the caller's own sessions.
//!
//! | module | holds |
//! |---|---|
//! | `sessions` | the owners of sessions, their number, and the calls in progress |
//! | `server` | a session's introduction, and the tools that it may call |
//! | `describe` | a tool and its outcome in the protocol's form |
//! | `call` | one call: its place, and its client's progress |
//! | `runners` | `list_runners` |
//!
//! A new tool is added in crate `tools`, like any other, with rules that offer it to programs.

mod call;
mod describe;
mod runners;
mod server;
mod sessions;

use std::sync::Arc;

use agent::tool::Typed;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodFilter;
use chats::ChatService;
use futures_util::StreamExt;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::limits::{JSON_BODY_BYTES, JSON_BODY_TIMEOUT};
use crate::web::auth::{Caller, bearer_token};
use crate::web::error::ApiError;
use crate::web::guard::{host, same_origin};
use crate::web::routes::{Routes, route};
use crate::web::runners::Views;
use crate::web::scope::Access;
use crate::web::state::AppState;
use runners::ListRunners;
use server::Tools;
use sessions::{Manager, Sessions};

/// The route of the endpoint, which rmcp answers for every method.
pub(in crate::web) fn routes() -> Routes {
    Routes::new().add(Access::EachTool, route!(serve)).undescribed(
        Access::EachTool,
        MethodFilter::GET.or(MethodFilter::DELETE),
        "/mcp",
        serve,
    )
}

/// The header that identifies a session, from the response to `initialize` on.
const SESSION_HEADER: &str = "mcp-session-id";

/// The endpoint's own state.
pub struct Mcp {
    service: StreamableHttpService<Tools, Manager>,
    sessions: Sessions,
}

impl Mcp {
    /// Creates an endpoint that offers the tools of `chats` and the list of `runners`, and ends its sessions at `shutdown`.
    pub fn new(shutdown: &CancellationToken, chats: ChatService, runners: Views) -> Self {
        chats.tools().put_first(Typed::<ListRunners>::new(runners));
        let tools = Tools(chats);
        let manager = sessions::manager();
        let config = StreamableHttpServerConfig::default()
            // The server's middleware checks Host and Origin for every route.
            .disable_allowed_hosts()
            .with_max_request_body_bytes(JSON_BODY_BYTES)
            .with_cancellation_token(shutdown.child_token());
        let service = StreamableHttpService::new(move || Ok(tools.clone()), Arc::clone(&manager), config);
        Self { service, sessions: Sessions::new(manager) }
    }
}

/// The Model Context Protocol over streamable HTTP: `list_runners`, `exec`, `read_file`, `write_file`, `list_directory`, `glob`,
/// `grep` and background tasks on the caller's runners. Needs an Authorization header; a cookie is not enough.
#[utoipa::path(post, path = "/mcp", tag = "mcp", request_body(content = Object, content_type = "application/json"),
    responses((status = 200, content_type = "text/event-stream", body = String), (status = 202), (status = 401), (status = 403),
        (status = 404), (status = 413)))]
pub async fn serve(State(state): State<AppState>, request: Request) -> Response {
    match answer(state, request).await {
        Ok(response) => response,
        Err(error) => {
            let is_unauthorized = error.kind == "unauthorized";
            let mut response = error.into_response();
            if is_unauthorized {
                let challenge = HeaderValue::from_static("Bearer realm=\"sandbridge\"");
                response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
            }
            response
        }
    }
}

async fn answer(state: AppState, request: Request) -> Result<Response, ApiError> {
    let (mut parts, body) = request.into_parts();
    check_origin(&state, &parts)?;
    if bearer_token(&parts.headers).is_none() {
        return Err(ApiError::new(
            "unauthorized",
            "an MCP client needs a key: make one with `sandbridge key add NAME` and send it as `Authorization: Bearer sbk_…`",
        ));
    }
    let caller = Caller::from_request_parts(&mut parts, &state).await?;
    let named = parts.headers.get(SESSION_HEADER).map(|value| value.to_str().unwrap_or_default().to_owned());
    if let Some(id) = &named
        && !state.mcp.sessions.is_own(id, &caller)
    {
        return Err(ApiError::new("not_found", "there is no such session; initialize a new one"));
    }
    let body = whole(Request::from_parts(parts.clone(), body)).await?;
    let is_goodbye = parts.method == Method::DELETE;
    // The header is removed so that the data that rmcp logs or stores with a session contains no secret.
    parts.headers.remove(header::AUTHORIZATION);
    parts.headers.remove(header::COOKIE);
    parts.extensions.insert(caller.clone());
    parts.extensions.insert(state.clone());
    let response = state.mcp.service.handle(Request::from_parts(parts, Body::from(body))).await;
    match (named, response.headers().get(SESSION_HEADER).and_then(|value| value.to_str().ok())) {
        (Some(id), _) if is_goodbye && response.status().is_success() => state.mcp.sessions.forget(&id),
        (None, Some(id)) => state.mcp.sessions.opened(id, &caller).await,
        _ => {}
    }
    let is_stream =
        response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream");
    if !is_stream {
        return Ok(response.map(Body::new));
    }
    // A stream ends once the client's key is no longer valid, which is checked every few seconds while the client reads.
    let ended = Box::pin(async move { caller.session_ended(&state).await });
    Ok(response.map(|body| Body::from_stream(Body::new(body).into_data_stream().take_until(ended))))
}

/// Refuses every request of a page of another site.
fn check_origin(state: &AppState, parts: &Parts) -> Result<(), ApiError> {
    let is_ours = match (parts.headers.get(header::ORIGIN), host(&parts.uri, &parts.headers)) {
        (None, _) => true,
        (Some(origin), Some(host)) => same_origin(state, origin, host),
        (Some(_), None) => false,
    };
    if is_ours {
        Ok(())
    } else {
        Err(ApiError::new("forbidden", "the request comes from a page of another site"))
    }
}

/// Reads the request's body, which must be within the server's limit and arrive in time.
async fn whole(request: Request) -> Result<Bytes, ApiError> {
    let too_large = || {
        let limit_mib = JSON_BODY_BYTES / 1024 / 1024;
        let advice = "write large files in parts with exec";
        ApiError::new("too_large", format!("a message can have at most {limit_mib} MiB; {advice}"))
    };
    let announced =
        request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if announced.is_some_and(|bytes: u64| bytes > JSON_BODY_BYTES as u64) {
        return Err(too_large());
    }
    let body = timeout(JSON_BODY_TIMEOUT, Bytes::from_request(request, &()));
    let body = body.await.map_err(|_| ApiError::invalid("the request's body did not arrive in time"))?;
    body.map_err(|error| match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => too_large(),
        _ => ApiError::invalid(error.body_text()),
    })
}
