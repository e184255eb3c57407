//! XML responses of S3: lists of objects, and errors.

use jiff::Timestamp;
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;

/// An object of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// The object's name below the listed prefix.
    pub name: String,
    /// The time at which the object was last modified, in Unix milliseconds by the server's clock.
    pub modified_ms: i64,
}

/// A page of a list: keys with their times, and whether there are more.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) objects: Vec<Listed>,
    pub(crate) is_cut: bool,
}

/// Parses a page of a list; the objects have their full keys. `Err` describes the problem with the page.
pub(crate) fn page(text: &str) -> Result<Page, String> {
    let (mut page, mut object, mut is_list) = (Page::default(), None, false);
    read(text, |path, item| match (path, item) {
        (["ListBucketResult"], Item::Open) => is_list = true,
        (["ListBucketResult", "Contents"], Item::Open) => object = Some(Listed::default()),
        (["ListBucketResult", "Contents"], Item::Close) => page.objects.extend(object.take()),
        (["ListBucketResult", "Contents", "Key"], Item::Text(text)) => {
            if let Some(object) = &mut object {
                object.name.push_str(text);
            }
        }
        (["ListBucketResult", "Contents", "LastModified"], Item::Text(text)) => {
            if let (Some(object), Ok(at)) = (&mut object, text.parse::<Timestamp>()) {
                object.modified_ms = at.as_millisecond();
            }
        }
        (["ListBucketResult", "IsTruncated"], Item::Text(text)) => page.is_cut = text == "true",
        _ => {}
    })?;
    if !is_list {
        return Err("it is not a list of objects".to_owned());
    }
    // An object without a time would look old, and could be deleted.
    if page.objects.iter().any(|object| object.modified_ms == 0) {
        return Err("an object has no modification time".to_owned());
    }
    Ok(page)
}

/// The code of an error, if the text is an error document of S3.
pub(crate) fn code(text: &str) -> Option<String> {
    let mut code = String::new();
    let read = read(text, |path, item| {
        if let (["Error", "Code"], Item::Text(text)) = (path, item) {
            code.push_str(text);
        }
    });
    let is_code =
        !code.is_empty() && code.len() <= 64 && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (read.is_ok() && is_code).then_some(code)
}

/// A part of a document, at a path of elements.
enum Item<'a> {
    Open,
    Text(&'a str),
    Close,
}

/// The deepest nesting that is parsed; S3 uses less.
const DEPTH: usize = 16;

fn read(text: &str, mut take: impl FnMut(&[&str], Item<'_>)) -> Result<(), String> {
    let mut reader = Reader::from_str(text);
    let mut path: Vec<String> = Vec::new();
    let mut take =
        |path: &[String], item: Item<'_>| take(&path.iter().map(String::as_str).collect::<Vec<_>>(), item);
    loop {
        match reader.read_event().map_err(|error| error.to_string())? {
            Event::Start(start) => {
                path.push(start.local_name().into_inner().to_owned());
                if path.len() > DEPTH {
                    return Err("its elements are nested too deeply".to_owned());
                }
                take(&path, Item::Open);
            }
            Event::End(_) => {
                take(&path, Item::Close);
                path.pop();
            }
            Event::Text(text) => take(&path, Item::Text(&text.xml10_content())),
            Event::GeneralRef(reference) => {
                let named = resolve_predefined_entity(reference.as_ref()).map(str::to_owned);
                let character = reference.resolve_char_ref().ok().flatten().map(String::from);
                let text = named.or(character).ok_or("it uses an unknown entity")?;
                take(&path, Item::Text(&text));
            }
            Event::DocType(_) => return Err("it declares a document type".to_owned()),
            Event::Eof if path.is_empty() => return Ok(()),
            Event::Eof => return Err("it ends within an element".to_owned()),
            Event::Empty(_) | Event::CData(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_keys_and_times() {
        let text = "<?xml version=\"1.0\"?>\n<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name><Prefix/>\
            <IsTruncated>true</IsTruncated><Contents><Key>a/b&amp;c&#33;</Key><LastModified>1970-01-01T00:00:01.500Z</LastModified>\
            <Owner><ID>x</ID></Owner></Contents></ListBucketResult>";
        let object = Listed { name: "a/b&c!".to_owned(), modified_ms: 1500 };
        assert_eq!(page(text).unwrap(), Page { objects: vec![object], is_cut: true });
    }

    #[test]
    fn what_is_no_list_is_said() {
        let deep = format!("<ListBucketResult>{}", "<a>".repeat(DEPTH));
        for text in [
            "",
            "no XML",
            "<html></html>",
            "<ListBucketResult>",
            "<!DOCTYPE x [<!ENTITY y \"z\">]><ListBucketResult>&y;</ListBucketResult>",
            "<ListBucketResult>&y;</ListBucketResult>",
            "<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>",
            &deep,
        ] {
            assert!(page(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_error_has_a_code_and_other_texts_have_none() {
        let text = "<?xml version=\"1.0\"?><Error><Code>NoSuchKey</Code><Message>gone</Message></Error>";
        assert_eq!(code(text).as_deref(), Some("NoSuchKey"));
        for text in ["", "<html>", "<Error><Code>two words</Code></Error>", "<Error><Code>NoSuchKey</Code>"] {
            assert_eq!(code(text), None, "{text}");
        }
    }
}
