//! The approval mode and permissions of a conversation's agent.

use sqlx::FromRow;

use crate::error::{Error, Result, check_length};
use crate::limits::{EXEC_COMMAND_MAX_BYTES, SETTING_KEY_MAX_BYTES};
use crate::sql::{Scope, query, query_as, query_scalar};
use crate::{ChatId, Store, UserId};

/// A kind of tool call that a user allowed permanently in a conversation.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct ApprovalRule {
    /// The rule's id.
    pub id: i64,
    /// The conversation in which it applies.
    pub chat_id: ChatId,
    /// The conversation's title; may be empty.
    pub chat_title: String,
    /// The tool's name.
    pub tool: String,
    /// The key that a call of the tool must match, such as a command.
    pub subject: String,
    /// The scope as it was shown to the user who agreed to it; empty for rules from before version 26 of the schema.
    pub scope: String,
    /// When it was allowed, in Unix milliseconds; 0 where `scope` is empty.
    pub created_at_ms: i64,
}

impl Store {
    /// The approval mode of a user's conversation; `ask` unless the user set another one.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a conversation that does not exist or belongs to another user.
    pub async fn approval(&self, user: UserId, chat: &ChatId) -> Result<String> {
        query_scalar("SELECT approval FROM chats WHERE id = $1 AND user_id = $2")
            .bind(chat)
            .bind(user)
            .fetch_optional(self.database.reader())
            .await?
            .ok_or_else(|| Error::not_found("chat", chat))
    }

    /// Sets the approval mode of a user's conversation.
    ///
    /// # Errors
    /// [`Error::NotFound`] as for [`Store::approval`]; [`Error::Invalid`] for a mode beyond 128 bytes.
    pub async fn set_approval(&self, user: UserId, chat: &ChatId, mode: &str) -> Result<()> {
        check_length("mode", mode, SETTING_KEY_MAX_BYTES)?;
        let set = query("UPDATE chats SET approval = $1 WHERE id = $2 AND user_id = $3")
            .bind(mode)
            .bind(chat)
            .bind(user)
            .execute(self.database.writer(Scope::User(user)))
            .await?;
        if set.rows_affected() == 1 { Ok(()) } else { Err(Error::not_found("chat", chat)) }
    }

    /// Permanently allows a tool's calls with this subject in a user's conversation. Does nothing for a subject of more than 4 KiB.
    ///
    /// # Errors
    /// [`Error::NotFound`] as for [`Store::approval`].
    pub async fn allow_for_good(
        &self,
        user: UserId,
        chat: &ChatId,
        tool: &str,
        subject: &str,
        scope: &str,
    ) -> Result<()> {
        self.chat(user, chat).await?;
        if subject.len() > EXEC_COMMAND_MAX_BYTES {
            return Ok(());
        }
        query(
            "INSERT INTO approval_rules (chat_id, tool, subject, scope, created_at_ms) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT DO NOTHING",
        )
        .bind(chat)
        .bind(tool)
        .bind(subject)
        .bind(scope)
        .bind(self.now_ms())
        .execute(self.database.writer(Scope::User(user)))
        .await?;
        Ok(())
    }

    /// The rules of all of a user's conversations, the newest first.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn approval_rules(&self, user: UserId) -> Result<Vec<ApprovalRule>> {
        Ok(query_as(
            "SELECT r.id, r.chat_id, c.title AS chat_title, r.tool, r.subject, r.scope, r.created_at_ms
             FROM approval_rules r JOIN chats c ON c.id = r.chat_id WHERE c.user_id = $1 ORDER BY r.id DESC",
        )
        .bind(user)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// Revokes a rule of a user and returns its tool's name, or `None` if it does not exist or belongs to another user.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn revoke_approval_rule(&self, user: UserId, rule: i64) -> Result<Option<String>> {
        Ok(query_scalar(
            "DELETE FROM approval_rules WHERE id = $1 AND chat_id IN (SELECT id FROM chats WHERE user_id = $2) RETURNING tool",
        )
        .bind(rule)
        .bind(user)
        .fetch_optional(self.database.writer(Scope::User(user)))
        .await?)
    }

    /// Revokes all permanent permissions of a tool in a user's conversation.
    ///
    /// # Errors
    /// [`Error::NotFound`] as for [`Store::approval`].
    pub async fn forget_allowed(&self, user: UserId, chat: &ChatId, tool: &str) -> Result<()> {
        self.chat(user, chat).await?;
        query("DELETE FROM approval_rules WHERE chat_id = $1 AND tool = $2")
            .bind(chat)
            .bind(tool)
            .execute(self.database.writer(Scope::User(user)))
            .await?;
        Ok(())
    }

    /// True if the user permanently allowed the tool's calls with this subject in the conversation.
    ///
    /// # Errors
    /// [`Error::NotFound`] as for [`Store::approval`].
    pub async fn is_allowed(&self, user: UserId, chat: &ChatId, tool: &str, subject: &str) -> Result<bool> {
        self.chat(user, chat).await?;
        Ok(query_scalar(
            "SELECT EXISTS (SELECT 1 FROM approval_rules WHERE chat_id = $1 AND tool = $2 AND subject = $3)",
        )
        .bind(chat)
        .bind(tool)
        .bind(subject)
        .fetch_one(self.database.reader())
        .await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Name;
    use crate::testing;

    #[tokio::test]
    async fn what_was_allowed_holds_for_that_chat_and_that_subject() {
        let store = testing::empty().await;
        let add =
            |name| store.add_user(Box::leak(Box::new(Name::parse(name).unwrap())), "correct horse", false);
        let (ada, eve) = (add("ada").await.unwrap().id, add("eve").await.unwrap().id);
        let (chat, other) =
            (store.create_chat(ada).await.unwrap().id, store.create_chat(ada).await.unwrap().id);
        assert_eq!(store.approval(ada, &chat).await.unwrap(), "ask");
        store.set_approval(ada, &chat, "full").await.unwrap();
        assert_eq!(store.approval(ada, &chat).await.unwrap(), "full");
        assert_eq!(store.approval(ada, &other).await.unwrap(), "ask");
        for _ in 0..2 {
            store.allow_for_good(ada, &chat, "Shell", "make", "here").await.unwrap();
        }
        let rules = store.approval_rules(ada).await.unwrap();
        assert_eq!(rules.len(), 1, "adding the same rule again adds nothing");
        assert_eq!((rules[0].subject.as_str(), rules[0].scope.as_str()), ("make", "here"));
        assert!(store.approval_rules(eve).await.unwrap().is_empty());
        assert_eq!(store.revoke_approval_rule(eve, rules[0].id).await.unwrap(), None, "not hers");
        assert!(store.is_allowed(ada, &chat, "Shell", "make").await.unwrap());
        assert_eq!(store.revoke_approval_rule(ada, rules[0].id).await.unwrap().as_deref(), Some("Shell"));
        assert_eq!(
            store.revoke_approval_rule(ada, rules[0].id).await.unwrap(),
            None,
            "it was already revoked"
        );
        assert!(!store.is_allowed(ada, &chat, "Shell", "make").await.unwrap());
        store.allow_for_good(ada, &chat, "Shell", "make", "here").await.unwrap();
        assert!(store.is_allowed(ada, &chat, "Shell", "make").await.unwrap());
        assert!(!store.is_allowed(ada, &chat, "Shell", "make; rm").await.unwrap());
        assert!(!store.is_allowed(ada, &other, "Shell", "make").await.unwrap());
        store.allow_for_good(ada, &chat, "Fetch", "make", "here").await.unwrap();
        store.forget_allowed(ada, &chat, "Fetch").await.unwrap();
        assert!(!store.is_allowed(ada, &chat, "Fetch", "make").await.unwrap());
        assert!(
            store.is_allowed(ada, &chat, "Shell", "make").await.unwrap(),
            "another tool's permission stays"
        );
        assert!(store.forget_allowed(eve, &chat, "Shell").await.is_err());
        let long = "x".repeat(EXEC_COMMAND_MAX_BYTES + 1);
        store.allow_for_good(ada, &chat, "Shell", &long, "here").await.unwrap();
        assert!(!store.is_allowed(ada, &chat, "Shell", &long).await.unwrap());
        assert!(store.is_allowed(eve, &chat, "Shell", "make").await.is_err());
        assert!(store.set_approval(eve, &chat, "full").await.is_err());
        assert!(store.allow_for_good(eve, &chat, "Shell", "make", "here").await.is_err());
    }

    #[tokio::test]
    async fn new_chat_begins_in_the_mode_that_its_user_set_and_an_old_one_keeps_its_own() {
        let store = testing::empty().await;
        let add =
            |name| store.add_user(Box::leak(Box::new(Name::parse(name).unwrap())), "correct horse", false);
        let (ada, eve) = (add("ada").await.unwrap().id, add("eve").await.unwrap().id);
        let old = store.create_chat(ada).await.unwrap().id;
        store.set_setting(ada, crate::APPROVAL, Some("auto-edit")).await.unwrap();
        let (new, others) =
            (store.create_chat(ada).await.unwrap().id, store.create_chat(eve).await.unwrap().id);
        assert_eq!(store.approval(ada, &old).await.unwrap(), "ask");
        assert_eq!(store.approval(ada, &new).await.unwrap(), "auto-edit");
        assert_eq!(store.approval(eve, &others).await.unwrap(), "ask");
    }
}
