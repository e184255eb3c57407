//! Finds messages by their words and their time.

use sqlx::FromRow;

use crate::error::{Error, Result};
use crate::limits::{SEARCH_TIMEOUT, SEARCH_WORD_MAX_CHARS, SEARCH_WORDS, rows};
use crate::message_index::{self, Hits, made};
use crate::sql::{Connection, query_as};
use crate::{ChatId, MessageId, MessageRole, Store, UserId};

/// The search criteria for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageSearch<'a> {
    /// The words, all of which must occur: each as the beginning of a word, as words next to each other, or, in Chinese, anywhere. Case, accents,
    /// English endings and traditional characters do not matter; ASCII punctuation and symbols do. If no message matches in this way, the words are
    /// searched for as any part of a text. An empty list matches everything.
    pub words: &'a [&'a str],
    /// Only messages of this conversation.
    pub chat: Option<&'a ChatId>,
    /// Only messages from this time on, in Unix milliseconds.
    pub from_ms: i64,
    /// Only messages before this time.
    pub until_ms: i64,
    /// Only messages older than this one, for the next page of results.
    pub before: Option<MessageId>,
    /// The maximum number of entries to return; at most 1,000.
    pub limit: u32,
}

/// A message that was found.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct FoundMessage {
    /// The message's id.
    pub id: MessageId,
    /// The conversation's id.
    #[sqlx(rename = "chat_id")]
    pub chat: ChatId,
    /// The conversation's title.
    pub title: String,
    /// The author's role.
    pub role: MessageRole,
    /// The text of the message.
    pub text: String,
    /// When it was written, in Unix milliseconds.
    pub created_at_ms: i64,
}

/// A question by which messages are ranked.
#[derive(Clone, Copy, Debug)]
pub struct MessageRank<'a> {
    /// The question, in any words.
    pub question: &'a str,
    /// Only messages of this conversation.
    pub chat: Option<&'a ChatId>,
    /// Only messages from this time on, in Unix milliseconds.
    pub from_ms: i64,
    /// Only messages before this time.
    pub until_ms: i64,
    /// The maximum number of entries to return; at most 1,000.
    pub limit: u32,
}

/// A user's messages that contain any of the words in `$5`, ranked. FTS5's `bm25` is lower for better matches. PostgreSQL's `ts_rank` takes into
/// account how often words occur in a message and how long the message is, but not how rare the words are.
const RANKED_BY_SQLITE: &str = "SELECT m.id, m.chat_id, c.title, m.role, m.text, m.created_at_ms
     FROM search_messages_index i JOIN messages m ON m.id = i.rowid JOIN chats c ON c.id = m.chat_id
     WHERE search_messages_index MATCH $5 AND c.user_id = $1 AND c.parent_id IS NULL AND NOT c.is_copying AND NOT m.undone
       AND m.created_at_ms >= $2 AND m.created_at_ms < $3 AND (c.id = $6 OR $6 = '')
     ORDER BY bm25(search_messages_index, 1.0, 1.0, 0.0), m.id DESC LIMIT $4 /* sqlite_ */";
const RANKED_BY_POSTGRES: &str = "SELECT m.id, m.chat_id, c.title, m.role, m.text, m.created_at_ms
     FROM (SELECT message_id, MAX(ts_rank(words, CAST($7 AS tsquery), 1)) AS score FROM search_messages
           WHERE words @@ CAST($5 AS tsquery) GROUP BY message_id) i
     JOIN messages m ON m.id = i.message_id JOIN chats c ON c.id = m.chat_id
     WHERE c.user_id = $1 AND c.parent_id IS NULL AND NOT c.is_copying AND NOT m.undone
       AND m.created_at_ms >= $2 AND m.created_at_ms < $3 AND (c.id = $6 OR $6 = '')
     ORDER BY i.score DESC, m.id DESC LIMIT $4";

/// The statement of a search. Every word has a parameter; an unused one matches everything. `hits` is an additional condition.
fn statement(hits: &str) -> String {
    format!(
        r"SELECT m.id, m.chat_id, c.title, m.role, m.text, m.created_at_ms
     FROM messages m JOIN chats c ON c.id = m.chat_id
     WHERE c.user_id = $1 AND c.parent_id IS NULL AND NOT c.is_copying AND NOT m.undone AND m.created_at_ms >= $2 AND m.created_at_ms < $3 AND m.id < $4 AND m.text <> ''
       AND (m.chat_id = $5 OR $5 = '') AND {hits}
       AND ($6 = '%' OR lower(m.text) LIKE $6 ESCAPE '\') AND ($7 = '%' OR lower(m.text) LIKE $7 ESCAPE '\')
       AND ($8 = '%' OR lower(m.text) LIKE $8 ESCAPE '\') AND ($9 = '%' OR lower(m.text) LIKE $9 ESCAPE '\')
       AND ($10 = '%' OR lower(m.text) LIKE $10 ESCAPE '\') AND ($11 = '%' OR lower(m.text) LIKE $11 ESCAPE '\')
       AND ($12 = '%' OR lower(m.text) LIKE $12 ESCAPE '\') AND ($13 = '%' OR lower(m.text) LIKE $13 ESCAPE '\')
     ORDER BY m.id DESC LIMIT $14"
    )
}

/// The number of the statement's own arguments; the arguments of `hits` follow them.
const ARGUMENTS: usize = 14;

impl Store {
    /// Messages in a user's own conversations, the latest first.
    ///
    /// # Errors
    /// [`Error::Invalid`] for more than 8 words, or one of more than 200 characters, and for a search that takes longer than
    /// 3 s.
    pub async fn search_messages(
        &self,
        user: UserId,
        search: &MessageSearch<'_>,
    ) -> Result<Vec<FoundMessage>> {
        check_words(search.words, SEARCH_WORD_MAX_CHARS)?;
        let words = Words::of(search.words);
        let mut connection = self.database.search(SEARCH_TIMEOUT).await?;
        let hits = message_index::hits(self.database.is_postgres(), user, &words.query, ARGUMENTS + 1);
        let mut found = Vec::new();
        let mut old_below = i64::MAX;
        if let Some(hits) = &hits {
            found = search.run(&mut connection, user, Some(hits), &words.signs).await?;
            let any = MessageSearch { before: None, limit: 1, ..search.clone() };
            let has_hits = !found.is_empty()
                || search.before.is_some()
                    && !any.run(&mut connection, user, Some(hits), &words.signs).await?.is_empty();
            if has_hits {
                old_below = message_index::not_indexed_below(&mut connection, user).await?;
            }
        }
        let left = search.limit.saturating_sub(u32::try_from(found.len()).unwrap_or(u32::MAX));
        if left > 0 && old_below > 0 {
            let before = search.before.map_or(old_below, |before| before.0.min(old_below));
            let old = MessageSearch { before: Some(MessageId(before)), limit: left, ..search.clone() };
            found.extend(old.run(&mut connection, user, None, &words.patterns).await?);
        }
        Ok(found)
    }
}

impl Store {
    /// Messages in a user's own conversations with any of the question's words, the best match first. Messages that are not indexed yet are not found.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a search that takes longer than 3 s.
    pub async fn rank_messages(&self, user: UserId, rank: &MessageRank<'_>) -> Result<Vec<FoundMessage>> {
        let words = search::tokens::query(rank.question);
        let is_postgres = self.database.is_postgres();
        let any = if is_postgres { words.any_tsquery() } else { words.any_fts5() };
        let Some(any) = any else { return Ok(Vec::new()) };
        let mut connection = self.database.search(SEARCH_TIMEOUT).await?;
        let (statement, of_owner) = if is_postgres {
            (RANKED_BY_POSTGRES, message_index::of_owner_tsquery(user, &any))
        } else {
            (RANKED_BY_SQLITE, message_index::of_owner_fts5(user, &any))
        };
        let query = query_as(statement)
            .bind(user)
            .bind(rank.from_ms)
            .bind(rank.until_ms)
            .bind(rows(rank.limit))
            .bind(of_owner)
            .bind(rank.chat.map_or("", ChatId::as_str));
        let query = if is_postgres { query.bind(any) } else { query };
        query.fetch_all(&mut connection).await.map_err(Error::or_slow)
    }
}

impl MessageSearch<'_> {
    async fn run(
        &self,
        connection: &mut Connection,
        user: UserId,
        hits: Option<&Hits>,
        patterns: &[String],
    ) -> Result<Vec<FoundMessage>> {
        let condition = hits.map_or_else(|| "m.id > 0".to_owned(), |hits| format!("m.id IN ({})", hits.sql));
        let mut query = query_as(made(statement(&condition)))
            .bind(user)
            .bind(self.from_ms)
            .bind(self.until_ms)
            .bind(self.before.unwrap_or(MessageId(i64::MAX)))
            .bind(self.chat.map_or("", ChatId::as_str));
        for pattern in patterns {
            query = query.bind(pattern.as_str());
        }
        query = query.bind(rows(self.limit));
        for argument in hits.iter().flat_map(|hits| &hits.arguments) {
            query = query.bind(argument.as_str());
        }
        query.fetch_all(connection).await.map_err(Error::or_slow)
    }
}

/// The words of a search, both as a query of the index and as patterns that compare characters.
pub(crate) struct Words {
    pub(crate) query: search::tokens::Query,
    /// A pattern for each word; `%` for the unused parameters.
    pub(crate) patterns: Vec<String>,
    /// A pattern for each word with punctuation or symbols, which the index does not contain; `%` for the other words.
    pub(crate) signs: Vec<String>,
}

impl Words {
    pub(crate) fn of(words: &[&str]) -> Self {
        let of = |at: usize, is_wanted: &dyn Fn(&str) -> bool| {
            words.get(at).filter(|word| is_wanted(word)).map_or_else(|| "%".to_owned(), |word| pattern(word))
        };
        let has_signs = |word: &str| {
            let is_sign = |c: char| c.is_ascii() && !c.is_ascii_alphanumeric() && c != '_';
            word.contains(is_sign) || search::tokens::query(word).is_empty()
        };
        Self {
            query: search::tokens::query(&words.join(" ")),
            patterns: (0..SEARCH_WORDS).map(|at| of(at, &|_| true)).collect(),
            signs: (0..SEARCH_WORDS).map(|at| of(at, &has_signs)).collect(),
        }
    }
}

/// Fails if there are more words, or longer ones, than a query allows.
pub(crate) fn check_words(words: &[&str], max_chars: usize) -> Result<()> {
    let invalid = |rule: String| Err(Error::Invalid { what: "search", rule });
    if words.len() > SEARCH_WORDS {
        return invalid(format!("has more than {SEARCH_WORDS} words; use only the most important ones"));
    }
    if words.iter().any(|word| word.chars().count() > max_chars) {
        return invalid(format!("has a word of more than {max_chars} characters"));
    }
    Ok(())
}

/// A pattern that matches texts containing the word, whatever characters it has; the text must be lower-case in ASCII.
pub(crate) fn pattern(word: &str) -> String {
    let mut pattern = "%".to_owned();
    for c in word.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c.to_ascii_lowercase());
    }
    pattern.push('%');
    pattern
}
