//! Parts of files: the header `Range`, for a single part.

use axum::http::{HeaderMap, HeaderValue, header};
use sandbox::Range;

/// The part of a file that a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The whole file. A value that cannot be parsed, or that names several parts, means the same: a response with the whole file is always
    /// correct.
    Whole,
    /// The part from a byte on, with an optional length.
    Part { offset: u64, length: Option<u64> },
    /// This many bytes at the end.
    Tail(u64),
}

impl Wanted {
    pub(super) fn from_headers(headers: &HeaderMap) -> Self {
        // The server issues no validators, so the one in `If-Range` cannot match.
        if headers.contains_key(header::IF_RANGE) {
            return Self::Whole;
        }
        let text = headers.get(header::RANGE).and_then(|value| value.to_str().ok());
        text.and_then(Self::parse).unwrap_or(Self::Whole)
    }

    fn parse(text: &str) -> Option<Self> {
        let (first, last) = text.trim().strip_prefix("bytes=")?.split_once('-')?;
        let number = |digits: &str| {
            let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| digits.parse::<u64>().unwrap_or(u64::MAX))
        };
        let (first, last) = (first.trim(), last.trim());
        if first.is_empty() {
            return Some(Self::Tail(number(last)?));
        }
        let offset = number(first)?;
        if last.is_empty() {
            return Some(Self::Part { offset, length: None });
        }
        let length = number(last)?.checked_sub(offset)?.saturating_add(1);
        Some(Self::Part { offset, length: Some(length) })
    }

    /// The range to request from the runner; `size_bytes` is the file's size as far as it is known.
    pub(super) fn range(self, size_bytes: u64) -> Range {
        match self {
            Self::Whole => Range::default(),
            Self::Part { offset, length } => Range { offset, length },
            Self::Tail(length) => Range { offset: size_bytes.saturating_sub(length), length: Some(length) },
        }
    }
}

/// How many bytes of a file of `size_bytes` a range covers, and the header for it; `None` if it covers none.
pub(super) fn content_range(range: Range, size_bytes: u64) -> Option<(u64, HeaderValue)> {
    let left = size_bytes.checked_sub(range.offset).filter(|left| *left > 0)?;
    let length = range.length.unwrap_or(left).min(left);
    let last = (range.offset + length).checked_sub(1).filter(|last| *last >= range.offset)?;
    let text = format!("bytes {}-{last}/{size_bytes}", range.offset);
    Some((length, HeaderValue::try_from(text).expect("digits and dashes are a valid header")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_part_is_understood_and_anything_else_means_everything() {
        let part = |offset, length| Some(Wanted::Part { offset, length });
        for (text, expected) in [
            ("bytes=0-0", part(0, Some(1))),
            ("bytes=5-9", part(5, Some(5))),
            ("bytes=5-", part(5, None)),
            ("bytes=-7", Some(Wanted::Tail(7))),
            ("bytes=0-99999999999999999999", part(0, Some(u64::MAX))),
            ("bytes=9-5", None),
            ("bytes=1-2,4-5", None),
            ("bytes=-", None),
            ("bytes=+1-2", None),
            ("lines=1-2", None),
            ("", None),
        ] {
            assert_eq!(Wanted::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn a_range_is_told_as_far_as_the_file_goes() {
        let told = |offset, length, size| {
            let told = content_range(Range { offset, length }, size);
            told.map(|(length, header)| (length, header.to_str().unwrap().to_owned()))
        };
        assert_eq!(told(2, Some(3), 10), Some((3, "bytes 2-4/10".to_owned())));
        assert_eq!(told(8, Some(u64::MAX), 10), Some((2, "bytes 8-9/10".to_owned())));
        assert_eq!(told(9, None, 10), Some((1, "bytes 9-9/10".to_owned())));
        for (offset, length, size) in [(10, None, 10), (11, Some(1), 10), (0, None, 0), (3, Some(0), 10)] {
            assert_eq!(told(offset, length, size), None);
        }
    }
}
