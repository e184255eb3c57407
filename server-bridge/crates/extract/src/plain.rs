//! Documents that need no parser: UTF-8 text, Markdown and source code. The server reads small ones itself, without a confined process:
//! checking and copying characters is all that happens to them, and starting a process takes longer than that.

use std::collections::VecDeque;

use crate::failure::Failure;
use crate::kind::recognise_plain;
use crate::limits::{PLAIN_BYTES, TEXT_BYTES};
use crate::page::{Frame, Kind, Page, Pages, Stop};
use crate::reader::Done;

/// A document that was read as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plain {
    /// The document's kind.
    pub kind: Kind,
    /// The document's pages with text, in order.
    pub pages: VecDeque<Page>,
    /// The counts of the document's pages.
    pub done: Done,
}

/// Reads a document of at most [`PLAIN_BYTES`] that needs no parser; `None` if only an [`Extractor`](crate::Extractor) may read it.
///
/// # Errors
/// [`Failure`]: it has no text, or is of a kind that cannot be read.
#[must_use]
pub fn plain(bytes: &[u8], name: &str) -> Option<Result<Plain, Failure>> {
    if bytes.len() > PLAIN_BYTES {
        return None;
    }
    let (text, kind) = match recognise_plain(bytes, name)? {
        Ok(recognised) => recognised,
        Err(failure) => return Some(Err(failure)),
    };
    let done = Done { pages: 0, cut_pages: 0, broken_pages: 0 };
    let mut plain = Plain { kind, pages: VecDeque::new(), done };
    let mut put = |frame| {
        match frame {
            Frame::Page(page) => plain.pages.push_back(page),
            Frame::Done { pages, cut_pages, broken_pages } => {
                plain.done = Done { pages, cut_pages, broken_pages };
            }
            Frame::Begun(_) | Frame::Failed(_) => {}
        }
        Ok(())
    };
    let written = write(&text, kind, Pages::new(&mut put));
    match written {
        Ok(()) => Some(Ok(plain)),
        Err(Stop::Failed(failure)) => Some(Err(failure)),
        // The closure above refuses nothing.
        Err(Stop::Gone) => None,
    }
}

/// Writes the pages of a text.
pub(crate) fn write(text: &str, kind: Kind, mut pages: Pages<'_>) -> Result<(), Stop> {
    if text.len() > TEXT_BYTES {
        return Err(Failure::TooMuchText.into());
    }
    pages.begin(kind)?;
    pages.text("", text)?;
    pages.end(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_without_a_parser_is_read_here() {
        let read = plain("# Kettle\n\n烧水。\n".as_bytes(), "a.md").unwrap().unwrap();
        assert_eq!((read.kind, read.done.pages, read.pages.len()), (Kind::Markdown, 1, 1));
        assert_eq!(read.pages[0].text, "# Kettle\n\n烧水。\n");
        assert_eq!(plain(b"fn main() {}", "a.rs").unwrap().unwrap().kind, Kind::Code);
        for (parsed, name) in [
            (&b"%PDF-1.7 ..."[..], "a.txt"),
            (b"junk before\n%PDF-1.7", "a.md"),
            (b"PK\x03\x04words", "a.txt"),
            (b"PK\x05\x06words", "a.md"),
            (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a.txt"),
            (b"<!DOCTYPE html><p>words", "a.txt"),
            (b"words <b>and more</b>", "a.html"),
            (b"Stra\xdfe und F\xfc\xdfe", "a.txt"),
            (b"w\0o\0r\0d\0s\0", "a.txt"),
            (b"\xff\xfew\0o\0", "a.txt"),
        ] {
            assert_eq!(plain(parsed, name), None, "{parsed:?}");
        }
        assert_eq!(plain(&vec![b'a'; PLAIN_BYTES + 1], "a.txt"), None, "too large to be held twice");
    }

    #[test]
    fn what_cannot_be_read_is_refused_as_the_confined_process_refuses_it() {
        assert_eq!(plain(b"", "a.txt"), Some(Err(Failure::Empty)));
        assert_eq!(plain(b" \n\t\r\n", "a.md"), Some(Err(Failure::Empty)));
        let unsupported = |what: &str| Some(Err(Failure::Unsupported(what.to_owned())));
        assert_eq!(plain(b"{\\rtf1 words}", "a.txt"), unsupported("RTF"));
        assert_eq!(plain(b"a\x01\x02\x03\x04", "a.txt"), unsupported("a file that is not text"));
    }
}
