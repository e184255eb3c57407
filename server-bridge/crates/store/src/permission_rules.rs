//! A user's permission rules: the tool calls that are denied, asked about or allowed, and the number of calls that each rule decided.

use sqlx::FromRow;

use crate::error::{Error, Result, check_length};
use crate::limits::{PERMISSION_REASON_MAX_BYTES, PERMISSION_RULE_MAX_BYTES, PERMISSION_RULES_PER_USER};
use crate::sql::{Scope, query, query_as};
use crate::{ChatId, Store, UserId, is_unseen};

/// The effect of a permission rule on the calls that match it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum RuleEffect {
    /// The calls are denied.
    Deny,
    /// The user is asked about each call.
    Ask,
    /// The calls are allowed.
    Allow,
}

impl RuleEffect {
    /// All effects, the strictest first.
    pub const ALL: [Self; 3] = [Self::Deny, Self::Ask, Self::Allow];

    /// The effect's name in the database and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
        }
    }
}

crate::sql::bind_as_word!(RuleEffect);

/// A recorded permission rule.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct PermissionRule {
    /// The rule's id.
    pub id: i64,
    /// The rule's effect on the calls that match it.
    pub effect: RuleEffect,
    /// The rule as its user wrote it, such as `Shell(git push *)`.
    pub rule: String,
    /// The justification that its user gave; may be empty.
    pub justification: String,
    /// When it was added, in Unix milliseconds.
    pub created_at_ms: i64,
    /// The number of calls that it decided.
    pub hits: i64,
    /// When it last decided a call, in Unix milliseconds; `None` if it never did.
    pub last_hit_at_ms: Option<i64>,
    /// The chat in which it applies; `None` for all of the user's chats.
    pub chat_id: Option<ChatId>,
}

macro_rules! rule_columns {
    () => {
        "id, effect, rule, justification, created_at_ms, hits, last_hit_at_ms, chat_id"
    };
}

impl Store {
    /// A user's permission rules, including those for single chats, in the order in which they were added.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn permission_rules(&self, user: UserId) -> Result<Vec<PermissionRule>> {
        Ok(query_as(concat!(
            "SELECT ",
            rule_columns!(),
            " FROM permission_rules WHERE user_id = $1 ORDER BY id"
        ))
        .bind(user)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// Adds a permission rule, for all chats of a user or for one. A rule that already exists with the same effect is not added again, but gets the
    /// new justification.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a chat that does not exist or belongs to another user; [`Error::Invalid`] for a rule beyond 4 KiB, a justification
    /// beyond 1 KiB, invisible characters, and if there are already 10,000 rules.
    pub async fn add_permission_rule(
        &self,
        user: UserId,
        chat: Option<&ChatId>,
        effect: RuleEffect,
        rule: &str,
        justification: &str,
    ) -> Result<PermissionRule> {
        check_length("rule", rule, PERMISSION_RULE_MAX_BYTES)?;
        check_length("justification", justification, PERMISSION_REASON_MAX_BYTES)?;
        let invalid = |rule: String| Error::Invalid { what: "rule", rule };
        if let Some(found) = rule.chars().chain(justification.chars()).find(|c| is_unseen(*c)) {
            let code = u32::from(found);
            return Err(invalid(format!("contains U+{code:04X}, an invisible character; leave it out")));
        }
        if let Some(chat) = chat {
            self.chat(user, chat).await?;
        }
        let insert = match chat {
            None => concat!(
                "INSERT INTO permission_rules (user_id, effect, rule, justification, created_at_ms, chat_id)
                 SELECT $1, $2, $3, $4, $5, $7
                 WHERE (SELECT COUNT(*) FROM permission_rules WHERE user_id = $1 AND NOT (effect = $2 AND rule = $3)) < $6
                 ON CONFLICT (user_id, effect, rule) WHERE chat_id IS NULL DO UPDATE SET justification = excluded.justification
                 RETURNING ",
                rule_columns!()
            ),
            Some(_) => concat!(
                "INSERT INTO permission_rules (user_id, effect, rule, justification, created_at_ms, chat_id)
                 SELECT $1, $2, $3, $4, $5, $7
                 WHERE (SELECT COUNT(*) FROM permission_rules WHERE user_id = $1 AND NOT (effect = $2 AND rule = $3)) < $6
                 ON CONFLICT (chat_id, effect, rule) WHERE chat_id IS NOT NULL
                 DO UPDATE SET justification = excluded.justification
                 RETURNING ",
                rule_columns!()
            ),
        };
        let added: Option<PermissionRule> = query_as(insert)
            .bind(user)
            .bind(effect)
            .bind(rule)
            .bind(justification)
            .bind(self.now_ms())
            .bind(PERMISSION_RULES_PER_USER)
            .bind(chat)
            .fetch_optional(self.database.writer(Scope::User(user)))
            .await?;
        added.ok_or_else(|| {
            invalid(format!(
                "exceeds the limit: you already have {PERMISSION_RULES_PER_USER}; remove one first"
            ))
        })
    }

    /// Removes a permission rule of a user and returns it, or `None` if it does not exist or belongs to another user.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn remove_permission_rule(&self, user: UserId, rule: i64) -> Result<Option<PermissionRule>> {
        Ok(query_as(concat!(
            "DELETE FROM permission_rules WHERE id = $1 AND user_id = $2 RETURNING ",
            rule_columns!()
        ))
        .bind(rule)
        .bind(user)
        .fetch_optional(self.database.writer(Scope::User(user)))
        .await?)
    }

    /// Counts a call that a permission rule of a user decided.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn hit_permission_rule(&self, user: UserId, rule: i64) -> Result<()> {
        query(
            "UPDATE permission_rules SET hits = hits + 1, last_hit_at_ms = $1 WHERE id = $2 AND user_id = $3",
        )
        .bind(self.now_ms())
        .bind(rule)
        .bind(user)
        .execute(self.database.writer(Scope::User(user)))
        .await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Name;
    use crate::testing;

    async fn two_users(store: &Store) -> (UserId, UserId) {
        let (ada, eve) = (Name::parse("ada").unwrap(), Name::parse("eve").unwrap());
        let ada = store.add_user(&ada, "correct horse", false).await.unwrap().id;
        (ada, store.add_user(&eve, "correct horse", false).await.unwrap().id)
    }

    #[tokio::test]
    async fn rules_are_their_users_and_are_counted() {
        let store = testing::empty().await;
        let (ada, eve) = two_users(&store).await;
        let add = |effect, rule| store.add_permission_rule(ada, None, effect, rule, "because");
        let deny = add(RuleEffect::Deny, "Shell(git push *)").await.unwrap();
        let allow = add(RuleEffect::Allow, "Shell(git *)").await.unwrap();
        assert_eq!(store.permission_rules(ada).await.unwrap(), [deny.clone(), allow.clone()]);
        assert_eq!(store.permission_rules(eve).await.unwrap(), []);
        store.hit_permission_rule(eve, deny.id).await.unwrap();
        store.hit_permission_rule(ada, deny.id).await.unwrap();
        store.hit_permission_rule(ada, deny.id).await.unwrap();
        let rules = store.permission_rules(ada).await.unwrap();
        assert_eq!((rules[0].hits, rules[1].hits), (2, 0), "a hit by another user does not count");
        assert!(rules[0].last_hit_at_ms.is_some() && rules[1].last_hit_at_ms.is_none());
        assert_eq!(store.remove_permission_rule(eve, deny.id).await.unwrap(), None);
        assert_eq!(
            store.remove_permission_rule(ada, deny.id).await.unwrap().unwrap().rule,
            "Shell(git push *)"
        );
        assert_eq!(store.remove_permission_rule(ada, deny.id).await.unwrap(), None);
        assert_eq!(store.permission_rules(ada).await.unwrap(), [allow]);
    }

    #[tokio::test]
    async fn the_same_rule_is_there_once_and_keeps_its_count() {
        let store = testing::empty().await;
        let (ada, eve) = two_users(&store).await;
        let first = store.add_permission_rule(ada, None, RuleEffect::Ask, "Fetch", "").await.unwrap();
        store.hit_permission_rule(ada, first.id).await.unwrap();
        let again =
            store.add_permission_rule(ada, None, RuleEffect::Ask, "Fetch", "pages lie").await.unwrap();
        assert_eq!((again.id, again.hits, again.justification.as_str()), (first.id, 1, "pages lie"));
        let other = store.add_permission_rule(ada, None, RuleEffect::Deny, "Fetch", "").await.unwrap();
        let hers = store.add_permission_rule(eve, None, RuleEffect::Ask, "Fetch", "").await.unwrap();
        assert!(other.id != first.id && hers.id != first.id && hers.justification.is_empty());
    }

    #[tokio::test]
    async fn a_rule_of_a_chat_is_another_one_and_ends_with_its_chat() {
        let store = testing::empty().await;
        let (ada, eve) = two_users(&store).await;
        let chat = store.create_chat(ada).await.unwrap().id;
        let everywhere = store.add_permission_rule(ada, None, RuleEffect::Deny, "Fetch", "").await.unwrap();
        let add = || store.add_permission_rule(ada, Some(&chat), RuleEffect::Deny, "Fetch", "");
        let (first, again) = (add().await.unwrap(), add().await.unwrap());
        assert!(first.id == again.id && first.id != everywhere.id && first.chat_id.as_ref() == Some(&chat));
        let foreign = store.add_permission_rule(eve, Some(&chat), RuleEffect::Deny, "Fetch", "").await;
        assert!(matches!(foreign, Err(Error::NotFound { .. })));
        store.delete_chat(ada, &chat).await.unwrap();
        assert_eq!(store.permission_rules(ada).await.unwrap(), [everywhere]);
    }

    #[tokio::test]
    async fn too_long_and_invisible_texts_are_refused() {
        let store = testing::empty().await;
        let (ada, _) = two_users(&store).await;
        let long = "x".repeat(PERMISSION_RULE_MAX_BYTES + 1);
        let reason = "x".repeat(PERMISSION_REASON_MAX_BYTES + 1);
        for (rule, reason) in
            [(long.as_str(), ""), ("Fetch", reason.as_str()), ("Fe\u{200b}tch", ""), ("Fetch", "a\u{202e}b")]
        {
            let refused = store.add_permission_rule(ada, None, RuleEffect::Deny, rule, reason).await;
            assert!(matches!(refused, Err(Error::Invalid { .. })), "{rule} {reason}");
        }
        assert_eq!(store.permission_rules(ada).await.unwrap(), []);
    }
}
