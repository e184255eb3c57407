//! The routes of knowledge.

use std::path::Path;
use std::sync::Arc;

use api::knowledge::{
    CollectionDraft, CollectionList, CollectionView, DocumentList, DocumentView, Found, KnowledgeStatus,
    Question, ShareWith, SyncRequest,
};
use hyper::Method;

use crate::body::{FileBody, RequestBody};
use crate::failure::Failure;
use crate::http::{Client, percent_encoded, read, read_small};
use crate::limits::ANSWER_TIMEOUT;

type Answer<T> = Result<T, Failure>;

impl Client {
    /// `GET /api/v1/knowledge/collections`.
    pub(super) async fn collections(&mut self) -> Answer<CollectionList> {
        self.get("/api/v1/knowledge/collections").await
    }

    /// `GET /api/v1/knowledge/collections/{collection}`.
    pub(super) async fn collection(&mut self, collection: &str) -> Answer<CollectionView> {
        self.get(&of_collection(collection, "")).await
    }

    /// `POST /api/v1/knowledge/collections`.
    pub(super) async fn create_collection(&mut self, draft: &CollectionDraft) -> Answer<CollectionView> {
        let path = "/api/v1/knowledge/collections";
        read(&self.send_document(Method::POST, path, draft, ANSWER_TIMEOUT).await?)
    }

    /// `DELETE /api/v1/knowledge/collections/{collection}`.
    pub(super) async fn delete_collection(&mut self, collection: &str) -> Answer<()> {
        self.delete(&of_collection(collection, "")).await
    }

    /// `GET /api/v1/knowledge/collections/{collection}/documents`.
    pub(super) async fn documents(&mut self, collection: &str, after: &str) -> Answer<DocumentList> {
        let query = format!("/documents?after={}", percent_encoded(after));
        self.get(&of_collection(collection, &query)).await
    }

    /// `POST /api/v1/knowledge/collections/{collection}/documents`, with a file as it is on this machine.
    pub(super) async fn add_document(&mut self, collection: &str, file: &Path) -> Answer<DocumentView> {
        let shown = file.display();
        let unread = |error: std::io::Error| Failure::other("io", format!("{shown}: {error}"));
        let opened = std::fs::File::open(file).map_err(unread)?;
        let about = opened.metadata().map_err(unread)?;
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
        let Some(name) = name.filter(|_| about.is_file()) else {
            return Err(Failure::other(
                "invalid",
                format!("{shown} is not a file; add-folder adds a runner's folder"),
            ));
        };
        let path = of_collection(collection, &format!("/documents?name={}", percent_encoded(&name)));
        let body = RequestBody::File(FileBody::new(opened, about.len(), Arc::default()));
        let answer = self.send(Method::POST, &path, "application/octet-stream", body).await?;
        read(&read_small(answer).await?)
    }

    /// `DELETE /api/v1/knowledge/documents/{id}`.
    pub(super) async fn delete_document(&mut self, id: i64) -> Answer<()> {
        self.delete(&format!("/api/v1/knowledge/documents/{id}")).await
    }

    /// `PUT /api/v1/knowledge/collections/{collection}/sharing`.
    pub(super) async fn share_collection(
        &mut self,
        collection: &str,
        with: &ShareWith,
    ) -> Answer<CollectionView> {
        let path = of_collection(collection, "/sharing");
        read(&self.send_document(Method::PUT, &path, with, ANSWER_TIMEOUT).await?)
    }

    /// `POST /api/v1/knowledge/collections/{collection}/sync`.
    pub(super) async fn sync_collection(&mut self, collection: &str, remove_missing: bool) -> Answer<()> {
        let path = of_collection(collection, "/sync");
        let request = SyncRequest { remove_missing };
        self.send_document(Method::POST, &path, &request, ANSWER_TIMEOUT).await.map(drop)
    }

    /// `POST /api/v1/knowledge/search`.
    pub(super) async fn search_knowledge(&mut self, question: &Question) -> Answer<Found> {
        read(&self.send_document(Method::POST, "/api/v1/knowledge/search", question, ANSWER_TIMEOUT).await?)
    }

    /// `GET /api/v1/knowledge/status`.
    pub(super) async fn knowledge_status(&mut self) -> Answer<KnowledgeStatus> {
        self.get("/api/v1/knowledge/status").await
    }
}

/// A path below a collection, whose name may have slashes.
fn of_collection(collection: &str, what: &str) -> String {
    format!("/api/v1/knowledge/collections/{}{what}", percent_encoded(collection).replace('/', "%2F"))
}
