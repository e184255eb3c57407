//! Documents as pages of text: PDF, text in any encoding, Markdown, HTML, docx, xlsx, source code.
//!
//! ```text
//!   server: reader::Extractor ──stdin: the document──► child::main: `sandbridge extract`, confined ─► kind ─► pdf, docx, xlsx, html, text
//!              └─ pages, a failure in words ◄──stdout: one line of JSON for each page───┘
//! ```
//! A document is untrusted: only the child's process parses it. It has no file, no network and no other process, a limited memory
//! and a limited time, and its end is a message for the document's owner. Pages are handed over as they are read, so the server
//! has one page in memory at a time. HTML pages of the internet are read in the server too, in one pass ([`html`]).
//!
//! | module | holds |
//! |---|---|
//! | `reader` | [`Extractor`]: the server's side |
//! | [`child`] | the confined process |
//! | `confine` | its limits, its filter of system calls, Landlock |
//! | `kind` | the kind of a document, by its content and its name |
//! | `pdf`, `docx`, `xlsx`, [`html`], `text` | one kind each |
//! | `zip`, `xml` | what Office documents are made of |
//! | `page` | pages, and the frames between the two processes |
//! | `failure` | the reasons why a document has no text here |
//! | [`limits`] | every limit |

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod child;
mod confine;
mod docx;
mod failure;
pub mod html;
mod kind;
pub mod limits;
mod page;
mod pdf;
mod reader;
mod text;
mod xlsx;
mod xml;
mod zip;

pub use failure::Failure;
pub use page::{Kind, Page};
pub use reader::{COMMAND, Done, Extractor, Next, Reading};
