//! The frames of the long connection: protocol buffers of version 2, with four required fields.

/// The maximum number of headers in a frame.
const HEADERS_MAX: usize = 64;

/// The `method` of a control frame: a ping or a pong.
pub(super) const CONTROL: i32 = 0;

/// The `method` of a data frame: an event, or its acknowledgement.
pub(super) const DATA: i32 = 1;

/// A frame, with its fields by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Frame {
    /// Field 1: the sequence number.
    pub(super) seq_id: u64,
    /// Field 2: the id for the platform's log.
    pub(super) log_id: u64,
    /// Field 3: the service of the connection's address.
    pub(super) service: i32,
    /// Field 4: [`CONTROL`] or [`DATA`].
    pub(super) method: i32,
    /// Field 5: the headers, each a key and a value.
    pub(super) headers: Vec<(String, String)>,
    /// Field 6: the encoding of the payload.
    pub(super) payload_encoding: Option<String>,
    /// Field 7: the type of the payload.
    pub(super) payload_type: Option<String>,
    /// Field 8: the payload, such as an event as JSON.
    pub(super) payload: Vec<u8>,
    /// Field 9: the id for the platform's log in its newer form.
    pub(super) log_id_new: Option<String>,
}

impl Frame {
    /// Creates a ping for a service.
    pub(super) fn ping(service: i32) -> Self {
        Self { service, headers: vec![("type".to_owned(), "ping".to_owned())], ..Self::default() }
    }

    /// A header's value; empty if there is none.
    pub(super) fn header(&self, key: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == key).map_or("", |(_, value)| value)
    }

    /// Encodes the frame.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64 + self.payload.len());
        number(&mut out, 1, self.seq_id);
        number(&mut out, 2, self.log_id);
        // A negative number is sent as 64 bits, with its sign extended.
        number(&mut out, 3, i64::from(self.service).cast_unsigned());
        number(&mut out, 4, i64::from(self.method).cast_unsigned());
        for (key, value) in &self.headers {
            let mut header = Vec::new();
            bytes(&mut header, 1, key.as_bytes());
            bytes(&mut header, 2, value.as_bytes());
            bytes(&mut out, 5, &header);
        }
        for (field, text) in [(6, &self.payload_encoding), (7, &self.payload_type)] {
            if let Some(text) = text {
                bytes(&mut out, field, text.as_bytes());
            }
        }
        bytes(&mut out, 8, &self.payload);
        if let Some(text) = &self.log_id_new {
            bytes(&mut out, 9, text.as_bytes());
        }
        out
    }

    /// Decodes a frame.
    ///
    /// # Errors
    /// The reason why the bytes are not a frame.
    pub(super) fn decode(mut from: &[u8]) -> Result<Self, &'static str> {
        let mut frame = Self::default();
        let mut required = [false; 4];
        while let Some(field) = Field::read(&mut from)? {
            if let Some(seen) = field.number.checked_sub(1).and_then(|index| required.get_mut(index as usize))
            {
                *seen = true;
            }
            match (field.number, field.value) {
                (1, Value::Number(value)) => frame.seq_id = value,
                (2, Value::Number(value)) => frame.log_id = value,
                (3, Value::Number(value)) => frame.service = low(value),
                (4, Value::Number(value)) => frame.method = low(value),
                (5, Value::Bytes(header)) if frame.headers.len() < HEADERS_MAX => {
                    frame.headers.push(decode_header(header)?);
                }
                (5, Value::Bytes(_)) => return Err("a frame has too many headers"),
                (6, Value::Bytes(value)) => frame.payload_encoding = Some(text(value)?),
                (7, Value::Bytes(value)) => frame.payload_type = Some(text(value)?),
                (8, Value::Bytes(value)) => frame.payload = value.to_vec(),
                (9, Value::Bytes(value)) => frame.log_id_new = Some(text(value)?),
                (1..=9, _) => return Err("a field has the wrong type"),
                _ => {}
            }
        }
        if required.contains(&false) { Err("a required field is missing") } else { Ok(frame) }
    }
}

fn decode_header(mut from: &[u8]) -> Result<(String, String), &'static str> {
    let (mut key, mut value) = (String::new(), String::new());
    while let Some(field) = Field::read(&mut from)? {
        match (field.number, field.value) {
            (1, Value::Bytes(found)) => key = text(found)?,
            (2, Value::Bytes(found)) => value = text(found)?,
            (1 | 2, _) => return Err("a field has the wrong type"),
            _ => {}
        }
    }
    Ok((key, value))
}

/// Returns the low 32 bits of a value, as the format requires for 32-bit numbers.
fn low(value: u64) -> i32 {
    let [a, b, c, d, ..] = value.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

fn text(from: &[u8]) -> Result<String, &'static str> {
    std::str::from_utf8(from).map(str::to_owned).map_err(|_| "a text is not UTF-8")
}

enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// A wire type that no known field uses.
    Other,
}

struct Field<'a> {
    number: u64,
    value: Value<'a>,
}

impl<'a> Field<'a> {
    fn read(from: &mut &'a [u8]) -> Result<Option<Self>, &'static str> {
        if from.is_empty() {
            return Ok(None);
        }
        let tag = varint(from)?;
        let value = match tag & 7 {
            0 => Value::Number(varint(from)?),
            1 => skip(from, 8)?,
            2 => {
                let length = usize::try_from(varint(from)?).map_err(|_| CUT)?;
                Value::Bytes(from.split_off(..length).ok_or(CUT)?)
            }
            5 => skip(from, 4)?,
            _ => return Err("a field has an unknown type"),
        };
        Ok(Some(Self { number: tag >> 3, value }))
    }
}

const CUT: &str = "a frame is cut off";

fn skip<'a>(from: &mut &'a [u8], length: usize) -> Result<Value<'a>, &'static str> {
    from.split_off(..length).ok_or(CUT)?;
    Ok(Value::Other)
}

fn varint(from: &mut &[u8]) -> Result<u64, &'static str> {
    let mut value = 0;
    for shift in 0..10 {
        let byte = *from.split_off_first().ok_or(CUT)?;
        value |= u64::from(byte & 127) << (7 * shift);
        if byte < 128 {
            return Ok(value);
        }
    }
    Err("a number is too long")
}

fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    while value > 127 {
        out.push(value.to_le_bytes()[0] | 128);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

fn number(out: &mut Vec<u8>, field: u64, value: u64) {
    push_varint(out, field << 3);
    push_varint(out, value);
}

fn bytes(out: &mut Vec<u8>, field: u64, value: &[u8]) {
    push_varint(out, field << 3 | 2);
    push_varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_frame_is_what_its_bytes_say() {
        let frame = Frame {
            seq_id: u64::MAX,
            log_id: 1 << 40,
            service: -5,
            method: DATA,
            headers: vec![("type".to_owned(), "event".to_owned()), (String::new(), "值".to_owned())],
            payload_encoding: Some("gzip".to_owned()),
            payload_type: None,
            payload: vec![0, 255],
            log_id_new: Some(String::new()),
        };
        assert_eq!(Frame::decode(&frame.encode()), Ok(frame));
    }

    #[test]
    fn what_is_missing_or_cut_off_is_refused() {
        let whole = Frame::ping(3).encode();
        assert_eq!(Frame::decode(&whole[2..]), Err("a required field is missing"));
        assert_eq!(Frame::decode(&whole[..whole.len() - 1]), Err(CUT));
        assert_eq!(Frame::decode(&[]), Err("a required field is missing"));
        let mut many = Frame::ping(3);
        many.headers = vec![(String::new(), String::new()); HEADERS_MAX + 1];
        assert_eq!(Frame::decode(&many.encode()), Err("a frame has too many headers"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            // Must not panic, whatever the bytes are.
            let _ = Frame::decode(&bytes);
        }
    }
}
