//! The audit trail: who did what, where, and how it ended.

use store::{AuditEntry, AuditId, AuditRecord, AuditSearch, User};

use crate::limits::TRAIL_PAGE_MAX_ROWS;
use crate::{Accounts, Result};

/// Something that was done, for the trail. No text may hold a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Act<'a> {
    /// The name of whoever did it; `None` if the server could not tell.
    pub user: Option<&'a str>,
    /// `exec`, `file.write`, `login`, ….
    pub action: &'a str,
    /// Where: a runner's name, `__docker__`, `none`, or nothing.
    pub location: Option<&'a str>,
    /// To what: a command, a path, a name.
    pub target: &'a str,
    /// `ok`, or the kind of error.
    pub outcome: &'a str,
}

/// Which entries are wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trail<'a> {
    /// Only those of this user; for administrators, as others see their own only.
    pub user: Option<&'a str>,
    /// Only those whose action begins like this.
    pub action: &'a str,
    /// Only those before this one.
    pub before: Option<i64>,
    /// At most so many, from 1 to [`TRAIL_PAGE_MAX_ROWS`].
    pub limit: u32,
}

/// Some entries, the newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrailPage {
    /// The entries.
    pub entries: Vec<AuditRecord>,
    /// Whether there are older ones.
    pub more: bool,
}

impl Accounts {
    /// Leaves a trace of what was done. A failure is logged only: what was done is done.
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

    /// The same for what needs no place.
    pub(crate) async fn note(&self, user: Option<&str>, action: &str, target: &str, outcome: &str) {
        self.record(Act { user, action, location: None, target, outcome }).await;
    }

    /// What was done, by whom and where: administrators see everything, others what they did themselves.
    ///
    /// # Errors
    /// [`crate::Error::Internal`].
    pub async fn trail(&self, reader: &User, wanted: Trail<'_>) -> Result<TrailPage> {
        let limit = wanted.limit.clamp(1, TRAIL_PAGE_MAX_ROWS);
        let (user, from_ms) = if reader.admin {
            (wanted.user, 0)
        } else {
            // An account before theirs may have had the same name.
            (Some(reader.name.as_str()), reader.created_at_ms)
        };
        let before = wanted.before.map(AuditId);
        // One more says whether there are more.
        let search = AuditSearch { user, action: wanted.action, from_ms, before, limit: limit + 1 };
        let mut entries = self.store.search_audit(&search).await?;
        let more = entries.len() > limit as usize;
        entries.truncate(limit as usize);
        Ok(TrailPage { entries, more })
    }
}
