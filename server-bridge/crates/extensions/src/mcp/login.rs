//! Logins to servers that require one: OAuth 2.1 with PKCE, as crate `rmcp` implements it.
//!
//! ```text
//!   login: 401 and its challenge ─▶ the provider's metadata ─▶ a client's id ─▶ the page for the user's browser
//!   end: the browser comes back with a code ─▶ state, issuer and address are checked ─▶ tokens, sealed in the store
//!   connection: each request carries the token ─▶ expired: one refresh at a time for all connections of a server
//! ```
//! A grant is bound to the hash of its server's definition: a token is sent to no other address.

mod client;
mod own;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession, CredentialStore,
    OAuthClientConfig, StoredCredentials,
};
use serde::{Deserialize, Serialize};
use store::{Store, UserId};
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::{Instant, timeout};

pub(super) use client::LoggedIn;
use client::Renewal;
use own::OwnClient;

use super::credentials::ClientCredentials;
use super::servers::Server;
use super::way::Way;
use crate::limits::{MCP_LOGIN_PATIENCE, MCP_LOGIN_REQUEST_PATIENCE, MCP_LOGINS_PENDING, MCP_TOKEN_MARGIN};
use crate::way_back::{leads_to, line, parameter};

/// The name under which Sandbridge registers as a client with a provider.
const CLIENT_NAME: &str = "Sandbridge";

/// The tokens that a provider granted, in the form that the store seals.
#[derive(Clone, Serialize, Deserialize)]
struct Grant {
    credentials: StoredCredentials,
    /// The secret of the client that the tokens were issued to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_secret: Option<String>,
    #[serde(default)]
    redirect_uri: String,
}

/// A user, and the name of one of their servers.
type Key = (UserId, String);

/// The lock that is held during a refresh.
type Refreshing = Arc<AsyncMutex<()>>;

/// All logins, pending and completed.
#[derive(Default)]
pub(super) struct Logins {
    /// The logins that have begun, by their `state` parameter.
    pending: Mutex<HashMap<String, Pending>>,
    /// The locks that allow one refresh at a time for each user's server.
    refreshes: Mutex<HashMap<Key, Refreshing>>,
    /// The last challenge of each user's server: what it requires beyond what was granted.
    challenges: Mutex<HashMap<Key, String>>,
}

/// A login that has begun.
struct Pending {
    user: UserId,
    server: String,
    hash: String,
    redirect_uri: String,
    client_secret: Option<String>,
    session: AuthorizationSession,
    since: Instant,
}

/// A user's server, for its grant.
#[derive(Clone)]
pub(super) struct Who {
    pub(super) user: UserId,
    pub(super) server: String,
    pub(super) hash: String,
}

impl Who {
    pub(super) fn of(user: UserId, server: &Server) -> Self {
        Self { user, server: server.name.clone(), hash: server.hash.clone() }
    }

    fn key(&self) -> Key {
        (self.user, self.server.clone())
    }
}

/// The parameters of a new login.
pub(super) struct Start<'a> {
    pub(super) redirect_uri: &'a str,
    pub(super) client_id: Option<&'a str>,
    pub(super) client_secret: Option<&'a str>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // Each change is a single step, so the data stays consistent if another thread panics.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Logins {
    /// Remembers what a server requires.
    pub(super) fn challenged(&self, who: &Who, challenge: &str) {
        let mut challenges = lock(&self.challenges);
        if challenges.len() >= MCP_LOGINS_PENDING {
            challenges.clear();
        }
        challenges.insert(who.key(), challenge.to_owned());
    }

    /// The transport's client for a server: it adds the token that its user has, if there is one.
    ///
    /// Fails with the reason as text.
    pub(super) async fn client<C>(
        &self,
        store: &Store,
        way: &Way,
        who: &Who,
        url: &str,
        http: C,
        own: Option<&ClientCredentials>,
    ) -> Result<LoggedIn<C>, String> {
        let grants = self.grants(store, who);
        if let Some(own) = own {
            let own = OwnClient::new(way.clone(), url.to_owned(), own.clone());
            return Ok(LoggedIn { http, renewal: Renewal::Own(Arc::new(own)), grants });
        }
        let mut manager = manager(way, url).await.map_err(|error| words(&error))?;
        let known = grants.read().await.map_err(|error| words(&error))?;
        manager.set_credential_store(grants.clone());
        let mut is_known = false;
        if let Some(grant) = known {
            let begun = timeout(MCP_LOGIN_REQUEST_PATIENCE, manager.initialize_from_store()).await;
            // If its provider changed, the tokens of the former one are not sent.
            is_known = match begun {
                Ok(is_known) => is_known.map_err(|error| words(&error))?,
                Err(_) => return Err("its login provider did not answer in time".to_owned()),
            };
            if is_known && let Some(secret) = grant.client_secret {
                let config = OAuthClientConfig::new(grant.credentials.client_id, grant.redirect_uri);
                manager.configure_client(config.with_client_secret(secret)).map_err(|error| words(&error))?;
            }
        }
        let renewal = if is_known { Renewal::Refresh(Arc::new(manager)) } else { Renewal::Login };
        Ok(LoggedIn { http, renewal, grants })
    }

    /// Begins a login; returns the page for the user's browser.
    ///
    /// Fails with the reason as text.
    pub(super) async fn begin(
        &self,
        store: &Store,
        way: &Way,
        who: &Who,
        url: &str,
        start: &Start<'_>,
    ) -> Result<String, String> {
        let mut manager = manager(way, url).await.map_err(|error| words(&error))?;
        let grants = self.grants(store, who);
        let granted = grants.read().await.map_err(|error| words(&error))?;
        let granted = granted.map(|grant| grant.credentials.granted_scopes).unwrap_or_default();
        manager.set_credential_store(grants);
        let challenge = lock(&self.challenges).get(&who.key()).cloned();
        let work = async {
            let found = manager.resolve_metadata_from_challenge(challenge.as_deref()).await?.metadata;
            // Checked here, so that users need not log in first to learn that no token can be fetched.
            for endpoint in std::iter::once(&found.token_endpoint).chain(&found.registration_endpoint) {
                way.check(endpoint).map_err(|error| AuthError::MetadataError(error.to_string()))?;
            }
            manager.set_metadata(found);
            // The granted permissions are requested again, because a token for one more permission replaces the old token.
            let mut scopes = manager.select_scopes(None, &[]);
            for scope in granted {
                if !scopes.contains(&scope) {
                    scopes.push(scope);
                }
            }
            let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
            let config = match start.client_id {
                Some(id) => {
                    let config = OAuthClientConfig::new(id, start.redirect_uri);
                    match start.client_secret {
                        Some(secret) => config.with_client_secret(secret),
                        None => config,
                    }
                }
                None => manager.register_client(CLIENT_NAME, start.redirect_uri, &scopes).await?,
            };
            let mut request = AuthorizationRequest::new(start.redirect_uri)
                .with_scopes(scopes.iter().copied())
                .with_client_name(CLIENT_NAME)
                .with_preregistered_client(config.client_id.clone());
            if let Some(secret) = &config.client_secret {
                request = request.with_client_secret(secret.clone());
            }
            let session = AuthorizationSession::new(manager, request).await.map_err(|(_, error)| error)?;
            Ok::<_, AuthError>((session, config.client_secret))
        };
        let (session, client_secret) = match timeout(MCP_LOGIN_REQUEST_PATIENCE, work).await {
            Ok(begun) => begun.map_err(|error| words(&error))?,
            Err(_) => return Err("its login provider did not answer in time".to_owned()),
        };
        let page = session.get_authorization_url().to_owned();
        guard::check_text(&page).map_err(|_| "its login provider returned no login page".to_owned())?;
        let state = parameter(&page, "state").ok_or("its login has no state")?;
        let Who { user, server, hash } = who.clone();
        let redirect_uri = start.redirect_uri.to_owned();
        let pending =
            Pending { user, server, hash, redirect_uri, client_secret, session, since: Instant::now() };
        let mut all = lock(&self.pending);
        all.retain(|_, pending| pending.since.elapsed() < MCP_LOGIN_PATIENCE);
        if all.len() >= MCP_LOGINS_PENDING {
            return Err("too many logins have begun on this server; try again in 10 minutes".to_owned());
        }
        all.insert(state, pending);
        Ok(page)
    }

    /// Ends a login with the address to which the browser was sent back; returns the server's name.
    ///
    /// Fails with the reason as text.
    pub(super) async fn end(&self, store: &Store, user: UserId, url: &str) -> Result<Who, String> {
        let unknown =
            "no login of yours is waiting for this address; start it again, and finish within 10 minutes";
        let state = parameter(url, "state").ok_or(unknown)?;
        let pending = {
            let mut all = lock(&self.pending);
            // Another user's login is not touched.
            let is_own = all
                .get(&state)
                .is_some_and(|pending| pending.user == user && pending.since.elapsed() < MCP_LOGIN_PATIENCE);
            is_own.then(|| all.remove(&state)).flatten()
        };
        let Some(pending) = pending else { return Err(unknown.to_owned()) };
        if !leads_to(url, &pending.redirect_uri) {
            return Err("the browser was sent to a different address from the one that the login asked for"
                .to_owned());
        }
        if let Some(error) = parameter(url, "error") {
            let about = parameter(url, "error_description").unwrap_or_default();
            return Err(format!("its login provider refused: {} {}", line(&error), line(&about))
                .trim_end()
                .to_owned());
        }
        let done = timeout(MCP_LOGIN_REQUEST_PATIENCE, pending.session.handle_callback_url(url)).await;
        match done {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => return Err(words(&error)),
            Err(_) => return Err("its login provider did not answer in time".to_owned()),
        }
        let Pending { user, server, hash, redirect_uri, client_secret, .. } = pending;
        let who = Who { user, server, hash };
        let grants = self.grants(store, &who);
        if let Some(grant) = grants.read().await.map_err(|error| words(&error))? {
            let grant = Grant { client_secret, redirect_uri, ..grant };
            grants.write(&grant).await.map_err(|error| words(&error))?;
        }
        lock(&self.challenges).remove(&who.key());
        Ok(who)
    }

    fn grants(&self, store: &Store, who: &Who) -> Grants {
        let refreshing = Arc::clone(lock(&self.refreshes).entry(who.key()).or_default());
        Grants { store: store.clone(), who: who.clone(), refreshing }
    }
}

async fn manager(way: &Way, url: &str) -> Result<AuthorizationManager, AuthError> {
    AuthorizationManager::new_with_oauth_http_client(url, Arc::new(way.clone())).await
}

/// The grant of a user's server, in the store.
#[derive(Clone)]
pub(super) struct Grants {
    store: Store,
    who: Who,
    refreshing: Refreshing,
}

impl Grants {
    async fn read(&self) -> Result<Option<Grant>, AuthError> {
        let Who { user, server, hash } = &self.who;
        let grant = self.store.oauth_grant(*user, server, hash).await.map_err(stored)?;
        // A stored grant in the format of another version is ignored.
        Ok(grant.and_then(|grant| serde_json::from_str(&grant).ok()))
    }

    /// The token, and true if it is about to expire; `None` if there is no grant.
    async fn token(&self) -> Result<Option<(String, bool)>, AuthError> {
        let Some(grant) = self.read().await? else { return Ok(None) };
        let response = serde_json::to_value(&grant.credentials.token_response).unwrap_or_default();
        let Some(token) = response["access_token"].as_str() else { return Ok(None) };
        let since = grant.credentials.token_received_at.unwrap_or_default();
        let ends = response["expires_in"].as_u64().map(|seconds| since + seconds);
        // A very short-lived token is used until it expires.
        let is_over =
            ends.is_some_and(|ends| now() + MCP_TOKEN_MARGIN.as_secs().min((ends - since) / 2) >= ends);
        Ok(Some((token.to_owned(), is_over)))
    }

    async fn write(&self, grant: &Grant) -> Result<(), AuthError> {
        let Who { user, server, hash } = &self.who;
        let grant =
            serde_json::to_string(grant).map_err(|error| AuthError::InternalError(error.to_string()))?;
        self.store.put_oauth_grant(*user, server, hash, &grant).await.map_err(stored)
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn stored(error: store::Error) -> AuthError {
    tracing::error!(%error, "the store failed for a login to an MCP server");
    AuthError::CredentialStoreError(error.shown())
}

#[async_trait]
impl CredentialStore for Grants {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        Ok(self.read().await?.map(|grant| grant.credentials))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let (client_secret, redirect_uri) = match self.read().await? {
            Some(grant) if grant.credentials.client_id == credentials.client_id => {
                (grant.client_secret, grant.redirect_uri)
            }
            _ => (None, String::new()),
        };
        self.write(&Grant { credentials, client_secret, redirect_uri }).await
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.store.remove_oauth_grant(self.who.user, &self.who.server).await.map(drop).map_err(stored)
    }
}

/// An error of a login, for people and models; it contains no token.
pub(super) fn words(error: &AuthError) -> String {
    match error {
        AuthError::AuthorizationRequired | AuthError::TokenExpired => "it requires a login".to_owned(),
        AuthError::TokenRefreshRejected(_) => "its login has expired; log in again".to_owned(),
        AuthError::DiscoveryRequestFailed { source, .. } => {
            format!("the request to its login provider failed: {}", line(&guard::cause(&**source)))
        }
        AuthError::AuthorizationServerMismatch { .. }
        | AuthError::AuthorizationServerMissingIssuer { .. } => {
            format!("its login provider is not the one that it named: {}", line(&error.to_string()))
        }
        AuthError::MetadataError(why) => format!("its login provider cannot be used: {}", line(why)),
        AuthError::ClientCredentialsError(why) => line(why),
        other => line(&other.to_string()),
    }
}

#[cfg(test)]
mod tests;
