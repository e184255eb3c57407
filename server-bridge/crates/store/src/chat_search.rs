//! Finding conversations: page by page, and by words in their title or messages.

use sqlx::FromRow;

use crate::chats::Chat;
use crate::error::{Error, Result};
use crate::limits::{CHAT_SEARCH_MESSAGES, CHAT_SEARCH_WORD_MAX_CHARS, SEARCH_TIMEOUT, SEARCH_WORDS, rows};
use crate::message_index::{self, made};
use crate::search::{Words, check_words};
use crate::sql::{Connection, query_as, query_scalar};
use crate::{ChatId, MessageId, Store, UserId};

/// The search criteria for conversations, and the position in the results.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChatSearch<'a> {
    /// Every word must be in the title, or every word in the same message, as for [`MessageSearch`](crate::MessageSearch). An empty list matches
    /// every conversation.
    pub words: &'a [&'a str],
    /// Only conversations that follow this one in the order of the results.
    pub before: Option<&'a ChatId>,
    /// The maximum number of entries to return; at most 1,000.
    pub limit: u32,
}

/// A conversation that was found.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct FoundChat {
    /// The conversation.
    #[sqlx(flatten)]
    pub chat: Chat,
    /// The last message that contains the words; `None` if the title contains them.
    pub message: Option<MessageId>,
}

/// The conversations of the user `$1` after the position `$2` (the last change), `$3` (the creation), `$4` (the id), the most recently changed first.
/// Every word has two parameters: its pattern, `$5` to `$12`, and the pattern for punctuation and symbols, `$17` to `$24`. `hits` selects the
/// messages that the index finds; those from `$15` to below `$16` are read one by one, if there are words (`$13`).
fn statement(hits: &str) -> String {
    format!(
        r"SELECT id, user_id, title, runner, created_at_ms, updated_at_ms, message FROM (
       SELECT c.id, c.user_id, c.title, c.runner, c.created_at_ms, c.updated_at_ms,
         (lower(c.title) LIKE $5 ESCAPE '\' AND lower(c.title) LIKE $6 ESCAPE '\'
          AND lower(c.title) LIKE $7 ESCAPE '\' AND lower(c.title) LIKE $8 ESCAPE '\'
          AND lower(c.title) LIKE $9 ESCAPE '\' AND lower(c.title) LIKE $10 ESCAPE '\'
          AND lower(c.title) LIKE $11 ESCAPE '\' AND lower(c.title) LIKE $12 ESCAPE '\') AS in_title,
         COALESCE(h.message,
         (SELECT m.id FROM messages m
          WHERE m.chat_id = c.id AND m.id >= $15 AND m.id < $16 AND NOT m.undone AND $13
            AND ($5 = '%' OR lower(m.text) LIKE $5 ESCAPE '\') AND ($6 = '%' OR lower(m.text) LIKE $6 ESCAPE '\')
            AND ($7 = '%' OR lower(m.text) LIKE $7 ESCAPE '\') AND ($8 = '%' OR lower(m.text) LIKE $8 ESCAPE '\')
            AND ($9 = '%' OR lower(m.text) LIKE $9 ESCAPE '\') AND ($10 = '%' OR lower(m.text) LIKE $10 ESCAPE '\')
            AND ($11 = '%' OR lower(m.text) LIKE $11 ESCAPE '\') AND ($12 = '%' OR lower(m.text) LIKE $12 ESCAPE '\')
          ORDER BY m.id DESC LIMIT 1)) AS message
       FROM chats c LEFT JOIN (SELECT m.chat_id, MAX(m.id) AS message FROM messages m WHERE {hits} AND NOT m.undone
            AND ($17 = '%' OR lower(m.text) LIKE $17 ESCAPE '\') AND ($18 = '%' OR lower(m.text) LIKE $18 ESCAPE '\')
            AND ($19 = '%' OR lower(m.text) LIKE $19 ESCAPE '\') AND ($20 = '%' OR lower(m.text) LIKE $20 ESCAPE '\')
            AND ($21 = '%' OR lower(m.text) LIKE $21 ESCAPE '\') AND ($22 = '%' OR lower(m.text) LIKE $22 ESCAPE '\')
            AND ($23 = '%' OR lower(m.text) LIKE $23 ESCAPE '\') AND ($24 = '%' OR lower(m.text) LIKE $24 ESCAPE '\')
          GROUP BY m.chat_id) h ON h.chat_id = c.id
       WHERE c.user_id = $1 AND c.parent_id IS NULL AND NOT c.is_copying
         AND (c.updated_at_ms < $2 OR (c.updated_at_ms = $2
              AND (c.created_at_ms < $3 OR (c.created_at_ms = $3 AND c.id > $4))))) found
     WHERE in_title OR message IS NOT NULL
     ORDER BY updated_at_ms DESC, created_at_ms DESC, id LIMIT $14"
    )
}

/// The number of the statement's own arguments; the arguments of `hits` follow them.
const ARGUMENTS: usize = 24;

/// The id of the oldest among the newest `$2` messages in the conversations of the user `$1`. SQLite evaluates a cross join from the left, so other
/// users' messages are not read.
const FIRST: &str = "SELECT COALESCE(MIN(id), 0) FROM (
       SELECT m.id FROM chats c CROSS JOIN messages m
       WHERE m.chat_id = c.id AND c.user_id = $1 AND c.parent_id IS NULL AND NOT c.is_copying ORDER BY m.id DESC LIMIT $2) newest";

impl Store {
    /// A user's own conversations, the most recently active first, without those of sub-agents; `limit` is at most 1,000.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn chats(&self, user: UserId, limit: u32) -> Result<Vec<Chat>> {
        let found = self.search_chats(user, &ChatSearch { limit, ..ChatSearch::default() }).await?;
        Ok(found.into_iter().map(|found| found.chat).collect())
    }

    /// A user's own conversations, without those of sub-agents, the most recently active first. The index finds words in messages as for
    /// [`Store::search_messages`]; where it finds none, and in messages that are not indexed yet, the newest 20,000 messages are read.
    ///
    /// # Errors
    /// [`crate::Error::NotFound`] if `before` does not exist or belongs to another user; [`crate::Error::Invalid`] for more than 8 words, or one of
    /// more than 64 characters, and for a search that takes longer than 3 s.
    pub async fn search_chats(&self, user: UserId, search: &ChatSearch<'_>) -> Result<Vec<FoundChat>> {
        check_words(search.words, CHAT_SEARCH_WORD_MAX_CHARS)?;
        let (updated_at_ms, created_at_ms, id) = match search.before {
            Some(before) => {
                let chat = self.chat(user, before).await?;
                (chat.updated_at_ms, chat.created_at_ms, chat.id.to_string())
            }
            None => (i64::MAX, i64::MAX, String::new()),
        };
        let has_words = !search.words.is_empty();
        let mut connection = if has_words {
            self.database.search(SEARCH_TIMEOUT).await?
        } else {
            self.database.reading().await?
        };
        let words = Words::of(search.words);
        let hits = message_index::hits(self.database.is_postgres(), user, &words.query, ARGUMENTS + 1);
        let old_below = match &hits {
            _ if !has_words => 0,
            Some(_) if self.has_hits(&mut connection, user, &words).await? => {
                message_index::not_indexed_below(&mut connection, user).await?
            }
            _ => i64::MAX,
        };
        let first: i64 = if old_below > 0 {
            let first = query_scalar(FIRST).bind(user).bind(CHAT_SEARCH_MESSAGES);
            first.fetch_one(&mut connection).await.map_err(Error::or_slow)?
        } else {
            0
        };
        let found_by =
            hits.as_ref().map_or_else(|| "m.id < 0".to_owned(), |hits| format!("m.id IN ({})", hits.sql));
        let mut query =
            query_as(made(statement(&found_by))).bind(user).bind(updated_at_ms).bind(created_at_ms).bind(id);
        for pattern in &words.patterns {
            query = query.bind(pattern.as_str());
        }
        query = query.bind(has_words).bind(rows(search.limit)).bind(first).bind(old_below);
        for pattern in &words.signs {
            query = query.bind(pattern.as_str());
        }
        for argument in hits.iter().flat_map(|hits| &hits.arguments) {
            query = query.bind(argument.as_str());
        }
        query.fetch_all(&mut connection).await.map_err(Error::or_slow)
    }

    /// True if the index finds the words in any message of the user's own conversations.
    async fn has_hits(&self, connection: &mut Connection, user: UserId, words: &Words) -> Result<bool> {
        let Some(hits) =
            message_index::hits(self.database.is_postgres(), user, &words.query, 2 + SEARCH_WORDS)
        else {
            return Ok(false);
        };
        let sql = format!(
            r"SELECT EXISTS (SELECT 1 FROM messages m JOIN chats c ON c.id = m.chat_id
              WHERE c.user_id = $1 AND c.parent_id IS NULL AND NOT c.is_copying AND NOT m.undone AND m.id IN ({})
                AND ($2 = '%' OR lower(m.text) LIKE $2 ESCAPE '\') AND ($3 = '%' OR lower(m.text) LIKE $3 ESCAPE '\')
                AND ($4 = '%' OR lower(m.text) LIKE $4 ESCAPE '\') AND ($5 = '%' OR lower(m.text) LIKE $5 ESCAPE '\')
                AND ($6 = '%' OR lower(m.text) LIKE $6 ESCAPE '\') AND ($7 = '%' OR lower(m.text) LIKE $7 ESCAPE '\')
                AND ($8 = '%' OR lower(m.text) LIKE $8 ESCAPE '\') AND ($9 = '%' OR lower(m.text) LIKE $9 ESCAPE '\'))",
            hits.sql
        );
        let mut query = query_scalar(made(sql)).bind(user);
        for pattern in words.signs.iter().chain(&hits.arguments) {
            query = query.bind(pattern.as_str());
        }
        query.fetch_one(connection).await.map_err(Error::or_slow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::{Scope, query};
    use crate::testing;
    use crate::{MessageRole, Name};

    async fn world() -> (Store, UserId) {
        let store = testing::empty().await;
        let alice = store.add_user(&Name::parse("alice").unwrap(), "correct horse", false).await.unwrap();
        (store, alice.id)
    }

    async fn chat(store: &Store, user: UserId, title: &str, texts: &[&str]) -> ChatId {
        let chat = store.create_chat(user).await.unwrap().id;
        store.rename_chat(user, &chat, title).await.unwrap();
        for text in texts {
            store.append_message(user, &chat, MessageRole::Notice, text, None).await.unwrap();
        }
        chat
    }

    async fn found(store: &Store, user: UserId, words: &[&str]) -> Vec<(String, bool)> {
        let search = ChatSearch { words, before: None, limit: 10 };
        let found = store.search_chats(user, &search).await.unwrap();
        found.into_iter().map(|found| (found.chat.title, found.message.is_some())).collect()
    }

    #[tokio::test]
    async fn a_chat_is_found_by_its_title_and_by_one_of_its_messages() {
        let (store, alice) = world().await;
        chat(&store, alice, "Deploy the site", &["it is live"]).await;
        chat(&store, alice, "Other", &["first we deploy", "then the site is up"]).await;
        chat(&store, alice, "100 %", &["50_50 \\ done"]).await;
        let bob = store.add_user(&Name::parse("bob").unwrap(), "correct horse", false).await.unwrap().id;
        chat(&store, bob, "Deploy", &["deploy"]).await;
        let title = ("Deploy the site".to_owned(), false);
        assert_eq!(found(&store, alice, &["DEPLOY"]).await.len(), 2);
        assert_eq!(found(&store, alice, &["deploy", "site"]).await, [title], "all of the words in one place");
        assert_eq!(found(&store, alice, &["up", "then"]).await, [("Other".to_owned(), true)]);
        for odd in ["%", "_", "\\"] {
            assert_eq!(found(&store, alice, &[odd]).await.len(), 1, "{odd}");
        }
        assert_eq!(found(&store, alice, &["nowhere"]).await, []);
        assert_eq!(found(&store, alice, &[]).await.len(), 3);
        assert!(
            store
                .search_chats(alice, &ChatSearch { words: &["x"; 9], before: None, limit: 1 })
                .await
                .is_err()
        );
    }

    #[tokio::test]
    async fn the_end_of_a_long_message_is_found_and_no_word_is_endless() {
        let (store, alice) = world().await;
        chat(&store, alice, "long", &[&format!("first {}end beyond", "ä ".repeat(100_000))]).await;
        for words in [&["beyond"][..], &["first", "beyond"], &["end beyond"], &["eyond"]] {
            assert_eq!(found(&store, alice, words).await, [("long".to_owned(), true)], "{words:?}");
        }
        for (length, is_refused) in [(64, false), (65, true)] {
            let word = "x".repeat(length);
            let search = ChatSearch { words: &[&word], before: None, limit: 1 };
            assert_eq!(store.search_chats(alice, &search).await.is_err(), is_refused, "{length}");
        }
    }

    #[tokio::test]
    async fn a_part_of_a_word_is_found_in_the_newest_messages_alone() {
        let (store, alice) = world().await;
        let first = chat(&store, alice, "first", &["needle", "straw"]).await;
        let fill = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
            INSERT INTO messages (chat_id, role, text, created_at_ms) SELECT $2, 'notice', 'hay', 0 FROM n";
        let fill = query(fill).bind(CHAT_SEARCH_MESSAGES - 1).bind(&first);
        fill.execute(store.database.writer(Scope::System)).await.unwrap();
        assert_eq!(found(&store, alice, &["needle"]).await.len(), 1);
        assert_eq!(found(&store, alice, &["traw"]).await.len(), 1);
        assert_eq!(found(&store, alice, &["eedle"]).await, []);
    }

    #[tokio::test]
    async fn a_copy_that_is_not_whole_is_neither_found_nor_changed() {
        let (store, alice) = world().await;
        let copy = chat(&store, alice, "copy", &["hello"]).await;
        let message = store.messages(alice, &copy, None, 1).await.unwrap().0[0].id;
        query("UPDATE chats SET is_copying = TRUE")
            .execute(store.database.writer(Scope::System))
            .await
            .unwrap();
        assert_eq!(found(&store, alice, &["hello"]).await, []);
        assert_eq!(found(&store, alice, &[]).await, []);
        assert!(store.rename_chat(alice, &copy, "mine").await.is_err());
        assert!(store.bind_chat_runner(alice, &copy, None).await.is_err());
        assert!(store.touch_chat(alice, &copy).await.is_err());
        assert!(store.append_message(alice, &copy, MessageRole::User, "more", None).await.is_err());
        assert!(store.update_message(alice, message, "other", None).await.is_err());
        assert!(store.delete_chat(alice, &copy).await.is_err());
        assert_eq!(store.remove_unfinished_forks(None).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn pages_follow_each_other_without_a_gap_or_a_double() {
        let (store, alice) = world().await;
        for number in 0..7 {
            chat(&store, alice, &format!("chat {number}"), &[]).await;
        }
        let (mut seen, mut last) = (Vec::new(), None);
        loop {
            let search = ChatSearch { words: &["chat"], before: last.as_ref(), limit: 3 };
            let page = store.search_chats(alice, &search).await.unwrap();
            let Some(end) = page.last() else { break };
            last = Some(end.chat.id.clone());
            seen.extend(page.into_iter().map(|found| found.chat.id));
        }
        let all: Vec<_> = store.chats(alice, 10).await.unwrap().into_iter().map(|chat| chat.id).collect();
        assert_eq!(seen, all);
        let bob = store.add_user(&Name::parse("bob").unwrap(), "correct horse", false).await.unwrap().id;
        assert!(
            store
                .search_chats(bob, &ChatSearch { words: &[], before: last.as_ref(), limit: 3 })
                .await
                .is_err()
        );
    }
}
