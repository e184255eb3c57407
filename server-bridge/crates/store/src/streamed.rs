//! The text of answers in progress, which is stored repeatedly while a model writes it.

use sqlx::FromRow;

use crate::error::Result;
use crate::sql::{Scope, query, query_as};
use crate::{MessageId, Store, TurnId};

/// A model's partial text in a message.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Streamed {
    /// The message that shows it.
    #[sqlx(rename = "message_id")]
    pub message: MessageId,
    /// The text so far.
    pub text: String,
    /// The reasoning so far.
    pub reasoning: String,
}

impl Store {
    /// Stores the text so far of a turn's message, replacing the earlier one. Does nothing for a message that was deleted.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn put_streamed(&self, turn: TurnId, words: &Streamed) -> Result<()> {
        query(
            "INSERT INTO streamed (message_id, turn_id, text, reasoning)
             SELECT m.id, t.id, $1, $2 FROM messages m, turns t WHERE m.id = $3 AND t.id = $4
             ON CONFLICT (message_id) DO UPDATE SET text = excluded.text, reasoning = excluded.reasoning",
        )
        .bind(&words.text)
        .bind(&words.reasoning)
        .bind(words.message)
        .bind(turn)
        .execute(self.database.writer(Scope::Turn(turn)))
        .await?;
        Ok(())
    }

    /// Deletes the stored text of a message, which now contains it.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn remove_streamed(&self, message: MessageId) -> Result<()> {
        query("DELETE FROM streamed WHERE message_id = $1")
            .bind(message)
            .execute(self.database.writer(Scope::Message(message)))
            .await?;
        Ok(())
    }

    /// The stored texts of a turn's messages.
    ///
    /// # Errors
    /// [`crate::Error::Database`].
    pub async fn streamed(&self, turn: TurnId) -> Result<Vec<Streamed>> {
        Ok(query_as(
            "SELECT message_id, text, reasoning FROM streamed WHERE turn_id = $1 ORDER BY message_id",
        )
        .bind(turn)
        .fetch_all(self.database.reader())
        .await?)
    }
}
