//! The messages of a conversation, with their authors and results.

use sqlx::FromRow;

use crate::error::{Error, Result, check_length};
use crate::limits::{AUTO_TITLE_MAX_CHARS, MESSAGE_DOCUMENT_MAX_BYTES, MESSAGE_TEXT_MAX_BYTES, rows};
use crate::message_index;
use crate::pages::last_fitting;
use crate::sql::{Scope, Transaction, query, query_as};
use crate::{ChatId, MessageId, Store, TurnId, UserId};

/// The size of a message in bytes.
macro_rules! size {
    () => {
        "CAST(OCTET_LENGTH(text) + COALESCE(OCTET_LENGTH(document_json), 0) AS BIGINT)"
    };
}

/// The author's role in a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum MessageRole {
    /// A person.
    User,
    /// A command that a person ran; the text is its output.
    Exec,
    /// The server itself.
    Notice,
    /// An agent's model.
    Assistant,
}

impl MessageRole {
    /// The role's name in the database and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Exec => "exec",
            Self::Notice => "notice",
            Self::Assistant => "assistant",
        }
    }
}

crate::sql::bind_as_word!(MessageRole);

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Message {
    /// The message's id; later messages have larger ones.
    pub id: MessageId,
    /// The conversation's id.
    #[sqlx(rename = "chat_id")]
    pub chat: ChatId,
    /// The author's role.
    pub role: MessageRole,
    /// The person who wrote it, or who ran the command; `None` for messages of an agent or the server, and if the person's account was deleted. It is
    /// only information, and never grants a permission.
    #[sqlx(rename = "author_id")]
    pub author: Option<UserId>,
    /// The text of the message.
    pub text: String,
    /// A JSON text that only its writer interprets: for [`MessageRole::Exec`], the command and how it ended; for [`MessageRole::Assistant`], an
    /// answer or a tool call.
    pub document_json: Option<String>,
    /// When it was written, in Unix milliseconds.
    pub created_at_ms: i64,
    /// True if it belongs to a turn that was undone.
    pub undone: bool,
}

impl Store {
    /// Adds a message to a user's conversation. If the conversation has no title, the first message with the role [`MessageRole::User`] becomes its
    /// title.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a conversation that does not exist or belongs to another user; [`Error::Invalid`] for a text beyond 1 MiB or a
    /// document beyond 256 KiB.
    pub async fn append_message(
        &self,
        user: UserId,
        chat: &ChatId,
        role: MessageRole,
        text: &str,
        document_json: Option<&str>,
    ) -> Result<Message> {
        let author = Author::Owner;
        self.append(NewMessage { user, chat, turn: None, role, author, text, document_json }).await
    }

    /// Like [`Store::append_message`], but for a message that belongs to a turn, and is undone with it.
    ///
    /// # Errors
    /// As for [`Store::append_message`].
    pub async fn append_turn_message(
        &self,
        user: UserId,
        chat: &ChatId,
        turn: TurnId,
        role: MessageRole,
        text: &str,
        document_json: Option<&str>,
    ) -> Result<Message> {
        let author = Author::Owner;
        self.append(NewMessage { user, chat, turn: Some(turn), role, author, text, document_json }).await
    }

    async fn append(&self, new: NewMessage<'_>) -> Result<Message> {
        let now_ms = self.now_ms();
        let mut transaction = self.database.write(Scope::User(new.user)).await?;
        let message = append_to(&mut transaction, now_ms, new).await?;
        transaction.commit().await?;
        Ok(message)
    }

    /// Replaces the text and the document of a message in one of a user's conversations.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the message does not exist or belongs to another user; [`Error::Invalid`] as for [`Store::append_message`].
    pub async fn update_message(
        &self,
        user: UserId,
        id: MessageId,
        text: &str,
        document_json: Option<&str>,
    ) -> Result<Message> {
        let mut transaction = self.database.write(Scope::User(user)).await?;
        let message = update_in(&mut transaction, user, id, text, document_json)
            .await?
            .ok_or_else(|| Error::not_found("message", id))?;
        transaction.commit().await?;
        Ok(message)
    }

    /// Records that the text of a user's message was made from a command, so it does not count as the user's own words.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn mark_expanded(&self, user: UserId, id: MessageId) -> Result<()> {
        query(
            "UPDATE messages SET document_json = $1
             WHERE id = $2 AND role = 'user' AND chat_id IN (SELECT c.id FROM chats c WHERE c.user_id = $3)",
        )
        .bind(EXPANDED)
        .bind(id)
        .bind(user)
        .execute(self.database.writer(Scope::User(user)))
        .await?;
        Ok(())
    }

    /// One message of one of a user's conversations.
    ///
    /// # Errors
    /// [`Error::NotFound`], also for another user's.
    pub async fn message(&self, user: UserId, id: MessageId) -> Result<Message> {
        query_as(
            "SELECT m.id, m.chat_id, m.role, m.author_id, m.text, m.document_json, m.created_at_ms, m.undone
             FROM messages m JOIN chats c ON c.id = m.chat_id WHERE m.id = $1 AND c.user_id = $2 AND NOT c.is_copying",
        )
        .bind(id)
        .bind(user)
        .fetch_optional(self.database.reader())
        .await?
        .ok_or_else(|| Error::not_found("message", id))
    }

    /// The newest message of a user's conversation that shows the card with this id; `None` if there is none, or if all of them were undone.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn card_message(&self, user: UserId, chat: &ChatId, card_id: &str) -> Result<Option<Message>> {
        Ok(query_as(
            "SELECT m.id, m.chat_id, m.role, m.author_id, m.text, m.document_json, m.created_at_ms, m.undone
             FROM messages m JOIN chats c ON c.id = m.chat_id
             WHERE m.chat_id = $1 AND c.user_id = $2 AND m.role = 'assistant' AND NOT m.undone AND m.document_json LIKE $3
             ORDER BY m.id DESC LIMIT 1",
        )
        .bind(chat)
        .bind(user)
        .bind(format!("%\"card_id\":\"{card_id}\"%"))
        .fetch_optional(self.database.reader())
        .await?)
    }

    /// The last `limit` (at most 1,000) messages of a user's conversation before the message `before`, or the last ones of all if it is `None`; the
    /// oldest first. Returns fewer if they have more than 8 MiB of text. The second value is true if there are older ones.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a conversation that does not exist or belongs to another user.
    pub async fn messages(
        &self,
        user: UserId,
        chat: &ChatId,
        before: Option<MessageId>,
        limit: u32,
    ) -> Result<(Vec<Message>, bool)> {
        self.chat(user, chat).await?;
        let before = before.unwrap_or(MessageId(i64::MAX));
        let found: Vec<(i64, i64)> = query_as(concat!(
            "SELECT id, ",
            size!(),
            " FROM messages WHERE chat_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3"
        ))
        .bind(chat)
        .bind(before)
        .bind(rows(limit) + 1)
        .fetch_all(self.database.reader())
        .await?;
        let (Some(first), more) = last_fitting(&found, rows(limit)) else {
            return Ok((Vec::new(), !found.is_empty()));
        };
        let page = query_as(
            "SELECT id, chat_id, role, author_id, text, document_json, created_at_ms, undone FROM messages
             WHERE chat_id = $1 AND id >= $2 AND id < $3 ORDER BY id",
        )
        .bind(chat)
        .bind(first)
        .bind(before)
        .fetch_all(self.database.reader())
        .await?;
        Ok((page, more))
    }

    /// The first `limit` (at most 1,000) messages of a user's conversation after the message `after`, the oldest first. Returns fewer if they have
    /// more than 8 MiB of text. The second value is true if there are newer ones.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a conversation that does not exist or belongs to another user.
    pub async fn messages_after(
        &self,
        user: UserId,
        chat: &ChatId,
        after: MessageId,
        limit: u32,
    ) -> Result<(Vec<Message>, bool)> {
        self.chat(user, chat).await?;
        let found: Vec<(i64, i64)> = query_as(concat!(
            "SELECT id, ",
            size!(),
            " FROM messages WHERE chat_id = $1 AND id > $2 ORDER BY id LIMIT $3"
        ))
        .bind(chat)
        .bind(after)
        .bind(rows(limit) + 1)
        .fetch_all(self.database.reader())
        .await?;
        let (Some(last), more) = last_fitting(&found, rows(limit)) else {
            return Ok((Vec::new(), !found.is_empty()));
        };
        let page = query_as(
            "SELECT id, chat_id, role, author_id, text, document_json, created_at_ms, undone FROM messages
             WHERE chat_id = $1 AND id > $2 AND id <= $3 ORDER BY id",
        )
        .bind(chat)
        .bind(after)
        .bind(last)
        .fetch_all(self.database.reader())
        .await?;
        Ok((page, more))
    }
}

/// The document of a message that was made from a command.
const EXPANDED: &str = r#"{"kind":"expanded"}"#;

/// The author of a message that is posted to a user's conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// The conversation's owner.
    Owner,
    /// An automation, or people of a group who ask the owner's agent. Their messages are answered in the owner's name, but never count as the
    /// owner's words.
    Others,
}

/// A message to add.
#[derive(Clone, Copy)]
pub(crate) struct NewMessage<'a> {
    /// The owner of the conversation.
    pub user: UserId,
    pub chat: &'a ChatId,
    /// The turn that it belongs to, and with which it is undone.
    pub turn: Option<TurnId>,
    pub role: MessageRole,
    /// The author of a person's message or command.
    pub author: Author,
    pub text: &'a str,
    pub document_json: Option<&'a str>,
}

impl NewMessage<'_> {
    fn author(&self) -> Option<UserId> {
        match (self.role, self.author) {
            (MessageRole::User | MessageRole::Exec, Author::Owner) => Some(self.user),
            (MessageRole::User | MessageRole::Exec, Author::Others)
            | (MessageRole::Notice | MessageRole::Assistant, _) => None,
        }
    }
}

/// Adds a message as a part of a transaction; see [`Store::append_message`].
pub(crate) async fn append_to(
    transaction: &mut Transaction,
    now_ms: i64,
    new: NewMessage<'_>,
) -> Result<Message> {
    let NewMessage { user, chat, turn, role, author: _, text, document_json } = new;
    check_sizes(text, document_json)?;
    let message: Option<Message> = query_as(
        "INSERT INTO messages (chat_id, role, author_id, text, document_json, created_at_ms, turn_id)
         SELECT c.id, $2, $3, $4, $5, $6, $7 FROM chats c WHERE c.id = $1 AND c.user_id = $8 AND NOT c.is_copying
         RETURNING id, chat_id, role, author_id, text, document_json, created_at_ms, undone",
    )
    .bind(chat)
    .bind(role)
    .bind(new.author())
    .bind(text)
    .bind(document_json)
    .bind(now_ms)
    .bind(turn)
    .bind(user)
    .fetch_optional(&mut *transaction)
    .await?;
    let message = message.ok_or_else(|| Error::not_found("chat", chat))?;
    let title = if role == MessageRole::User { title_from(text) } else { String::new() };
    let chat = query(
        "UPDATE chats SET title = CASE title WHEN '' THEN $1 ELSE title END, updated_at_ms = $2 WHERE id = $3",
    )
    .bind(title)
    .bind(now_ms)
    .bind(chat);
    let mut changes = message_index::additions(transaction.is_postgres(), message.id, user, &message.text);
    changes.push(chat);
    transaction.execute_all(changes).await?;
    Ok(message)
}

/// Replaces a message's text and document as a part of a transaction; `None` if it does not exist or belongs to another user.
pub(crate) async fn update_in(
    transaction: &mut Transaction,
    user: UserId,
    id: MessageId,
    text: &str,
    document_json: Option<&str>,
) -> Result<Option<Message>> {
    check_sizes(text, document_json)?;
    let words = message_index::changes(transaction.is_postgres(), id, user, text);
    Ok(query_as(
        "UPDATE messages SET text = $1, document_json = $2
         WHERE id = $3 AND chat_id IN (SELECT c.id FROM chats c WHERE c.user_id = $4 AND NOT c.is_copying)
         RETURNING id, chat_id, role, author_id, text, document_json, created_at_ms, undone",
    )
    .bind(text)
    .bind(document_json)
    .bind(id)
    .bind(user)
    .fetch_optional_before(transaction, words)
    .await?)
}

fn check_sizes(text: &str, document_json: Option<&str>) -> Result<()> {
    check_length("message", text, MESSAGE_TEXT_MAX_BYTES)?;
    check_length("document", document_json.unwrap_or_default(), MESSAGE_DOCUMENT_MAX_BYTES)
}

/// The beginning of a text on one line, as a title.
pub(crate) fn title_from(text: &str) -> String {
    let mut title = String::new();
    for word in text.split_whitespace() {
        if !title.is_empty() {
            title.push(' ');
        }
        title.extend(word.chars().take(AUTO_TITLE_MAX_CHARS));
        if title.chars().count() >= AUTO_TITLE_MAX_CHARS {
            break;
        }
    }
    title.chars().take(AUTO_TITLE_MAX_CHARS).collect::<String>().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_beginning_of_the_text_on_one_line() {
        assert_eq!(title_from("  !make \n\t test "), "!make test");
        assert_eq!(title_from(&"ä".repeat(100)), "ä".repeat(60));
        assert_eq!(title_from(&format!("{} {}", "a".repeat(59), "b".repeat(9))), "a".repeat(59));
        assert_eq!(title_from(" \n "), "");
    }
}
