//! The state of files before a turn changed them, so that the turn can be undone.
//!
//! Contents are kept once per conversation and SHA-256. A conversation keeps 256 MiB of them; beyond that, and after 30 days,
//! the oldest are dropped and marked as such.

use sha2::{Digest, Sha256};
use sqlx::FromRow;

use crate::blobs::Blob;
use crate::error::{Error, Result, check_length};
use crate::limits::{CHECKPOINT_FILE_MAX_BYTES, CHECKPOINTS_MAX_BYTES, EXEC_ERROR_MAX_BYTES};
use crate::sql::{Scope, Transaction, query, query_as, query_scalar};
use crate::{ChatId, Store, TurnId, UserId};
use records::hex;

/// A file's earlier state, to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before<'a> {
    /// The file did not exist.
    Absent,
    /// A regular file.
    Content {
        /// The file's permission bits.
        mode: u32,
        /// The file's whole content, at most 16 MiB.
        content: &'a [u8],
    },
    /// A regular file of more than 16 MiB.
    TooLarge,
    /// The file could not be read.
    Unreadable,
}

/// The part of a file's earlier state that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum Kept {
    /// The file did not exist.
    Absent,
    /// The file's whole content.
    Content,
    /// No content, because the file was too large.
    TooLarge,
    /// No content, because the file could not be read.
    Unreadable,
    /// No content any more, because the conversation's limit was exceeded or the content was too old.
    Dropped,
}

impl Kept {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Content => "content",
            Self::TooLarge => "too_large",
            Self::Unreadable => "unreadable",
            Self::Dropped => "dropped",
        }
    }
}

crate::sql::bind_as_word!(Kept);

/// The state that a turn left a file in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Left {
    /// The earlier state: the turn was about to change the file, but did not.
    Unchanged,
    /// Content with this SHA-256, in lower-case hex.
    Content(String),
    /// The result of the change is not known.
    Unknown,
}

const UNKNOWN: &str = "unknown";

/// A file that a turn changed.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Checkpoint {
    /// The turn's id.
    #[sqlx(rename = "turn_id")]
    pub turn: TurnId,
    /// The file's place: a runner's name, `__docker__` or `none`.
    pub place: String,
    /// The file's path there, as the turn wrote it.
    pub path: String,
    /// The part of the file's earlier state that is kept.
    #[sqlx(rename = "before")]
    pub kept: Kept,
    /// The file's earlier permission bits; `None` if there was no regular file.
    pub mode: Option<i64>,
    /// The SHA-256 of the file's earlier content, in lower-case hex; `None` if the content is not kept.
    pub sha256: Option<String>,
    left_sha256: Option<String>,
}

impl Checkpoint {
    /// The state in which the turn left the file.
    pub fn left(&self) -> Left {
        match self.left_sha256.as_deref() {
            None => Left::Unchanged,
            Some(UNKNOWN) => Left::Unknown,
            Some(sha256) => Left::Content(sha256.to_owned()),
        }
    }
}

/// File content in the form in which its row stores it.
#[derive(FromRow)]
struct Stored {
    content: Option<Vec<u8>>,
    #[sqlx(flatten)]
    blob: Blob,
}

impl Store {
    /// The state in which a turn has left a file so far; `None` if the turn has not touched it.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn checkpoint(&self, turn: TurnId, place: &str, path: &str) -> Result<Option<Left>> {
        let row: Option<Checkpoint> = query_as(
            "SELECT turn_id, place, path, before, mode, sha256, left_sha256 FROM checkpoints
             WHERE turn_id = $1 AND place = $2 AND path = $3",
        )
        .bind(turn)
        .bind(place)
        .bind(path)
        .fetch_optional(self.database.reader())
        .await?;
        Ok(row.map(|checkpoint| checkpoint.left()))
    }

    /// Keeps the state of a file before a turn first changes it; a state that is already kept stays.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a conversation that does not exist or belongs to another user; [`Error::Invalid`] for a path beyond 4 KiB or content
    /// beyond 16 MiB.
    pub async fn keep_checkpoint(
        &self,
        user: UserId,
        chat: &ChatId,
        turn: TurnId,
        place: &str,
        path: &str,
        before: Before<'_>,
    ) -> Result<()> {
        self.chat(user, chat).await?;
        check_length("path", path, EXEC_ERROR_MAX_BYTES)?;
        let (kept, mode, content) = match before {
            Before::Absent => (Kept::Absent, None, None),
            Before::Content { content, .. } if content.len() > CHECKPOINT_FILE_MAX_BYTES => {
                return Err(Error::too_long("file", CHECKPOINT_FILE_MAX_BYTES));
            }
            Before::Content { mode, content } => (Kept::Content, Some(i64::from(mode)), Some(content)),
            Before::TooLarge => (Kept::TooLarge, None, None),
            Before::Unreadable => (Kept::Unreadable, None, None),
        };
        let sha256 = content.map(|content| hex(&Sha256::digest(content)));
        let blob = match content {
            Some(content) => self.put_away(content).await?,
            None => None,
        };
        let mut transaction = self.database.write(Scope::User(user)).await?;
        query(
            "INSERT INTO checkpoints (turn_id, place, path, before, mode, sha256) VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT DO NOTHING",
        )
        .bind(turn)
        .bind(place)
        .bind(path)
        .bind(kept)
        .bind(mode)
        .bind(&sha256)
        .execute(&mut transaction)
        .await?;
        if let (Some(content), Some(sha256)) = (content, sha256) {
            query(
                "INSERT INTO checkpoint_contents (chat_id, sha256, size_bytes, content, blob) VALUES ($1, $2, $3, $4, $5)
                 ON CONFLICT DO NOTHING",
            )
            .bind(chat)
            .bind(sha256)
            .bind(i64::try_from(content.len()).unwrap_or(i64::MAX))
            .bind(blob.is_none().then_some(content))
            .bind(&blob)
            .execute(&mut transaction)
            .await?;
            drop_oldest(&mut transaction, chat).await?;
        }
        transaction.commit().await?;
        Ok(())
    }

    /// Records the state in which a turn is about to leave a file. Called before the change, so that no change goes unrecorded.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn leave_checkpoint(&self, turn: TurnId, place: &str, path: &str, left: &Left) -> Result<()> {
        let left = match left {
            Left::Unchanged => None,
            Left::Content(sha256) => Some(sha256.as_str()),
            Left::Unknown => Some(UNKNOWN),
        };
        query("UPDATE checkpoints SET left_sha256 = $1 WHERE turn_id = $2 AND place = $3 AND path = $4")
            .bind(left)
            .bind(turn)
            .bind(place)
            .bind(path)
            .execute(self.database.writer(Scope::Turn(turn)))
            .await?;
        Ok(())
    }

    /// The files that a user's conversation changed from this turn on, the last change first, without those of undone turns.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a conversation that does not exist or belongs to another user.
    pub async fn checkpoints(&self, user: UserId, chat: &ChatId, from: TurnId) -> Result<Vec<Checkpoint>> {
        self.chat(user, chat).await?;
        Ok(query_as(
            "SELECT p.turn_id, p.place, p.path, p.before, p.mode, p.sha256, p.left_sha256
             FROM checkpoints p JOIN turns t ON t.id = p.turn_id
             WHERE t.chat_id = $1 AND t.id >= $2 AND t.undone_at_ms IS NULL ORDER BY p.turn_id DESC, p.id DESC",
        )
        .bind(chat)
        .bind(from)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// The kept content with this SHA-256 in a user's conversation; `None` if it is no longer kept.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a conversation that does not exist or belongs to another user.
    pub async fn checkpoint_content(
        &self,
        user: UserId,
        chat: &ChatId,
        sha256: &str,
    ) -> Result<Option<Vec<u8>>> {
        self.chat(user, chat).await?;
        let kept: Option<Stored> = query_as(
            "SELECT c.content, b.object, b.size_bytes AS object_bytes FROM checkpoint_contents c LEFT JOIN blobs b ON b.object = c.blob
             WHERE c.chat_id = $1 AND c.sha256 = $2",
        )
        .bind(chat)
        .bind(sha256)
        .fetch_optional(self.database.reader())
        .await?;
        let Some(Stored { content, blob }) = kept else { return Ok(None) };
        Ok(Some(self.bring(content, blob).await?))
    }
}

/// Drops the oldest contents until the rest is within the limit.
async fn drop_oldest(transaction: &mut Transaction, chat: &ChatId) -> Result<()> {
    loop {
        let kept_bytes: i64 = query_scalar(
            "SELECT CAST(COALESCE(SUM(size_bytes), 0) AS BIGINT) FROM checkpoint_contents WHERE chat_id = $1",
        )
        .bind(chat)
        .fetch_one(&mut *transaction)
        .await?;
        if kept_bytes <= CHECKPOINTS_MAX_BYTES {
            return Ok(());
        }
        let oldest: Option<TurnId> = query_scalar(
            "SELECT MIN(t.id) FROM checkpoints p JOIN turns t ON t.id = p.turn_id
             WHERE t.chat_id = $1 AND p.before = 'content'",
        )
        .bind(chat)
        .fetch_one(&mut *transaction)
        .await?;
        let Some(oldest) = oldest else { return Ok(()) };
        query(
            "UPDATE checkpoints SET before = 'dropped', sha256 = NULL
             WHERE id = (SELECT MIN(id) FROM checkpoints WHERE turn_id = $1 AND before = 'content')",
        )
        .bind(oldest)
        .execute(&mut *transaction)
        .await?;
        drop_unused(transaction, chat).await?;
    }
}

/// Drops the contents of a conversation that no kept file refers to.
pub(crate) async fn drop_unused(transaction: &mut Transaction, chat: &ChatId) -> Result<()> {
    query(
        "DELETE FROM checkpoint_contents WHERE chat_id = $1 AND sha256 NOT IN
            (SELECT p.sha256 FROM checkpoints p JOIN turns t ON t.id = p.turn_id
             WHERE t.chat_id = $1 AND p.sha256 IS NOT NULL)",
    )
    .bind(chat)
    .execute(&mut *transaction)
    .await?;
    Ok(())
}

/// Drops the contents that were kept for turns before this time, in Unix milliseconds.
pub(crate) async fn drop_before(transaction: &mut Transaction, at_ms: i64) -> Result<()> {
    let dropped = query(
        "UPDATE checkpoints SET before = 'dropped', sha256 = NULL WHERE before = 'content'
            AND turn_id IN (SELECT id FROM turns WHERE created_at_ms <= $1)",
    )
    .bind(at_ms)
    .execute(&mut *transaction)
    .await?;
    if dropped.rows_affected() > 0 {
        query(
            "DELETE FROM checkpoint_contents WHERE NOT EXISTS
                (SELECT 1 FROM checkpoints p JOIN turns t ON t.id = p.turn_id
                 WHERE t.chat_id = checkpoint_contents.chat_id AND p.sha256 = checkpoint_contents.sha256)",
        )
        .execute(&mut *transaction)
        .await?;
    }
    Ok(())
}
