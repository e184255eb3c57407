//! Decodes the bytes of one channel as text: each character once, regardless of how the bytes were split.

/// Decodes UTF-8 piece by piece; invalid bytes become U+FFFD. Holds back at most three bytes.
#[derive(Default)]
pub struct Utf8Decoder {
    incomplete: Vec<u8>,
}

impl Utf8Decoder {
    /// The text of the held-back bytes and of `bytes`; an incomplete character at the end is held back.
    pub fn decode(&mut self, bytes: &[u8]) -> String {
        let joined;
        let bytes = if self.incomplete.is_empty() {
            bytes
        } else {
            self.incomplete.extend_from_slice(bytes);
            joined = std::mem::take(&mut self.incomplete);
            &joined
        };
        let mut text = String::with_capacity(bytes.len());
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            let invalid = chunk.invalid();
            if invalid.is_empty() {
                continue;
            }
            if chunks.peek().is_none() && is_incomplete(invalid) {
                self.incomplete = invalid.to_vec();
            } else {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        text
    }

    /// Ends the text: held-back bytes, if any, become one replacement character, as they will never be completed.
    pub fn finish(&mut self) -> &'static str {
        if std::mem::take(&mut self.incomplete).is_empty() { "" } else { "\u{fffd}" }
    }
}

/// True if more bytes could still complete these to a character.
fn is_incomplete(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode_in_pieces_of(size: usize, bytes: &[u8]) -> String {
        let mut decoder = Utf8Decoder::default();
        let mut text: String = bytes.chunks(size).map(|piece| decoder.decode(piece)).collect();
        text.push_str(decoder.finish());
        text
    }

    #[test]
    fn characters_split_over_pieces_come_out_right() {
        let text = "aä€𝄞 日本語\n";
        for size in 1..=text.len() {
            assert_eq!(decode_in_pieces_of(size, text.as_bytes()), text, "{size}");
        }
    }

    #[test]
    fn invalid_bytes_become_the_replacement_character_whatever_the_split() {
        let bytes = b"a\xffb\xf0\x9d\x84c\xe2\x82";
        let whole = String::from_utf8_lossy(bytes);
        for size in 1..=bytes.len() {
            assert_eq!(decode_in_pieces_of(size, bytes), whole, "{size}");
        }
    }
}
