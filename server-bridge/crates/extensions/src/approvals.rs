//! Approvals that users give for things in a workspace, identified by the hash of what runs; every change is audited.

use std::collections::HashSet;

use sandbox::Sandbox;
use sha2::{Digest, Sha256};
use store::limits::TRUST_SHOWN_MAX_BYTES;
use store::{AuditEntry, Store, Trust, User, UserId};

use crate::Result;
use crate::limits::TRUST_FILES_BYTES;

/// Something that a user approves.
pub(crate) struct Approval<'a> {
    pub(crate) kind: &'a str,
    pub(crate) hash: &'a str,
    /// The item's name, unique within its kind, by which the previous approval is found.
    pub(crate) name: &'a str,
    /// The description that the user saw.
    pub(crate) shown: &'a str,
    /// The files that it covers, each with the SHA-256 of its content.
    pub(crate) files: &'a [(String, String)],
}

/// The location of a workspace: its machine and its directory. It is part of every approved hash, so that an approval
/// for one repository does not apply to another.
pub(crate) fn workspace_of(sandbox: &Sandbox) -> String {
    format!("{}:{}", sandbox.place(), sandbox.facts().workspace)
}

/// The hash of a file's content in its workspace. `form` names the kind of approval and the version of this hash.
pub(crate) fn hash_of(form: &str, workspace: &str, path: &str, content: &str) -> String {
    let mut digest = Sha256::new();
    for part in [form, workspace, path, content] {
        // Each part is preceded by its length, so that its end cannot be taken for the beginning of the next part.
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    store::hex(&digest.finalize())
}

/// The hashes of this kind that a user approved.
pub(crate) async fn approved(store: &Store, user: UserId, kind: &str) -> store::Result<HashSet<String>> {
    Ok(store.trusts(user, Some(kind)).await?.into_iter().map(|trust| trust.hash).collect())
}

/// The description of what is approved, cut to the length that is stored.
pub(crate) fn kept(shown: &str) -> &str {
    &shown[..shown.floor_char_boundary(TRUST_SHOWN_MAX_BYTES)]
}

/// Approves something that a workspace defines. Audited.
///
/// # Errors
/// [`Error::Store`](crate::Error::Store).
pub(crate) async fn approve(
    store: &Store,
    user: &User,
    sandbox: Option<&Sandbox>,
    approval: &Approval<'_>,
) -> Result<()> {
    let Approval { kind, hash, name, shown, files } = *approval;
    let shown = kept(shown);
    let files_json = serde_json::to_string(files).unwrap_or_default();
    let are_kept = files_json.len() <= TRUST_FILES_BYTES;
    let trust = Trust {
        kind: kind.to_owned(),
        hash: hash.to_owned(),
        shown: shown.to_owned(),
        name: name.to_owned(),
        workspace: sandbox.map(workspace_of).unwrap_or_default(),
        files_json: if are_kept { files_json } else { "[]".to_owned() },
        created_at_ms: 0,
    };
    store.trust(user.id, &trust).await?;
    note(store, user, &format!("{kind}.approve"), shown, hash).await;
    Ok(())
}

/// Revokes an approval; returns true if there was one. Audited.
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

/// Adds an entry to the audit trail. A failure is only logged, since the change has been made.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_of_one_content_at_one_path_of_one_workspace() {
        let hashes = [
            hash_of("tool 1", "laptop:/w", "tools/a", "00"),
            hash_of("tool 1", "laptop:/w", "tools/a", "01"),
            hash_of("tool 1", "laptop:/w", "tools/b", "00"),
            hash_of("tool 1", "laptop:/v", "tools/a", "00"),
            hash_of("tool 1", "laptop:/wt", "ools/a", "00"),
            hash_of("skill 1", "laptop:/w", "tools/a", "00"),
        ];
        assert_eq!(hashes.iter().collect::<HashSet<_>>().len(), hashes.len());
    }
}
