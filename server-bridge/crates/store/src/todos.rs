//! The task list of a conversation's agent.

use sqlx::FromRow;

use crate::error::{Error, Result};
use crate::limits::{TODO_MAX_CHARS, TODOS_PER_CHAT};
use crate::sql::{Scope, Transaction, query, query_as, query_scalar};
use crate::{ChatId, Store, TurnId, UserId};

/// The status of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum TodoStatus {
    /// The task has not been started.
    Pending,
    /// The task has been started, and is not done.
    InProgress,
    /// The task is done.
    Completed,
}

impl TodoStatus {
    /// All statuses, in chronological order.
    pub const ALL: [Self; 3] = [Self::Pending, Self::InProgress, Self::Completed];

    /// The status's name in the database and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
        }
    }
}

crate::sql::bind_as_word!(TodoStatus);

/// A task of the list.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Todo {
    /// The text of the task.
    pub content: String,
    /// The status of the task.
    pub status: TodoStatus,
}

impl Store {
    /// The task list of a user's conversation, in order.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a conversation that does not exist or belongs to another user.
    pub async fn todos(&self, user: UserId, chat: &ChatId) -> Result<Vec<Todo>> {
        self.chat(user, chat).await?;
        Ok(query_as("SELECT content, status FROM chat_todos WHERE chat_id = $1 ORDER BY position")
            .bind(chat)
            .fetch_all(self.database.reader())
            .await?)
    }

    /// Replaces the task list. The list as it was before a turn in progress first changed it is kept, and restored if the turn is undone.
    ///
    /// # Errors
    /// [`Error::NotFound`] as for [`Store::todos`]; [`Error::Invalid`] for more than 100 tasks, or for a task that is empty or longer than 500
    /// characters.
    pub async fn set_todos(&self, user: UserId, chat: &ChatId, todos: &[Todo]) -> Result<()> {
        check(todos)?;
        self.chat(user, chat).await?;
        let mut transaction = self.database.write(Scope::User(user)).await?;
        keep_todos(&mut transaction, chat).await?;
        query("DELETE FROM chat_todos WHERE chat_id = $1").bind(chat).execute(&mut transaction).await?;
        for (position, todo) in (0_i64..).zip(todos) {
            query("INSERT INTO chat_todos (chat_id, position, content, status) VALUES ($1, $2, $3, $4)")
                .bind(chat)
                .bind(position)
                .bind(&todo.content)
                .bind(todo.status)
                .execute(&mut transaction)
                .await?;
        }
        Ok(transaction.commit().await?)
    }
}

/// Keeps the current task list of a conversation for its turn in progress.
async fn keep_todos(transaction: &mut Transaction, chat: &ChatId) -> Result<()> {
    let turn: Option<TurnId> = query_scalar(
        "UPDATE turns SET has_todos = TRUE WHERE chat_id = $1 AND status = 'running' AND NOT has_todos RETURNING id",
    )
    .bind(chat)
    .fetch_optional(&mut *transaction)
    .await?;
    let Some(turn) = turn else { return Ok(()) };
    query(
        "INSERT INTO turn_todos (turn_id, position, content, status)
         SELECT $1, position, content, status FROM chat_todos WHERE chat_id = $2",
    )
    .bind(turn)
    .bind(chat)
    .execute(&mut *transaction)
    .await?;
    Ok(())
}

/// Restores the task list from before a turn; does nothing if no turn changed the list since.
pub(crate) async fn restore_todos(transaction: &mut Transaction, chat: &ChatId, first: TurnId) -> Result<()> {
    let changed: Option<TurnId> = query_scalar(
        "SELECT MIN(id) FROM turns WHERE chat_id = $1 AND id >= $2 AND has_todos AND undone_at_ms IS NULL",
    )
    .bind(chat)
    .bind(first)
    .fetch_one(&mut *transaction)
    .await?;
    let Some(changed) = changed else { return Ok(()) };
    query("DELETE FROM chat_todos WHERE chat_id = $1").bind(chat).execute(&mut *transaction).await?;
    query(
        "INSERT INTO chat_todos (chat_id, position, content, status)
         SELECT $1, position, content, status FROM turn_todos WHERE turn_id = $2",
    )
    .bind(chat)
    .bind(changed)
    .execute(&mut *transaction)
    .await?;
    Ok(())
}

fn check(todos: &[Todo]) -> Result<()> {
    let invalid = |what, rule| Err(Error::Invalid { what, rule });
    if todos.len() > TODOS_PER_CHAT {
        return invalid("list", format!("has more than {TODOS_PER_CHAT} items; merge some"));
    }
    for (number, todo) in (1..).zip(todos) {
        if todo.content.trim().is_empty() {
            return invalid("list", format!("has no text for item {number}"));
        }
        if todo.content.chars().count() > TODO_MAX_CHARS {
            return invalid("list", format!("has more than {TODO_MAX_CHARS} characters in item {number}"));
        }
    }
    Ok(())
}
