//! `audit`: an event becomes an entry of the audit trail.

use futures_util::future::BoxFuture;
use hooks::dialect::Dialect;
use hooks::{Event, Said};
use serde_json::{Map, Value};
use store::{AuditEntry, Store};

use super::{Callback, Called, Nothing, arguments};

/// Adds entries to the audit trail.
pub struct Audit(Store);

impl Audit {
    /// Entries are added to the trail of this store.
    pub fn new(store: Store) -> Self {
        Self(store)
    }
}

impl Callback for Audit {
    fn name(&self) -> &'static str {
        "audit"
    }

    fn about(&self) -> &'static str {
        "adds the event to the audit trail, with its data as far as 4 KiB"
    }

    fn events(&self) -> &'static [Event] {
        &Event::ALL
    }

    fn check(&self, input: &Map<String, Value>) -> Result<(), String> {
        arguments::<Nothing>(input).map(drop)
    }

    fn call<'a>(&'a self, called: Called<'a>) -> BoxFuture<'a, Result<Said, String>> {
        Box::pin(async move {
            // The payload was redacted, so it contains no secret.
            let entry = AuditEntry {
                user: Some(called.user.name.clone()),
                action: format!("hook.{}", called.event.name(Dialect::Own)),
                location: None,
                target: called.payload.text.clone(),
                outcome: "ok".to_owned(),
            };
            if called.is_trial {
                let text =
                    format!("{} {} {}: {}", called.user.name, entry.action, entry.outcome, entry.target);
                return Ok(Said { text: Some(text), ..Said::default() });
            }
            match self.0.append_audit(&entry).await {
                Ok(_) => Ok(Said::default()),
                Err(error) => {
                    tracing::error!(%error, "a hook could not add to the audit trail");
                    Err("the server could not record it; its log says why".to_owned())
                }
            }
        })
    }
}
