//! Traces of deleted rows in SQLite's files.
//!
//! ```text
//!   a row is deleted, and overwritten ──► the log is emptied ──soon──► the file is rewritten: copies in the gaps of its pages are gone
//! ```
//! SQLite overwrites what it deletes, but when it moves rows from page to page, it leaves copies in the gaps, and its indexes of words keep some words
//! as the borders of their pages. Only a file and indexes that are written anew have none. PostgreSQL removes deleted rows when it vacuums.

use crate::Store;
use crate::error::Result;
use crate::limits::VACUUM_MAX_BYTES;
use crate::sql::{query, query_scalar};

impl Store {
    /// Empties the log after a deletion that leaves no trace, and wakes who rewrites the file.
    pub(crate) async fn leave_no_trace(&self) -> Result<()> {
        self.database.checkpoint().await?;
        self.note_deletion();
        Ok(())
    }

    /// Records that rows were deleted whose traces are to go: [`Store::deletion`] ends.
    pub fn note_deletion(&self) {
        self.deletion.notify_one();
    }

    /// Waits for a deletion whose traces are to go, if there was none since the last one.
    pub async fn deletion(&self) {
        self.deletion.notified().await;
    }

    /// Removes the traces of deleted rows from the database's files. The whole file is rewritten, during which nobody can write, so this is left out for a
    /// file of more than 512 MiB, where copies may stay in gaps of pages.
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
