//! A conversation that goes on as two.

use std::collections::HashMap;

use sqlx::{FromRow, Sqlite, Transaction};

use crate::error::{Error, Result};
use crate::limits::TITLE_MAX_CHARS;
use crate::{Chat, ChatId, Message, MessageId, MessageRole, Store, TurnId, TurnStatus, UserId};

/// What a copy's title ends with.
const MARK: &str = " (fork)";

/// A turn to be copied; what it took was paid for once.
#[derive(FromRow)]
struct Turn {
    id: TurnId,
    #[sqlx(rename = "message_id")]
    message: Option<MessageId>,
    #[sqlx(rename = "said_id")]
    said: Option<MessageId>,
    status: TurnStatus,
    model: String,
    cwd: Option<String>,
    error: Option<String>,
    created_at_ms: i64,
    finished_at_ms: Option<i64>,
}

#[derive(FromRow)]
struct Copied {
    #[sqlx(flatten)]
    message: Message,
    #[sqlx(rename = "turn_id")]
    turn: Option<TurnId>,
}

impl Store {
    /// Copies a user's conversation: what was said up to and with the turn `up_to`, or all, with long results of tools, the
    /// agent's directory, the binding and the approval mode. Turns that are not over or were taken back are left out, as are
    /// commands that still run, what was allowed for good, and what files were before: the copy changed none.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a conversation that is gone or another user's.
    pub async fn fork_chat(&self, user: UserId, chat: &ChatId, up_to: Option<TurnId>) -> Result<Chat> {
        let now_ms = self.now_ms();
        let mut transaction = self.database.write().await?;
        let title: Option<String> =
            sqlx::query_scalar("SELECT title FROM chats WHERE id = $1 AND user_id = $2")
                .bind(chat)
                .bind(user)
                .fetch_optional(&mut *transaction)
                .await?;
        let title = title.ok_or_else(|| Error::not_found("chat", chat))?;
        let copy: Chat = sqlx::query_as(
            "INSERT INTO chats (id, user_id, title, runner, created_at_ms, updated_at_ms, cwd, approval)
             SELECT $1, user_id, $2, runner, $3, $3, cwd, approval FROM chats WHERE id = $4
             RETURNING id, user_id, title, runner, created_at_ms, updated_at_ms",
        )
        .bind(ChatId::random())
        .bind(copy_title(&title))
        .bind(now_ms)
        .bind(chat)
        .fetch_one(&mut *transaction)
        .await?;
        let last = up_to.unwrap_or(TurnId(i64::MAX));
        let turns: Vec<Turn> = sqlx::query_as(
            "SELECT id, message_id, said_id, status, model, cwd, error, created_at_ms, finished_at_ms FROM turns
             WHERE chat_id = $1 AND id <= $2 AND undone_at_ms IS NULL AND status NOT IN ('queued', 'running')
             ORDER BY id",
        )
        .bind(chat)
        .bind(last)
        .fetch_all(&mut *transaction)
        .await?;
        let turns = copy_turns(&mut transaction, &copy.id, turns).await?;
        copy_messages(&mut transaction, chat, &copy.id, last, &turns).await?;
        sqlx::query(
            "INSERT INTO offloads (chat_id, id, text) SELECT $1, id, text FROM offloads WHERE chat_id = $2",
        )
        .bind(&copy.id)
        .bind(chat)
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(copy)
    }
}

/// Copies turns with their items; each old one with its copy.
async fn copy_turns(
    transaction: &mut Transaction<'static, Sqlite>,
    copy: &ChatId,
    turns: Vec<Turn>,
) -> Result<HashMap<TurnId, (TurnId, Turn)>> {
    let mut copied = HashMap::with_capacity(turns.len());
    for turn in turns {
        let new: TurnId = sqlx::query_scalar(
            "INSERT INTO turns (chat_id, status, model, cwd, error, created_at_ms, finished_at_ms)
             VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id",
        )
        .bind(copy)
        .bind(turn.status)
        .bind(&turn.model)
        .bind(&turn.cwd)
        .bind(&turn.error)
        .bind(turn.created_at_ms)
        .bind(turn.finished_at_ms)
        .fetch_one(&mut **transaction)
        .await?;
        sqlx::query(
            "INSERT INTO turn_items (turn_id, item_json) SELECT $1, item_json FROM turn_items WHERE turn_id = $2 ORDER BY id",
        )
        .bind(new)
        .bind(turn.id)
        .execute(&mut **transaction)
        .await?;
        copied.insert(turn.id, (new, turn));
    }
    Ok(copied)
}

/// Copies the messages of those turns, and what stands between them.
async fn copy_messages(
    transaction: &mut Transaction<'static, Sqlite>,
    chat: &ChatId,
    copy: &ChatId,
    last: TurnId,
    turns: &HashMap<TurnId, (TurnId, Turn)>,
) -> Result<()> {
    // What belongs to no turn is copied up to where the first turn begins that is not.
    let messages: Vec<Copied> = sqlx::query_as(
        "SELECT m.id, m.chat_id, m.role, m.text, m.exec_json, m.created_at_ms, m.undone, m.turn_id FROM messages m
         WHERE m.chat_id = $1 AND NOT m.undone
            AND NOT EXISTS (SELECT 1 FROM execs e WHERE e.message_id = m.id AND e.status = 'running')
            AND (m.turn_id IS NOT NULL OR m.id < COALESCE(
                (SELECT MIN(COALESCE(t.said_id, t.message_id)) FROM turns t WHERE t.chat_id = $1 AND t.id > $2),
                m.id + 1))
         ORDER BY m.id",
    )
    .bind(chat)
    .bind(last)
    .fetch_all(&mut **transaction)
    .await?;
    for Copied { message, turn } in messages {
        let turn = match turn.map(|turn| turns.get(&turn)) {
            // It is not copied.
            Some(None) => continue,
            Some(turn) => turn,
            // A turn of an earlier version knows its first message alone.
            None => turns.values().find(|(_, turn)| turn.message == Some(message.id)),
        };
        let new = copy_message(transaction, copy, turn.map(|(new, _)| *new), &message).await?;
        let Some((new_turn, turn)) = turn else { continue };
        let column = match message.id {
            id if turn.message == Some(id) => "UPDATE turns SET message_id = $1 WHERE id = $2",
            id if turn.said == Some(id) => "UPDATE turns SET said_id = $1 WHERE id = $2",
            _ => continue,
        };
        sqlx::query(column).bind(new).bind(new_turn).execute(&mut **transaction).await?;
    }
    Ok(())
}

async fn copy_message(
    transaction: &mut Transaction<'static, Sqlite>,
    copy: &ChatId,
    turn: Option<TurnId>,
    message: &Message,
) -> Result<MessageId> {
    let Message { role, text, exec_json, created_at_ms, .. } = message;
    let role: MessageRole = *role;
    Ok(sqlx::query_scalar(
        "INSERT INTO messages (chat_id, role, text, exec_json, created_at_ms, turn_id) VALUES ($1, $2, $3, $4, $5, $6)
         RETURNING id",
    )
    .bind(copy)
    .bind(role)
    .bind(text)
    .bind(exec_json)
    .bind(created_at_ms)
    .bind(turn)
    .fetch_one(&mut **transaction)
    .await?)
}

fn copy_title(title: &str) -> String {
    let title = title.strip_suffix(MARK).unwrap_or(title);
    title.chars().take(TITLE_MAX_CHARS - MARK.len()).chain(MARK.chars()).collect()
}
