//! The audit trail: users' actions, with their places, targets and outcomes.

use store::{AuditEntry, AuditId, AuditRecord, AuditSearch, User};

use crate::limits::TRAIL_PAGE_MAX_ROWS;
use crate::{Accounts, Result};

/// An action, for the trail. No text may contain a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Act<'a> {
    /// The user's name; `None` if the server does not know the user.
    pub user: Option<&'a str>,
    /// The kind of action: `exec`, `file.write`, `login`, ….
    pub action: &'a str,
    /// The place: a runner's name, `__docker__`, `none`, or nothing.
    pub location: Option<&'a str>,
    /// The target: a command, a path, a name.
    pub target: &'a str,
    /// `ok`, or the kind of error.
    pub outcome: &'a str,
}

/// The filter for entries.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trail<'a> {
    /// Only entries of this user; for administrators, because others see only their own.
    pub user: Option<&'a str>,
    /// Only entries whose action begins with this text.
    pub action: &'a str,
    /// Only entries before the one with this id.
    pub before: Option<i64>,
    /// The maximum number of entries, from 1 to [`TRAIL_PAGE_MAX_ROWS`].
    pub limit: u32,
}

/// One page of entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrailPage {
    /// The entries, the newest first.
    pub entries: Vec<AuditRecord>,
    /// True if there are older entries.
    pub more: bool,
}

impl Accounts {
    /// Adds an entry. A failure is only logged, because the action has already been done.
    pub async fn record(&self, act: Act<'_>) {
        let entry = AuditEntry {
            user: act.user.map(str::to_owned),
            action: act.action.to_owned(),
            location: act.location.map(str::to_owned),
            target: act.target.to_owned(),
            outcome: act.outcome.to_owned(),
        };
        if let Err(error) = self.store.append_audit(&entry).await {
            tracing::error!(%error, act.action, "cannot write the audit trail");
        }
    }

    /// Adds an entry for an action without a place.
    pub(crate) async fn note(&self, user: Option<&str>, action: &str, target: &str, outcome: &str) {
        self.record(Act { user, action, location: None, target, outcome }).await;
    }

    /// The entries of the trail: administrators see everything, others their own actions.
    ///
    /// # Errors
    /// [`crate::Error::Internal`].
    pub async fn trail(&self, reader: &User, wanted: Trail<'_>) -> Result<TrailPage> {
        let limit = wanted.limit.clamp(1, TRAIL_PAGE_MAX_ROWS);
        let (user, from_ms) = if reader.admin {
            (wanted.user, 0)
        } else {
            // Only entries since the account exists, because an earlier account may have had the same name.
            (Some(reader.name.as_str()), reader.created_at_ms)
        };
        let before = wanted.before.map(AuditId);
        // One row more than wanted shows whether there are older entries.
        let search = AuditSearch { user, action: wanted.action, from_ms, before, limit: limit + 1 };
        let mut entries = self.store.search_audit(&search).await?;
        let more = entries.len() > limit as usize;
        entries.truncate(limit as usize);
        Ok(TrailPage { entries, more })
    }
}
