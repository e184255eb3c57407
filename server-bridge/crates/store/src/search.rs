//! Finding messages, by their words and their time.

use sqlx::FromRow;

use crate::error::{Error, Result};
use crate::limits::{SEARCH_TIMEOUT, SEARCH_WORD_MAX_CHARS, SEARCH_WORDS, rows};
use crate::sql::query_as;
use crate::{ChatId, MessageId, MessageRole, Store, UserId};

/// The search criteria.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageSearch<'a> {
    /// Every one of them must occur, as a part of a word or of several; ASCII letters match in either case. No words match
    /// everything.
    pub words: &'a [&'a str],
    /// Only in this conversation.
    pub chat: Option<&'a ChatId>,
    /// Only messages from this time on, in Unix milliseconds.
    pub from_ms: i64,
    /// Only messages before this time.
    pub until_ms: i64,
    /// Only messages before this one: the next page of results.
    pub before: Option<MessageId>,
    /// The most entries to return; at most 1,000.
    pub limit: u32,
}

/// A message that was found.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct FoundMessage {
    /// The message.
    pub id: MessageId,
    /// Its conversation.
    #[sqlx(rename = "chat_id")]
    pub chat: ChatId,
    /// That conversation's title.
    pub title: String,
    /// Who speaks.
    pub role: MessageRole,
    /// The text.
    pub text: String,
    /// When it was written, in Unix milliseconds.
    pub created_at_ms: i64,
}

/// Every word has its own parameter, so that the text of the query never changes; an unused one matches everything.
const SEARCH: &str = r"SELECT m.id, m.chat_id, c.title, m.role, m.text, m.created_at_ms
     FROM messages m JOIN chats c ON c.id = m.chat_id
     WHERE c.user_id = $1 AND c.parent_id IS NULL AND NOT c.is_copying AND NOT m.undone AND m.created_at_ms >= $2 AND m.created_at_ms < $3 AND m.id < $4 AND m.text <> ''
       AND (m.chat_id = $5 OR $5 = '')
       AND lower(m.text) LIKE $6 ESCAPE '\' AND ($7 = '%' OR lower(m.text) LIKE $7 ESCAPE '\')
       AND ($8 = '%' OR lower(m.text) LIKE $8 ESCAPE '\') AND ($9 = '%' OR lower(m.text) LIKE $9 ESCAPE '\')
       AND ($10 = '%' OR lower(m.text) LIKE $10 ESCAPE '\') AND ($11 = '%' OR lower(m.text) LIKE $11 ESCAPE '\')
       AND ($12 = '%' OR lower(m.text) LIKE $12 ESCAPE '\') AND ($13 = '%' OR lower(m.text) LIKE $13 ESCAPE '\')
     ORDER BY m.id DESC LIMIT $14";

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
        let mut query = query_as(SEARCH)
            .bind(user)
            .bind(search.from_ms)
            .bind(search.until_ms)
            .bind(search.before.unwrap_or(MessageId(i64::MAX)))
            .bind(search.chat.map_or("", ChatId::as_str));
        for at in 0..SEARCH_WORDS {
            query = query.bind(search.words.get(at).map_or_else(|| "%".to_owned(), |word| pattern(word)));
        }
        let mut connection = self.database.search(SEARCH_TIMEOUT).await?;
        query.bind(rows(search.limit)).fetch_all(&mut connection).await.map_err(Error::or_slow)
    }
}

/// Refuses more words, and longer ones, than a query allows.
pub(crate) fn check_words(words: &[&str], max_chars: usize) -> Result<()> {
    let invalid = |rule: String| Err(Error::Invalid { what: "search", rule });
    if words.len() > SEARCH_WORDS {
        return invalid(format!("has more than {SEARCH_WORDS} words; use those that matter most"));
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
