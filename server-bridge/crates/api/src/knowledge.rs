//! Collections of documents that agents look things up in.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::{CollectionSync, DocumentState};

/// A collection to make.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CollectionDraft {
    /// Its name.
    pub name: String,
    /// The runner whose folder it is kept in step with; a collection of uploads has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The folder there; the workspace itself by default.
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
    /// Its number.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// The name of its owner.
    pub owner: String,
    /// True if it is the caller's own: only its owner changes or shares it.
    pub is_own: bool,
    /// True if every user may search it.
    pub is_for_all: bool,
    /// The users that it is shared with; empty for others than its owner.
    #[serde(default)]
    #[schema(required)]
    pub readers: Vec<String>,
    /// The runner whose folder it is kept in step with; absent for uploads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The folder there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The end of the last look at that folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync_state: Option<CollectionSync>,
    /// The reason for that, in words; empty for none.
    #[serde(default)]
    #[schema(required)]
    pub sync_note: String,
    /// When that was, in Unix milliseconds; 0 for never.
    #[serde(default)]
    #[schema(required)]
    pub synced_at_ms: i64,
    /// Its documents.
    pub documents: i64,
    /// Those of them that wait to be indexed.
    pub waiting: i64,
    /// Those of them that cannot be indexed.
    pub failed: i64,
    /// Why some of its passages are found by words only, if some are; empty for nothing.
    #[serde(default)]
    #[schema(required)]
    pub search_note: String,
}

/// Documents of a collection, by name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DocumentList {
    /// At most 500; ask again with the last name as `after` for more.
    #[serde(default)]
    #[schema(required)]
    pub documents: Vec<DocumentView>,
}

/// A document of a collection.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DocumentView {
    /// Its number.
    pub id: i64,
    /// A file's name, or its path below the folder.
    pub name: String,
    /// Whether its newest content is searched.
    pub state: DocumentState,
    /// What there is to say about that; empty for nothing.
    #[serde(default)]
    #[schema(required)]
    pub note: String,
    /// Its kind, such as `pdf`; empty before it is known.
    pub kind: String,
    /// Its pages; a document without pages of its own is cut into some.
    pub pages: i64,
    /// Its size, in bytes.
    pub size_bytes: i64,
    /// True if a version of it is searched, be it the newest or the one before.
    pub is_searched: bool,
    /// When its state changed last, in Unix milliseconds.
    pub updated_at_ms: i64,
}

/// A document with some of its pages.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DocumentPage {
    /// The document.
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
    /// Its number, from 1.
    pub page: i64,
    /// The name of its sheet; empty for other documents.
    pub title: String,
    /// Its text.
    pub text: String,
}

/// The users that a collection is shared with, or not any more.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ShareWith {
    /// One user's name; all users without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// True to share it, false to take that back; it holds at once.
    pub is_shared: bool,
}

/// A look at a collection's folder.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SyncRequest {
    /// True to remove the documents that are missing from the folder, even if they are most of them.
    #[serde(default)]
    #[schema(required)]
    pub remove_missing: bool,
}

/// A question to the documents.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Question {
    /// The words to look for, or a question; at most 4 KiB of it are read.
    pub query: String,
    /// The name or the number of one collection; all of them without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// The most passages, 1 to 10.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// The passages that answer a question, the best first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Found {
    /// The passages.
    #[serde(default)]
    #[schema(required)]
    pub passages: Vec<FoundPassage>,
    /// What there is to say about the search, such as that it went by words alone.
    #[serde(default)]
    #[schema(required)]
    pub notes: Vec<String>,
}

/// A passage that was found, and why.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FoundPassage {
    /// How an answer cites it: `[doc:12#3@0-240]`, the document, the page and the bytes of the passage in it.
    pub citation: String,
    /// The document.
    pub document_id: i64,
    /// Its name.
    pub document: String,
    /// The name of its collection.
    pub collection: String,
    /// The page.
    pub page: i64,
    /// The name of that page's sheet; empty for other documents.
    pub page_title: String,
    /// The first byte of the passage in the page's text, as UTF-8.
    pub start: i64,
    /// The byte after its last one.
    pub end: i64,
    /// The headings that it stands under.
    #[serde(default)]
    #[schema(required)]
    pub headings: Vec<String>,
    /// Its text.
    pub text: String,
    /// The words of the question that it contains, in one form or another.
    #[serde(default)]
    #[schema(required)]
    pub matched: Vec<String>,
    /// Its score after all rankings were joined; only its order means something.
    pub score: f64,
    /// Its place among those found by words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words_rank: Option<i64>,
    /// Its place among those found by meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meaning_rank: Option<i64>,
}

/// The work that is left.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct KnowledgeStatus {
    /// The caller's documents and folders that wait for their turn.
    pub waiting: i64,
    /// What of other users comes before the last of them.
    pub ahead: i64,
}
