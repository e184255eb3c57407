//! Deliveries of webhooks: checks a delivery to an address, and records a run for it.

use api::automation::DeliveryTaken;
use store::{Job, NewRun, RunState, UserId, hex};

use crate::delivery::Delivery;
use crate::document::Document;
use crate::error::{Error, Result};
use crate::limits::DELIVERY_MAX_BYTES;
use crate::service::{Automations, hash_of};
use crate::signature::{self, Headers};

/// The trigger that an address belongs to.
#[derive(Clone, Debug)]
pub struct Address(Job);

impl Address {
    /// Returns the id of the trigger.
    pub fn trigger_id(&self) -> i64 {
        self.0.id
    }
}

/// The result of a delivery.
#[derive(Clone, Debug, PartialEq)]
pub enum Received {
    /// The delivery is on record.
    Taken(DeliveryTaken),
    /// The sender is checking the address, and expects this text in the response.
    Challenge(String),
}

/// How long refused deliveries with the same reason share a row, in milliseconds.
const HOUR_MS: i64 = 3_600_000;

impl Automations {
    /// Finds the trigger that an address belongs to; `None` if there is none.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn address(&self, token: &str) -> Result<Option<Address>> {
        Ok(self.0.store.job_by_token(&hash_of(token)).await?.map(Address))
    }

    /// Returns the user who owns the trigger of an address; `None` if there is no such trigger.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn owner(&self, token: &str) -> Result<Option<UserId>> {
        Ok(self.address(token).await?.map(|address| address.0.user))
    }

    /// Takes a delivery, which is on record when this returns. A refused delivery is on record too, with the reason.
    ///
    /// # Errors
    /// [`Error::Refused`]: `unauthorized` if the signature is wrong, `invalid` if the body is not JSON in UTF-8, `too_large` beyond 1 MiB,
    /// and `unavailable` while the trigger is paused or 100 runs wait.
    pub async fn receive(&self, address: &Address, headers: Headers<'_>, body: &[u8]) -> Result<Received> {
        let (store, job) = (&self.0.store, &address.0);
        let now_ms = store.now_ms();
        let refuse = async |kind: &'static str, word: &str, why: &str| {
            let slot = format!("refused/{}/{word}", now_ms / HOUR_MS);
            store.refuse_run(job, &slot, why).await?;
            // The sender does not learn why its signature is wrong.
            let shown = if kind == "unauthorized" {
                "the delivery is not signed as this address requires; check the secret that the sender uses"
            } else {
                why
            };
            Err(Error::refused(kind, shown))
        };
        let document = Document::of(job)?;
        let Some(trigger) = &document.automation.trigger else {
            return Err(Error::refused("not_found", "there is no trigger at this address"));
        };
        if body.len() > DELIVERY_MAX_BYTES {
            return refuse("too_large", "size", "it is larger than 1 MiB").await;
        }
        let Some(secret) = store.job_secret(job).await? else {
            return refuse("unauthorized", "secret", "the trigger's secret is lost; create a new address")
                .await;
        };
        let signed = match signature::check(&trigger.from, &secret, headers, body, now_ms) {
            Ok(signed) => signed,
            Err(why) => return refuse("unauthorized", &slot_word(why), why).await,
        };
        let Ok(text) = std::str::from_utf8(body) else {
            return refuse("invalid", "utf8", "it is not UTF-8").await;
        };
        let delivery = match Delivery::read(&trigger.from, signed.event, text) {
            Ok(delivery) => delivery,
            Err(why) => return refuse("invalid", "json", why).await,
        };
        if let Some(challenge) = delivery.challenge(&trigger.from) {
            return Ok(Received::Challenge(challenge.to_owned()));
        }
        if job.paused.is_some() {
            return refuse("unavailable", "paused", "it arrived while the trigger was paused").await;
        }
        let slot = signed.key.unwrap_or_else(|| format!("new/{}", hex(&rand::random::<[u8; 16]>())));
        let left_out = delivery.left_out(trigger);
        let run = NewRun {
            slot,
            due_ms: now_ms,
            state: if left_out.is_some() { RunState::Skipped } else { RunState::Due },
            note: left_out.clone().unwrap_or_default(),
            text: match left_out {
                Some(_) => String::new(),
                None => delivery.message(&document.automation.text, trigger),
            },
            payload: Some(text.to_owned()),
            event: delivery.event.clone(),
        };
        let added = match store.add_run(job, &run).await {
            Err(store::Error::Invalid { what: "run", rule }) => {
                return refuse("unavailable", "queue", &format!("it {rule}")).await;
            }
            added => added?,
        };
        self.0.wake.notify_one();
        let left_out = left_out.unwrap_or_default();
        Ok(Received::Taken(DeliveryTaken { is_repeated: added.is_none(), left_out }))
    }
}

/// Returns the part of a slot's name that identifies the reason for a refusal, so that each reason gets a separate run.
fn slot_word(why: &str) -> String {
    hash_of(why)[..8].to_owned()
}
