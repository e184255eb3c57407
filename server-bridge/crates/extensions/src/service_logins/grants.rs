//! A user's tokens, sealed in the store, and their refresh: one at a time for each user.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use guard::request::Bounds;
use http_tools::Mask;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::{User, UserId};
use tokio::sync::Mutex as AsyncMutex;

use super::Inner;
use super::app::App;
use super::feishu::{self, Refused, Tokens};
use crate::approvals;
use crate::limits::{SERVICE_TOKEN_ANSWER_BYTES, SERVICE_TOKEN_MARGIN, SERVICE_TOKEN_PATIENCE};

/// The name of Feishu's grant in the store. No MCP server can have this name.
pub(super) const GRANT: &str = "provider/feishu";

/// The tokens of a user's login, as they are sealed in the store.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Grant {
    /// Empty once the login has ended.
    pub(super) access_token: String,
    /// The time when it expires, in Unix milliseconds.
    expires_at_ms: i64,
    /// The time when it is to be refreshed, in Unix milliseconds.
    refresh_at_ms: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refresh_token: Option<String>,
    /// The time at which the user logged in, in Unix milliseconds.
    pub(super) since_ms: i64,
}

impl Grant {
    pub(super) fn new(tokens: Tokens, since_ms: i64, now_ms: i64) -> Self {
        let lifetime_ms = i64::try_from(tokens.lifetime_s.saturating_mul(1000)).unwrap_or(i64::MAX / 2);
        let margin_ms = i64::try_from(SERVICE_TOKEN_MARGIN.as_millis()).unwrap_or(0);
        Self {
            access_token: tokens.access_token,
            expires_at_ms: now_ms.saturating_add(lifetime_ms),
            // A very short-lived token is refreshed after half of its lifetime.
            refresh_at_ms: now_ms.saturating_add(lifetime_ms - margin_ms.min(lifetime_ms / 2)),
            refresh_token: tokens.refresh_token,
            since_ms,
        }
    }

    /// True if the user has to log in again.
    pub(super) fn is_over(&self, now_ms: i64) -> bool {
        self.access_token.is_empty() || (self.refresh_token.is_none() && now_ms >= self.expires_at_ms)
    }
}

/// The data of a login that calls need.
#[derive(Clone)]
pub(super) struct Access {
    pub(super) token: String,
    /// Hides the tokens and the app's secret.
    pub(super) mask: Mask,
}

/// The message that a login has ended.
pub(super) fn ended(app: &App) -> String {
    let name = &app.account.name;
    format!(
        "your login to Feishu has ended; log in again with `sandbridge channel login {name}`, or under Channels in the settings"
    )
}

impl Inner {
    /// The app that a user is logged in with, and the tokens; `None` if the user is not logged in.
    pub(super) async fn granted(&self, user: UserId) -> store::Result<Option<(App, Grant)>> {
        let grants = self.store.oauth_grants(user).await?;
        let Some((_, hash)) = grants.into_iter().find(|(name, _)| name == GRANT) else { return Ok(None) };
        let Some(app) = self.apps(user).await?.into_iter().find(|app| app.hash() == hash) else {
            return Ok(None);
        };
        Ok(self.read(user, &app).await?.map(|grant| (app, grant)))
    }

    async fn read(&self, user: UserId, app: &App) -> store::Result<Option<Grant>> {
        let grant = self.store.oauth_grant(user, GRANT, &app.hash()).await?;
        // A stored grant in the format of another version is ignored.
        Ok(grant.and_then(|grant| serde_json::from_str(&grant).ok()))
    }

    pub(super) async fn write(&self, user: UserId, app: &App, grant: &Grant) -> store::Result<()> {
        let grant = serde_json::to_string(grant).unwrap_or_default();
        self.store.put_oauth_grant(user, GRANT, &app.hash(), &grant).await
    }

    /// The lock to hold while a user's grant is changed.
    pub(super) fn refreshing(&self, user: UserId) -> Arc<AsyncMutex<()>> {
        let mut all = self.refreshes.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(user).or_default())
    }

    /// The token of a user for an app, refreshed if it is about to expire, or if it is the `stale` one.
    ///
    /// Fails with the reason as text.
    pub(super) async fn access(
        self: &Arc<Self>,
        user: &User,
        app: &App,
        stale: Option<String>,
    ) -> Result<Access, String> {
        let (inner, user, app) = (Arc::clone(self), user.clone(), app.clone());
        // Runs in a separate task: a refresh that began must be stored even if the turn that needs it is cancelled.
        let work = self.tasks.spawn(async move { inner.refreshed(&user, &app, stale.as_deref()).await });
        work.await.map_err(|_| "an internal error of Sandbridge; its log says more".to_owned())?
    }

    async fn refreshed(&self, user: &User, app: &App, stale: Option<&str>) -> Result<Access, String> {
        let refreshing = self.refreshing(user.id);
        let _held = refreshing.lock().await;
        let secret = self.secret(app).await.map_err(|error| words(&error))?;
        let Some(grant) = self.read(user.id, app).await.map_err(|error| words(&error))? else {
            return Err(ended(app));
        };
        let now = self.store.now_ms();
        if grant.is_over(now) {
            return Err(ended(app));
        }
        if now < grant.refresh_at_ms && stale != Some(&grant.access_token) {
            return Ok(grant.access(secret.as_deref()));
        }
        let refreshed = match (&grant.refresh_token, &secret) {
            (Some(token), Some(secret)) => {
                let request = feishu::by_refresh(&app.client_id, secret, token);
                self.tokens(app, request, &grant.access(Some(secret)).mask).await
            }
            // Without a refresh token, the access token is used until it expires, or until it is refused.
            _ if stale.is_none() && now < grant.expires_at_ms => return Ok(grant.access(secret.as_deref())),
            (None, _) => Err(Refused::Ended("it cannot be refreshed".to_owned())),
            (_, None) => Err(Refused::Failed("the secret of the channel's app is not known".to_owned())),
        };
        match refreshed {
            Ok(mut tokens) => {
                // If the response has no new refresh token, the old one stays valid.
                tokens.refresh_token = tokens.refresh_token.or_else(|| grant.refresh_token.clone());
                let grant = Grant::new(tokens, grant.since_ms, self.store.now_ms());
                self.write(user.id, app, &grant).await.map_err(|error| words(&error))?;
                Ok(grant.access(secret.as_deref()))
            }
            Err(Refused::Ended(why)) => {
                tracing::info!(user = user.name, why, "a user's login to Feishu has ended");
                let over = Grant { access_token: String::new(), refresh_token: None, ..grant };
                self.write(user.id, app, &over).await.map_err(|error| words(&error))?;
                approvals::note(&self.store, user, "channel.login", &app.account.name, "ended").await;
                Err(ended(app))
            }
            Err(Refused::Failed(why)) => Err(format!("Feishu issued no new token: {why}; try again later")),
        }
    }

    /// Requests tokens from Feishu. No error contains what the mask hides.
    pub(super) async fn tokens(&self, app: &App, request: Value, mask: &Mask) -> Result<Tokens, Refused> {
        let bounds = Bounds { patience: SERVICE_TOKEN_PATIENCE, most_bytes: SERVICE_TOKEN_ANSWER_BYTES };
        let headers = [("content-type", "application/json; charset=utf-8"), ("accept", "application/json")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let (url, body) = (feishu::token_url(&app.domain), Some(request.to_string()));
        let answered = self.requester.send("POST", &url, &headers, body, bounds).await;
        // The error may contain a URL from the service.
        let answered = answered.map_err(|error| {
            Refused::Failed(match error {
                guard::Error::Elsewhere(_) => "it redirects to another address".to_owned(),
                error => mask.text(&error.to_string()),
            })
        })?;
        feishu::tokens(answered.status, &answered.content).map_err(|refused| match refused {
            Refused::Ended(why) => Refused::Ended(mask.text(&why)),
            Refused::Failed(why) => Refused::Failed(mask.text(&why)),
        })
    }
}

impl Grant {
    fn access(&self, secret: Option<&str>) -> Access {
        let named = [
            (http_tools::feishu::TOKEN, Some(self.access_token.as_str())),
            ("FEISHU_REFRESH_TOKEN", self.refresh_token.as_deref()),
            ("FEISHU_APP_SECRET", secret),
        ];
        let secrets: BTreeMap<String, String> = named
            .into_iter()
            .filter_map(|(name, value)| {
                Some((name.to_owned(), value.filter(|value| !value.is_empty())?.to_owned()))
            })
            .collect();
        Access { token: self.access_token.clone(), mask: Mask::new(&secrets) }
    }
}

/// The text of a store error for people and models.
pub(super) fn words(error: &store::Error) -> String {
    tracing::error!(%error, "the store failed for a login to a service");
    error.shown()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(lifetime_s: u64, refresh_token: Option<&str>) -> Grant {
        let tokens = Tokens {
            access_token: "u-12345678".to_owned(),
            lifetime_s,
            refresh_token: refresh_token.map(str::to_owned),
        };
        Grant::new(tokens, 0, 1_000_000)
    }

    #[test]
    fn a_token_is_refreshed_before_it_expires_and_a_login_without_refreshes_ends_with_it() {
        let day = grant(7200, Some("ur-12345678"));
        assert_eq!((day.refresh_at_ms, day.expires_at_ms), (1_000_000 + 7_140_000, 1_000_000 + 7_200_000));
        assert_eq!(grant(10, None).refresh_at_ms, 1_000_000 + 5_000);
        assert!(!day.is_over(i64::MAX), "it can be refreshed");
        assert!(!grant(10, None).is_over(1_009_999) && grant(10, None).is_over(1_010_000));
        assert!(!grant(u64::MAX, None).is_over(1_000_001));
    }

    #[test]
    fn a_mask_hides_both_tokens_and_the_secret() {
        let access = grant(10, Some("ur-12345678")).access(Some("app-s3cret"));
        let text = access.mask.text("u-12345678 ur-12345678 app-s3cret");
        assert_eq!(
            text,
            "[secret FEISHU_USER_TOKEN] [secret FEISHU_REFRESH_TOKEN] [secret FEISHU_APP_SECRET]"
        );
    }
}
