//! Pages of text, and the frames in which the child sends them.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::limits::{CUT_PAGE_BYTES, PAGE_BYTES, PAGES, TEXT_BYTES, TITLE_BYTES};

/// The kind of a document, recognised by its content, and by its name if that does not suffice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// PDF.
    Pdf,
    /// Plain text, including tables such as CSV.
    Text,
    /// Markdown.
    Markdown,
    /// HTML.
    Html,
    /// A text document of Office Open XML.
    Docx,
    /// A workbook of Office Open XML.
    Xlsx,
    /// Source code and configuration.
    Code,
}

impl Kind {
    /// The kind as one word, such as `pdf`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pdf => "pdf",
            Self::Text => "text",
            Self::Markdown => "markdown",
            Self::Html => "html",
            Self::Docx => "docx",
            Self::Xlsx => "xlsx",
            Self::Code => "code",
        }
    }

    /// True if lines that begin with `#` are headings in its pages.
    pub fn has_headings(self) -> bool {
        matches!(self, Self::Markdown | Self::Html | Self::Docx)
    }
}

/// A page of a document: a page of a PDF, otherwise about 12 KiB of text, cut between lines, or part of a sheet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// The page's number, from 1.
    pub number: u32,
    /// The name of the page's sheet; empty for documents other than workbooks.
    pub title: String,
    /// The page's text: lines without control characters other than tab and line feed.
    pub text: String,
}

/// A line that a child writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Frame {
    /// The document was recognised.
    Begun(Kind),
    /// A page with text.
    Page(Page),
    /// The document was read to its end.
    Done {
        /// The number of the document's pages, including those without text.
        pages: u32,
        /// The number of pages whose text was cut off at the limit.
        cut_pages: u32,
        /// The number of pages that could not be read.
        broken_pages: u32,
    },
    /// The document could not be read.
    Failed(Failure),
}

/// The error of a reader: of the document, or of the pipe to the server.
#[derive(Debug)]
pub(crate) enum Stop {
    Failed(Failure),
    Gone,
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// The receiver of a document's frames.
pub(crate) type Sink<'a> = dyn FnMut(Frame) -> io::Result<()> + 'a;

/// The pages of one document, passed on as they are read.
pub(crate) struct Pages<'a> {
    out: &'a mut Sink<'a>,
    /// The text of the page that is not complete yet.
    open: String,
    open_title: String,
    number: u32,
    text_bytes: usize,
    cut_pages: u32,
    broken_pages: u32,
}

impl<'a> Pages<'a> {
    pub(crate) fn new(out: &'a mut Sink<'a>) -> Self {
        Self {
            out,
            open: String::new(),
            open_title: String::new(),
            number: 0,
            text_bytes: 0,
            cut_pages: 0,
            broken_pages: 0,
        }
    }

    pub(crate) fn begin(&mut self, kind: Kind) -> Result<(), Stop> {
        self.put(Frame::Begun(kind))
    }

    /// Writes a page of a document that has its own pages.
    pub(crate) fn page(&mut self, text: &str) -> Result<(), Stop> {
        self.number += 1;
        if self.number > PAGES {
            return Err(Failure::TooMuchText.into());
        }
        let mut text = clean(text);
        if text.len() > PAGE_BYTES {
            text.truncate(text.floor_char_boundary(PAGE_BYTES));
            self.cut_pages += 1;
        }
        if text.trim().is_empty() {
            return Ok(());
        }
        self.text_bytes += text.len();
        if self.text_bytes > TEXT_BYTES {
            return Err(Failure::TooMuchText.into());
        }
        let mut title = std::mem::take(&mut self.open_title);
        title.truncate(title.floor_char_boundary(TITLE_BYTES));
        self.put(Frame::Page(Page { number: self.number, title, text }))
    }

    /// Counts a page that could not be read, of a document that has its own pages.
    pub(crate) fn broken_page(&mut self) -> Result<(), Stop> {
        self.broken_pages += 1;
        self.page("")
    }

    /// Adds text of a document without its own pages; a page ends between lines when it is long enough.
    pub(crate) fn text(&mut self, title: &str, text: &str) -> Result<(), Stop> {
        if self.open_title != title {
            self.flush()?;
            title.clone_into(&mut self.open_title);
        }
        let mut rest = text;
        while self.open.len() + rest.len() > CUT_PAGE_BYTES {
            let room = CUT_PAGE_BYTES.saturating_sub(self.open.len());
            let end = rest.floor_char_boundary(room);
            match rest[..end].rfind('\n') {
                Some(at) => {
                    self.open.push_str(&rest[..=at]);
                    rest = &rest[at + 1..];
                }
                // The line began earlier, or is longer than a page.
                None if self.open.ends_with('\n') => {}
                None => {
                    self.open.push_str(&rest[..end]);
                    rest = &rest[end..];
                }
            }
            let title = self.open_title.clone();
            self.flush()?;
            self.open_title = title;
        }
        self.open.push_str(rest);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Stop> {
        let text = std::mem::take(&mut self.open);
        if text.trim().is_empty() { Ok(()) } else { self.page(&text) }
    }

    /// Ends the document.
    pub(crate) fn end(mut self, kind: Kind) -> Result<(), Stop> {
        self.flush()?;
        if self.text_bytes == 0 {
            let is_scanned = kind == Kind::Pdf && self.number > 0 && self.broken_pages < self.number;
            return Err(if is_scanned { Failure::Scanned } else { Failure::Empty }.into());
        }
        let (pages, cut_pages, broken_pages) = (self.number, self.cut_pages, self.broken_pages);
        self.put(Frame::Done { pages, cut_pages, broken_pages })
    }

    fn put(&mut self, frame: Frame) -> Result<(), Stop> {
        (self.out)(frame).map_err(|_| Stop::Gone)
    }
}

/// Writes a frame as a line.
pub(crate) fn write(out: &mut dyn Write, frame: &Frame) -> io::Result<()> {
    let mut line = serde_json::to_vec(frame)?;
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}

/// Text without control characters other than tab and line feed; all line ends are line feeds.
fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\r' if characters.peek() == Some(&'\n') => {}
            '\r' | '\u{2028}' | '\u{2029}' | '\x0c' => clean.push('\n'),
            '\n' | '\t' => clean.push(c),
            '\u{feff}' => {}
            c if c.is_control() => clean.push(' '),
            c => clean.push(c),
        }
    }
    clean
}
