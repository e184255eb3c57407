//! The metrics, and their page for Prometheus.

use std::sync::OnceLock;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use execs::{EXEC_SECONDS, EXECS};
use metrics::{counter, gauge};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use nodes::{CLAIMS, REFUSED_FENCES};

use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::state::AppState;

/// The gauge of registered sockets of runners.
const RUNNERS: &str = "sandbridge_runners_connected";
/// The counter of registrations of runners that had been connected before.
const REDIALS: &str = "sandbridge_runner_redials_total";
/// The gauge of users that this node works for.
const HOMES: &str = "sandbridge_homes";
/// The gauge of connections that this node passes on to their user's home.
const PIPES: &str = "sandbridge_pipes";
/// The gauge of connections to the database that are in use.
const DATABASE_IN_USE: &str = "sandbridge_database_connections_in_use";
/// The gauge of the maximum number of connections to the database.
const DATABASE_MOST: &str = "sandbridge_database_connections_max";
/// The counter of requests, by method, route and status.
const REQUESTS: &str = "sandbridge_http_requests_total";

/// The upper ends of the histogram's buckets, in seconds: a millisecond to an hour.
const EXEC_BUCKETS: [f64; 14] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0, 120.0, 600.0, 3600.0];

/// The process's metrics. They are created once, however many servers run in the process.
pub fn handle() -> PrometheusHandle {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    HANDLE
        .get_or_init(|| {
            let builder = PrometheusBuilder::new()
                .set_buckets(&EXEC_BUCKETS)
                .expect("the list of buckets is not empty");
            let recorder = builder.build_recorder();
            let handle = recorder.handle();
            if metrics::set_global_recorder(recorder).is_err() {
                tracing::warn!("another recorder of metrics is installed; /metrics stays empty");
            }
            metrics::describe_gauge!(RUNNERS, "Registered sockets of runners.");
            metrics::describe_counter!(REDIALS, "Registrations of runners that had been connected before.");
            metrics::describe_gauge!(HOMES, "Users that this node works for.");
            metrics::describe_counter!(CLAIMS, "Users whose home this node became.");
            metrics::describe_counter!(
                REFUSED_FENCES,
                "Changes that the database refused because the user has another home."
            );
            metrics::describe_gauge!(PIPES, "Connections passed on to the node that works for their user.");
            metrics::describe_gauge!(DATABASE_IN_USE, "Connections to the database in use, by purpose.");
            metrics::describe_gauge!(
                DATABASE_MOST,
                "The maximum number of connections to the database, by purpose."
            );
            metrics::describe_counter!(EXECS, "Commands of the exec socket, by outcome.");
            metrics::describe_histogram!(EXEC_SECONDS, "Duration of commands of the exec socket.");
            metrics::describe_counter!(REQUESTS, "HTTP requests, by method, route and status.");
            handle
        })
        .clone()
}

/// Counts a registered runner for as long as this value exists.
#[derive(Debug)]
pub struct ConnectedRunner(());

impl ConnectedRunner {
    /// Counts one more runner, which registered for the `epoch`th time.
    pub fn count(epoch: u64) -> Self {
        gauge!(RUNNERS).increment(1.0);
        if epoch > 1 {
            counter!(REDIALS).increment(1);
        }
        Self(())
    }
}

impl Drop for ConnectedRunner {
    fn drop(&mut self) {
        gauge!(RUNNERS).decrement(1.0);
    }
}

/// Counts a connection that is passed on to another node for as long as this value exists.
#[derive(Debug)]
pub struct Pipe(&'static str);

impl Pipe {
    /// Counts one more runner's link.
    pub fn of_runner() -> Self {
        Self::count("runner")
    }

    /// Counts one more socket of a page or a program.
    pub fn of_client() -> Self {
        Self::count("client")
    }

    fn count(of: &'static str) -> Self {
        gauge!(PIPES, "of" => of).increment(1.0);
        Self(of)
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        gauge!(PIPES, "of" => self.0).decrement(1.0);
    }
}

/// The middleware that counts requests. The label `route` is the route's pattern, never text from a client.
pub async fn count(request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map_or("other", MatchedPath::as_str).to_owned();
    let method = method_word(request.method());
    let started = Instant::now();
    let response = next.run(request).await;
    let status = response.status().as_u16();
    tracing::debug!(method, route, status, took_us = started.elapsed().as_micros() as u64, "request");
    counter!(REQUESTS, "method" => method, "route" => route, "status" => status.to_string()).increment(1);
    response
}

/// The name of a known method; others get one common name, since a client can invent any number and each would be kept forever.
fn method_word(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::PATCH => "PATCH",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// The page for Prometheus. For administrators, and for programs with an administrator's key, because it shows the users' activity.
pub async fn page(State(state): State<AppState>, caller: Caller) -> Result<impl IntoResponse, ApiError> {
    caller.check_admin()?;
    if let Some(homes) = state.ready.homes() {
        gauge!(HOMES).set(homes as f64);
    }
    for pool in state.accounts.pools(&caller.user)? {
        gauge!(DATABASE_IN_USE, "purpose" => pool.purpose).set(f64::from(pool.in_use));
        gauge!(DATABASE_MOST, "purpose" => pool.purpose).set(f64::from(pool.most));
    }
    state.metrics.run_upkeep();
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], state.metrics.render()))
}
