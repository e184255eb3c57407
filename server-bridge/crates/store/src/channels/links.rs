//! The links between people on messengers and users, the codes that create links, and the groups in which accounts answer.

use sqlx::FromRow;

use super::accounts::ChannelAccount;
use crate::error::{Result, check_length};
use crate::limits::{
    CHANNEL_ID_MAX_BYTES, LINK_CODE_TRIES, LINK_TRIES_MS, LINK_TRIES_PER_PERSON, STRANGER_TOLD_EVERY_MS,
    beginning,
};
use crate::sql::{Scope, query, query_as, query_scalar};
use crate::{Store, UserId};

/// A person on a messenger.
#[derive(Clone, Copy, Debug)]
pub struct Person<'a> {
    /// The messenger's id of the person.
    pub id: &'a str,
    /// The name that the messenger shows.
    pub name: &'a str,
    /// The direct conversation with them.
    pub conversation: &'a str,
}

/// A link between a person on a messenger and a user.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct ChannelLink {
    /// The link's id.
    pub id: i64,
    /// The id of the account.
    pub account_id: i64,
    /// The name of the account.
    pub account: String,
    /// The kind of messenger.
    pub kind: String,
    /// The user with whom the person is linked.
    #[sqlx(rename = "user_id")]
    pub user: UserId,
    /// The name of that user.
    pub user_name: String,
    /// The messenger's id of the person.
    pub person: String,
    /// The name that the messenger shows.
    pub person_name: String,
    /// The direct conversation with them.
    pub conversation: String,
    /// When they were linked, in Unix milliseconds.
    pub created_at_ms: i64,
    /// The time since which the conversation gets the server's notices, in Unix milliseconds; `None` if it gets none.
    pub notices_since_ms: Option<i64>,
}

/// The result of redeeming a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redeemed {
    /// The person is now linked with this user.
    Linked(UserId),
    /// The person is already linked with another user; the code was used up.
    Taken,
    /// The code is not valid: it is wrong, used, expired, or was tried too many times.
    Wrong,
    /// The person tried too many codes, so this one was not checked.
    TooMany,
}

const LINKS: &str = "SELECT l.id, l.account_id, a.name AS account, a.kind, l.user_id, u.name AS user_name, l.person, l.person_name,
        l.conversation, l.created_at_ms, l.notices_since_ms
     FROM channel_links l JOIN channel_accounts a ON a.id = l.account_id JOIN users u ON u.id = l.user_id
     JOIN users o ON o.id = a.user_id
     WHERE (l.user_id = $1 AND (a.user_id = $1 OR (a.is_shared AND o.admin))) OR ($2 AND a.user_id = $1)
     ORDER BY a.name, l.id";

impl Store {
    /// Stores a code that links a person with a user, in place of an earlier one. `prefix` is the part of the code that identifies the user; the
    /// hash is that of the whole code.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn put_link_code(
        &self,
        account: i64,
        user: UserId,
        (prefix, code_sha256): (&str, &str),
        expires_at_ms: i64,
    ) -> Result<()> {
        query(
            "INSERT INTO link_codes (account_id, user_id, prefix, code_sha256, tries_left, expires_at_ms)
             VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (account_id, user_id) DO UPDATE SET prefix = excluded.prefix, code_sha256 = excluded.code_sha256,
                tries_left = excluded.tries_left, expires_at_ms = excluded.expires_at_ms",
        )
        .bind(account)
        .bind(user)
        .bind(prefix)
        .bind(code_sha256)
        .bind(LINK_CODE_TRIES)
        .bind(expires_at_ms)
        .execute(self.database.writer(Scope::User(user)))
        .await?;
        Ok(())
    }

    /// Links a person by a code, which is then used up. A wrong code counts against the person, and against the codes with its prefix.
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] for an id beyond 256 bytes; [`crate::Error::Database`].
    pub async fn redeem_code(
        &self,
        account: &ChannelAccount,
        person: Person<'_>,
        (prefix, code_sha256): (&str, &str),
    ) -> Result<Redeemed> {
        check_length("id", person.id, CHANNEL_ID_MAX_BYTES)?;
        check_length("id", person.conversation, CHANNEL_ID_MAX_BYTES)?;
        let now_ms = self.now_ms();
        let mut transaction = self.database.write(Scope::User(account.user)).await?;
        let tries: i64 = query_scalar(
            "INSERT INTO channel_strangers (account_id, person, tries, tries_since_ms) VALUES ($1, $2, 1, $3)
             ON CONFLICT (account_id, person) DO UPDATE SET
                tries = CASE WHEN channel_strangers.tries_since_ms > $4 THEN channel_strangers.tries + 1 ELSE 1 END,
                tries_since_ms = CASE WHEN channel_strangers.tries_since_ms > $4 THEN channel_strangers.tries_since_ms ELSE $3 END
             RETURNING tries",
        )
        .bind(account.id)
        .bind(person.id)
        .bind(now_ms)
        .bind(now_ms - LINK_TRIES_MS)
        .fetch_one(&mut transaction)
        .await?;
        if tries > LINK_TRIES_PER_PERSON {
            transaction.commit().await?;
            return Ok(Redeemed::TooMany);
        }
        let user: Option<UserId> = query_scalar(
            "DELETE FROM link_codes WHERE account_id = $1 AND code_sha256 = $2 AND expires_at_ms > $3 AND tries_left > 0
                AND (user_id = $4 OR $5) RETURNING user_id",
        )
        .bind(account.id)
        .bind(code_sha256)
        .bind(now_ms)
        .bind(account.user)
        .bind(account.is_shared)
        .fetch_optional(&mut transaction)
        .await?;
        let Some(user) = user else {
            query("UPDATE link_codes SET tries_left = tries_left - 1 WHERE account_id = $1 AND prefix = $2")
                .bind(account.id)
                .bind(prefix)
                .execute(&mut transaction)
                .await?;
            transaction.commit().await?;
            return Ok(Redeemed::Wrong);
        };
        let linked = query(
            "INSERT INTO channel_links (account_id, person, person_name, conversation, user_id, created_at_ms)
             VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (account_id, person) DO UPDATE SET person_name = excluded.person_name,
                conversation = excluded.conversation, created_at_ms = excluded.created_at_ms
                WHERE channel_links.user_id = excluded.user_id",
        )
        .bind(account.id)
        .bind(person.id)
        .bind(beginning(person.name, CHANNEL_ID_MAX_BYTES))
        .bind(person.conversation)
        .bind(user)
        .bind(now_ms)
        .execute(&mut transaction)
        .await?;
        transaction.commit().await?;
        Ok(if linked.rows_affected() > 0 { Redeemed::Linked(user) } else { Redeemed::Taken })
    }

    /// Invalidates a code that other people have seen. Returns true if it existed.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn void_code(&self, account: &ChannelAccount, code_sha256: &str) -> Result<bool> {
        let gone = query("DELETE FROM link_codes WHERE account_id = $1 AND code_sha256 = $2")
            .bind(account.id)
            .bind(code_sha256)
            .execute(self.database.writer(Scope::User(account.user)))
            .await?;
        Ok(gone.rows_affected() > 0)
    }

    /// The user with whom a person is linked, if that user may still use the account.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn linked_user(&self, account: &ChannelAccount, person: &str) -> Result<Option<UserId>> {
        let user: Option<UserId> =
            query_scalar("SELECT user_id FROM channel_links WHERE account_id = $1 AND person = $2")
                .bind(account.id)
                .bind(person)
                .fetch_optional(self.database.reader())
                .await?;
        Ok(user.filter(|user| account.is_shared || *user == account.user))
    }

    /// A user's links; with `of_accounts` also other users' links with the user's accounts.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn channel_links(&self, user: UserId, of_accounts: bool) -> Result<Vec<ChannelLink>> {
        Ok(query_as(LINKS).bind(user).bind(of_accounts).fetch_all(self.database.reader()).await?)
    }

    /// True if messages may be sent to a user: the user may use the account and has a link with it, and, if the conversation is a group, the
    /// account answers there.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn may_reach(
        &self,
        account: &ChannelAccount,
        user: UserId,
        conversation: &str,
        is_group: bool,
    ) -> Result<bool> {
        if !account.is_shared && user != account.user {
            return Ok(false);
        }
        Ok(query_scalar(
            "SELECT EXISTS (SELECT 1 FROM channel_links WHERE account_id = $1 AND user_id = $2)
                AND (NOT $3 OR EXISTS (SELECT 1 FROM channel_groups WHERE account_id = $1 AND conversation = $4))",
        )
        .bind(account.id)
        .bind(user)
        .bind(is_group)
        .bind(conversation)
        .fetch_one(self.database.reader())
        .await?)
    }

    /// Removes a link of the user, or a link with one of the user's accounts, and cancels everything that the account has yet to send to the linked
    /// user. Returns true if it existed.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn remove_channel_link(&self, user: UserId, link: i64) -> Result<bool> {
        let now_ms = self.now_ms();
        let mut transaction = self.database.write(Scope::User(user)).await?;
        let gone: Option<(i64, UserId)> = query_as(
            "DELETE FROM channel_links WHERE id = $1
                AND (user_id = $2 OR account_id IN (SELECT id FROM channel_accounts WHERE user_id = $2))
             RETURNING account_id, user_id",
        )
        .bind(link)
        .bind(user)
        .fetch_optional(&mut transaction)
        .await?;
        let Some((account, linked)) = gone else { return Ok(false) };
        for sql in [
            "DELETE FROM channel_answers WHERE account_id = $1 AND user_id = $2 AND $3 > 0",
            "UPDATE channel_outbox SET state = 'failed', error = 'the link was removed', payload_json = '', reply_json = 'null',
                ended_at_ms = $3 WHERE account_id = $1 AND user_id = $2 AND state IN ('ready', 'sending')",
            "UPDATE channel_presses SET used_at_ms = $3 WHERE used_at_ms IS NULL
                AND outbox_id IN (SELECT id FROM channel_outbox WHERE account_id = $1 AND user_id = $2)",
        ] {
            query(sql).bind(account).bind(linked).bind(now_ms).execute(&mut transaction).await?;
        }
        transaction.commit().await?;
        Ok(true)
    }

    /// True if a person should be told now that they are not linked; at most once an hour.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn tells_stranger(&self, account: &ChannelAccount, person: &str) -> Result<bool> {
        let now_ms = self.now_ms();
        let told: Option<i64> = query_scalar(
            "INSERT INTO channel_strangers (account_id, person, told_at_ms) VALUES ($1, $2, $3)
             ON CONFLICT (account_id, person) DO UPDATE SET told_at_ms = excluded.told_at_ms
                WHERE channel_strangers.told_at_ms <= $4 OR channel_strangers.told_at_ms > $3
             RETURNING told_at_ms",
        )
        .bind(account.id)
        .bind(person)
        .bind(now_ms)
        .bind(now_ms - STRANGER_TOLD_EVERY_MS)
        .fetch_optional(self.database.writer(Scope::User(account.user)))
        .await?;
        Ok(told.is_some())
    }

    /// Makes an account answer in a messenger's group, or stop answering there. Either way, ends the conversation's binding to a group of people and
    /// agents.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn set_channel_group(
        &self,
        account: &ChannelAccount,
        conversation: &str,
        is_on: bool,
    ) -> Result<()> {
        let mut transaction = self.database.write(Scope::User(account.user)).await?;
        let sql = "DELETE FROM channel_bindings WHERE account_id = $1 AND conversation = $2";
        query(sql).bind(account.id).bind(conversation).execute(&mut transaction).await?;
        if is_on {
            let sql = "INSERT INTO channel_groups (account_id, conversation, created_at_ms) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
            query(sql)
                .bind(account.id)
                .bind(conversation)
                .bind(self.now_ms())
                .execute(&mut transaction)
                .await?;
        } else {
            let sql = "DELETE FROM channel_groups WHERE account_id = $1 AND conversation = $2";
            query(sql).bind(account.id).bind(conversation).execute(&mut transaction).await?;
        }
        Ok(transaction.commit().await?)
    }

    /// True if an account answers in a group.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn is_channel_group(&self, account: i64, conversation: &str) -> Result<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM channel_groups WHERE account_id = $1 AND conversation = $2)";
        Ok(query_scalar(sql).bind(account).bind(conversation).fetch_one(self.database.reader()).await?)
    }

    /// Changes a conversation's id, and moves its chats, its group and its pending messages to the new id.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn move_conversation(&self, account: &ChannelAccount, from: &str, to: &str) -> Result<()> {
        check_length("id", to, CHANNEL_ID_MAX_BYTES)?;
        let mut transaction = self.database.write(Scope::User(account.user)).await?;
        for sql in [
            "UPDATE channel_chats SET conversation = $1 WHERE account_id = $2 AND conversation = $3
                AND NOT EXISTS (SELECT 1 FROM channel_chats t WHERE t.account_id = $2 AND t.conversation = $1
                    AND t.user_id = channel_chats.user_id)",
            "UPDATE channel_groups SET conversation = $1 WHERE account_id = $2 AND conversation = $3
                AND NOT EXISTS (SELECT 1 FROM channel_groups t WHERE t.account_id = $2 AND t.conversation = $1)",
            "UPDATE channel_bindings SET conversation = $1 WHERE account_id = $2 AND conversation = $3
                AND NOT EXISTS (SELECT 1 FROM channel_bindings t WHERE t.account_id = $2 AND t.conversation = $1)",
            "UPDATE channel_links SET conversation = $1 WHERE account_id = $2 AND conversation = $3",
            "UPDATE channel_answers SET conversation = $1 WHERE account_id = $2 AND conversation = $3",
            "UPDATE channel_outbox SET conversation = $1 WHERE account_id = $2 AND conversation = $3",
        ] {
            query(sql).bind(to).bind(account.id).bind(from).execute(&mut transaction).await?;
        }
        Ok(transaction.commit().await?)
    }

    /// Closes a conversation that the account was removed from: the account no longer answers there, its binding to a group of people and agents
    /// ends, and nothing more is sent to it.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn close_conversation(&self, account: &ChannelAccount, conversation: &str) -> Result<()> {
        let now_ms = self.now_ms();
        let mut transaction = self.database.write(Scope::User(account.user)).await?;
        for sql in [
            "DELETE FROM channel_groups WHERE account_id = $1 AND conversation = $2 AND $3 > 0",
            "DELETE FROM channel_bindings WHERE account_id = $1 AND conversation = $2 AND $3 > 0",
            "DELETE FROM channel_answers WHERE account_id = $1 AND conversation = $2 AND $3 > 0",
            "UPDATE channel_outbox SET state = 'failed', error = 'the conversation is closed', ended_at_ms = $3
                WHERE account_id = $1 AND conversation = $2 AND state IN ('ready', 'sending')",
            "UPDATE channel_presses SET used_at_ms = $3 WHERE used_at_ms IS NULL
                AND outbox_id IN (SELECT id FROM channel_outbox WHERE account_id = $1 AND conversation = $2)",
        ] {
            query(sql).bind(account.id).bind(conversation).bind(now_ms).execute(&mut transaction).await?;
        }
        Ok(transaction.commit().await?)
    }
}
