//! Documents, and the pages of their current version.

use sqlx::FromRow;

use super::collections::check_owner;
use super::visible;
use crate::error::{Error, Result};
use crate::limits::rows;
use crate::sql::{Scope, query, query_as};
use crate::{CollectionId, DocumentId, Store, UserId};

/// A document of a collection.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Document {
    /// The document's id.
    pub id: DocumentId,
    /// The id of its collection.
    pub collection_id: CollectionId,
    /// The document's name, unique in the collection: a file's name, or its path below the folder.
    pub name: String,
    /// The state of its indexing, as the name of a [`DocumentState`].
    pub state: String,
    /// An explanation of that state; empty if there is none.
    pub note: String,
    /// The version that is searched; 0 if there is none yet.
    pub version: i64,
    /// The kind of the current version, such as `pdf`.
    pub kind: String,
    /// The number of its pages.
    pub pages: i64,
    /// The SHA-256 of its indexed content, in hex.
    pub sha256: String,
    /// The size of its newest content, in bytes.
    pub size_bytes: i64,
    /// When the file was last changed, in Unix milliseconds; 0 for an upload.
    pub modified_ms: i64,
    /// When new content was last indexed, or could not be, in Unix milliseconds; until then, when it was added.
    pub updated_at_ms: i64,
}

/// The state of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentState {
    /// New content is waiting to be indexed; until then, searches find the previous version.
    Waiting,
    /// Searches find the newest content.
    Ready,
    /// The newest content cannot be indexed; searches find the previous version, if there is one.
    Failed,
}

impl DocumentState {
    /// The name of the state in the database and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Ready => "ready",
            Self::Failed => "failed",
        }
    }
}

/// A page of a document.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Page {
    /// The page's number, from 1.
    pub page: i64,
    /// The name of the page's sheet; empty for documents without sheets.
    pub title: String,
    /// The text of the page.
    pub text: String,
}

const DOCUMENT: &str = concat!(
    "SELECT d.id, d.collection_id, d.name, d.state, d.note, d.version, d.kind, d.pages, d.sha256, d.size_bytes, d.modified_ms,
       d.updated_at_ms
     FROM documents d JOIN collections c ON c.id = d.collection_id WHERE ",
    visible!()
);

impl Store {
    /// Documents of a collection that a user may search, by name: those after `after`.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn documents(
        &self,
        user: UserId,
        collection: CollectionId,
        after: &str,
        limit: u32,
    ) -> Result<Vec<Document>> {
        let sql = const_format(" AND d.collection_id = $2 AND d.name > $3 ORDER BY d.name LIMIT $4");
        let documents = query_as(sql).bind(user).bind(collection).bind(after).bind(rows(limit));
        Ok(documents.fetch_all(self.database.reader()).await?)
    }

    /// A document of a collection that a user may search.
    ///
    /// # Errors
    /// [`Error::NotFound`] if it does not exist, or the user may not search it.
    pub async fn document(&self, user: UserId, id: DocumentId) -> Result<Document> {
        let found = query_as(const_format(" AND d.id = $2")).bind(user).bind(id);
        let found = found.fetch_optional(self.database.reader()).await?;
        found.ok_or_else(|| not_found(id))
    }

    /// Pages of a document that a user may search, at most `limit`, beginning with the number `page`. Pages without text are left out.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn document_pages(
        &self,
        user: UserId,
        id: DocumentId,
        from: i64,
        limit: u32,
    ) -> Result<Vec<Page>> {
        let pages = query_as(concat!(
            "SELECT p.page, p.title, p.text FROM document_pages p
             JOIN documents d ON d.id = p.document_id AND d.version = p.version
             JOIN collections c ON c.id = d.collection_id WHERE ",
            visible!(),
            " AND d.id = $2 AND p.page >= $3 ORDER BY p.page LIMIT $4"
        ));
        let pages = pages.bind(user).bind(id).bind(from).bind(rows(limit));
        Ok(pages.fetch_all(self.database.reader()).await?)
    }

    /// All documents of a user's own collection, in no particular order; a scan compares them with the folder.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the collection does not exist or belongs to another user.
    pub async fn folder_documents(&self, user: UserId, collection: CollectionId) -> Result<Vec<Document>> {
        let mut snapshot = self.database.snapshot().await?;
        check_owner(&mut snapshot, user, collection).await?;
        let documents = query_as(const_format(" AND d.collection_id = $2")).bind(user).bind(collection);
        Ok(documents.fetch_all(&mut snapshot).await?)
    }

    /// Removes documents of a user's own collection with their index; returns the number that were removed.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the collection does not exist or belongs to another user.
    pub async fn remove_documents(
        &self,
        user: UserId,
        collection: CollectionId,
        documents: &[DocumentId],
    ) -> Result<u64> {
        let mut transaction = self.database.write(Scope::User(user)).await?;
        check_owner(&mut transaction, user, collection).await?;
        let mut removed = 0;
        for document in documents {
            let gone = query("DELETE FROM documents WHERE id = $1 AND collection_id = $2")
                .bind(*document)
                .bind(collection)
                .execute(&mut transaction)
                .await?;
            removed += gone.rows_affected();
        }
        transaction.commit().await?;
        Ok(removed)
    }
}

pub(super) fn not_found(id: DocumentId) -> Error {
    Error::not_found("document", id.0)
}

/// The statement that selects documents, with an additional condition.
fn const_format(more: &'static str) -> sqlx::AssertSqlSafe<String> {
    sqlx::AssertSqlSafe(format!("{DOCUMENT}{more}"))
}
