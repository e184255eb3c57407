//! The current reminder, sent at the end of a request and not stored, because text that changes must not precede the part that a
//! provider's cache holds.

use store::OffloadedRead;

/// The text of the reminder; `None` if everything is as the model expects.
pub(super) fn text(stale: &[OffloadedRead]) -> Option<String> {
    let stale = stale.iter().map(|read| {
        format!(
            "STALE: {} on {} has changed since it was put aside as {}; read it again before you rely on it.",
            read.path, read.place, read.offload_id
        )
    });
    let lines: Vec<String> = stale.collect();
    (!lines.is_empty()).then(|| format!("<system-reminder>\n{}\n</system-reminder>", lines.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_changed_and_else_nothing() {
        assert_eq!(text(&[]), None);
        let read = OffloadedRead {
            offload_id: "ol_1".to_owned(),
            reader: store::ChatId::random(),
            place: "laptop".to_owned(),
            path: "a.rs".to_owned(),
            hash: String::new(),
            size_bytes: 0,
            modified_ms: 0,
        };
        let text = text(&[read]).unwrap();
        assert!(text.contains("STALE: a.rs on laptop") && text.contains("ol_1"));
    }
}
