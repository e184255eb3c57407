//! Listing, beginning, ending and removing logins.

use std::sync::Arc;

use api::channel::{ChannelLoggedIn, ChannelLoginList, ChannelLoginView};
use api::mcp::McpLogin;
use api::words::ChannelLoginState;
use http_tools::Mask;
use store::User;

use super::ServiceLogins;
use super::app::App;
use super::feishu::{self, Refused};
use super::grants::{GRANT, Grant, words};
use super::pending::Login;
use crate::way_back::{check_redirect, leads_to, line, parameter};
use crate::{Error, Result, approvals};

impl ServiceLogins {
    /// The channels whose services a user can log in to, and the user's logins.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn list(&self, user: &User) -> Result<ChannelLoginList> {
        let inner = &self.0;
        let granted = inner.granted(user.id).await?;
        let now = inner.store.now_ms();
        let view = |app: App| {
            let grant = granted.as_ref().filter(|(known, _)| known.hash() == app.hash());
            let state = match grant {
                None => ChannelLoginState::None,
                Some((_, grant)) if grant.is_over(now) => ChannelLoginState::Ended,
                Some(_) => ChannelLoginState::LoggedIn,
            };
            ChannelLoginView {
                channel: app.account.name,
                owner: app.account.owner,
                address: app.domain,
                state,
                since: grant.map(|(_, grant)| grant.since_ms),
            }
        };
        let logins = inner.apps(user.id).await?.into_iter().map(view).collect();
        let tools = http_tools::feishu::names().map(str::to_owned).collect();
        Ok(ChannelLoginList { logins, tools })
    }

    /// Begins a login to the service of a channel, with the channel's app; returns the page for the user's browser. The login has to be
    /// completed in the same session. `own` is this server's own address. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] if the channel's service has no logins, or the redirect URL is not permitted; [`Error::Store`].
    pub async fn begin(
        &self,
        user: &User,
        session: &str,
        channel: &str,
        redirect_uri: &str,
        own: Option<&str>,
    ) -> Result<McpLogin> {
        let app = self.app(user, channel).await?;
        check_redirect(redirect_uri, own).map_err(|why| Error::refused("invalid", why))?;
        let failed = |why: String| {
            let text = format!("the login with the channel {channel} could not be started: {why}");
            Error::refused("login_failed", text)
        };
        // Checked before the browser leaves: once it returns with a code, the login cannot be repeated.
        self.0.requester.check(&app.domain).map_err(|error| failed(error.to_string()))?;
        let (domain, client_id) = (app.domain.clone(), app.client_id.clone());
        let login = Login::new(user.id, session, app, redirect_uri).map_err(failed)?;
        let challenge = login.challenge();
        let state = self.0.pending.add(login).map_err(failed)?;
        let page = feishu::page(&domain, &client_id, redirect_uri, &state, &challenge);
        let url = page.ok_or_else(|| failed("its login provider returned no login page".to_owned()))?;
        approvals::note(&self.0.store, user, "channel.login", channel, "begun").await;
        Ok(McpLogin { url })
    }

    /// Completes a login with the URL to which the browser was redirected; returns the channel. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] if no login of this session waits for it, or the service refuses; [`Error::Store`].
    pub async fn end(&self, user: &User, session: &str, url: &str) -> Result<ChannelLoggedIn> {
        let state = parameter(url, "state").unwrap_or_default();
        let Some(login) = self.0.pending.take(&state, user.id, session) else {
            return Err(Error::refused(
                "login_failed",
                "no login of this session is waiting for this address; start it again, and finish within 10 minutes in the same browser",
            ));
        };
        let channel = login.app.account.name.clone();
        let ended = self.exchange(user, login, url).await;
        let outcome = if ended.is_ok() { "ok" } else { "failed" };
        approvals::note(&self.0.store, user, "channel.login", &channel, outcome).await;
        ended.map_err(|why| Error::refused("login_failed", format!("the login to Feishu failed: {why}")))?;
        Ok(ChannelLoggedIn { channel })
    }

    async fn exchange(&self, user: &User, login: Login, url: &str) -> Result<(), String> {
        let Login { app, redirect_uri, verifier, .. } = login;
        if !leads_to(url, &redirect_uri) {
            return Err("the browser was sent to a different address from the one that the login asked for"
                .to_owned());
        }
        if let Some(error) = parameter(url, "error") {
            let about = parameter(url, "error_description").unwrap_or_default();
            let why = format!("{} {}", line(&error), line(&about));
            return Err(format!("its login provider refused: {}", why.trim_end()));
        }
        let code = parameter(url, "code").filter(|code| !code.is_empty());
        let code = code.ok_or("the address that the browser came back to has no code")?;
        let inner = Arc::clone(&self.0);
        let user = user.clone();
        // Runs in a separate task, so that issued tokens are stored even if the browser disconnects.
        let work = self.0.tasks.spawn(async move {
            // The channel may have been changed or removed since the login began.
            let known = inner.apps(user.id).await.map_err(|error| words(&error))?;
            if !known.iter().any(|known| known.hash() == app.hash()) {
                return Err(
                    "the channel was changed or removed since the login began; start it again".to_owned()
                );
            }
            let secret = inner.secret(&app).await.map_err(|error| words(&error))?;
            let secret = secret.ok_or("the secret of the channel's app is not known")?;
            let refreshing = inner.refreshing(user.id);
            let _held = refreshing.lock().await;
            let names = ["FEISHU_APP_SECRET", "CODE", "VERIFIER"].map(str::to_owned);
            let values = [secret.clone(), code.clone(), verifier.clone()];
            let mask = Mask::new(names.iter().zip(&values));
            let request = feishu::by_code(&app.client_id, &secret, &code, &redirect_uri, &verifier);
            let tokens = inner.tokens(&app, request, &mask).await.map_err(|refused| match refused {
                Refused::Ended(why) | Refused::Failed(why) => format!("its login provider refused: {why}"),
            })?;
            let now = inner.store.now_ms();
            inner.write(user.id, &app, &Grant::new(tokens, now, now)).await.map_err(|error| words(&error))
        });
        work.await.map_err(|_| "an internal error of Sandbridge; its log says more".to_owned())?
    }

    /// Forgets the user's login with a channel's app. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is none; [`Error::Store`].
    pub async fn remove(&self, user: &User, channel: &str) -> Result<()> {
        let app = self.app(user, channel).await?;
        let refreshing = self.0.refreshing(user.id);
        let _held = refreshing.lock().await;
        let grants = self.0.store.oauth_grants(user.id).await?;
        let is_it = grants.iter().any(|(name, hash)| name == GRANT && *hash == app.hash());
        if !is_it || !self.0.store.remove_oauth_grant(user.id, GRANT).await? {
            let text = format!("you are not logged in with the channel {channel}");
            return Err(Error::refused("not_found", text));
        }
        approvals::note(&self.0.store, user, "channel.logout", channel, "ok").await;
        Ok(())
    }

    async fn app(&self, user: &User, channel: &str) -> Result<App> {
        let apps = self.0.apps(user.id).await?;
        apps.into_iter().find(|app| app.account.name == channel).ok_or_else(|| {
            let text = format!(
                "there is no Feishu channel {channel} that you may use; `sandbridge channel list` shows the channels"
            );
            Error::refused("not_found", text)
        })
    }
}
