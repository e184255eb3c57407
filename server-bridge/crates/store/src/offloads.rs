//! Offloads: long tool results that are stored outside the conversation, and changes to the files that they came from.

use sqlx::FromRow;

use crate::blobs::Blob;
use crate::error::{Result, check_length};
use crate::limits::{EXEC_ERROR_MAX_BYTES, OFFLOAD_MAX_BYTES, READS_TRACKED};
use crate::memory_items::traces::shows_memories;
use crate::sql::{Scope, query, query_as, without_nul};
use crate::{ChatId, Store, UserId};

/// An offloaded result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offload {
    /// The whole text of the result.
    pub text: String,
    /// True if it comes from a file that has changed since.
    pub is_stale: bool,
}

/// An offloaded result in the form in which its row stores it.
#[derive(FromRow)]
struct Stored {
    text: Option<String>,
    is_stale: bool,
    #[sqlx(flatten)]
    blob: Blob,
}

/// A file whose content was offloaded.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct OffloadedRead {
    /// The id of the offloaded result.
    pub offload_id: String,
    /// The conversation whose model read the file and is notified when it changes: a sub-agent's conversation, or the one that keeps the result.
    #[sqlx(rename = "reader_id")]
    pub reader: ChatId,
    /// The place of the file: a runner's name, `__docker__` or `none`.
    pub place: String,
    /// The path of the file, relative to the workspace there.
    pub path: String,
    /// The SHA-256 of the file's content, in hex.
    pub hash: String,
    /// The size of the file when it was read, in bytes.
    pub size_bytes: i64,
    /// The modification time of the file when it was read, in Unix milliseconds by the clock of its machine.
    pub modified_ms: i64,
}

impl Store {
    /// Stores a long result of a tool for a user's conversation, and the file that it came from, if any. A path beyond 4 KiB is not recorded.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) for a conversation that does not exist or belongs to another user;
    /// [`Error::Invalid`](crate::Error::Invalid) beyond 16 MiB.
    pub async fn put_offload(
        &self,
        user: UserId,
        chat: &ChatId,
        id: &str,
        text: &str,
        of: Option<&OffloadedRead>,
    ) -> Result<()> {
        self.chat(user, chat).await?;
        check_length("result", text, OFFLOAD_MAX_BYTES)?;
        let text = without_nul(text);
        // A result that shows memories stays in the database, so that one transaction can remove them.
        let blob = match shows_memories(&text) {
            true => None,
            false => self.put_away(text.as_bytes()).await?,
        };
        let mut transaction = self.database.write(Scope::User(user)).await?;
        query("INSERT INTO offloads (chat_id, id, text, blob) VALUES ($1, $2, $3, $4)")
            .bind(chat)
            .bind(id)
            .bind(blob.is_none().then_some(&*text))
            .bind(&blob)
            .execute(&mut transaction)
            .await?;
        if let Some(read) = of.filter(|read| read.path.len() <= EXEC_ERROR_MAX_BYTES) {
            query(
                "INSERT INTO offloaded_reads (chat_id, offload_id, place, path, hash, size_bytes, modified_ms, reader_id)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            )
            .bind(chat)
            .bind(id)
            .bind(&read.place)
            .bind(&read.path)
            .bind(&read.hash)
            .bind(read.size_bytes)
            .bind(read.modified_ms)
            .bind(&read.reader)
            .execute(&mut transaction)
            .await?;
        }
        transaction.commit().await?;
        Ok(())
    }

    /// The offloaded result with this id; `None` if there is none.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) as for [`Store::put_offload`].
    pub async fn offload(&self, user: UserId, chat: &ChatId, id: &str) -> Result<Option<Offload>> {
        self.chat(user, chat).await?;
        let kept: Option<Stored> = query_as(
            "SELECT o.text, COALESCE(r.state <> 'fresh', FALSE) AS is_stale, b.object, b.size_bytes AS object_bytes FROM offloads o
             LEFT JOIN offloaded_reads r ON r.chat_id = o.chat_id AND r.offload_id = o.id
             LEFT JOIN blobs b ON b.object = o.blob WHERE o.chat_id = $1 AND o.id = $2",
        )
        .bind(chat)
        .bind(id)
        .fetch_optional(self.database.reader())
        .await?;
        let Some(Stored { text, is_stale, blob }) = kept else { return Ok(None) };
        let text = self.bring_text(text, blob).await?;
        Ok(Some(Offload { text, is_stale }))
    }

    /// The last 32 files on one machine that the model of `reader` read, whose content `chat` keeps, and that are not known to have changed since.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn fresh_reads(
        &self,
        chat: &ChatId,
        reader: &ChatId,
        place: &str,
    ) -> Result<Vec<OffloadedRead>> {
        self.reads(chat, reader, Some(place), "fresh").await
    }

    /// The last 32 files, on any machine, that the model of `reader` read, whose content `chat` keeps, and that have changed since without being read
    /// again by this model.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn stale_reads(&self, chat: &ChatId, reader: &ChatId) -> Result<Vec<OffloadedRead>> {
        self.reads(chat, reader, None, "stale").await
    }

    async fn reads(
        &self,
        chat: &ChatId,
        reader: &ChatId,
        place: Option<&str>,
        state: &str,
    ) -> Result<Vec<OffloadedRead>> {
        Ok(query_as(
            // Earlier versions did not record the conversation whose model read the file.
            "SELECT offload_id, COALESCE(reader_id, chat_id) AS reader_id, place, path, hash, size_bytes, modified_ms
             FROM offloaded_reads WHERE chat_id = $1 AND COALESCE(reader_id, chat_id) = $2
                AND place = COALESCE($3, place) AND state = $4 ORDER BY number DESC LIMIT $5",
        )
        .bind(chat)
        .bind(reader)
        .bind(place)
        .bind(state)
        .bind(i64::from(READS_TRACKED))
        .fetch_all(self.database.reader())
        .await?)
    }

    /// Marks an offloaded file as changed.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn mark_stale(&self, chat: &ChatId, offload_id: &str) -> Result<()> {
        query("UPDATE offloaded_reads SET state = 'stale' WHERE chat_id = $1 AND offload_id = $2 AND state = 'fresh'")
            .bind(chat)
            .bind(offload_id)
            .execute(self.database.writer(Scope::Chat(chat)))
            .await?;
        Ok(())
    }

    /// Records that an offloaded file was written again with the same content.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn mark_seen(&self, chat: &ChatId, offload_id: &str, modified_ms: i64) -> Result<()> {
        query("UPDATE offloaded_reads SET modified_ms = $1 WHERE chat_id = $2 AND offload_id = $3")
            .bind(modified_ms)
            .bind(chat)
            .bind(offload_id)
            .execute(self.database.writer(Scope::Chat(chat)))
            .await?;
        Ok(())
    }

    /// Records that the model of `reader` read a file again, and so has seen all changes before that.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn mark_read_again(
        &self,
        chat: &ChatId,
        reader: &ChatId,
        place: &str,
        path: &str,
    ) -> Result<()> {
        query(
            "UPDATE offloaded_reads SET state = 'past' WHERE chat_id = $1 AND COALESCE(reader_id, chat_id) = $2
                AND place = $3 AND path = $4 AND state = 'stale'",
        )
        .bind(chat)
        .bind(reader)
        .bind(place)
        .bind(path)
        .execute(self.database.writer(Scope::Chat(chat)))
        .await?;
        Ok(())
    }
}
