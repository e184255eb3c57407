//! A conversation as it was serialised for a provider, kept for the next request: no part is serialised twice.
//!
//! ```text
//!   head (model, tools, system) │ ,passage ,passage … ,passage │ ]}
//!                                 └── kept, byte for byte ──┘ └─ and new ones after them
//! ```
//! A passage is a unit, such as an answer with the results of its calls. Parts for one request only (a reminder, a mark for
//! the provider's cache) are never kept; they are inserted between the kept pieces.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use serde::Serialize;

use crate::message::{Message, Request};

/// A provider's format for a conversation.
pub(crate) trait Wording {
    /// Distinguishes its passages from those of other formats.
    const NAME: &'static str;

    /// True if a message belongs to the passage of the one before it.
    fn joins(before: &Message, next: &Message) -> bool;

    /// Writes a passage: JSON values, each preceded by a comma, or nothing at all.
    fn write(messages: &[Arc<Message>], out: &mut Writer) -> Ending;
}

/// How a passage ends, for later additions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It ends with a user's or a tool's text: `"}`.
    Text,
    /// It ends with a user's or a tool's list of parts: `]}`.
    Parts,
    /// It ends with an empty list of parts.
    NoParts,
    /// It ends with the model's own text, or without content.
    Closed,
}

/// The target of written JSON.
pub(crate) type Writer = bytes::buf::Writer<BytesMut>;

/// The serialised part of a conversation that is sent repeatedly.
///
/// A draft is only as large as the last request and works for any request and any model: changed parts are written again.
#[derive(Debug, Default)]
pub struct Draft {
    wording: &'static str,
    messages: Vec<Arc<Message>>,
    passages: Vec<Passage>,
    bytes: Bytes,
}

/// A passage that was written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passage {
    /// The number of messages up to the passage's last one.
    messages: usize,
    /// The number of bytes before the passage.
    pub(crate) begin: usize,
    /// The number of bytes up to the passage's end.
    pub(crate) end: usize,
    pub(crate) ending: Ending,
}

impl Passage {
    /// True if anything was written.
    pub(crate) fn says_something(&self) -> bool {
        self.end > self.begin
    }
}

/// A serialised conversation.
pub(crate) struct Written<'a> {
    pub(crate) passages: &'a [Passage],
    bytes: Bytes,
    /// Additions between its bytes for this request, in order.
    added: Vec<(usize, Bytes)>,
}

impl Draft {
    /// Writes the new part of a request's messages.
    pub(crate) fn write<W: Wording>(&mut self, request: &Request) -> Written<'_> {
        let messages = &request.messages;
        let same = match self.wording == W::NAME {
            true => self.messages.iter().zip(messages).take_while(|(old, new)| Arc::ptr_eq(old, new)).count(),
            false => 0,
        };
        self.wording = W::NAME;
        // A passage that continues is written again.
        let goes_on = |end: usize| {
            end > same || (end > 0 && end < messages.len() && W::joins(&messages[end - 1], &messages[end]))
        };
        while self.passages.last().is_some_and(|passage| goes_on(passage.messages)) {
            self.passages.pop();
        }
        let (kept, end) = self.passages.last().map_or((0, 0), |passage| (passage.messages, passage.end));
        self.messages.truncate(kept);
        self.messages.extend(messages[kept..].iter().cloned());
        if kept < messages.len() || end < self.bytes.len() {
            // There is no other holder between two requests, so nothing is copied.
            let mut bytes =
                std::mem::take(&mut self.bytes).try_into_mut().unwrap_or_else(|shared| shared[..].into());
            bytes.truncate(end);
            self.bytes = self.write_from::<W>(kept, bytes.writer());
        }
        Written { passages: &self.passages, bytes: self.bytes.clone(), added: Vec::new() }
    }

    fn write_from<W: Wording>(&mut self, mut from: usize, mut out: Writer) -> Bytes {
        while let Some(first) = self.messages.get(from) {
            let pairs = self.messages[from..].iter().zip(&self.messages[from + 1..]);
            let len = 1 + pairs.take_while(|(before, next)| W::joins(before, next)).count();
            debug_assert!(Arc::ptr_eq(first, &self.messages[from]));
            let begin = out.get_ref().len();
            let ending = W::write(&self.messages[from..from + len], &mut out);
            from += len;
            self.passages.push(Passage { messages: from, begin, end: out.get_ref().len(), ending });
        }
        out.into_inner().freeze()
    }
}

impl Written<'_> {
    /// The last passage with content.
    pub(crate) fn last(&self) -> Option<Passage> {
        self.passages.iter().rev().find(|passage| passage.says_something()).copied()
    }

    /// Inserts something between the bytes, after earlier insertions.
    pub(crate) fn add(&mut self, at: usize, what: impl Into<Bytes>) {
        let behind = self.added.partition_point(|(other, _)| *other <= at);
        self.added.insert(behind, (at, what.into()));
    }

    /// The whole request, in pieces: no kept part is copied. If the head ends with the beginning of its list, the first
    /// comma is left out.
    pub(crate) fn between(self, head: Vec<u8>, tail: &'static [u8]) -> Vec<Bytes> {
        let has_comma = !head.ends_with(b"[");
        let (mut pieces, mut at) = (Vec::with_capacity(2 * self.added.len() + 3), 0);
        for (end, what) in self.added {
            pieces.extend([self.bytes.slice(at..end), what]);
            at = end;
        }
        pieces.push(self.bytes.slice(at..));
        pieces.retain(|piece| !piece.is_empty());
        if let (false, Some(first)) = (has_comma, pieces.first_mut()) {
            *first = first.slice(1..);
        }
        pieces.insert(0, head.into());
        pieces.push(Bytes::from_static(tail));
        pieces
    }
}

/// Writes a value, preceded by a comma.
pub(crate) fn put(value: &impl Serialize, out: &mut Writer) {
    out.get_mut().put_u8(b',');
    serde_json::to_writer(out, value).expect("strings and numbers are always JSON, and memory takes them");
}

/// The beginning of a request: an object with a list that is called `messages`.
pub(crate) fn head(object: &impl Serialize) -> Vec<u8> {
    let mut head = serde_json::to_vec(object).expect("strings and numbers are always JSON");
    debug_assert!(head.len() > "{}".len() && head.ends_with(b"}"));
    head.pop();
    head.extend_from_slice(br#","messages":["#);
    head
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::anthropic::Anthropic;
    use crate::dialect::Dialect;
    use crate::message::{Assistant, Content, ToolCall, ToolResult};
    use crate::openai::OpenAi;

    fn request(messages: Vec<Arc<Message>>, reminder: Option<String>) -> Request {
        Request {
            model: "m".to_owned(),
            tools: Vec::new(),
            system: Vec::new(),
            messages,
            reminder,
            max_tokens: 1,
            thinking_tokens: None,
        }
    }

    fn content() -> impl Strategy<Value = Vec<Content>> {
        let image = Content::Image { media_type: "image/png".to_owned(), data: vec![1, 2].into() };
        let one = prop_oneof![4 => "[a\"\u{e9}\n]{0,3}".prop_map(Content::Text), 1 => Just(image)];
        prop::collection::vec(one, 0..3)
    }

    fn message() -> impl Strategy<Value = Arc<Message>> {
        let call =
            || ToolCall { id: "1".to_owned(), name: "Read".to_owned(), arguments: "{\"a\":1}".to_owned() };
        prop_oneof![
            content().prop_map(Message::User),
            ("[a ]{0,2}", 0..3_usize).prop_map(move |(text, calls)| {
                let tool_calls = (0..calls).map(|_| call()).collect();
                Message::Assistant(Assistant { text, tool_calls, ..Assistant::default() })
            }),
            (content(), any::<bool>()).prop_map(|(content, is_error)| {
                Message::Tool(ToolResult { call_id: "1".to_owned(), content, is_error })
            }),
        ]
        .prop_map(Arc::new)
    }

    /// A change to a conversation between two requests.
    #[derive(Clone, Debug)]
    enum Step {
        Push(Vec<Arc<Message>>),
        Cut(usize),
        Replace(usize, Arc<Message>),
        Ask { is_openai: bool, reminder: Option<String> },
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            prop::collection::vec(message(), 1..4).prop_map(Step::Push),
            (0..8_usize).prop_map(Step::Cut),
            (0..8_usize, message()).prop_map(|(at, message)| Step::Replace(at, message)),
            (any::<bool>(), prop::option::of("[b\"]{1,3}"))
                .prop_map(|(is_openai, reminder)| Step::Ask { is_openai, reminder }),
        ]
    }

    proptest! {
        #[test]
        fn whatever_happened_before_a_request_is_written_as_if_it_were_the_first(
            steps in prop::collection::vec(step(), 1..30)
        ) {
            let (mut draft, mut messages) = (Draft::default(), Vec::new());
            for step in steps {
                match step {
                    Step::Push(more) => messages.extend(more),
                    Step::Cut(len) => messages.truncate(len),
                    Step::Replace(at, with) => {
                        if let Some(message) = messages.get_mut(at) {
                            *message = with;
                        }
                    }
                    Step::Ask { is_openai, reminder } => {
                        let request = request(messages.clone(), reminder);
                        let dialect: &dyn Dialect = if is_openai { &OpenAi } else { &Anthropic };
                        let again = dialect.write(&request, &mut draft).body.concat();
                        let anew = dialect.write(&request, &mut Draft::default()).body.concat();
                        prop_assert_eq!(&again, &anew);
                        prop_assert!(serde_json::from_slice::<serde_json::Value>(&anew).is_ok());
                    }
                }
            }
        }
    }

    #[test]
    fn what_was_written_stays_where_it_is() {
        let mut draft = Draft::default();
        let mut messages: Vec<_> = (0..100).map(|_| Arc::new(Message::user("x".repeat(100)))).collect();
        let first = OpenAi.write(&request(messages.clone(), None), &mut draft).body;
        drop(first);
        // A buffer that grows at least doubles its capacity, so most additions move nothing.
        messages.push(Arc::new(Message::user("y")));
        drop(OpenAi.write(&request(messages.clone(), None), &mut draft));
        let place = draft.bytes.as_ptr();
        messages.push(Arc::new(Message::user("z")));
        let third = OpenAi.write(&request(messages.clone(), None), &mut draft).body;
        assert_eq!(draft.bytes.as_ptr(), place);
        assert_eq!(third[1].as_ptr(), place.wrapping_add(1), "after the first comma, and not copied");
        // The bytes still have another holder: they are left alone.
        let held = third.concat();
        messages.push(Arc::new(Message::user("w")));
        drop(OpenAi.write(&request(messages, None), &mut draft));
        assert_eq!(third.concat(), held);
    }
}
