//! Deliveries by webhook: Telegram posts each update to the account's address, with a secret that the server chose, and repeats it until it
//! gets the status 200.

use std::time::Duration;

use ring::hmac;
use serde_json::{Value, json};
use subtle::ConstantTimeEq as _;
use tokio::time::interval;
use tokio_util::sync::CancellationToken;

use super::{Telegram, UPDATES_WANTED, updates};
use crate::http::Http;
use crate::platform::{End, Failure, Inbox};

/// The header that contains the secret.
const SECRET_HEADER: &str = "x-telegram-bot-api-secret-token";
/// The maximum number of deliveries that Telegram may have open at once.
const CONNECTIONS_MAX: u64 = 8;
/// How often Telegram is asked whether deliveries succeed.
const CHECKED_EVERY: Duration = Duration::from_secs(60);
/// The path that every account's address for deliveries contains.
const OUR_PATH: &str = "/api/v1/channel-deliveries/";

/// Checks the entered address for deliveries; returns `None` if it was left empty.
///
/// # Errors
/// A text for the administrator.
pub(super) fn address(http: &Http, entered: &str) -> Result<Option<String>, String> {
    if entered.is_empty() {
        return Ok(None);
    }
    let address = http.base(entered)?;
    if !address.contains(OUR_PATH) {
        return Err(
            "enter the address for deliveries that this account shows once it has been saved".to_owned()
        );
    }
    Ok(Some(address))
}

/// The secret that deliveries contain; it is derived from the bot's token, so that it does not have to be stored.
pub(super) fn secret(token: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, token.as_bytes());
    let tag = hmac::sign(&key, b"sandbridge deliveries");
    tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Telegram {
    /// Asks Telegram for deliveries, and then checks from time to time whether they succeed.
    pub(super) async fn receive(&self, address: &str, inbox: &dyn Inbox, stop: &CancellationToken) -> End {
        let asked = json!({
            "url": address, "secret_token": self.delivery_secret, "max_connections": CONNECTIONS_MAX,
            "allowed_updates": UPDATES_WANTED,
        });
        if let Err(failure) = self.ask("setWebhook", asked).await {
            return match failure {
                Failure::Message(why) => End::Refused(format!("Telegram refuses the address: {why}")),
                other => self.ended(other),
            };
        }
        let mut checks = interval(CHECKED_EVERY);
        loop {
            tokio::select! {
                () = stop.cancelled() => return End::Stopped,
                _ = checks.tick() => {}
            }
            let found = match self.ask("getWebhookInfo", json!({})).await {
                Ok(found) => found,
                Err(failure) => return self.ended(failure),
            };
            if found["url"] != address {
                return End::Lost("another program has changed the address for deliveries".to_owned());
            }
            let waiting = found["pending_update_count"].as_u64().unwrap_or(0);
            match found["last_error_message"].as_str().filter(|_| waiting > 0) {
                Some(why) => {
                    let why = self.http.reason(why);
                    return End::Lost(format!("Telegram cannot deliver: {why}"));
                }
                None => inbox.alive(),
            }
        }
    }

    /// Accepts a delivery; once it is acknowledged, Telegram forgets it.
    ///
    /// # Errors
    /// [`Failure::Account`] without the secret; [`Failure::Message`] if the delivery is not an update, or deliveries are not wanted;
    /// [`Failure::Away`] if nothing was committed.
    pub(super) async fn take_delivery(
        &self,
        headers: &[(String, String)],
        body: &[u8],
        inbox: &dyn Inbox,
    ) -> Result<Value, Failure> {
        if self.deliveries.is_none() {
            return Err(Failure::Message("this account does not accept deliveries".to_owned()));
        }
        let sent = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(SECRET_HEADER));
        let is_telegrams =
            sent.is_some_and(|(_, sent)| bool::from(sent.as_bytes().ct_eq(self.delivery_secret.as_bytes())));
        if !is_telegrams {
            return Err(Failure::Account("the delivery does not contain the secret".to_owned()));
        }
        let update: Value =
            serde_json::from_slice(body).map_err(|_| Failure::Message("no JSON".to_owned()))?;
        if !update["update_id"].is_i64() {
            return Err(Failure::Message("the delivery is not an update".to_owned()));
        }
        let us = match self.known_us() {
            Some(us) => us,
            // The account is not connected yet; if its identity cannot be read now, Telegram delivers the update again.
            None => self.us().await.map_err(|failure| Failure::Away(failure.to_string()))?,
        };
        let event = updates::event(&update, &us);
        inbox.take(event.into_iter().collect(), None).await.map_err(Failure::Away)?;
        inbox.alive();
        Ok(json!({}))
    }

    /// Ends deliveries that an earlier set-up of this account requested; returns true if there were any.
    ///
    /// # Errors
    /// See [`Failure`].
    pub(super) async fn ends_own_deliveries(&self) -> Result<bool, Failure> {
        let found = self.ask("getWebhookInfo", json!({})).await?;
        let is_ours = found["url"].as_str().is_some_and(|url| url.contains(OUR_PATH));
        if is_ours {
            self.ask("deleteWebhook", json!({"drop_pending_updates": false})).await?;
        }
        Ok(is_ours)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_is_one_of_telegrams_characters_and_tells_nothing_of_the_token() {
        let secret = secret("12:AAAAAAAAAAAAAAAAAAAAAAAA");
        assert!(secret.len() == 64 && secret.bytes().all(|byte| byte.is_ascii_hexdigit()), "{secret}");
        assert_ne!(secret, super::secret("12:AAAAAAAAAAAAAAAAAAAAAAAB"));
    }
}
