//! Turns that are resumed after a restart of the server.

use sqlx::FromRow;

use crate::error::Result;
use crate::limits::RESUMES_MAX;
use crate::sql::{Query, Scope, query, query_as, query_scalar};
use crate::{ChatId, ItemId, Message, MessageId, Store, TurnId, TurnStatus, TurnUsage, UserId};

/// The record of a turn that has begun and not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnRecord {
    /// The turn's items in order, including those that a summary replaces.
    pub items: Vec<RecordedItem>,
    /// The messages that show the turn in its chat, in order.
    pub messages: Vec<Message>,
    /// The turn's cost so far.
    pub usage: TurnUsage,
}

/// An item of a turn.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct RecordedItem {
    /// The item's id.
    pub id: ItemId,
    /// The item's message, as JSON.
    pub item_json: String,
}

/// A turn that has not ended.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct OpenTurn {
    /// The turn's id.
    pub id: TurnId,
    /// The turn's conversation.
    #[sqlx(rename = "chat_id")]
    pub chat: ChatId,
    /// The user who owns the conversation.
    #[sqlx(rename = "user_id")]
    pub user: UserId,
    /// The message that shows its first answer.
    #[sqlx(rename = "message_id")]
    pub message: Option<MessageId>,
    /// [`TurnStatus::Queued`] or [`TurnStatus::Running`].
    pub status: TurnStatus,
    /// For a sub-agent's turn: the conversation whose agent called the sub-agent.
    #[sqlx(rename = "parent_id")]
    pub parent: Option<ChatId>,
    /// For a sub-agent's turn: the top turn that it is a part of.
    #[sqlx(rename = "root_turn_id")]
    pub root: Option<TurnId>,
    /// For a sub-agent's turn: the message that shows the call. `None` if an older version began the turn.
    #[sqlx(rename = "card_id")]
    pub card: Option<MessageId>,
    /// True if its user stopped it.
    pub is_cancelled: bool,
    /// True for a sub-agent's turn in the background.
    pub is_background: bool,
}

/// Selects open turns `t` of conversations `c`; a condition follows.
macro_rules! select_open {
    ($rest:literal) => {
        concat!(
            "SELECT t.id, t.chat_id, c.user_id, t.message_id, t.status, c.parent_id, t.root_turn_id, t.card_id,
                t.is_cancelled, t.background_json IS NOT NULL AS is_background
             FROM turns t JOIN chats c ON c.id = t.chat_id WHERE t.status IN ('queued', 'running') AND ",
            $rest,
            " ORDER BY t.id"
        )
    };
}

impl Store {
    /// The turns that have not ended, of a user or of all users, the oldest first. Called when the server starts.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn open_turns(&self, user: Option<UserId>) -> Result<Vec<OpenTurn>> {
        Ok(query_as(select_open!("(c.user_id = $1 OR $1 IS NULL)"))
            .bind(user)
            .fetch_all(self.database.reader())
            .await?)
    }

    /// The unfinished turns of sub-agents below a user's conversation, at any depth, the oldest first. Leaves out background turns, and everything
    /// below them.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn open_turns_below(&self, user: UserId, chat: &ChatId) -> Result<Vec<OpenTurn>> {
        Ok(query_as(select_open!(
            "c.user_id = $1 AND t.chat_id IN (
                WITH RECURSIVE below (id) AS (
                    SELECT id FROM chats WHERE parent_id = $2
                    UNION ALL SELECT b.id FROM chats b JOIN below ON b.parent_id = below.id
                    WHERE NOT EXISTS (SELECT 1 FROM turns a WHERE a.chat_id = below.id
                        AND a.background_json IS NOT NULL AND a.status IN ('queued', 'running'))
                )
                SELECT id FROM below) AND t.background_json IS NULL"
        ))
        .bind(user)
        .bind(chat)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// Records that a turn which was in progress when a server ended is resumed. Returns false if the turn has ended, or was resumed three times
    /// without making progress: then it may be the reason why the servers ended.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn resume_turn(&self, turn: TurnId) -> Result<bool> {
        let resumed = query(
            "UPDATE turns SET resumes = resumes + 1 WHERE id = $1 AND status = 'running' AND resumes < $2",
        )
        .bind(turn)
        .bind(RESUMES_MAX)
        .execute(self.database.writer(Scope::Turn(turn)))
        .await?;
        Ok(resumed.rows_affected() == 1)
    }

    /// Records that a user stopped the turn in progress of a chat, or the next turn if none is in progress.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn cancel_turn(&self, user: UserId, chat: &ChatId) -> Result<()> {
        query(
            "UPDATE turns SET is_cancelled = TRUE WHERE id = (SELECT MIN(t.id) FROM turns t JOIN chats c ON c.id = t.chat_id
                WHERE t.chat_id = $1 AND c.user_id = $2 AND t.status IN ('queued', 'running'))",
        )
        .bind(chat)
        .bind(user)
        .execute(self.database.writer(Scope::User(user)))
        .await?;
        Ok(())
    }

    /// The record of a turn of a user's chat; `None` unless it is in progress.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn turn_record(&self, user: UserId, chat: &ChatId, turn: TurnId) -> Result<Option<TurnRecord>> {
        let first: Option<Option<MessageId>> = query_scalar(
            "SELECT t.message_id FROM turns t JOIN chats c ON c.id = t.chat_id
             WHERE t.id = $1 AND t.chat_id = $2 AND c.user_id = $3 AND t.status = $4",
        )
        .bind(turn)
        .bind(chat)
        .bind(user)
        .bind(TurnStatus::Running)
        .fetch_optional(self.database.reader())
        .await?;
        let Some(first) = first else { return Ok(None) };
        let items = query_as("SELECT id, item_json FROM turn_items WHERE turn_id = $1 ORDER BY id")
            .bind(turn)
            .fetch_all(self.database.reader())
            .await?;
        let messages = query_as(
            "SELECT id, chat_id, role, author_id, text, document_json, created_at_ms, undone FROM messages
             WHERE chat_id = $1 AND id >= $2 AND turn_id = $3 ORDER BY id",
        )
        .bind(chat)
        .bind(first.unwrap_or(MessageId(0)))
        .bind(turn)
        .fetch_all(self.database.reader())
        .await?;
        let usage = self.turn_usage(turn).await?;
        Ok(Some(TurnRecord { items, messages, usage }))
    }
}

/// Records, for the turns above a sub-agent's turn, that this turn has made progress since a restart, so that they did not crash the server either.
pub(crate) fn got_further_above<'q>(turn: TurnId) -> Query<'q, ()> {
    query(
        "UPDATE turns SET resumes = 0 WHERE resumes > 0 AND status = 'running' AND chat_id IN (
            WITH RECURSIVE up (id) AS (
                SELECT c.parent_id FROM chats c JOIN turns t ON t.chat_id = c.id WHERE t.id = $1
                UNION ALL SELECT c.parent_id FROM chats c JOIN up ON c.id = up.id
            )
            SELECT id FROM up WHERE id IS NOT NULL)",
    )
    .bind(turn)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use crate::{MessageRole, Name};

    struct World {
        store: Store,
        user: UserId,
        chat: ChatId,
        message: MessageId,
    }

    async fn world() -> World {
        let store = testing::empty().await;
        let user = store.add_user(&Name::parse("ada").unwrap(), "correct horse", false).await.unwrap().id;
        let chat = store.create_chat(user).await.unwrap().id;
        let message = store.append_message(user, &chat, MessageRole::Assistant, "", None).await.unwrap().id;
        World { store, user, chat, message }
    }

    impl World {
        async fn turn(&self) -> TurnId {
            self.store.queue_turn(self.user, &self.chat, None, self.message, "1").await.unwrap()
        }
    }

    #[tokio::test]
    async fn a_turn_goes_on_three_times_and_as_often_again_once_it_got_further() {
        let world = world().await;
        let turn = world.turn().await;
        assert!(!world.store.resume_turn(turn).await.unwrap(), "it has not begun");
        world.store.begin_turn(turn, "m").await.unwrap();
        for _ in 0..RESUMES_MAX {
            assert!(world.store.resume_turn(turn).await.unwrap());
        }
        assert!(!world.store.resume_turn(turn).await.unwrap());
        let spent = crate::Spent { subscription: "server", model: "m", usage: TurnUsage::default() };
        world.store.add_turn_usage(turn, spent).await.unwrap();
        assert!(world.store.resume_turn(turn).await.unwrap());
        world.store.finish_turn(turn, TurnStatus::Done, None).await.unwrap();
        assert!(!world.store.resume_turn(turn).await.unwrap(), "it has ended");
    }

    #[tokio::test]
    async fn a_turn_ends_together_with_the_message_that_shows_it() {
        let World { store, user, chat, message } = &world().await;
        let turn = store.queue_turn(*user, chat, None, *message, "1").await.unwrap();
        let eve = store.add_user(&Name::parse("eve").unwrap(), "correct horse", false).await.unwrap().id;
        let document = r#"{"kind":"reply","status":"done"}"#;
        let finish = |user, text| {
            store.finish_shown_turn(user, (turn, *message), (TurnStatus::Done, None), text, document)
        };
        let too_long = "a".repeat(crate::limits::MESSAGE_TEXT_MAX_BYTES + 1);
        let refused = finish(*user, &too_long).await.unwrap_err();
        assert!(matches!(refused, crate::Error::Invalid { .. }), "{refused}");
        let text = || async { store.message(*user, *message).await.unwrap().text };
        assert_eq!((store.open_turns(None).await.unwrap().len(), text().await.as_str()), (1, ""));
        let shown = finish(*user, "an answer").await.unwrap();
        assert_eq!((shown.text.as_str(), shown.document_json.as_deref()), ("an answer", Some(document)));
        assert_eq!(text().await, "an answer");
        assert_eq!(store.open_turns(None).await.unwrap(), []);
        let refused = finish(eve, "of somebody else").await.unwrap_err();
        assert!(matches!(refused, crate::Error::NotFound { .. }), "{refused}");
        assert_eq!(text().await, "an answer");
    }

    #[tokio::test]
    async fn a_stop_is_on_record_for_the_turn_in_progress_and_no_other() {
        let world = world().await;
        let (first, second) = (world.turn().await, world.turn().await);
        let cancelled = async || -> Vec<TurnId> {
            let open = world.store.open_turns(None).await.unwrap().into_iter();
            open.filter(|turn| turn.is_cancelled).map(|turn| turn.id).collect()
        };
        let eve =
            world.store.add_user(&Name::parse("eve").unwrap(), "correct horse", false).await.unwrap().id;
        world.store.cancel_turn(eve, &world.chat).await.unwrap();
        assert_eq!(cancelled().await, []);
        world.store.cancel_turn(world.user, &world.chat).await.unwrap();
        assert_eq!(cancelled().await, [first]);
        world.store.finish_turn(first, TurnStatus::Cancelled, None).await.unwrap();
        world.store.cancel_turn(world.user, &world.chat).await.unwrap();
        assert_eq!(cancelled().await, [second]);
    }

    #[tokio::test]
    async fn the_record_of_a_turn_in_progress_has_its_items_and_its_messages_alone() {
        let world = world().await;
        let World { store, user, chat, message } = &world;
        let (user, role) = (*user, MessageRole::Assistant);
        let turn = world.turn().await;
        assert_eq!(store.turn_record(user, chat, turn).await.unwrap(), None, "it is queued");
        store.begin_turn(turn, "m").await.unwrap();
        store.append_turn_item(turn, "2").await.unwrap();
        store.append_message(user, chat, MessageRole::User, "between", None).await.unwrap();
        let card = store.append_turn_message(user, chat, turn, role, "card", None).await.unwrap().id;
        let record = store.turn_record(user, chat, turn).await.unwrap().unwrap();
        let items: Vec<_> = record.items.iter().map(|item| item.item_json.as_str()).collect();
        let shown: Vec<_> = record.messages.iter().map(|message| message.id).collect();
        assert_eq!((items, shown), (vec!["1", "2"], vec![*message, card]));
        let eve = store.add_user(&Name::parse("eve").unwrap(), "correct horse", false).await.unwrap().id;
        assert_eq!(store.turn_record(eve, chat, turn).await.unwrap(), None);
    }
}
