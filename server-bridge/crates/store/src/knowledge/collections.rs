//! Collections, and the users that may search them.

use sqlx::FromRow;

use super::visible;
use crate::error::{Error, Result, check_length};
use crate::homes::at_home;
use crate::limits::{
    COLLECTION_NAME_MAX_BYTES, COLLECTION_PATH_MAX_BYTES, COLLECTIONS_PER_USER, SYNC_NOTE_MAX_BYTES,
};
use crate::sql::{Scope, Transaction, query, query_as, query_scalar};
use crate::{CollectionId, Store, UserId};

/// A collection, in the form in which it is shown to a user who may search it.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Collection {
    /// The collection's id.
    pub id: CollectionId,
    /// The user who owns it.
    pub user_id: UserId,
    /// The name of its owner.
    pub owner: String,
    /// The collection's name, unique among its owner's collections.
    pub name: String,
    /// True if every user may search it.
    pub is_for_all: bool,
    /// The runner whose folder it mirrors; empty for uploads.
    pub place: String,
    /// The path of the folder on that runner.
    pub path: String,
    /// The state of its last scan, as the name of a [`SyncState`].
    pub sync_state: String,
    /// The reason for that state; empty if there is none.
    pub sync_note: String,
    /// When the folder was last scanned, in Unix milliseconds; 0 if it has not been scanned.
    pub synced_at_ms: i64,
    /// The number of its documents.
    pub documents: i64,
    /// The number of documents that have not been indexed since they changed.
    pub waiting: i64,
    /// The number of documents that cannot be indexed.
    pub failed: i64,
}

/// The result of the last scan of a collection's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncState {
    /// The folder has not been scanned.
    Never,
    /// The collection has the same files as the folder, except for documents that are waiting to be indexed.
    Synced,
    /// The runner could not be reached.
    Offline,
    /// The folder, or most of it, is missing. The documents stay until their owner confirms that they are to be removed.
    Gone,
    /// The folder could not be read for another reason.
    Failed,
}

impl SyncState {
    /// The name of the state in the database and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Synced => "synced",
            Self::Offline => "offline",
            Self::Gone => "gone",
            Self::Failed => "failed",
        }
    }
}

/// The users that a collection is shared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// All users.
    All,
    /// One user.
    User(UserId),
}

const COLLECTION: &str = concat!(
    "SELECT c.id, c.user_id, u.name AS owner, c.name, c.is_for_all, c.place, c.path, c.sync_state, c.sync_note, c.synced_at_ms,
       (SELECT COUNT(*) FROM documents d WHERE d.collection_id = c.id) AS documents,
       (SELECT COUNT(*) FROM documents d WHERE d.collection_id = c.id AND d.state = 'waiting') AS waiting,
       (SELECT COUNT(*) FROM documents d WHERE d.collection_id = c.id AND d.state = 'failed') AS failed
     FROM collections c JOIN users u ON u.id = c.user_id
     WHERE ",
    visible!(),
    " AND ($2 = 0 OR c.id = $2) ORDER BY c.user_id <> $1, c.name, c.id"
);

impl Store {
    /// The collections that a user may search, the user's own first.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn collections(&self, user: UserId) -> Result<Vec<Collection>> {
        Ok(query_as(COLLECTION).bind(user).bind(0_i64).fetch_all(self.database.reader()).await?)
    }

    /// A collection that a user may search.
    ///
    /// # Errors
    /// [`Error::NotFound`] if it does not exist, or the user may not search it.
    pub async fn collection(&self, user: UserId, id: CollectionId) -> Result<Collection> {
        let found = query_as(COLLECTION).bind(user).bind(id).fetch_optional(self.database.reader()).await?;
        found.ok_or_else(|| not_found(id))
    }

    /// Adds a collection: of uploads if `folder` is `None`, otherwise of that runner's folder.
    ///
    /// # Errors
    /// [`Error::Taken`] if the user has a collection with this name; [`Error::Invalid`] for a name that is empty or too long, and beyond 100
    /// collections.
    pub async fn add_collection(
        &self,
        user: UserId,
        name: &str,
        folder: Option<(&str, &str)>,
    ) -> Result<CollectionId> {
        let name = name.trim();
        check_length("name", name, COLLECTION_NAME_MAX_BYTES)?;
        let (place, path) = folder.unwrap_or_default();
        check_length("path", path, COLLECTION_PATH_MAX_BYTES)?;
        let invalid = |rule: String| Error::Invalid { what: "collection", rule };
        if name.is_empty() || name.chars().any(char::is_control) {
            return Err(invalid("needs a name without line breaks".to_owned()));
        }
        let mut transaction = self.database.write(Scope::User(user)).await?;
        let count: i64 = query_scalar("SELECT COUNT(*) FROM collections WHERE user_id = $1")
            .bind(user)
            .fetch_one(&mut transaction)
            .await?;
        if count >= COLLECTIONS_PER_USER {
            return Err(invalid(format!("exceeds the limit: you already have {count}; delete one first")));
        }
        let id = query_scalar(
            "INSERT INTO collections
             (user_id, name, is_for_all, place, path, sync_state, sync_note, synced_at_ms, created_at_ms)
             VALUES ($1, $2, FALSE, $3, $4, $5, '', 0, $6) RETURNING id",
        )
        .bind(user)
        .bind(name)
        .bind(place)
        .bind(path)
        .bind(SyncState::Never.as_str())
        .bind(self.now_ms())
        .fetch_one(&mut transaction)
        .await
        .map_err(|error| Error::or_taken(error, "collection", name))?;
        transaction.commit().await?;
        Ok(CollectionId(id))
    }

    /// Removes a user's own collection with all of its documents; returns true if it existed.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn remove_collection(&self, user: UserId, id: CollectionId) -> Result<bool> {
        let gone = query("DELETE FROM collections WHERE id = $1 AND user_id = $2")
            .bind(id)
            .bind(user)
            .execute(self.database.writer(Scope::User(user)))
            .await?;
        Ok(gone.rows_affected() == 1)
    }

    /// The names of the users that a user's own collection is shared with.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the collection does not exist or belongs to another user.
    pub async fn collection_readers(&self, user: UserId, id: CollectionId) -> Result<Vec<String>> {
        let mut snapshot = self.database.snapshot().await?;
        check_owner(&mut snapshot, user, id).await?;
        let names = query_scalar(
            "SELECT u.name FROM collection_access a JOIN users u ON u.id = a.user_id WHERE a.collection_id = $1 ORDER BY u.name",
        )
        .bind(id)
        .fetch_all(&mut snapshot)
        .await?;
        Ok(names)
    }

    /// Shares a user's own collection with others, or stops sharing it; takes effect with the next statement.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the collection does not exist or belongs to another user.
    pub async fn share_collection(
        &self,
        user: UserId,
        id: CollectionId,
        with: Sharing,
        is_shared: bool,
    ) -> Result<()> {
        let mut transaction = self.database.write(Scope::User(user)).await?;
        check_owner(&mut transaction, user, id).await?;
        match (with, is_shared) {
            (Sharing::All, _) => {
                query("UPDATE collections SET is_for_all = $2 WHERE id = $1")
                    .bind(id)
                    .bind(is_shared)
                    .execute(&mut transaction)
                    .await?;
            }
            (Sharing::User(reader), true) => {
                query(
                    "INSERT INTO collection_access (collection_id, user_id) VALUES ($1, $2)
                     ON CONFLICT (collection_id, user_id) DO NOTHING",
                )
                .bind(id)
                .bind(reader)
                .execute(&mut transaction)
                .await?;
            }
            (Sharing::User(reader), false) => {
                query("DELETE FROM collection_access WHERE collection_id = $1 AND user_id = $2")
                    .bind(id)
                    .bind(reader)
                    .execute(&mut transaction)
                    .await?;
            }
        }
        transaction.commit().await?;
        Ok(())
    }

    /// All collections that mirror a folder, with their owners.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn folder_collections(&self) -> Result<Vec<(UserId, CollectionId)>> {
        let folders = query_as(concat!(
            "SELECT user_id, id FROM collections WHERE place <> '' AND ",
            at_home!("collections.user_id", "$1"),
            " ORDER BY id"
        ));
        Ok(folders.bind(self.database.node_id()).fetch_all(self.database.reader()).await?)
    }

    /// Records the result of a scan of a collection's folder.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn set_collection_sync(&self, id: CollectionId, state: SyncState, note: &str) -> Result<()> {
        query("UPDATE collections SET sync_state = $2, sync_note = $3, synced_at_ms = $4 WHERE id = $1")
            .bind(id)
            .bind(state.as_str())
            .bind(&note[..note.floor_char_boundary(SYNC_NOTE_MAX_BYTES)])
            .bind(self.now_ms())
            .execute(self.database.writer(Scope::Alone))
            .await?;
        Ok(())
    }
}

pub(super) fn not_found(id: CollectionId) -> Error {
    Error::not_found("collection", id.0)
}

/// Fails unless the collection is the user's own.
pub(super) async fn check_owner(transaction: &mut Transaction, user: UserId, id: CollectionId) -> Result<()> {
    let is_own: bool =
        query_scalar("SELECT EXISTS (SELECT 1 FROM collections WHERE id = $1 AND user_id = $2)")
            .bind(id)
            .bind(user)
            .fetch_one(transaction)
            .await?;
    if is_own { Ok(()) } else { Err(not_found(id)) }
}
