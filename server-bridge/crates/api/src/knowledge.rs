//! Collections of documents that agents search.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::{CollectionSync, DocumentState};

/// A collection to add.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CollectionDraft {
    /// The name of the new collection.
    pub name: String,
    /// The runner whose folder it is kept in sync with; not given for a collection of uploads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The path of the folder on that runner; the workspace itself if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// The collections that a user may search.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CollectionList {
    /// The collections, the user's own first.
    #[serde(default)]
    #[schema(required)]
    pub collections: Vec<CollectionView>,
}

/// A collection.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CollectionView {
    /// The id of the collection.
    pub id: i64,
    /// The name that its owner gave it.
    pub name: String,
    /// The name of its owner.
    pub owner: String,
    /// True if it is the caller's own. Only the owner may change or share it.
    pub is_own: bool,
    /// True if every user may search it.
    pub is_for_all: bool,
    /// The users that it is shared with; only its owner sees them.
    #[serde(default)]
    #[schema(required)]
    pub readers: Vec<String>,
    /// The runner whose folder it is kept in sync with; absent for uploads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The path of the folder on that runner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The result of the last scan of that folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync_state: Option<CollectionSync>,
    /// The reason for that result, in words; may be empty.
    #[serde(default, serialize_with = "crate::language::text")]
    #[schema(required)]
    pub sync_note: String,
    /// When the folder was last scanned, in Unix milliseconds; 0 if it has not been scanned.
    #[serde(default)]
    #[schema(required)]
    pub synced_at_ms: i64,
    /// The number of its documents.
    pub documents: i64,
    /// The number of documents that wait to be indexed.
    pub waiting: i64,
    /// Why these wait, if the server cannot store their index now, for example since its disk is full; empty for nothing.
    #[serde(default, serialize_with = "crate::language::text")]
    #[schema(required)]
    pub waiting_note: String,
    /// The number of documents that cannot be indexed.
    pub failed: i64,
    /// Why some of its passages can be found only by their words, not by their meaning; empty if none are affected.
    #[serde(default, serialize_with = "crate::language::text")]
    #[schema(required)]
    pub search_note: String,
}

/// Documents of a collection, by name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DocumentList {
    /// At most 500 documents; for more, repeat the request with the last name as `after`.
    #[serde(default)]
    #[schema(required)]
    pub documents: Vec<DocumentView>,
}

/// A document of a collection.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DocumentView {
    /// The id of the document.
    pub id: i64,
    /// A file's name, or its path below the folder.
    pub name: String,
    /// The state of its newest content.
    pub state: DocumentState,
    /// An explanation of that state; empty if there is none.
    #[serde(default, serialize_with = "crate::language::text")]
    #[schema(required)]
    pub note: String,
    /// The document's kind, such as `pdf`; empty before it is known.
    pub kind: String,
    /// The number of its pages; a document without its own pages is divided into pages of about 12 KiB.
    pub pages: i64,
    /// The document's size, in bytes.
    pub size_bytes: i64,
    /// True if searches cover a version of it: the newest one or the previous one.
    pub is_searched: bool,
    /// When new content was last indexed, or could not be, in Unix milliseconds; until then, when it was added.
    pub updated_at_ms: i64,
}

/// A document with some of its pages.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DocumentPage {
    /// The document's properties.
    pub document: DocumentView,
    /// The name of its collection.
    pub collection: String,
    /// At most 10 pages with text.
    #[serde(default)]
    #[schema(required)]
    pub pages: Vec<PageView>,
}

/// A page of a document.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PageView {
    /// The page's number, from 1.
    pub page: i64,
    /// The name of the sheet, in a spreadsheet; empty for other documents.
    pub title: String,
    /// The text of the page.
    pub text: String,
}

/// A change in the sharing of a collection.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ShareWith {
    /// The user's name; all users if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// True to share it, false to stop sharing; takes effect at once.
    pub is_shared: bool,
}

/// A request to scan a collection's folder.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SyncRequest {
    /// True to remove the documents whose files are missing from the folder, however many there are.
    #[serde(default)]
    #[schema(required)]
    pub remove_missing: bool,
}

/// A search in documents.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Question {
    /// The words to find, or a question; at most 4 KiB are read.
    pub query: String,
    /// The name or the id of one collection; all collections if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// The maximum number of passages, from 1 to 10; 10 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// The passages that answer a question, the best first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Found {
    /// The passages, the best first.
    #[serde(default)]
    #[schema(required)]
    pub passages: Vec<FoundPassage>,
    /// Comments on the search, for example that it searched by words alone.
    #[serde(default, serialize_with = "crate::language::text")]
    #[schema(required)]
    pub notes: Vec<String>,
}

/// A passage that was found, and why it was found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FoundPassage {
    /// The citation for an answer: `[doc:12#3@0-240]`, which names the document, the page, and the bytes of the passage in it.
    pub citation: String,
    /// The document's id.
    pub document_id: i64,
    /// The name of the document.
    pub document: String,
    /// The name of its collection.
    pub collection: String,
    /// The page's number, from 1.
    pub page: i64,
    /// The name of that page's sheet; empty for other documents.
    pub page_title: String,
    /// The offset of the passage in the page's text, in bytes of UTF-8.
    pub start: i64,
    /// The offset of the passage's end, in bytes of UTF-8.
    pub end: i64,
    /// The headings above it, the outermost first.
    #[serde(default)]
    #[schema(required)]
    pub headings: Vec<String>,
    /// The text of the passage.
    pub text: String,
    /// The words of the question that the passage contains, in any form.
    #[serde(default)]
    #[schema(required)]
    pub matched: Vec<String>,
    /// The passage's score in the combined ranking; only the order of scores has a meaning.
    pub score: f64,
    /// The passage's place in the ranking by words, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words_rank: Option<i64>,
    /// The passage's place in the ranking by meaning, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meaning_rank: Option<i64>,
}

/// The queue of documents and folders to index.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct KnowledgeStatus {
    /// The number of the caller's documents and folders that wait to be indexed.
    pub waiting: i64,
    /// The number of other users' documents and folders that are indexed before the caller's last one.
    pub ahead: i64,
}
