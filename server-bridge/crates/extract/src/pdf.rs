//! PDF, page by page. The library panics on some files; then the page is read in a simpler way, or counted as unreadable.

use std::cell::RefCell;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use pdf_extract::{
    Document, MediaBox, OutputDev, OutputError, PlainTextOutput, Transform, output_doc, output_doc_page,
};

use crate::failure::Failure;
use crate::limits::{PAGE_BYTES, PAGES};
use crate::page::{Pages, Stop};

/// The maximum number of consecutive line ends: one empty line.
const LINE_ENDS: usize = 2;

pub(crate) fn read(bytes: Vec<u8>, pages: &mut Pages<'_>) -> Result<(), Stop> {
    // The messages of panics would only fill standard error.
    std::panic::set_hook(Box::new(|_| ()));
    let document = open(&bytes)?;
    drop(bytes);
    let numbers: Vec<u32> = document.get_pages().into_keys().collect();
    if numbers.is_empty() {
        return Err(Failure::broken("it has no pages").into());
    }
    if numbers.len() > PAGES as usize {
        return Err(Failure::TooMuchText.into());
    }
    let text = Rc::new(RefCell::new(Vec::new()));
    let mut writer = Bounded(Rc::clone(&text));
    let mut device = Device::new(&text, &mut writer, pages);
    // All pages are read in one pass. If it ends early, the cause is the first page that was not passed on.
    let _ = catch_unwind(AssertUnwindSafe(|| output_doc(&document, &mut device)));
    let (done, stop) = device.end();
    if let Some(stop) = stop {
        return Err(stop);
    }
    for number in numbers.into_iter().skip(done) {
        let mut device = Device::new(&text, &mut writer, pages);
        let _ = catch_unwind(AssertUnwindSafe(|| output_doc_page(&document, &mut device, number)));
        match device.end() {
            (_, Some(stop)) => return Err(stop),
            (0, None) => plain(&document, number, pages)?,
            (_, None) => {}
        }
    }
    Ok(())
}

fn open(bytes: &[u8]) -> Result<Document, Failure> {
    let opened = catch_unwind(|| Document::load_mem(bytes));
    let document = match opened {
        Ok(Ok(document)) => document,
        Ok(Err(pdf_extract::Error::Decryption(_) | pdf_extract::Error::InvalidPassword)) => {
            return Err(Failure::Encrypted);
        }
        Ok(Err(error)) => return Err(Failure::broken(error)),
        Err(_) => return Err(Failure::broken("its objects are invalid")),
    };
    // Many files are encrypted with an empty password, only to restrict printing or copying: the library decrypts these as it loads them, and
    // removes the entry. Of all others it loads no objects.
    if document.trailer.get(b"Encrypt").is_ok() {
        return Err(Failure::Encrypted);
    }
    Ok(document)
}

/// The text of a page without regard to its position.
fn plain(document: &Document, number: u32, pages: &mut Pages<'_>) -> Result<(), Stop> {
    match catch_unwind(AssertUnwindSafe(|| document.extract_text(&[number]))) {
        Ok(Ok(text)) => pages.page(&tidy(&text)),
        Ok(Err(_)) | Err(_) => pages.broken_page(),
    }
}

/// Text with single empty lines.
fn tidy(text: &str) -> String {
    let (mut tidy, mut ends) = (String::with_capacity(text.len()), 0);
    for line in text.lines().map(str::trim_end) {
        ends = if line.is_empty() { ends + 1 } else { 0 };
        if ends < LINE_ENDS && !(tidy.is_empty() && line.is_empty()) {
            tidy.push_str(line);
            tidy.push('\n');
        }
    }
    tidy
}

/// Receives the characters of pages from the library.
struct Device<'a, 'p> {
    text: Rc<RefCell<Vec<u8>>>,
    inner: PlainTextOutput<&'a mut dyn Write>,
    pages: &'a mut Pages<'p>,
    done: usize,
    stop: Option<Stop>,
}

impl<'a, 'p> Device<'a, 'p> {
    fn new(text: &Rc<RefCell<Vec<u8>>>, writer: &'a mut dyn Write, pages: &'a mut Pages<'p>) -> Self {
        let inner = PlainTextOutput::new(writer);
        Self { text: Rc::clone(text), inner, pages, done: 0, stop: None }
    }

    /// The number of pages that were passed on, and the error that ended the output, if any.
    fn end(self) -> (usize, Option<Stop>) {
        (self.done, self.stop)
    }
}

impl OutputDev for Device<'_, '_> {
    fn begin_page(
        &mut self,
        number: u32,
        media_box: &MediaBox,
        art_box: Option<(f64, f64, f64, f64)>,
    ) -> Result<(), OutputError> {
        self.text.borrow_mut().clear();
        self.inner.begin_page(number, media_box, art_box)
    }

    fn end_page(&mut self) -> Result<(), OutputError> {
        self.inner.end_page()?;
        let text = tidy(&String::from_utf8_lossy(&self.text.borrow()));
        self.done += 1;
        self.pages.page(&text).map_err(|stop| {
            self.stop = Some(stop);
            OutputError::FormatError(std::fmt::Error)
        })
    }

    fn output_character(
        &mut self,
        matrix: &Transform,
        width: f64,
        spacing: f64,
        font_size: f64,
        character: &str,
    ) -> Result<(), OutputError> {
        self.inner.output_character(matrix, width, spacing, font_size, character)
    }

    fn begin_word(&mut self) -> Result<(), OutputError> {
        self.inner.begin_word()
    }

    fn end_word(&mut self) -> Result<(), OutputError> {
        self.inner.end_word()
    }

    fn end_line(&mut self) -> Result<(), OutputError> {
        self.inner.end_line()
    }
}

/// Keeps as much of a page as can be passed on, and one byte more, so that the limit is noticed.
struct Bounded(Rc<RefCell<Vec<u8>>>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut text = self.0.borrow_mut();
        let room = (PAGE_BYTES + 1).saturating_sub(text.len());
        text.extend_from_slice(&bytes[..bytes.len().min(room)]);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use pdf_extract::{EncryptionState, EncryptionVersion, Object, Permissions, Stream, dictionary};

    use super::*;

    /// A PDF with a page of text, which this password opens. Its entry for the encryption is an object of its own, or part of the trailer.
    fn locked(password: &str, is_in_trailer: bool) -> Vec<u8> {
        let mut document = Document::with_version("1.5");
        let content = Stream::new(dictionary! {}, b"BT /F 12 Tf 50 700 Td (Plain words) Tj ET".to_vec());
        let content = document.add_object(content);
        let font = document
            .add_object(dictionary! { "Type" => "Font", "Subtype" => "Type1", "BaseFont" => "Helvetica" });
        let pages = document.new_object_id();
        let page = document.add_object(dictionary! {
            "Type" => "Page",
            "Parent" => pages,
            "MediaBox" => vec![0.into(), 0.into(), 600.into(), 800.into()],
            "Resources" => dictionary! { "Font" => dictionary! { "F" => font } },
            "Contents" => content,
        });
        let all = dictionary! { "Type" => "Pages", "Count" => 1, "Kids" => vec![page.into()] };
        document.objects.insert(pages, Object::Dictionary(all));
        let catalog = document.add_object(dictionary! { "Type" => "Catalog", "Pages" => pages });
        document.trailer.set("Root", catalog);
        document.trailer.set("ID", vec![Object::string_literal("one"), Object::string_literal("one")]);
        let version = EncryptionVersion::V2 {
            document: &document,
            owner_password: "of the owner",
            user_password: password,
            key_length: 128,
            permissions: Permissions::all(),
        };
        let state = EncryptionState::try_from(version).unwrap();
        document.encrypt(&state).unwrap();
        if is_in_trailer {
            let id = document.trailer.get(b"Encrypt").unwrap().as_reference().unwrap();
            let entry = document.objects.remove(&id).unwrap();
            document.trailer.set("Encrypt", entry);
        }
        let mut bytes = Vec::new();
        document.save_to(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn an_encrypted_pdf_is_read_if_it_opens_without_a_password_and_else_says_that_it_needs_one() {
        let open_to_all = open(&locked("", false)).unwrap();
        assert!(open_to_all.extract_text(&[1]).unwrap().contains("Plain words"));
        for is_in_trailer in [false, true] {
            let refused = open(&locked("secret", is_in_trailer)).err().unwrap();
            assert_eq!(refused, Failure::Encrypted, "in the trailer: {is_in_trailer}");
            assert!(refused.to_string().contains("needs a password"), "{refused}");
        }
    }
}
