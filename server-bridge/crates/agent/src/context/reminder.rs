//! What holds now, told at the end of a request and not kept: what changes must not stand before what a provider's cache holds.

use store::OffloadedRead;

/// What is to be told; nothing where all is as a model expects it.
pub(crate) fn text(cwd: &str, stale: &[OffloadedRead]) -> Option<String> {
    let cwd = (!cwd.is_empty() && cwd != ".")
        .then(|| format!("The current directory is {cwd}, as seen from the workspace."));
    let stale = stale.iter().map(|read| {
        format!(
            "STALE: {} on {} has changed since it was put aside as {}; read it again before you rely on it.",
            read.path, read.place, read.offload_id
        )
    });
    let lines: Vec<String> = cwd.into_iter().chain(stale).collect();
    (!lines.is_empty()).then(|| format!("<system-reminder>\n{}\n</system-reminder>", lines.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_where_the_model_is_and_what_changed_and_else_nothing() {
        assert_eq!((text("", &[]), text(".", &[])), (None, None));
        let read = OffloadedRead {
            offload_id: "ol_1".to_owned(),
            place: "laptop".to_owned(),
            path: "a.rs".to_owned(),
            hash: String::new(),
            size_bytes: 0,
            modified_ms: 0,
        };
        let text = text("src", &[read]).unwrap();
        assert!(text.contains("is src,") && text.contains("STALE: a.rs on laptop") && text.contains("ol_1"));
    }
}
