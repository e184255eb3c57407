//! The frames of the long connection: protocol buffers, version 2.

/// A frame of the long connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Field 1.
    pub seq_id: u64,
    /// Field 2.
    pub log_id: u64,
    /// Field 3.
    pub service: u64,
    /// Field 4: 0 control, 1 data.
    pub method: u64,
    /// Field 5.
    pub headers: Vec<(String, String)>,
    /// Field 8.
    pub payload: Vec<u8>,
}

impl Frame {
    /// A part of an event.
    pub fn event(delivery: usize, sum: usize, seq: usize, payload: &[u8]) -> Self {
        let headers = [
            ("type", "event".to_owned()),
            ("message_id", format!("frame_{delivery}")),
            ("sum", sum.to_string()),
            ("seq", seq.to_string()),
            ("trace_id", format!("trace_{delivery}")),
        ];
        let headers = headers.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        Self { seq_id: 1, log_id: u64::MAX, service: 33, method: 1, headers, payload: payload.to_vec() }
    }

    /// The answer to a ping, with a configuration.
    pub fn pong() -> Self {
        let config = r#"{"PingInterval":90,"ReconnectCount":-1,"ReconnectInterval":2,"ReconnectNonce":1}"#;
        let headers = vec![("type".to_owned(), "pong".to_owned())];
        Self { service: 33, headers, payload: config.as_bytes().to_vec(), ..Self::default() }
    }

    /// A header's value; empty if it is not there.
    pub fn header(&self, key: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == key).map_or("", |(_, value)| value)
    }

    /// The bytes of the frame.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (field, value) in [(1, self.seq_id), (2, self.log_id), (3, self.service), (4, self.method)] {
            number(&mut bytes, field << 3);
            number(&mut bytes, value);
        }
        for (key, value) in &self.headers {
            let mut header = Vec::new();
            field(&mut header, 1, key.as_bytes());
            field(&mut header, 2, value.as_bytes());
            field(&mut bytes, 5, &header);
        }
        field(&mut bytes, 8, &self.payload);
        bytes
    }

    /// A frame from its bytes; `None` if they are not a frame, or one of the four required fields is missing.
    pub fn decode(mut bytes: &[u8]) -> Option<Self> {
        let mut frame = Self::default();
        let mut seen = [false; 10];
        while !bytes.is_empty() {
            let (tag, value, contents) = next(&mut bytes)?;
            *seen.get_mut(usize::try_from(tag).ok()?)? = true;
            match tag {
                1 => frame.seq_id = value,
                2 => frame.log_id = value,
                3 => frame.service = value,
                4 => frame.method = value,
                5 => {
                    let mut header = contents;
                    let (mut key, mut text) = (String::new(), String::new());
                    while !header.is_empty() {
                        let (tag, _, contents) = next(&mut header)?;
                        let contents = String::from_utf8(contents.to_vec()).ok()?;
                        if tag == 1 { key = contents } else { text = contents }
                    }
                    frame.headers.push((key, text));
                }
                8 => frame.payload = contents.to_vec(),
                _ => {}
            }
        }
        seen[1..=4].iter().all(|&seen| seen).then_some(frame)
    }
}

fn number(bytes: &mut Vec<u8>, mut value: u64) {
    while value > 127 {
        bytes.push(u8::try_from(value & 127).unwrap() | 128);
        value >>= 7;
    }
    bytes.push(u8::try_from(value).unwrap());
}

fn field(bytes: &mut Vec<u8>, tag: u64, contents: &[u8]) {
    number(bytes, tag << 3 | 2);
    number(bytes, contents.len() as u64);
    bytes.extend_from_slice(contents);
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in 0..10 {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 127) << (7 * shift);
        if byte < 128 {
            return Some(value);
        }
    }
    None
}

/// The next field: its number, and its value or its contents.
fn next<'a>(bytes: &mut &'a [u8]) -> Option<(u64, u64, &'a [u8])> {
    let tag = varint(bytes)?;
    match tag & 7 {
        0 => Some((tag >> 3, varint(bytes)?, &[])),
        2 => {
            let length = usize::try_from(varint(bytes)?).ok()?;
            let contents = bytes.get(..length)?;
            *bytes = &bytes[length..];
            Some((tag >> 3, 0, contents))
        }
        _ => None,
    }
}
