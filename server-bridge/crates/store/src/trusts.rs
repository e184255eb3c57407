//! The things that a user approved, each identified by the hash of what runs: a changed one needs another approval.

use sqlx::FromRow;

use crate::error::{Error, Result, check_length};
use crate::limits::{TRUST_SHOWN_MAX_BYTES, TRUSTS_PER_USER};
use crate::sql::{Scope, query, query_as};
use crate::{Store, UserId};

/// The length of a SHA-256 in hexadecimal digits.
const HASH_DIGITS: usize = 64;

/// A recorded approval.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Trust {
    /// The kind of the approved thing, such as `hook`.
    pub kind: String,
    /// The SHA-256 of what runs, in hexadecimal digits.
    pub hash: String,
    /// The description that the user saw; at most 4 KiB.
    pub shown: String,
    /// The name, unique within its kind; empty for approvals from before names were stored.
    pub name: String,
    /// The machine and the directory of the workspace that contains it.
    pub workspace: String,
    /// The files that the approval covers, as a JSON list of `[path, SHA-256]`.
    pub files_json: String,
    /// When it was approved, in Unix milliseconds; set when it is stored.
    pub created_at_ms: i64,
}

impl Store {
    /// A user's approvals of one kind or of all kinds, the oldest first.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn trusts(&self, user: UserId, kind: Option<&str>) -> Result<Vec<Trust>> {
        Ok(query_as(
            "SELECT kind, hash, shown, name, workspace, files_json, created_at_ms FROM trusts
             WHERE user_id = $1 AND kind = COALESCE($2, kind) ORDER BY created_at_ms, kind, hash",
        )
        .bind(user)
        .bind(kind)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// Records an approval; repeating it has no further effect.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an invalid hash, a description beyond 4 KiB, and if there are already 10,000 approvals.
    pub async fn trust(&self, user: UserId, trust: &Trust) -> Result<()> {
        let Trust { kind, hash, shown, name, workspace, files_json, created_at_ms: _ } = trust;
        let invalid = |rule: String| Error::Invalid { what: "approval", rule };
        if hash.len() != HASH_DIGITS || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(invalid(format!("needs a hash of {HASH_DIGITS} hexadecimal digits")));
        }
        check_length("description", shown, TRUST_SHOWN_MAX_BYTES)?;
        let kept = query(
            "INSERT INTO trusts (user_id, kind, hash, shown, name, workspace, files_json, created_at_ms)
             SELECT $1, $2, $3, $4, $5, $6, $7, $8
             WHERE (SELECT COUNT(*) FROM trusts WHERE user_id = $1 AND NOT (kind = $2 AND hash = $3)) < $9
             ON CONFLICT (user_id, kind, hash) DO UPDATE SET shown = excluded.shown, name = excluded.name,
                 workspace = excluded.workspace, files_json = excluded.files_json",
        )
        .bind(user)
        .bind(kind.as_str())
        .bind(hash.as_str())
        .bind(shown.as_str())
        .bind(name.as_str())
        .bind(workspace.as_str())
        .bind(files_json.as_str())
        .bind(self.now_ms())
        .bind(TRUSTS_PER_USER)
        .execute(self.database.writer(Scope::User(user)))
        .await?;
        match kept.rows_affected() {
            0 => Err(invalid(format!(
                "exceeds the limit: you already have {TRUSTS_PER_USER}; revoke one first"
            ))),
            _ => Ok(()),
        }
    }

    /// Revokes an approval; returns true if there was one.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn distrust(&self, user: UserId, kind: &str, hash: &str) -> Result<bool> {
        let gone = query("DELETE FROM trusts WHERE user_id = $1 AND kind = $2 AND hash = $3")
            .bind(user)
            .bind(kind)
            .bind(hash)
            .execute(self.database.writer(Scope::User(user)))
            .await?;
        Ok(gone.rows_affected() == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Name;
    use crate::testing;

    #[tokio::test]
    async fn approvals_are_their_users_and_of_their_kind() {
        let store = testing::empty().await;
        let (ada, eve) = (Name::parse("ada").unwrap(), Name::parse("eve").unwrap());
        let ada = store.add_user(&ada, "correct horse", false).await.unwrap().id;
        let eve = store.add_user(&eve, "correct horse", false).await.unwrap().id;
        let hash = "ab".repeat(32);
        let trust = |hash: &str, shown: &str| Trust {
            kind: "hook".to_owned(),
            hash: hash.to_owned(),
            shown: shown.to_owned(),
            name: "lint".to_owned(),
            workspace: "laptop:/w".to_owned(),
            files_json: "[]".to_owned(),
            created_at_ms: 0,
        };
        for shown in ["lint.sh", "./lint.sh"] {
            store.trust(ada, &trust(&hash, shown)).await.unwrap();
        }
        let trusts = store.trusts(ada, Some("hook")).await.unwrap();
        assert_eq!((trusts.len(), trusts[0].shown.as_str()), (1, "./lint.sh"));
        assert_eq!((trusts[0].name.as_str(), trusts[0].workspace.as_str()), ("lint", "laptop:/w"));
        assert!(trusts[0].created_at_ms > 0);
        assert_eq!(store.trusts(ada, None).await.unwrap(), trusts);
        assert!(store.trusts(ada, Some("tool")).await.unwrap().is_empty());
        assert!(store.trusts(eve, None).await.unwrap().is_empty());
        assert!(!store.distrust(eve, "hook", &hash).await.unwrap());
        assert!(store.distrust(ada, "hook", &hash).await.unwrap());
        assert!(!store.distrust(ada, "hook", &hash).await.unwrap());
        let long = "x".repeat(TRUST_SHOWN_MAX_BYTES + 1);
        for (hash, shown) in [("ab", "x"), (&"zz".repeat(32), "x"), (&hash, long.as_str())] {
            assert!(matches!(store.trust(ada, &trust(hash, shown)).await, Err(Error::Invalid { .. })));
        }
    }
}
