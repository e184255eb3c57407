//! The encryption key of a database, checked when the server starts: it must be the right one, and all secrets must be sealed with it.
//!
//! ```text
//!  no key known ──────────► salt, check value ─┐
//!  the check value opens ──────────────────────┼─► plain and old-style secrets are sealed ─► their traces are scrubbed
//!  the former key opens it ► another salt ─────┘
//!  no key opens it: refused where secrets would be lost, unless that is permitted
//! ```
//!
//! All of this is one transaction, so an interrupted start changes nothing, and the next one begins from the same state.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sqlx::FromRow;

use crate::error::{Error, Result};
use crate::limits::SALT_BYTES;
use crate::seal::{EncryptionKey, Sealer, Stored, open_by_text};
use crate::sql::{Scope, Transaction, query, query_as, query_scalar};
use crate::{Store, UserId, channels, http_tools, jobs, mcp_servers, oauth_grants, subscriptions};

/// The place to which the check value is bound when it is sealed, and its plain text.
const CHECK: (&str, &str) = ("sealing/check", "sandbridge");

/// The key that seals a database's secrets, such as the keys of models, the secrets of MCP servers, and the grants for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealedWith {
    /// No key: there are no sealed secrets.
    Nothing,
    /// A text that a person chose.
    Passphrase,
    /// The server's own key file.
    File,
}

/// The treatment of secrets that can no longer be decrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostKeys {
    /// The store stays locked, with an error.
    Refuse,
    /// The secrets are removed; their owners enter them again.
    Forget,
}

/// The result of unlocking a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unlocked {
    /// The number of secrets that were sealed, or sealed again.
    pub sealed: u64,
    /// The number of secrets that could not be decrypted and were removed.
    pub forgotten: u64,
}

/// The record of the key with which a database is sealed.
#[derive(FromRow)]
struct Sealing {
    kind: String,
    salt: String,
    check_sealed: String,
}

impl Sealing {
    /// The cipher of `key`, if that is the key with which the database is sealed; otherwise `None`.
    async fn opened_by(&self, key: &EncryptionKey) -> Result<Option<Sealer>> {
        let Some(salt) = STANDARD.decode(&self.salt).ok().filter(|_| self.kind == key.kind()) else {
            return Ok(None);
        };
        let sealer = derive(key, salt).await?;
        Ok(sealer.open(CHECK.0, &self.check_sealed).ok().filter(|text| text == CHECK.1).map(|_| sealer))
    }
}

#[derive(FromRow)]
struct SecretRow {
    id: i64,
    user_id: UserId,
    name: String,
    sealed: String,
}

/// A table that contains secrets.
struct Table {
    /// The statement that reads the table's secrets.
    read: &'static str,
    /// The statement that replaces the secret of a row.
    write: &'static str,
    /// The place to which a secret is bound when it is sealed, by its user and its name.
    place: fn(UserId, &str) -> String,
}

const TABLES: [Table; 6] = [
    Table {
        read: "SELECT id, user_id, name, key_sealed AS sealed FROM subscriptions
               WHERE key_sealed IS NOT NULL ORDER BY id",
        write: "UPDATE subscriptions SET key_sealed = $1 WHERE id = $2",
        place: subscriptions::place,
    },
    Table {
        read: "SELECT id, user_id, name, secrets_sealed AS sealed FROM mcp_servers
               WHERE secrets_sealed IS NOT NULL ORDER BY id",
        write: "UPDATE mcp_servers SET secrets_sealed = $1 WHERE id = $2",
        place: mcp_servers::place,
    },
    Table {
        read: "SELECT id, user_id, server AS name, grant_sealed AS sealed FROM oauth_grants
               WHERE grant_sealed IS NOT NULL ORDER BY id",
        write: "UPDATE oauth_grants SET grant_sealed = $1 WHERE id = $2",
        place: oauth_grants::place,
    },
    Table {
        read: "SELECT id, user_id, name, secrets_sealed AS sealed FROM http_tools
               WHERE secrets_sealed IS NOT NULL ORDER BY id",
        write: "UPDATE http_tools SET secrets_sealed = $1 WHERE id = $2",
        place: http_tools::place,
    },
    Table {
        read: "SELECT id, user_id, name, secret_sealed AS sealed FROM jobs
               WHERE secret_sealed IS NOT NULL ORDER BY id",
        write: "UPDATE jobs SET secret_sealed = $1 WHERE id = $2",
        place: jobs::place,
    },
    Table {
        read: "SELECT id, user_id, name, secrets_sealed AS sealed FROM channel_accounts
               WHERE secrets_sealed IS NOT NULL ORDER BY id",
        write: "UPDATE channel_accounts SET secrets_sealed = $1 WHERE id = $2",
        place: channels::place,
    },
];

impl Store {
    /// The key that seals the stored secrets; `Nothing` if none are sealed.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn sealed_with(&self) -> Result<SealedWith> {
        let (by_text, kind): (bool, Option<String>) = query_as(
            "SELECT EXISTS (SELECT 1 FROM subscriptions WHERE key_sealed LIKE 'aes-256-gcm:%'),
                (SELECT kind FROM sealing WHERE
                    EXISTS (SELECT 1 FROM subscriptions WHERE key_sealed LIKE 'aes-256-gcm-2:%')
                    OR EXISTS (SELECT 1 FROM mcp_servers WHERE secrets_sealed LIKE 'aes-256-gcm-2:%')
                    OR EXISTS (SELECT 1 FROM oauth_grants WHERE grant_sealed LIKE 'aes-256-gcm-2:%')
                    OR EXISTS (SELECT 1 FROM http_tools WHERE secrets_sealed LIKE 'aes-256-gcm-2:%')
                    OR EXISTS (SELECT 1 FROM jobs WHERE secret_sealed LIKE 'aes-256-gcm-2:%')
                    OR EXISTS (SELECT 1 FROM channel_accounts WHERE secrets_sealed LIKE 'aes-256-gcm-2:%'))",
        )
        .fetch_one(self.database.latest())
        .await?;
        Ok(match kind.as_deref() {
            _ if by_text => SealedWith::Passphrase,
            None => SealedWith::Nothing,
            Some("file") => SealedWith::File,
            Some(_) => SealedWith::Passphrase,
        })
    }

    /// Fails for a key other than the one with which the database was last sealed, even if no secret would be lost: all nodes must have the same
    /// key.
    ///
    /// # Errors
    /// [`Error::NodeKey`], [`Error::Database`].
    pub async fn check_key(&self, key: &EncryptionKey) -> Result<()> {
        let known: Option<Sealing> = query_as("SELECT kind, salt, check_sealed FROM sealing")
            .fetch_optional(self.database.latest())
            .await?;
        match known {
            Some(known) if known.opened_by(key).await?.is_none() => Err(Error::NodeKey),
            Some(_) | None => Ok(()),
        }
    }

    /// Returns the same store, which can now store secrets and seals them with `key`. Secrets in plain text, or sealed by an earlier version or with
    /// `former`, are sealed again with `key`, and no trace of plain text stays in the file.
    ///
    /// # Errors
    /// [`Error::EncryptionKey`] if the stored secrets are sealed with another key and `lost` does not permit removing them; then nothing was
    /// changed.
    pub async fn unlock(
        mut self,
        key: &EncryptionKey,
        former: Option<&EncryptionKey>,
        lost: LostKeys,
    ) -> Result<(Self, Unlocked)> {
        let mut transaction = self.database.write(Scope::System).await?;
        let known: Option<Sealing> =
            query_as("SELECT kind, salt, check_sealed FROM sealing").fetch_optional(&mut transaction).await?;
        let (mut sealer, mut former_sealer) = (None, None);
        if let Some(known) = &known {
            sealer = known.opened_by(key).await?;
            if let (None, Some(former)) = (&sealer, former) {
                former_sealer = known.opened_by(former).await?;
            }
        }
        let is_same = sealer.is_some();
        let sealer = match sealer {
            Some(sealer) => sealer,
            None => begin(&mut transaction, key, self.now_ms()).await?,
        };
        let (unlocked, has_plain) =
            seal_all(&mut transaction, key, &sealer, is_same, former_sealer.as_ref(), lost).await?;
        if has_plain {
            query("UPDATE sealing SET is_scrubbed = FALSE").execute(&mut transaction).await?;
        }
        transaction.commit().await?;
        self.scrub().await?;
        self.sealer = Some(sealer);
        Ok((self, unlocked))
    }

    /// Removes the remains of deleted and replaced rows from the file, unless that was already done. It rewrites the whole file, so it is only done
    /// after the file contained unsealed secrets.
    async fn scrub(&self) -> Result<()> {
        let is_due = query_scalar("SELECT EXISTS (SELECT 1 FROM sealing WHERE NOT is_scrubbed)");
        if !is_due.fetch_one(self.database.latest()).await? {
            return Ok(());
        }
        // If a reader still uses the earlier state, the next start tries again.
        if self.database.scrub().await? {
            query("UPDATE sealing SET is_scrubbed = TRUE")
                .execute(self.database.writer(Scope::System))
                .await?;
        }
        Ok(())
    }

    /// The sealer; [`Error::Locked`] if the store is not unlocked.
    pub(crate) fn sealer(&self) -> Result<&Sealer> {
        self.sealer.as_ref().ok_or(Error::Locked)
    }
}

/// Starts sealing with `key`: stores a new salt and a new check value.
async fn begin(transaction: &mut Transaction, key: &EncryptionKey, now_ms: i64) -> Result<Sealer> {
    let salt: [u8; SALT_BYTES] = rand::random();
    let sealer = derive(key, salt.to_vec()).await?;
    query(
        "INSERT INTO sealing (id, kind, salt, check_sealed, is_scrubbed, created_at_ms) VALUES (1, $1, $2, $3, TRUE, $4)
         ON CONFLICT (id) DO UPDATE SET kind = $1, salt = $2, check_sealed = $3, created_at_ms = $4",
    )
    .bind(key.kind())
    .bind(STANDARD.encode(salt))
    .bind(sealer.seal(CHECK.0, CHECK.1)?)
    .bind(now_ms)
    .execute(&mut *transaction)
    .await?;
    Ok(sealer)
}

/// Seals every secret that `sealer` has not sealed yet; also returns true if there was plain text.
async fn seal_all(
    transaction: &mut Transaction,
    key: &EncryptionKey,
    sealer: &Sealer,
    is_same: bool,
    former: Option<&Sealer>,
    lost: LostKeys,
) -> Result<(Unlocked, bool)> {
    let (mut unlocked, mut has_plain) = (Unlocked::default(), false);
    for table in TABLES {
        let rows: Vec<SecretRow> = query_as(table.read).fetch_all(&mut *transaction).await?;
        for row in rows {
            let place = (table.place)(row.user_id, &row.name);
            let secret = match Stored::of(&row.sealed) {
                Stored::Sealed if is_same => continue,
                Stored::Sealed => former.and_then(|former| former.open(&place, &row.sealed).ok()),
                Stored::SealedByText(sealed) => open_by_text(key, &place, sealed),
                Stored::Plain(secret) => {
                    has_plain = true;
                    Some(secret.to_owned())
                }
            };
            match secret {
                Some(_) => unlocked.sealed += 1,
                None => unlocked.forgotten += 1,
            }
            let sealed = secret.map(|secret| sealer.seal(&place, &secret)).transpose()?;
            query(table.write).bind(sealed).bind(row.id).execute(&mut *transaction).await?;
        }
    }
    if unlocked.forgotten > 0 && lost == LostKeys::Refuse {
        return Err(Error::EncryptionKey { keys: unlocked.forgotten });
    }
    Ok((unlocked, has_plain))
}

/// Derives the cipher outside of the runtime's threads.
async fn derive(key: &EncryptionKey, salt: Vec<u8>) -> Result<Sealer> {
    let key = key.clone();
    tokio::task::spawn_blocking(move || key.cipher(&salt))
        .await
        .map_err(|error| Error::PasswordHash(error.to_string()))?
}

#[cfg(test)]
mod tests;
