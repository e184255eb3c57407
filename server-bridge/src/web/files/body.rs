//! Files and listings as streamed bodies.

use std::collections::VecDeque;

use api::file::EntryView;
use axum::BoxError;
use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::stream;
use sandbox::{DirEntry, DirReader, FileKind, FileReader, SandboxError};

/// The file as a body of exactly `size` bytes: if the file has grown in the meantime, the rest is not sent; if it has shrunk, the
/// connection is broken off.
pub(super) fn content(reader: FileReader, size: u64) -> Body {
    Body::from_stream(stream::try_unfold((reader, size), |(mut reader, left)| async move {
        if left == 0 {
            return Ok(None);
        }
        let Some(mut bytes) = reader.next().await.transpose()? else {
            return Err(BoxError::from("the file shrank while it was being read"));
        };
        bytes.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        let left = left - bytes.len() as u64;
        Ok(Some((bytes, (reader, left))))
    }))
}

/// A listing as JSON that is written while the entries arrive, because a directory may have millions of entries.
pub(super) fn listing(first: Option<Vec<DirEntry>>, reader: DirReader) -> Body {
    struct Progress {
        reader: DirReader,
        waiting: VecDeque<Vec<DirEntry>>,
        opened: bool,
        separated: bool,
        ended: bool,
    }
    let waiting = first.into_iter().collect();
    let progress = Progress { reader, waiting, opened: false, separated: false, ended: false };
    Body::from_stream(stream::try_unfold(progress, |mut progress| async move {
        if progress.ended {
            return Ok(None);
        }
        let batch = match progress.waiting.pop_front() {
            Some(batch) => Some(batch),
            None => progress.reader.next_batch().await.transpose()?,
        };
        let mut text = String::new();
        if !std::mem::replace(&mut progress.opened, true) {
            text.push_str("{\"entries\":[");
        }
        match batch {
            Some(entries) => {
                for entry in entries {
                    if std::mem::replace(&mut progress.separated, true) {
                        text.push(',');
                    }
                    text.push_str(&entry_json(entry));
                }
            }
            None => {
                text.push_str("]}");
                progress.ended = true;
            }
        }
        Ok::<_, SandboxError>(Some((Bytes::from(text), progress)))
    }))
}

fn entry_json(entry: DirEntry) -> String {
    let (name, name_base64) = match String::from_utf8(entry.name) {
        Ok(name) => (name, None),
        Err(error) => {
            let bytes = error.as_bytes();
            (String::from_utf8_lossy(bytes).into_owned(), Some(URL_SAFE_NO_PAD.encode(bytes)))
        }
    };
    let view = EntryView { name, name_base64, kind: kind_name(entry.kind), size: entry.size_bytes };
    serde_json::to_string(&view).expect("a struct of texts and numbers is always valid JSON")
}

pub(in crate::web) fn kind_name(kind: FileKind) -> api::words::FileKind {
    match kind {
        FileKind::File => api::words::FileKind::File,
        FileKind::Directory => api::words::FileKind::Directory,
        FileKind::Symlink => api::words::FileKind::Symlink,
        FileKind::Other => api::words::FileKind::Other,
    }
}

pub(super) fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').find(|part| !part.is_empty()).unwrap_or(b".")
}

/// A Content-Disposition that saves the file under its own name, whatever bytes the name contains (RFC 8187).
pub(super) fn attachment(path: &[u8]) -> HeaderValue {
    let mut value = String::from("attachment; filename*=UTF-8''");
    for byte in file_name(path) {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) {
            value.push(char::from(*byte));
        } else {
            value.push_str(&format!("%{byte:02X}"));
        }
    }
    HeaderValue::try_from(value).expect("percent-encoded bytes are ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_download_keeps_its_name_whatever_it_is() {
        assert_eq!(attachment(b"a/b c.txt"), "attachment; filename*=UTF-8''b%20c.txt");
        assert_eq!(attachment(b"x\r\n\"\xff/"), "attachment; filename*=UTF-8''x%0D%0A%22%FF");
        assert_eq!(attachment(b"/"), "attachment; filename*=UTF-8''.");
    }

    #[test]
    fn a_name_that_is_not_utf8_travels_as_base64_too() {
        let entry = DirEntry { name: b"\xff".to_vec(), kind: FileKind::File, size_bytes: 1 };
        assert_eq!(
            entry_json(entry),
            "{\"name\":\"\u{fffd}\",\"name_base64\":\"_w\",\"kind\":\"file\",\"size\":1}"
        );
    }
}
