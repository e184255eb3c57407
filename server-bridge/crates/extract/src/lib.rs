//! Turns documents into pages of text: PDF, text in any encoding, Markdown, HTML, docx, xlsx, source code.
//!
//! ```text
//!   server: reader::Extractor ──stdin: the document──► child::main: `sandbridge extract`, confined ─► kind ─► pdf, docx, xlsx, html, text
//!              └─ pages, a failure in words ◄──stdout: one line of JSON for each page───┘
//! ```
//! A document is untrusted: only the child's process parses it, and each document has a child of its own, so that a hostile document cannot
//! reach the next one. That process has no access to files, the network or other processes, and its memory and time are limited. If it fails,
//! the document's owner gets the reason. Pages are passed on as they are read, so the server holds one page in memory at a time. Small UTF-8
//! texts need no parser: the server reads them itself ([`plain()`]). Of the parsers, the server uses only [`html`], for web pages, in one pass.
//!
//! | module | holds |
//! |---|---|
//! | `reader` | [`Extractor`]: the server's side |
//! | [`child`] | the confined process |
//! | `confine` | limits, the system call filter and Landlock for that process |
//! | `kind` | the kind of a document, by its content and its name |
//! | `pdf`, `docx`, `xlsx`, [`html`], `text` | one kind each |
//! | `plain` | documents that need no parser |
//! | `zip`, `xml` | the archive and markup of Office documents |
//! | `page` | pages, and the frames between the two processes |
//! | `failure` | the reasons why a document could not be read |
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
mod plain;
mod reader;
mod text;
mod xlsx;
mod xml;
mod zip;

pub use failure::Failure;
pub use page::{Kind, Page};
pub use plain::{Plain, plain};
pub use reader::{COMMAND, Done, Extractor, Next, Reading};
