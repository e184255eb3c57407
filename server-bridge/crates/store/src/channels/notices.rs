//! The administrator's chat: the link whose conversation gets the server's notices, and the events that were reported there.

use std::collections::HashSet;

use sqlx::FromRow;

use super::accounts::ChannelAccount;
use super::outbox::NewOutgoing;
use crate::error::Result;
use crate::homes::at_home;
use crate::sql::{Scope, query, query_as, query_scalar};
use crate::{Store, UserId};

/// A conversation that gets the server's notices, with its link.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct NoticeLink {
    /// The id of the link.
    pub id: i64,
    /// The id of the account.
    pub account_id: i64,
    /// The owner of the account.
    #[sqlx(rename = "owner_id")]
    pub owner: UserId,
    /// The direct conversation with the administrator.
    pub conversation: String,
    /// The administrator who gets the notices.
    #[sqlx(rename = "user_id")]
    pub user: UserId,
    /// The time since which the conversation gets notices, in Unix milliseconds.
    pub since_ms: i64,
}

impl Store {
    /// The link of a person, if they are linked.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn link_of_person(&self, account: &ChannelAccount, person: &str) -> Result<Option<i64>> {
        let sql = "SELECT id FROM channel_links WHERE account_id = $1 AND person = $2";
        let link = query_scalar(sql).bind(account.id).bind(person);
        Ok(link.fetch_optional(self.database.reader()).await?)
    }

    /// Sends the server's notices to the conversation of this link of an administrator and to none of the administrator's other links; or stops
    /// sending them. Returns false, without any change, if the user has no such link, or if notices are turned on for a user who is not an
    /// administrator.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn set_notices(&self, user: UserId, link: i64, is_on: bool) -> Result<bool> {
        let mut transaction = self.database.write(Scope::User(user)).await?;
        let is_allowed: bool = query_scalar(
            "SELECT EXISTS (SELECT 1 FROM channel_links l JOIN users u ON u.id = l.user_id
                WHERE l.id = $1 AND l.user_id = $2 AND (u.admin OR NOT $3))",
        )
        .bind(link)
        .bind(user)
        .bind(is_on)
        .fetch_one(&mut transaction)
        .await?;
        if !is_allowed {
            return Ok(false);
        }
        query("UPDATE channel_links SET notices_since_ms = NULL WHERE user_id = $1 AND (id = $2 OR $3)")
            .bind(user)
            .bind(link)
            .bind(is_on)
            .execute(&mut transaction)
            .await?;
        if is_on {
            query("UPDATE channel_links SET notices_since_ms = $1 WHERE id = $2")
                .bind(self.now_ms())
                .bind(link)
                .execute(&mut transaction)
                .await?;
        }
        transaction.commit().await?;
        Ok(true)
    }

    /// The conversations that get notices, of accounts whose owners have their home at this node. Only administrators who may use the account get
    /// them.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn notice_links(&self) -> Result<Vec<NoticeLink>> {
        Ok(query_as(concat!(
            "SELECT l.id, l.account_id, a.user_id AS owner_id, l.conversation, l.user_id, l.notices_since_ms AS since_ms
             FROM channel_links l JOIN channel_accounts a ON a.id = l.account_id JOIN users u ON u.id = l.user_id
             JOIN users o ON o.id = a.user_id
             WHERE l.notices_since_ms IS NOT NULL AND u.admin AND a.is_enabled
                AND (a.user_id = l.user_id OR (a.is_shared AND o.admin)) AND ",
            at_home!("a.user_id", "$1"),
            " ORDER BY l.id"
        ))
        .bind(self.database.node_id())
        .fetch_all(self.database.reader())
        .await?)
    }

    /// True if notices may be sent to a user's conversation now: the user is still an administrator, and still wants them there.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn takes_notices(&self, account: i64, conversation: &str, user: UserId) -> Result<bool> {
        Ok(query_scalar(
            "SELECT EXISTS (SELECT 1 FROM channel_links l JOIN users u ON u.id = l.user_id
                WHERE l.account_id = $1 AND l.conversation = $2 AND l.user_id = $3 AND l.notices_since_ms IS NOT NULL AND u.admin)",
        )
        .bind(account)
        .bind(conversation)
        .bind(user)
        .fetch_one(self.database.latest())
        .await?)
    }

    /// The subjects that were reported in a link's conversation.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn told_notices(&self, link: i64) -> Result<HashSet<String>> {
        let told: Vec<String> = query_scalar("SELECT subject FROM told_notices WHERE link_id = $1")
            .bind(link)
            .fetch_all(self.database.reader())
            .await?;
        Ok(told.into_iter().collect())
    }

    /// Records subjects as reported in a conversation, together with the message that reports them, in one transaction. `message` builds the
    /// message from the indexes of the subjects that are new there. Returns true if there were any.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn add_notice(
        &self,
        to: &NoticeLink,
        subjects: &[String],
        message: impl FnOnce(&[usize]) -> NewOutgoing,
    ) -> Result<bool> {
        let now_ms = self.now_ms();
        let mut transaction = self.database.write(Scope::User(to.owner)).await?;
        let mut new = Vec::new();
        for (at, subject) in subjects.iter().enumerate() {
            let told = query(
                "INSERT INTO told_notices (link_id, subject, told_at_ms)
                 SELECT l.id, $2, $3 FROM channel_links l WHERE l.id = $1 AND l.notices_since_ms IS NOT NULL
                 ON CONFLICT (link_id, subject) DO NOTHING",
            )
            .bind(to.id)
            .bind(subject)
            .bind(now_ms)
            .execute(&mut transaction)
            .await?;
            if told.rows_affected() > 0 {
                new.push(at);
            }
        }
        if new.is_empty() {
            return Ok(false);
        }
        message(&new).insert(&mut transaction, to.account_id, now_ms).await?;
        transaction.commit().await?;
        Ok(true)
    }
}
