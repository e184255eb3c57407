//! The reasons why a document could not be read, with what its owner can do.

use serde::{Deserialize, Serialize};

use crate::limits::{CELLS, DOCUMENT_BYTES, ENTRIES, PAGES, TEXT_BYTES, UNPACKED_BYTES, WALL_CLOCK};

/// The reason why a document could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case", tag = "reason", content = "detail")]
pub enum Failure {
    /// The document needs a password.
    #[error("the document needs a password: save it without one and add it again")]
    Encrypted,
    /// The document's pages have no text.
    #[error("no text found: it seems to be scanned; add a version with recognised text")]
    Scanned,
    /// The document has no text at all.
    #[error("no text found: the document is empty; add one with text")]
    Empty,
    /// The document has more bytes than the limit.
    #[error("the document is too large: the limit is {} MiB; split it", DOCUMENT_BYTES / 1024 / 1024)]
    TooLarge,
    /// The document has more text or more pages than the limit.
    #[error("the document is too large: the limit is {PAGES} pages and {} MiB of text; split it", TEXT_BYTES / 1024 / 1024)]
    TooMuchText,
    /// The workbook has more cells than the limit.
    #[error("the document is too large: the limit is {CELLS} cells; split it")]
    TooManyCells,
    /// The document unpacks to more than the limit.
    #[error("the document unpacks to more than {} MiB or {ENTRIES} files; split it", UNPACKED_BYTES / 1024 / 1024)]
    Bomb,
    /// Reading the document took too long.
    #[error("reading the document took longer than {} s; split it, or save it in another format", WALL_CLOCK.as_secs())]
    TooLong,
    /// Reading the document needed too much memory.
    #[error("reading the document needed too much memory; split it, or save it in another format")]
    Memory,
    /// The document is damaged.
    #[error("the document is damaged ({0}); save it again, or in another format")]
    Broken(String),
    /// The document is of a kind that cannot be read.
    #[error(
        "this is {0}, which cannot be read; add a PDF, docx, xlsx, HTML, Markdown or text file, or source code"
    )]
    Unsupported(String),
    /// The reader itself could not be started or confined: not the document's fault.
    #[error("documents cannot be read on this server: {0}")]
    Reader(String),
}

impl Failure {
    /// A broken document, with the reason.
    pub(crate) fn broken(why: impl std::fmt::Display) -> Self {
        let why: String = why.to_string().chars().filter(|c| !c.is_control()).take(WHY_CHARS).collect();
        Self::Broken(why)
    }
}

/// The longest reason, in characters: parsers quote what they read.
const WHY_CHARS: usize = 200;
