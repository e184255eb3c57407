//! Parses server-sent events from bytes, as the HTML standard defines them; only the data of each event.
//!
//! The server reads models' answers with it, and `sandbridge mcp` the responses of the server's MCP endpoint. Written here, since existing libraries
//! scan an unfinished line again with every piece of it: a call with 10 MB of arguments would take minutes.
//!
//! - [`Events`]: the whole interface
#![cfg_attr(test, allow(clippy::unwrap_used))]

/// Assembles events from pieces of a byte stream.
#[derive(Debug, Default)]
pub struct Events {
    /// The line that has no end yet, without the scanned part.
    line: Vec<u8>,
    data: String,
    has_data: bool,
    skips_newline: bool,
    is_begun: bool,
}

impl Events {
    /// Adds bytes; calls `each` with the data of every event that is complete now, until it returns that it wants no more.
    pub fn push<E>(
        &mut self,
        mut bytes: &[u8],
        mut each: impl FnMut(&str) -> Result<bool, E>,
    ) -> Result<bool, E> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.skips_newline) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) else {
                self.line.extend_from_slice(bytes);
                break;
            };
            self.line.extend_from_slice(&bytes[..end]);
            // A carriage return and a line feed are one line end, even in separate pieces.
            self.skips_newline = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.line);
            if self.take_line(&line) {
                let data = std::mem::take(&mut self.data);
                if each(&data)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// True if this line completes an event.
    fn take_line(&mut self, line: &[u8]) -> bool {
        let line = if std::mem::replace(&mut self.is_begun, true) {
            line
        } else {
            line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line)
        };
        if line.is_empty() {
            return std::mem::take(&mut self.has_data);
        }
        if let Some(value) = line.strip_prefix(b"data").and_then(|rest| match rest {
            [] => Some(rest),
            [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
            _ => None,
        }) {
            if self.has_data {
                self.data.push('\n');
            }
            self.has_data = true;
            self.data.push_str(&String::from_utf8_lossy(value));
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn events(pieces: &[&[u8]]) -> Vec<String> {
        let (mut events, mut found) = (Events::default(), Vec::new());
        for piece in pieces {
            let pushed: Result<bool, ()> = events.push(piece, |data| {
                found.push(data.to_owned());
                Ok(false)
            });
            pushed.unwrap();
        }
        found
    }

    #[test]
    fn every_way_to_write_an_event_is_read() {
        let text = "\u{feff}data: a\n\n: a comment\nevent: x\nid: 1\ndata:b\ndata:  c\r\n\r\ndata\rdata\r\rretry: 5\n\ndata: é\n\ndatabase: no\n\ndata: cut";
        assert_eq!(events(&[text.as_bytes()]), ["a", "b\n c", "\n", "é"]);
    }

    #[test]
    fn nothing_is_read_behind_the_last_event() {
        let mut count = 0;
        let last: Result<bool, ()> = Events::default().push(b"data: a\n\ndata: b\n\n", |_| {
            count += 1;
            Ok(true)
        });
        assert_eq!((last, count), (Ok(true), 1));
    }

    proptest! {
        #[test]
        fn cuts_change_nothing(data in proptest::collection::vec("[ -~é]{0,20}", 1..8), end in 0..3usize, cuts in proptest::collection::vec(0..200usize, 0..20)) {
            let end = ["\n", "\r\n", "\r"][end];
            let text: String = data.iter().map(|data| format!("event: e{end}data: {data}{end}{end}")).collect();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.sort_unstable();
            let (mut pieces, mut from) = (Vec::new(), 0);
            for cut in cuts {
                pieces.push(&text.as_bytes()[from..cut]);
                from = cut;
            }
            pieces.push(&text.as_bytes()[from..]);
            prop_assert_eq!(events(&pieces), data);
        }
    }
}
