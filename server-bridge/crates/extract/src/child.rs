//! The process that reads a document: `sandbridge extract`, with the document as its standard input.

use std::io::{self, Read};
use std::process::ExitCode;

use crate::confine;
use crate::failure::Failure;
use crate::html;
use crate::kind::{Document, recognise};
use crate::limits::{DOCUMENT_BYTES, STACK_BYTES, TEXT_BYTES};
use crate::page::{Frame, Kind, Pages, Sink, Stop, write};
use crate::{docx, pdf, plain, xlsx};

/// The main function of the child: confines the process, reads the document `name` from standard input, and writes its pages to standard
/// output, one line of JSON each.
pub fn main(name: &str) -> ExitCode {
    let told = |failure: Failure| match write(&mut io::stdout(), &Frame::Failed(failure)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    };
    if let Err(error) = confine::limit() {
        return told(Failure::Reader(format!("the limits of the reader could not be set: {error}")));
    }
    let name = name.to_owned();
    let reader = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
        if let Err(error) = confine::filter() {
            return Err(Failure::Reader(format!(
                "the reader's system call filter could not be set: {error}"
            )));
        }
        read(&name)
    });
    match reader.map(std::thread::JoinHandle::join) {
        Ok(Ok(Ok(()))) => ExitCode::SUCCESS,
        Ok(Ok(Err(failure))) => told(failure),
        Ok(Err(_)) => told(Failure::broken("the reader crashed")),
        Err(error) => told(Failure::Reader(format!("the reader cannot be started: {error}"))),
    }
}

fn read(name: &str) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    let broken = |error: io::Error| Failure::Reader(format!("the document did not arrive: {error}"));
    io::stdin().lock().take(DOCUMENT_BYTES + 1).read_to_end(&mut bytes).map_err(broken)?;
    if bytes.len() as u64 > DOCUMENT_BYTES {
        return Err(Failure::TooLarge);
    }
    let mut out = io::stdout().lock();
    match read_bytes(bytes, name, &mut |frame| write(&mut out, &frame)) {
        Ok(()) | Err(Stop::Gone) => Ok(()),
        Err(Stop::Failed(failure)) => Err(failure),
    }
}

/// Reads a document and writes its pages.
fn read_bytes<'a>(bytes: Vec<u8>, name: &str, out: &'a mut Sink<'a>) -> Result<(), Stop> {
    let mut pages = Pages::new(out);
    let kind = match recognise(&bytes, name)? {
        Document::Pdf => {
            pages.begin(Kind::Pdf)?;
            pdf::read(bytes, &mut pages)?;
            Kind::Pdf
        }
        Document::Docx(archive) => {
            pages.begin(Kind::Docx)?;
            docx::read(&archive, &mut pages)?;
            Kind::Docx
        }
        Document::Xlsx(archive) => {
            pages.begin(Kind::Xlsx)?;
            xlsx::read(&archive, &mut pages)?;
            Kind::Xlsx
        }
        Document::Text(text, Kind::Html) => {
            pages.begin(Kind::Html)?;
            pages.text("", &html::of(&text, None, true, TEXT_BYTES))?;
            Kind::Html
        }
        Document::Text(text, kind) => return plain::write(&text, kind, pages),
    };
    pages.end(kind)
}
