//! The state shared by all requests.

use std::net::IpAddr;
use std::ops::Deref;
use std::sync::Arc;

use accounts::{Accounts, Act, User, UserId};
use automation::Automations;
use channels::Channels;
use chats::{ChatService, Subscription};
use execs::Ledger;
use groups::Groups;
use metrics_exporter_prometheus::PrometheusHandle;
use sandbox::{Sandbox, SandboxRouter};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::extended::Extended;
use crate::web::cluster::Cluster;
use crate::web::error::ApiError;
use crate::web::guard::HostPolicy;
use crate::web::hub::Hub;
use crate::web::install::HandOut;
use crate::web::mcp::Mcp;
use crate::web::rate::{DeliveryTarget, RateLimiter};
use crate::web::ready::Readiness;
use crate::web::searches::Searches;
use crate::web::setup::Facts;

/// The state of the server. Cheap to clone; all clones share the same state.
#[derive(Clone)]
pub struct AppState(Arc<Shared>);

/// The fields of [`AppState`], which all clones share.
pub struct Shared {
    /// The accounts, and the audit trail.
    pub accounts: Accounts,
    /// The router of work.
    pub router: SandboxRouter,
    /// The ledger of all execs.
    pub ledger: Ledger,
    /// The chat service.
    pub chats: ChatService,
    /// Everything that people add to agents.
    pub extensions: Extended,
    /// The automations.
    pub automations: Automations,
    /// The accounts on messengers.
    pub channels: Channels,
    /// The groups.
    pub groups: Groups,
    /// The listeners of events.
    pub hub: Arc<Hub>,
    /// The hub's subscription to the events of chats.
    pub events: Subscription,
    /// The runner for machines.
    pub hand_out: Arc<HandOut>,
    /// The names of this server in Host headers.
    pub hosts: HostPolicy,
    /// The public address of the server, if it was configured.
    pub public_url: Option<String>,
    /// True if TLS is built in.
    pub tls: bool,
    /// The name of the cookie of pages' sessions.
    pub cookie_name: String,
    /// The limit on invalid keys of programs, by address.
    pub refused_keys: RateLimiter<IpAddr>,
    /// The limit on refused registrations, by address.
    pub registrations: RateLimiter<IpAddr>,
    /// The limit on deliveries that were refused, by address and target.
    pub refused_deliveries: RateLimiter<(IpAddr, DeliveryTarget)>,
    /// The limit on concurrent searches.
    pub searches: Searches,
    /// The endpoint of the Model Context Protocol.
    pub mcp: Mcp,
    /// Renders the metrics.
    pub metrics: PrometheusHandle,
    /// Cancelled when the server stops.
    pub shutdown: CancellationToken,
    /// Every task of the server.
    pub tasks: TaskTracker,
    /// The attached execs whose end is not on record yet.
    pub execs: TaskTracker,
    /// Public information about the server, determined when it started.
    pub facts: Facts,
    /// This server as one of several nodes that work at once, if it is one.
    pub cluster: Option<Cluster>,
    /// Whether the server accepts work.
    pub ready: Arc<Readiness>,
}

impl Deref for AppState {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl AppState {
    /// Makes the state shareable.
    pub fn new(shared: Shared) -> Self {
        Self(Arc::new(shared))
    }

    /// The sandbox for a user's request: the place named by `on`, else the one in their settings.
    ///
    /// # Errors
    /// The router's reason, for the user to read.
    pub async fn sandbox(&self, user: &User, on: Option<&str>) -> Result<Sandbox, ApiError> {
        Ok(self.ledger.sandbox(user, on).await?)
    }

    /// A token that is cancelled when the server stops, or when it is no longer this user's home.
    pub fn stopped(&self, user: UserId) -> CancellationToken {
        self.ledger.stopped(user)
    }

    /// The requested place of a user who got no sandbox, for the audit trail: the one named by `on`, else their active one;
    /// `None` if they named none.
    pub async fn place_asked_for(&self, user: &User, on: Option<&str>) -> Option<String> {
        self.ledger.place_asked_for(user, on).await
    }

    /// Adds an audit entry for a user's action. A failure is only logged, because the action has already been done.
    pub async fn audit(
        &self,
        user: Option<&str>,
        action: &str,
        location: Option<&str>,
        target: &str,
        outcome: &str,
    ) {
        self.accounts.record(Act { user, action, location, target, outcome }).await;
    }

    /// The server's address for clients: the configured one, else the host of this request.
    pub fn public_base(&self, host: &str) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        self.public_url.clone().unwrap_or_else(|| format!("{scheme}://{host}"))
    }

    /// True if browsers reach this server only by TLS, as far as the server knows.
    pub fn is_secure(&self) -> bool {
        self.tls || self.public_url.as_deref().is_some_and(|url| url.starts_with("https://"))
    }
}

/// The user with this key in the router; the inverse of [`execs::sandbox_user`].
pub fn user_of_key(key: &str) -> Option<UserId> {
    key.strip_prefix('u')?.parse().ok().map(UserId)
}
