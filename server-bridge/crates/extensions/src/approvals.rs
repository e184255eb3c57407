//! What users approve of a workspace, by the hash of what runs, and their changes on the audit trail.

use std::collections::HashSet;

use sandbox::Sandbox;
use store::limits::TRUST_SHOWN_MAX_BYTES;
use store::{AuditEntry, Store, User, UserId};

use crate::Result;

/// Where a workspace is: its machine and its directory. A part of the hashes that are approved, since what one repository may run,
/// another one may not.
pub(crate) fn workspace_of(sandbox: &Sandbox) -> String {
    format!("{}:{}", sandbox.place(), sandbox.facts().workspace)
}

/// The hashes of this kind that a user approved.
pub(crate) async fn approved(store: &Store, user: UserId, kind: &str) -> store::Result<HashSet<String>> {
    Ok(store.trusts(user, kind).await?.into_iter().map(|trust| trust.hash).collect())
}

/// Approves a hash, with what it is in words. Audited.
///
/// # Errors
/// [`Error::Store`](crate::Error::Store).
pub(crate) async fn approve(store: &Store, user: &User, kind: &str, hash: &str, shown: &str) -> Result<()> {
    let shown = &shown[..shown.floor_char_boundary(TRUST_SHOWN_MAX_BYTES)];
    store.trust(user.id, kind, hash, shown).await?;
    note(store, user, &format!("{kind}.approve"), shown, hash).await;
    Ok(())
}

/// Takes an approval back; returns true if it was there. Audited.
///
/// # Errors
/// [`Error::Store`](crate::Error::Store).
pub(crate) async fn revoke(store: &Store, user: &User, kind: &str, hash: &str) -> Result<bool> {
    let was_there = store.distrust(user.id, kind, hash).await?;
    if was_there {
        note(store, user, &format!("{kind}.revoke"), "", hash).await;
    }
    Ok(was_there)
}

/// Adds an entry to the audit trail. A failure is only logged: the change is made.
pub(crate) async fn note(store: &Store, user: &User, action: &str, target: &str, outcome: &str) {
    let entry = AuditEntry {
        user: Some(user.name.clone()),
        action: action.to_owned(),
        location: None,
        target: target.to_owned(),
        outcome: outcome.to_owned(),
    };
    if let Err(error) = store.append_audit(&entry).await {
        tracing::error!(%error, action, "cannot write the audit trail");
    }
}
