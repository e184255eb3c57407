//! Collections and documents: adding, sharing, listing and removing them.

use std::sync::Arc;

use api::knowledge::{
    CollectionDraft, CollectionView, DocumentPage, DocumentView, KnowledgeStatus, PageView, ShareWith,
};
use extract::Extractor;
use futures_util::future::BoxFuture;
use llm::embed::Embedders;
use sandbox::Sandbox;
use store::{Collection, CollectionId, Document, DocumentId, Sharing, Store, User, UserId};
use tokio::sync::{Notify, Semaphore};

use crate::error::{Error, Result};
use crate::limits::{CONTENT_KIB, LISTED, PAGES_AT_ONCE};
use crate::meaning::Meaning;
use crate::standstill::Standstill;

/// Returns the sandbox of a user's runner by its name, or the reason why the runner cannot be reached.
pub type Machines = Arc<dyn Fn(UserId, String) -> BoxFuture<'static, Result<Sandbox, String>> + Send + Sync>;

/// The knowledge of all users. Cheap to clone; all clones share the same state.
#[derive(Clone)]
pub struct Knowledge(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) store: Store,
    pub(crate) extractor: Extractor,
    pub(crate) machines: Machines,
    /// Wakes the worker.
    pub(crate) wake: Notify,
    pub(crate) meaning: Meaning,
    pub(crate) standstill: Standstill,
    /// Held while a document is parsed, so that documents are parsed one after the other.
    pub(crate) reading: Semaphore,
    /// Limits how much of the folders' contents is in memory, in KiB.
    pub(crate) contents: Arc<Semaphore>,
}

/// Finds one of these collections by its id or name.
///
/// # Errors
/// [`store::Error::NotFound`] if there is none.
pub(crate) fn named<'a>(collections: &'a [Collection], key: &str) -> store::Result<&'a Collection> {
    let number = key.parse().ok().map(CollectionId);
    let found = collections.iter().find(|one| Some(one.id) == number);
    let found = found.or_else(|| collections.iter().find(|one| one.name == key));
    found.ok_or_else(|| store::Error::NotFound { what: "collection", name: key.to_owned() })
}

impl Knowledge {
    /// Knowledge in this store, with the folders of these machines, embedded by the server's embedder. Nothing is indexed before
    /// [`Knowledge::run`].
    pub fn new(store: Store, extractor: Extractor, machines: Machines, embedders: Embedders) -> Self {
        Self(Arc::new(Inner {
            store,
            extractor,
            machines,
            wake: Notify::new(),
            meaning: Meaning::new(embedders),
            standstill: Standstill::default(),
            reading: Semaphore::new(1),
            contents: Arc::new(Semaphore::new(CONTENT_KIB as usize)),
        }))
    }

    /// The collections that a user may search, their own first.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn collections(&self, user: &User) -> Result<Vec<CollectionView>> {
        let collections = self.0.store.collections(user.id).await?;
        let mut views = Vec::with_capacity(collections.len());
        for collection in collections {
            views.push(self.view(user, collection).await?);
        }
        Ok(views)
    }

    /// A collection that the user may search, by its id or its name; of several with this name, the user's own.
    ///
    /// # Errors
    /// [`Error::Store`] if there is none.
    pub async fn collection(&self, user: &User, key: &str) -> Result<CollectionView> {
        let collection = self.find_collection(user.id, key).await?;
        self.view(user, collection).await
    }

    /// Adds a collection of uploads, or of a runner's folder, which is scanned soon.
    ///
    /// # Errors
    /// [`Error::Store`] for a name that is taken or not valid.
    pub async fn add_collection(&self, user: &User, draft: &CollectionDraft) -> Result<CollectionView> {
        let folder = draft.place.as_deref().map(|place| (place, draft.path.as_deref().unwrap_or(".")));
        let id = self.0.store.add_collection(user.id, &draft.name, folder).await?;
        if folder.is_some() {
            self.0.store.queue_sync(user.id, id, false).await?;
            self.0.wake.notify_one();
        }
        self.collection(user, &id.0.to_string()).await
    }

    /// Removes a user's own collection with its documents and their index.
    ///
    /// # Errors
    /// [`Error::Store`] if the collection does not exist or is another user's.
    pub async fn remove_collection(&self, user: &User, key: &str) -> Result<()> {
        let collection = self.find_collection(user.id, key).await?;
        if !self.0.store.remove_collection(user.id, collection.id).await? {
            return Err(not_owned(&collection));
        }
        self.0.meaning.cache.forget_collection(collection.id);
        if collection.documents > 0 {
            self.0.store.note_deletion();
        }
        Ok(())
    }

    /// Shares a user's own collection with others, or stops sharing it.
    ///
    /// # Errors
    /// [`Error::NoUser`]; [`Error::Store`] if the collection does not exist or is another user's.
    pub async fn share(
        &self,
        user: &User,
        key: &str,
        with: &ShareWith,
        is_shared: bool,
    ) -> Result<CollectionView> {
        let collection = self.find_collection(user.id, key).await?;
        let sharing = match &with.user {
            None => Sharing::All,
            Some(name) => {
                let found = self.0.store.users().await?.into_iter().find(|other| other.name == *name);
                Sharing::User(found.ok_or_else(|| Error::NoUser(name.clone()))?.id)
            }
        };
        self.0.store.share_collection(user.id, collection.id, sharing, is_shared).await?;
        self.collection(user, key).await
    }

    /// Queues a scan of the folder of a user's own collection.
    ///
    /// # Errors
    /// [`Error::Store`] if the collection does not exist, is another user's, or has no folder.
    pub async fn sync(&self, user: &User, key: &str, accepts_missing: bool) -> Result<()> {
        let collection = self.find_collection(user.id, key).await?;
        self.0.store.queue_sync(user.id, collection.id, accepts_missing).await?;
        self.0.wake.notify_one();
        Ok(())
    }

    /// The documents of a collection, by name: at most 500 after the name `after`.
    ///
    /// # Errors
    /// [`Error::Store`] if the user may not search it.
    pub async fn documents(&self, user: &User, key: &str, after: &str) -> Result<Vec<DocumentView>> {
        let collection = self.find_collection(user.id, key).await?;
        let documents = self.0.store.documents(user.id, collection.id, after, LISTED).await?;
        Ok(documents.into_iter().map(document_view).collect())
    }

    /// A document, with at most 10 of its pages from number `page` on.
    ///
    /// # Errors
    /// [`Error::Store`] if the user may not search its collection.
    pub async fn document(&self, user: &User, id: i64, page: i64) -> Result<DocumentPage> {
        let document = self.0.store.document(user.id, DocumentId(id)).await?;
        let collection = self.0.store.collection(user.id, document.collection_id).await?;
        let pages = self.0.store.document_pages(user.id, document.id, page, PAGES_AT_ONCE).await?;
        let pages =
            pages.into_iter().map(|page| PageView { page: page.page, title: page.title, text: page.text });
        Ok(DocumentPage {
            document: document_view(document),
            collection: collection.name,
            pages: pages.collect(),
        })
    }

    /// Removes a document of a user's own collection.
    ///
    /// # Errors
    /// [`Error::Store`] if the collection does not exist or is another user's.
    pub async fn remove_document(&self, user: &User, id: i64) -> Result<()> {
        let document = self.0.store.document(user.id, DocumentId(id)).await?;
        self.remove(user.id, document.collection_id, &[document.id]).await?;
        Ok(())
    }

    /// Removes documents, and their data in memory.
    pub(crate) async fn remove(
        &self,
        user: UserId,
        collection: CollectionId,
        documents: &[DocumentId],
    ) -> store::Result<()> {
        self.0.store.remove_documents(user, collection, documents).await?;
        self.0.meaning.cache.forget(collection, documents, None);
        self.0.store.note_deletion();
        Ok(())
    }

    /// The number of waiting jobs.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn status(&self, user: &User) -> Result<KnowledgeStatus> {
        let queue = self.0.store.index_queue(user.id).await?;
        Ok(KnowledgeStatus { waiting: queue.waiting, ahead: queue.ahead })
    }

    /// A collection that a user may search, by its id or its name.
    pub(crate) async fn find_collection(&self, user: UserId, key: &str) -> Result<Collection> {
        Ok(named(&self.0.store.collections(user).await?, key)?.clone())
    }

    async fn view(&self, user: &User, collection: Collection) -> Result<CollectionView> {
        let is_own = collection.user_id == user.id;
        let readers =
            if is_own { self.0.store.collection_readers(user.id, collection.id).await? } else { Vec::new() };
        let is_folder = !collection.place.is_empty();
        let search_note = self.0.meaning.note(&self.0.store, collection.id).await?;
        let waiting_note = if collection.waiting > 0 { self.0.standstill.why() } else { String::new() };
        Ok(CollectionView {
            id: collection.id.0,
            name: collection.name,
            owner: collection.owner,
            is_own,
            is_for_all: collection.is_for_all,
            readers,
            place: is_folder.then_some(collection.place),
            path: is_folder.then_some(collection.path),
            sync_state: is_folder.then(|| collection.sync_state.as_str().into()),
            sync_note: collection.sync_note,
            synced_at_ms: collection.synced_at_ms,
            documents: collection.documents,
            waiting: collection.waiting,
            waiting_note,
            failed: collection.failed,
            search_note,
        })
    }
}

fn not_owned(collection: &Collection) -> Error {
    store::Error::NotFound { what: "collection", name: collection.name.clone() }.into()
}

pub(crate) fn document_view(document: Document) -> DocumentView {
    DocumentView {
        id: document.id.0,
        name: document.name,
        state: document.state.as_str().into(),
        note: document.note,
        kind: document.kind,
        pages: document.pages,
        size_bytes: document.size_bytes,
        is_searched: document.version > 0,
        updated_at_ms: document.updated_at_ms,
    }
}
