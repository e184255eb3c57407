//! Decodes bytes: UTF-8, UTF-16, GB18030 and other encodings of documents.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, GB18030, GBK, UTF_8, UTF_16BE, UTF_16LE};

use crate::failure::Failure;
use crate::limits::{CONTROL_PERCENT, SNIFFED_BYTES};

/// How much of a document is read to recognise its encoding, in bytes.
const DETECTED_BYTES: usize = 256 * 1024;

/// Decodes a document.
///
/// # Errors
/// [`Failure::Unsupported`] if the document is not text.
pub(crate) fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, Failure> {
    let encoding = encoding(bytes);
    let (text, _, _) = encoding.decode(bytes);
    if is_text(&text) { Ok(text) } else { Err(Failure::Unsupported("a file that is not text".to_owned())) }
}

/// True for UTF-8, which is decoded without guessing.
pub(crate) fn is_utf8(bytes: &[u8]) -> bool {
    encoding(bytes) == UTF_8 && std::str::from_utf8(bytes).is_ok()
}

fn encoding(bytes: &[u8]) -> &'static Encoding {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return encoding;
    }
    if let Some(wide) = wide(&bytes[..bytes.len().min(SNIFFED_BYTES)]) {
        return wide;
    }
    if std::str::from_utf8(bytes).is_ok() {
        return UTF_8;
    }
    let sample = &bytes[..bytes.len().min(DETECTED_BYTES)];
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(sample, sample.len() == bytes.len());
    let guess = detector.guess(None, Utf8Detection::Allow);
    // GB18030 contains GBK and more characters.
    if guess == GBK { GB18030 } else { guess }
}

/// UTF-16 without a mark at its beginning: every other byte of ASCII characters is zero.
fn wide(head: &[u8]) -> Option<&'static Encoding> {
    let zeros = |odd: usize| head.iter().skip(odd).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd, half) = (zeros(0), zeros(1), head.len() / 2);
    let is_most = |count: usize, other: usize| half >= 2 && count * 10 > half * 4 && other * 20 <= half;
    match () {
        () if is_most(odd, even) => Some(UTF_16LE),
        () if is_most(even, odd) => Some(UTF_16BE),
        () => None,
    }
}

/// True if few of the characters are controls or could not be decoded.
fn is_text(text: &str) -> bool {
    let (mut all, mut strange) = (0_usize, 0_usize);
    for c in text.chars().take(DETECTED_BYTES) {
        all += 1;
        let is_strange =
            c == '\u{fffd}' || c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\x0c' | '\x1b');
        strange += usize::from(is_strange);
    }
    strange * 100 <= all * CONTROL_PERCENT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_in_the_encoding_that_it_has() {
        let chinese = "知识库里有很多文档，可以按关键词搜索，也可以按意思搜索。";
        assert_eq!(decode(chinese.as_bytes()).unwrap(), chinese);
        assert_eq!(decode(&GB18030.encode(chinese).0).unwrap(), chinese);
        let rare = format!("{chinese}𠀀");
        assert_eq!(decode(&GB18030.encode(&rare).0).unwrap(), rare);
        let little: Vec<u8> = "plain words".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(decode(&little).unwrap(), "plain words");
        let big: Vec<u8> =
            [0xfe, 0xff].into_iter().chain(chinese.encode_utf16().flat_map(u16::to_be_bytes)).collect();
        assert_eq!(decode(&big).unwrap(), chinese);
        assert_eq!(decode(b"Stra\xdfe und F\xfc\xdfe").unwrap(), "Straße und Füße");
        assert_eq!(decode(b"").unwrap(), "");
    }

    #[test]
    fn bytes_that_are_no_text_are_refused_and_a_single_nul_is_not() {
        let noise: Vec<u8> = (0..4096_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        assert!(decode(&noise).is_err());
        assert!(decode(&[0; 1000]).is_err());
        assert!(decode(format!("{}\0", "words and more words ".repeat(3)).as_bytes()).is_ok());
    }
}
