//! `GET /healthz` and `GET /readyz`: whether the process is running, and whether it accepts work.

use std::sync::atomic::{AtomicBool, Ordering};

use axum::extract::State;
use axum::response::IntoResponse;
use nodes::Nodes;

use crate::web::error::ApiError;
use crate::web::state::AppState;

/// The state that a load balancer needs to know before it sends requests to this server.
#[derive(Default)]
pub struct Readiness {
    is_away: AtomicBool,
    is_draining: AtomicBool,
    /// This server as a node: a node listens before it has taken over the users of dead nodes.
    node: Option<Nodes>,
}

impl Readiness {
    /// Creates the state of this node; `None` for a server that works alone.
    pub fn new(node: Option<Nodes>) -> Self {
        Self { node, ..Self::default() }
    }

    /// The number of users that this node works for; `None` for a server that works alone.
    pub fn homes(&self) -> Option<usize> {
        self.node.as_ref().map(Nodes::homes)
    }

    /// Records whether the database is unavailable.
    pub fn set_away(&self, is_away: bool) {
        self.is_away.store(is_away, Ordering::Release);
    }

    /// Records whether the server is draining, because it is about to stop or because an administrator requested that.
    pub fn set_draining(&self, is_draining: bool) {
        self.is_draining.store(is_draining, Ordering::Release);
    }

    /// The reason why the server should not get any work; `None` if it accepts work.
    fn obstacle(&self) -> Option<&'static str> {
        if self.is_draining.load(Ordering::Acquire) {
            return Some("the server is draining; send requests to another node, or try again in a moment");
        }
        if self.is_away.load(Ordering::Acquire) {
            return Some("the server's database is unavailable; try again in a moment");
        }
        let is_recovering = self.node.as_ref().is_some_and(|node| !node.has_swept());
        is_recovering.then_some("the server is still taking over unfinished work; try again in a moment")
    }
}

/// Answers 200 while the server accepts work, else 503 with the reason.
pub async fn ready(State(state): State<AppState>) -> Result<impl IntoResponse, ApiError> {
    match state.ready.obstacle() {
        None => Ok("ok"),
        Some(why) => Err(ApiError::new("unavailable", why)),
    }
}
