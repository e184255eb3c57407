//! Messages that a client may have to send again: each send id is handled once.

use sqlx::FromRow;

use crate::error::{Error, Result, check_length};
use crate::limits::{SEND_ANSWER_MAX_BYTES, SEND_ID_MAX_BYTES};
use crate::messages::{Author, Message, MessageRole, NewMessage, append_to};
use crate::sql::{Scope, query, query_as, query_scalar};
use crate::{ChatId, Store, UserId};

/// The result of sending a message under an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// This call recorded the message.
    New(Message),
    /// A message was already sent under this id.
    Known(Box<KnownSend>),
}

/// A message that was sent earlier under an id.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct KnownSend {
    /// The recorded message.
    #[sqlx(flatten)]
    pub message: Message,
    /// The immediate result of the message, as its writer stored it; `None` if it has none.
    pub answer_json: Option<String>,
    /// True if its conversation has later messages.
    pub is_followed: bool,
}

impl Store {
    /// Adds a message to a user's conversation, once for each `send_id`. If the id is already known, the earlier message may have another text, so
    /// the caller has to compare them.
    ///
    /// # Errors
    /// As for [`Store::append_message`]; [`Error::Invalid`] for an id that is empty or longer than 64 bytes.
    pub async fn say_once(
        &self,
        user: UserId,
        chat: &ChatId,
        send_id: &str,
        text: &str,
        author: Author,
    ) -> Result<Said> {
        if send_id.is_empty() {
            return Err(Error::Invalid {
                what: "send_id",
                rule: "is empty; leave it out, or set one".to_owned(),
            });
        }
        check_length("send_id", send_id, SEND_ID_MAX_BYTES)?;
        let mut transaction = self.database.write(Scope::User(user)).await?;
        let known: Option<KnownSend> = query_as(
            "SELECT m.id, m.chat_id, m.role, m.author_id, m.text, m.document_json, m.created_at_ms, m.undone, s.answer_json,
                    EXISTS (SELECT 1 FROM messages l WHERE l.chat_id = m.chat_id AND l.id > m.id) AS is_followed
             FROM sends s JOIN messages m ON m.id = s.message_id JOIN chats c ON c.id = s.chat_id
             WHERE s.chat_id = $1 AND s.send_id = $2 AND c.user_id = $3",
        )
        .bind(chat)
        .bind(send_id)
        .bind(user)
        .fetch_optional(&mut transaction)
        .await?;
        if let Some(known) = known {
            return Ok(Said::Known(Box::new(known)));
        }
        let now_ms = self.now_ms();
        let role = MessageRole::User;
        let new = NewMessage { user, chat, turn: None, role, author, text, document_json: None };
        let message = append_to(&mut transaction, now_ms, new).await?;
        query("INSERT INTO sends (chat_id, send_id, message_id) VALUES ($1, $2, $3)")
            .bind(chat)
            .bind(send_id)
            .bind(message.id)
            .execute(&mut transaction)
            .await?;
        transaction.commit().await?;
        Ok(Said::New(message))
    }

    /// True if the user already sent a message under this id in this chat.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn was_said(&self, user: UserId, chat: &ChatId, send_id: &str) -> Result<bool> {
        let known = query_scalar(
            "SELECT EXISTS (SELECT 1 FROM sends s JOIN chats c ON c.id = s.chat_id
             WHERE s.chat_id = $1 AND s.send_id = $2 AND c.user_id = $3)",
        );
        let known = known.bind(chat).bind(send_id).bind(user).fetch_one(self.database.reader()).await?;
        Ok(known)
    }

    /// Stores the immediate result of a sent message.
    ///
    /// # Errors
    /// [`Error::NotFound`], also for another user's; [`Error::Invalid`] beyond 16 KiB.
    pub async fn answer_send(
        &self,
        user: UserId,
        chat: &ChatId,
        send_id: &str,
        answer_json: &str,
    ) -> Result<()> {
        check_length("answer", answer_json, SEND_ANSWER_MAX_BYTES)?;
        let answered = query(
            "UPDATE sends SET answer_json = $1
             WHERE chat_id = $2 AND send_id = $3 AND chat_id IN (SELECT c.id FROM chats c WHERE c.user_id = $4)",
        )
        .bind(answer_json)
        .bind(chat)
        .bind(send_id)
        .bind(user)
        .execute(self.database.writer(Scope::User(user)))
        .await?;
        if answered.rows_affected() == 0 { Err(Error::not_found("send_id", send_id)) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Name;
    use crate::testing;

    async fn world() -> (Store, UserId, ChatId) {
        let store = testing::empty().await;
        let alice = store.add_user(&Name::parse("alice").unwrap(), "correct horse", false).await.unwrap();
        let chat = store.create_chat(alice.id).await.unwrap();
        (store, alice.id, chat.id)
    }

    fn known(said: Said) -> KnownSend {
        match said {
            Said::Known(known) => *known,
            Said::New(message) => panic!("said again: {message:?}"),
        }
    }

    #[tokio::test]
    async fn what_is_said_under_one_id_is_said_once_even_at_the_same_time() {
        let (store, alice, chat) = world().await;
        let say = || store.say_once(alice, &chat, "one", "hello", Author::Owner);
        let (a, b, c) = tokio::join!(say(), say(), say());
        let said = [a.unwrap(), b.unwrap(), c.unwrap()];
        assert_eq!(said.iter().filter(|said| matches!(said, Said::New(_))).count(), 1);
        assert_eq!(store.messages(alice, &chat, None, 10).await.unwrap().0.len(), 1);
        let again = known(store.say_once(alice, &chat, "one", "other words", Author::Owner).await.unwrap());
        assert_eq!(
            (again.message.text.as_str(), again.answer_json, again.is_followed),
            ("hello", None, false)
        );
        assert!(matches!(
            store.say_once(alice, &chat, "two", "hello", Author::Owner).await.unwrap(),
            Said::New(_)
        ));
        assert!(
            known(store.say_once(alice, &chat, "one", "hello", Author::Owner).await.unwrap()).is_followed
        );
    }

    #[tokio::test]
    async fn what_came_of_it_is_kept_and_another_chat_knows_nothing_of_it() {
        let (store, alice, chat) = world().await;
        store.say_once(alice, &chat, "one", "hello", Author::Owner).await.unwrap();
        store.answer_send(alice, &chat, "one", "{}").await.unwrap();
        let again = known(store.say_once(alice, &chat, "one", "hello", Author::Owner).await.unwrap());
        assert_eq!(again.answer_json.as_deref(), Some("{}"));
        let other = store.create_chat(alice).await.unwrap().id;
        assert!(matches!(
            store.say_once(alice, &other, "one", "hello", Author::Owner).await.unwrap(),
            Said::New(_)
        ));
        store.delete_chat(alice, &chat).await.unwrap();
        assert!(store.answer_send(alice, &chat, "one", "{}").await.is_err());
    }

    #[tokio::test]
    async fn another_users_chat_and_ids_that_are_none_are_refused() {
        let (store, alice, chat) = world().await;
        let bob = store.add_user(&Name::parse("bob").unwrap(), "correct horse", false).await.unwrap().id;
        store.say_once(alice, &chat, "one", "hello", Author::Owner).await.unwrap();
        let bobs = store.say_once(bob, &chat, "one", "hello", Author::Owner).await;
        assert!(matches!(bobs, Err(Error::NotFound { .. })), "{bobs:?}");
        assert!(store.answer_send(bob, &chat, "one", "{}").await.is_err());
        for id in ["", &"x".repeat(65)] {
            assert!(store.say_once(alice, &chat, id, "hello", Author::Owner).await.unwrap_err().is_callers());
        }
    }
}
