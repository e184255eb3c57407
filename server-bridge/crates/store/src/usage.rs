//! The usage of models: tokens and cost by user, chat, day and model. It is kept after chats are deleted.

use sqlx::FromRow;

use crate::error::Result;
use crate::limits::{DAY_MS, USAGE_ROWS};
use crate::resumes::got_further_above;
use crate::sql::{Query, query, query_as};
use crate::{ChatId, Spent, Store, TurnId, TurnUsage, UserId};

/// The usage of one model on one day.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct UsageRow {
    /// The day, in whole days since 1970, UTC.
    pub day: i64,
    /// See [`Spent::subscription`].
    pub subscription: String,
    /// See [`Spent::model`].
    pub model: String,
    /// The number of answers.
    pub calls: i64,
    /// The tokens and cost.
    #[sqlx(flatten)]
    pub usage: TurnUsage,
}

impl Store {
    /// The statements that add to the usage of a turn, of the turns above it and of its user's models. They change nothing for a turn that does not
    /// exist.
    pub(crate) fn counts<'q>(&self, turn: TurnId, spent: Spent<'q>) -> Vec<Query<'q, ()>> {
        let Spent { subscription, model, usage } = spent;
        let of_models = query(
            // A sub-agent's usage counts for the chat at the top.
            "WITH RECURSIVE up (id, parent_id) AS (
                SELECT c.id, c.parent_id FROM chats c JOIN turns t ON t.chat_id = c.id WHERE t.id = $1
                UNION ALL SELECT c.id, c.parent_id FROM chats c JOIN up ON c.id = up.parent_id
             )
             INSERT INTO model_usage (user_id, day, chat_id, subscription, model, calls, input_tokens,
                cache_read_tokens, cache_write_tokens, output_tokens, cost_micros)
             SELECT c.user_id, $2, c.id, $3, $4, 1, $5, $6, $7, $8, $9
                FROM up JOIN chats c ON c.id = up.id WHERE up.parent_id IS NULL
             ON CONFLICT (user_id, day, chat_id, subscription, model) DO UPDATE SET
                calls = model_usage.calls + 1,
                input_tokens = model_usage.input_tokens + excluded.input_tokens,
                cache_read_tokens = model_usage.cache_read_tokens + excluded.cache_read_tokens,
                cache_write_tokens = model_usage.cache_write_tokens + excluded.cache_write_tokens,
                output_tokens = model_usage.output_tokens + excluded.output_tokens,
                cost_micros = model_usage.cost_micros + excluded.cost_micros",
        )
        .bind(turn)
        .bind(self.today())
        .bind(subscription)
        .bind(model)
        .bind(usage.input_tokens)
        .bind(usage.cache_read_tokens)
        .bind(usage.cache_write_tokens)
        .bind(usage.output_tokens)
        .bind(usage.cost_micros);
        vec![crate::turns::count(turn, usage), got_further_above(turn), of_models]
    }

    /// The usage of a user's models from this day on, by day and model, the newest day first; at most 10,000 rows. It covers one conversation, even
    /// a removed one, or all of them.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn usage(&self, user: UserId, chat: Option<&ChatId>, from_day: i64) -> Result<Vec<UsageRow>> {
        Ok(query_as(
            "SELECT day, subscription, model,
                CAST(SUM(calls) AS BIGINT) AS calls,
                CAST(SUM(input_tokens) AS BIGINT) AS input_tokens,
                CAST(SUM(cache_read_tokens) AS BIGINT) AS cache_read_tokens,
                CAST(SUM(cache_write_tokens) AS BIGINT) AS cache_write_tokens,
                CAST(SUM(output_tokens) AS BIGINT) AS output_tokens,
                CAST(SUM(cost_micros) AS BIGINT) AS cost_micros
             FROM model_usage WHERE user_id = $1 AND day >= $2 AND chat_id = COALESCE($3, chat_id)
             GROUP BY day, subscription, model ORDER BY day DESC, subscription, model LIMIT $4",
        )
        .bind(user)
        .bind(from_day)
        .bind(chat)
        .bind(USAGE_ROWS)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// The current day by the store's clock, in whole days since 1970, UTC.
    pub fn today(&self) -> i64 {
        self.now_ms().div_euclid(DAY_MS)
    }
}

#[cfg(test)]
mod tests {
    use crate::PromptCount;
    use crate::testing;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;
    use crate::{Clock, Error, MessageRole, Name};

    fn spent<'a>(subscription: &'a str, model: &'a str, input_tokens: i64) -> Spent<'a> {
        let usage = TurnUsage { input_tokens, output_tokens: 1, cost_micros: 7, ..TurnUsage::default() };
        Spent { subscription, model, usage }
    }

    #[tokio::test]
    async fn what_models_took_is_counted_by_day_chat_and_model_and_outlives_the_chat() {
        let now = Arc::new(AtomicI64::new(3 * DAY_MS + 5));
        let clock = Arc::clone(&now);
        let store = testing::empty().await;
        let store = store.with_clock(Clock::from_fn(move || clock.load(Ordering::Relaxed)));
        let ada = store.add_user(&Name::parse("ada").unwrap(), "correct horse", false).await.unwrap().id;
        let eve = store.add_user(&Name::parse("eve").unwrap(), "correct horse", false).await.unwrap().id;
        let (chat, other) =
            (store.create_chat(ada).await.unwrap().id, store.create_chat(ada).await.unwrap().id);
        let message = store.append_message(ada, &chat, MessageRole::Assistant, "", None).await.unwrap().id;
        let turn = store.queue_turn(ada, &chat, None, message, "1").await.unwrap();
        store.append_answer(turn, "2", spent("server", "big", 10), PromptCount::default()).await.unwrap();
        store.append_answer(turn, "3", spent("server", "big", 5), PromptCount::default()).await.unwrap();
        let message = store.append_message(ada, &other, MessageRole::Assistant, "", None).await.unwrap().id;
        let aside = store.queue_turn(ada, &other, None, message, "1").await.unwrap();
        store.add_turn_usage(aside, spent("mine", "small", 3)).await.unwrap();
        now.store(4 * DAY_MS, Ordering::Relaxed);
        store.add_turn_usage(turn, spent("server", "big", 1)).await.unwrap();
        let told = async |chat: Option<&ChatId>, from_day| {
            let rows = store.usage(ada, chat, from_day).await.unwrap();
            rows.into_iter()
                .map(|row| (row.day, row.subscription, row.calls, row.usage.input_tokens))
                .collect::<Vec<_>>()
        };
        let row = |day, name: &str, calls, tokens| (day, name.to_owned(), calls, tokens);
        let all = [row(4, "server", 1, 1), row(3, "mine", 1, 3), row(3, "server", 2, 15)];
        assert_eq!(told(None, 0).await, all);
        assert_eq!(told(None, 4).await, all[..1]);
        assert_eq!(told(Some(&other), 0).await, all[1..2]);
        assert_eq!(store.turn_items(ada, &chat, turn).await.unwrap(), ["1", "2", "3"]);
        store.delete_chat(ada, &chat).await.unwrap();
        assert_eq!(told(None, 0).await, all);
        let late = store.append_answer(turn, "4", spent("server", "big", 1), PromptCount::default()).await;
        assert!(matches!(late, Err(Error::NotFound { .. })), "{late:?}");
        assert_eq!(told(None, 0).await, all, "the usage of an answer that is not stored does not count");
        assert!(store.usage(eve, None, 0).await.unwrap().is_empty());
        assert!(store.usage(eve, Some(&other), 0).await.unwrap().is_empty());
    }
}
