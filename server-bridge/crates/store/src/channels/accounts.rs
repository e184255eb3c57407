//! Accounts: bots on messengers, each with its sealed secrets.

use sqlx::FromRow;

use crate::error::{Error, Result, check_length};
use crate::homes::at_home;
use crate::limits::{CHANNEL_DOCUMENT_MAX_BYTES, CHANNEL_NAME_MAX_BYTES, CHANNELS_PER_USER};
use crate::sql::{Scope, query, query_as, query_scalar};
use crate::{Store, UserId};

/// An account on a messenger.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct ChannelAccount {
    /// The id, which is never reused.
    pub id: i64,
    /// The account's owner.
    #[sqlx(rename = "user_id")]
    pub user: UserId,
    /// The owner's name.
    pub owner: String,
    /// The account's name, unique among those of its owner.
    pub name: String,
    /// The kind of messenger.
    pub kind: String,
    /// The account's settings, as JSON.
    pub document_json: String,
    /// True if the server should connect the account.
    pub is_enabled: bool,
    /// True if every user may link to it. Only an administrator's account can be shared.
    pub is_shared: bool,
    /// A number that each change of the account increments.
    pub revision: i64,
    /// When it was created, in Unix milliseconds.
    pub created_at_ms: i64,
}

/// An account to add, or new settings for an existing one.
#[derive(Clone, Copy, Debug)]
pub struct ChannelDraft<'a> {
    /// The account's name, up to 64 bytes.
    pub name: &'a str,
    /// The kind of messenger.
    pub kind: &'a str,
    /// The account's settings, as JSON, up to 64 KiB.
    pub document_json: &'a str,
    /// The account's secrets, as JSON, up to 64 KiB; `None` keeps the stored ones.
    pub secrets_json: Option<&'a str>,
    /// True if the server should connect the account.
    pub is_enabled: bool,
    /// True if every user may link to it.
    pub is_shared: bool,
}

macro_rules! accounts {
    () => {
        "SELECT a.id, a.user_id, u.name AS owner, a.name, a.kind, a.document_json, a.is_enabled,
            (a.is_shared AND u.admin) AS is_shared, a.revision, a.created_at_ms
         FROM channel_accounts a JOIN users u ON u.id = a.user_id"
    };
}

/// The place to which an account's secrets are bound when they are sealed.
pub(crate) fn place(user: UserId, name: &str) -> String {
    format!("channel/{user}/{name}")
}

impl Store {
    /// The accounts that a user may link to: the user's own, and those that administrators share; by name.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn channels(&self, user: UserId) -> Result<Vec<ChannelAccount>> {
        let accounts = query_as(concat!(
            accounts!(),
            " WHERE a.user_id = $1 OR (a.is_shared AND u.admin) ORDER BY a.name, a.user_id <> $1, a.id"
        ));
        Ok(accounts.bind(user).fetch_all(self.database.reader()).await?)
    }

    /// The account of this name that a user may link to; the user's own takes precedence over a shared one.
    ///
    /// # Errors
    /// [`Error::NotFound`], also for another user's account that is not shared.
    pub async fn channel(&self, user: UserId, name: &str) -> Result<ChannelAccount> {
        let accounts = query_as(concat!(
            accounts!(),
            " WHERE a.name = $2 AND (a.user_id = $1 OR (a.is_shared AND u.admin)) ORDER BY a.user_id <> $1, a.id LIMIT 1"
        ));
        let found = accounts.bind(user).bind(name).fetch_optional(self.database.reader()).await?;
        found.ok_or_else(|| Error::not_found("channel", name))
    }

    /// The account with this id.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn channel_by_id(&self, id: i64) -> Result<Option<ChannelAccount>> {
        let accounts = query_as(concat!(accounts!(), " WHERE a.id = $1"));
        Ok(accounts.bind(id).fetch_optional(self.database.reader()).await?)
    }

    /// The enabled accounts of all users.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn enabled_channels(&self) -> Result<Vec<ChannelAccount>> {
        let accounts = query_as(concat!(
            accounts!(),
            " WHERE a.is_enabled AND ",
            at_home!("a.user_id", "$1"),
            " ORDER BY a.id"
        ));
        Ok(accounts.bind(self.database.node_id()).fetch_all(self.database.reader()).await?)
    }

    /// An account's secrets, as JSON; `None` if it has none, or if the key that sealed them was lost.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn channel_secrets(&self, account: &ChannelAccount) -> Result<Option<String>> {
        let sealed: Option<Option<String>> =
            query_scalar("SELECT secrets_sealed FROM channel_accounts WHERE id = $1")
                .bind(account.id)
                .fetch_optional(self.database.reader())
                .await?;
        let open = |sealed: String| self.sealer()?.open(&place(account.user, &account.name), &sealed);
        Ok(sealed.flatten().and_then(|sealed| open(sealed).ok()))
    }

    /// Adds an account, or changes the one with this name, which keeps its links and messages.
    ///
    /// # Errors
    /// [`Error::Invalid`] beyond 20 accounts, 64 bytes of name, 64 KiB of settings or of secrets, and for the name of an account on another
    /// messenger; [`Error::Locked`] if secrets cannot be sealed.
    pub async fn put_channel(&self, user: UserId, draft: ChannelDraft<'_>) -> Result<ChannelAccount> {
        let ChannelDraft { name, kind, document_json, secrets_json, is_enabled, is_shared } = draft;
        check_length("name", name, CHANNEL_NAME_MAX_BYTES)?;
        check_length("channel", document_json, CHANNEL_DOCUMENT_MAX_BYTES)?;
        check_length("channel", secrets_json.unwrap_or_default(), CHANNEL_DOCUMENT_MAX_BYTES)?;
        let sealed =
            secrets_json.map(|secrets| self.sealer()?.seal(&place(user, name), secrets)).transpose()?;
        let invalid = |rule: String| Error::Invalid { what: "channel", rule };
        let mut transaction = self.database.write(Scope::User(user)).await?;
        let others: i64 =
            query_scalar("SELECT COUNT(*) FROM channel_accounts WHERE user_id = $1 AND name <> $2")
                .bind(user)
                .bind(name)
                .fetch_one(&mut transaction)
                .await?;
        if others >= CHANNELS_PER_USER {
            return Err(invalid(format!("exceeds the limit: you already have {others}; remove one first")));
        }
        let put: Option<i64> = query_scalar(
            "INSERT INTO channel_accounts (user_id, name, kind, document_json, secrets_sealed, is_enabled, is_shared,
                created_at_ms, updated_at_ms)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)
             ON CONFLICT (user_id, name) DO UPDATE SET document_json = excluded.document_json,
                secrets_sealed = COALESCE(excluded.secrets_sealed, channel_accounts.secrets_sealed),
                is_enabled = excluded.is_enabled, is_shared = excluded.is_shared,
                revision = channel_accounts.revision + 1, updated_at_ms = excluded.updated_at_ms
                WHERE channel_accounts.kind = excluded.kind
             RETURNING id",
        )
        .bind(user)
        .bind(name)
        .bind(kind)
        .bind(document_json)
        .bind(sealed)
        .bind(is_enabled)
        .bind(is_shared)
        .bind(self.now_ms())
        .fetch_optional(&mut transaction)
        .await?;
        if put.is_none() {
            let rule = "has the same name as a channel on another messenger; choose another name, or remove that channel first";
            return Err(invalid(rule.to_owned()));
        }
        transaction.commit().await?;
        self.channel(user, name).await
    }

    /// Removes an account with its links and all pending messages; the chats stay. Returns its id if it existed.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn remove_channel(&self, user: UserId, name: &str) -> Result<Option<i64>> {
        Ok(query_scalar("DELETE FROM channel_accounts WHERE user_id = $1 AND name = $2 RETURNING id")
            .bind(user)
            .bind(name)
            .fetch_optional(self.database.writer(Scope::User(user)))
            .await?)
    }

    /// The position in the messenger's stream of events from which an account continues; `None` before the first event.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn channel_cursor(&self, account: i64) -> Result<Option<String>> {
        let cursor = query_scalar("SELECT cursor_text FROM channel_cursors WHERE account_id = $1");
        Ok(cursor.bind(account).fetch_optional(self.database.reader()).await?)
    }

    /// Removes everything that ended or expired before this time: events, sent messages, codes, and people who were never linked.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn purge_channels(&self, before_ms: i64) -> Result<()> {
        let mut transaction = self.database.write(Scope::System).await?;
        for sql in [
            "DELETE FROM channel_outbox WHERE ended_at_ms < $1 AND NOT EXISTS (
                SELECT 1 FROM group_gates t JOIN group_runs r ON r.id = t.run_id JOIN channel_bindings b ON b.group_id = r.group_id
                WHERE t.id = channel_outbox.gate_id AND b.account_id = channel_outbox.account_id
                    AND b.conversation = channel_outbox.conversation)",
            "DELETE FROM channel_inbox WHERE received_at_ms < $1 AND state = 'done'
                AND id NOT IN (SELECT inbox_id FROM channel_answers)",
            "DELETE FROM link_codes WHERE expires_at_ms < $1",
            "DELETE FROM told_notices WHERE told_at_ms < $1",
            "DELETE FROM channel_strangers WHERE told_at_ms < $1 AND tries_since_ms < $1",
        ] {
            query(sql).bind(before_ms).execute(&mut transaction).await?;
        }
        Ok(transaction.commit().await?)
    }
}
