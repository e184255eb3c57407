//! What every request shares.

use std::net::IpAddr;
use std::ops::Deref;
use std::sync::Arc;

use accounts::{Accounts, Act, User, UserId};
use chats::{ChatService, Subscription};
use execs::Ledger;
use metrics_exporter_prometheus::PrometheusHandle;
use sandbox::{Sandbox, SandboxRouter};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::web::error::ApiError;
use crate::web::guard::HostPolicy;
use crate::web::hub::Hub;
use crate::web::install::HandOut;
use crate::web::logins::LoginLimits;
use crate::web::mcp::Mcp;
use crate::web::rate::RateLimiter;
use crate::web::searches::Searches;
use crate::web::setup::Facts;
use crate::web::tickets::Tickets;

/// The state of the server. Cheap to clone; every clone is the same.
#[derive(Clone)]
pub struct AppState(Arc<Shared>);

/// See [`AppState`].
pub struct Shared {
    /// Who may use it, and what is on record of what they did.
    pub accounts: Accounts,
    /// Where work goes.
    pub router: SandboxRouter,
    /// Every exec.
    pub ledger: Ledger,
    /// What answers in chats.
    pub chats: ChatService,
    /// Who listens to events.
    pub hub: Arc<Hub>,
    /// The hub's subscription to what happens in chats.
    pub events: Subscription,
    /// The runner that machines are given.
    pub hand_out: Arc<HandOut>,
    /// Which Host headers are ours.
    pub hosts: HostPolicy,
    /// How the server is reached, where it was told.
    pub public_url: Option<String>,
    /// Whether TLS is built in.
    pub tls: bool,
    /// Failed logins.
    pub logins: LoginLimits,
    /// The name of the cookie that pages' sessions have.
    pub cookie_name: String,
    /// What browsers may fetch without a token.
    pub tickets: Tickets,
    /// Keys of programs that opened nothing, by address.
    pub refused_keys: RateLimiter<IpAddr>,
    /// Refused registrations by address.
    pub registrations: RateLimiter<IpAddr>,
    /// Room for searches.
    pub searches: Searches,
    /// The endpoint of the Model Context Protocol.
    pub mcp: Mcp,
    /// Renders the metrics.
    pub metrics: PrometheusHandle,
    /// Set when the server stops.
    pub shutdown: CancellationToken,
    /// Every task of the server.
    pub tasks: TaskTracker,
    /// The attached execs whose end is not on record yet.
    pub execs: TaskTracker,
    /// What the server was started with.
    pub facts: Facts,
}

impl Deref for AppState {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl AppState {
    /// Shares the state.
    pub fn new(shared: Shared) -> Self {
        Self(Arc::new(shared))
    }

    /// The sandbox of a user's request: the place `on` names, else where their settings say.
    ///
    /// # Errors
    /// What the routing rules say, for the user to read.
    pub async fn sandbox(&self, user: &User, on: Option<&str>) -> Result<Sandbox, ApiError> {
        Ok(self.ledger.sandbox(user, on).await?)
    }

    /// What a user's request asked for where it got no sandbox, for the audit trail: the place `on` names, else their
    /// active one; `None` if they named none.
    pub async fn place_asked_for(&self, user: &User, on: Option<&str>) -> Option<String> {
        self.ledger.place_asked_for(user, on).await
    }

    /// Leaves a trace of what a user did. A failure is logged only: what was done is done.
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

    /// How clients reach this server: as it was told, else by the host this request was sent to.
    pub fn public_base(&self, host: &str) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        self.public_url.clone().unwrap_or_else(|| format!("{scheme}://{host}"))
    }

    /// Whether browsers reach this server by TLS only, as far as it knows.
    pub fn is_secure(&self) -> bool {
        self.tls || self.public_url.as_deref().is_some_and(|url| url.starts_with("https://"))
    }
}

/// The user whose key in the router this is; the inverse of [`execs::sandbox_user`].
pub fn user_of_key(key: &str) -> Option<UserId> {
    key.strip_prefix('u')?.parse().ok().map(UserId)
}
