//! XML of packed documents, as a stream of elements and texts. Entities that a document declares are refused, so that it cannot refer to
//! files outside, and cannot expand to a large text.

use std::io::{BufReader, Read};

use quick_xml::Reader;
use quick_xml::XmlVersion;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};

use crate::failure::Failure;
use crate::limits::XML_DEPTH;

/// A part of an XML file. Names have no prefixes.
pub(crate) enum Item<'a> {
    Open(&'a Element<'a>),
    Close(&'a str),
    Text(&'a str),
}

/// An element that begins.
pub(crate) struct Element<'a>(BytesStart<'a>);

impl Element<'_> {
    /// The element's name, without a prefix.
    pub(crate) fn name(&self) -> &str {
        self.0.local_name().into_inner()
    }

    /// The value of an attribute; empty if it is not there.
    pub(crate) fn attribute(&self, name: &str) -> String {
        let mut all = self.0.attributes();
        let mut named = all
            .with_checks(false)
            .flatten()
            .filter(|attribute| attribute.key.local_name().into_inner() == name);
        let value = named.next().and_then(|attribute| {
            attribute.normalized_value(XmlVersion::Implicit1_0).ok().map(std::borrow::Cow::into_owned)
        });
        value.unwrap_or_default()
    }
}

/// Reads an XML file to its end.
pub(crate) fn read<E: From<Failure>>(
    content: impl Read,
    mut take: impl FnMut(Item<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut reader = Reader::from_reader(BufReader::new(content));
    let (mut buffer, mut depth) = (Vec::new(), 0_usize);
    loop {
        let event = reader.read_event_into(&mut buffer).map_err(failure)?;
        match event {
            Event::Start(start) => {
                depth += 1;
                if depth > XML_DEPTH {
                    return Err(Failure::broken("its elements are nested too deeply").into());
                }
                take(Item::Open(&Element(start)))?;
            }
            Event::Empty(start) => {
                let element = Element(start);
                take(Item::Open(&element))?;
                take(Item::Close(element.name()))?;
            }
            Event::End(end) => {
                depth = depth.saturating_sub(1);
                take(Item::Close(end.local_name().into_inner()))?;
            }
            Event::Text(text) => take(Item::Text(&text.xml10_content()))?,
            Event::CData(text) => take(Item::Text(&text.xml10_content()))?,
            Event::GeneralRef(reference) => {
                let named = resolve_predefined_entity(reference.as_ref());
                let character = reference.resolve_char_ref().ok().flatten().map(String::from);
                match named.map(str::to_owned).or(character) {
                    Some(text) => take(Item::Text(&text))?,
                    None => return Err(Failure::broken("it names an entity, which is refused").into()),
                }
            }
            Event::DocType(_) => {
                return Err(Failure::broken("it declares a document type, which is refused").into());
            }
            Event::Eof if depth > 0 => return Err(Failure::broken("it ends within an element").into()),
            Event::Eof => return Ok(()),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
        }
        buffer.clear();
    }
}

fn failure(error: quick_xml::Error) -> Failure {
    match error {
        quick_xml::Error::Io(error) if error.kind() == std::io::ErrorKind::FileTooLarge => Failure::Bomb,
        error => Failure::broken(error),
    }
}
