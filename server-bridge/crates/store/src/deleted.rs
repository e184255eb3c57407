//! Removal of the traces that deleted rows leave in SQLite's files.
//!
//! ```text
//!   a row is deleted, and overwritten ──► the WAL is emptied ──soon──► the file is rewritten, without the copies in the gaps of its pages
//! ```
//! SQLite overwrites deleted rows, but when it moves rows between pages, it leaves copies in the gaps, and its full-text indexes keep some
//! words as page boundaries. Only a rewritten file with rebuilt indexes has none of them. PostgreSQL removes deleted rows when it vacuums.

use crate::Store;
use crate::error::Result;
use crate::limits::VACUUM_MAX_BYTES;
use crate::sql::{query, query_scalar};

impl Store {
    /// Empties the WAL after a deletion that must leave no trace, and wakes the task that rewrites the file.
    pub(crate) async fn leave_no_trace(&self) -> Result<()> {
        self.database.checkpoint().await?;
        self.note_deletion();
        Ok(())
    }

    /// Records that rows were deleted whose traces have to be removed; this wakes [`Store::deletion`].
    pub fn note_deletion(&self) {
        self.deletion.notify_one();
    }

    /// Waits until rows are deleted whose traces have to be removed. Returns at once if that happened since the last call.
    pub async fn deletion(&self) {
        self.deletion.notified().await;
    }

    /// Removes the traces of deleted rows from the database's files. This rewrites the whole file and blocks all writes meanwhile, so a file of
    /// more than 512 MiB is skipped: copies may then stay in the gaps of its pages.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn forget_deleted(&self) -> Result<()> {
        if self.database.is_postgres() {
            return Ok(());
        }
        let size: i64 =
            query_scalar("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
                .fetch_one(self.database.latest())
                .await?;
        if size > VACUUM_MAX_BYTES {
            return self.database.checkpoint().await;
        }
        for optimize in [
            "INSERT INTO search_chunks (search_chunks) VALUES ('optimize') /* sqlite_ */",
            "INSERT INTO search_messages_index (search_messages_index) VALUES ('optimize') /* sqlite_ */",
        ] {
            query(optimize).execute(self.database.latest()).await?;
        }
        self.database.scrub().await?;
        Ok(())
    }
}
