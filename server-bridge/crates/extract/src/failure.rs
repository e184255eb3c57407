//! The reasons why a document has no text here, in words for its owner.

use serde::{Deserialize, Serialize};

use crate::limits::{CELLS, DOCUMENT_BYTES, ENTRIES, PAGES, TEXT_BYTES, UNPACKED_BYTES, WALL_CLOCK};

/// The reason why a document could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case", tag = "reason", content = "detail")]
pub enum Failure {
    /// It needs a password.
    #[error("the document is encrypted: save it without a password and add it again")]
    Encrypted,
    /// It has pages, and no text on them.
    #[error("no text found: it seems to be scanned; add a version with recognised text")]
    Scanned,
    /// It has no text at all.
    #[error("no text found: the document is empty")]
    Empty,
    /// It has more bytes than the limit.
    #[error("the document is too large: at most {} MiB are read", DOCUMENT_BYTES / 1024 / 1024)]
    TooLarge,
    /// It has more text or more pages than the limit.
    #[error("the document is too large: at most {PAGES} pages and {} MiB of text are read", TEXT_BYTES / 1024 / 1024)]
    TooMuchText,
    /// It has more cells than the limit.
    #[error("the document is too large: at most {CELLS} cells are read")]
    TooManyCells,
    /// It unpacks to more than the limit.
    #[error("the document unpacks to more than {} MiB or {ENTRIES} files", UNPACKED_BYTES / 1024 / 1024)]
    Bomb,
    /// It took too long.
    #[error("reading the document took longer than {} s", WALL_CLOCK.as_secs())]
    TooLong,
    /// It needed too much memory.
    #[error("reading the document needed too much memory")]
    Memory,
    /// It makes no sense.
    #[error("the document is broken: {0}")]
    Broken(String),
    /// It is something that is not read.
    #[error("this is {0}, which is not read; PDF, text, Markdown, HTML, docx, xlsx and source code are")]
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
