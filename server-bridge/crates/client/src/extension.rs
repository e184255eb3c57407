//! Hooks and MCP servers have this in common: layers, documents, and approvals that are given to a hash.

use std::io::Read;
use std::path::Path;

use api::words::ExtensionLayer;
use serde::Serialize;

use super::ask;
use super::failure::Failure;
use super::limits::EXTENSION_DOCUMENT_BYTES;

/// A SHA-256, in hexadecimal digits.
pub(super) const HASH_DIGITS: usize = 64;

/// The digits of a hash that are shown.
const SHORT_DIGITS: usize = 12;

/// An approval that was given or revoked, for `--json`.
#[derive(Serialize)]
pub(super) struct Hashed<'a> {
    pub(super) hash: &'a str,
}

/// The beginning of a hash.
pub(super) fn short_hash(hash: &str) -> String {
    hash.chars().take(SHORT_DIGITS).collect()
}

/// A layer, in words.
pub(super) fn layer_words(layer: &ExtensionLayer) -> &str {
    match layer {
        ExtensionLayer::Managed => "administrator",
        ExtensionLayer::User => "you",
        ExtensionLayer::Workspace => "workspace",
        ExtensionLayer::WorkspaceLocal => "workspace (local)",
        ExtensionLayer::Unknown(word) => word,
    }
}

/// True if it takes effect only after an approval.
pub(super) fn is_of_workspace(layer: &ExtensionLayer) -> bool {
    matches!(layer, ExtensionLayer::Workspace | ExtensionLayer::WorkspaceLocal)
}

/// Asks for the approval of what was shown, unless it was given.
///
/// # Errors
/// `approval_required` if it was not given, or if nobody can be asked.
pub(super) async fn agree(what: &str, question: &str, yes: bool) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    let required =
        |why: &str| Failure::other("approval_required", format!("{what} needs your approval: {why}"));
    if !ask::is_possible() {
        return Err(required("pass --yes if you mean it; nobody can be asked here"));
    }
    match ask::yes_or_no(&format!("{question} [y/N] ")).await? {
        true => Ok(()),
        false => Err(required("nothing was approved")),
    }
}

/// The text of a document, from a file or, for `-`, from standard input.
///
/// # Errors
/// `io`, `too_large`, or `invalid` if it is not UTF-8.
pub(super) fn document(file: &Path) -> Result<String, Failure> {
    let unread =
        |error: std::io::Error| Failure::other("io", format!("cannot read {}: {error}", file.display()));
    if file.as_os_str() == "-" {
        return read(std::io::stdin().lock()).map_err(unread)?;
    }
    read(std::fs::File::open(file).map_err(unread)?).map_err(unread)?
}

fn read(source: impl Read) -> std::io::Result<Result<String, Failure>> {
    let mut bytes = Vec::new();
    source.take(EXTENSION_DOCUMENT_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > EXTENSION_DOCUMENT_BYTES {
        let message = "the document is larger than 256 KiB; nothing was changed";
        return Ok(Err(Failure::other("too_large", message)));
    }
    let wrong = |_| Failure::other("invalid", "the document is not text in UTF-8; nothing was changed");
    Ok(String::from_utf8(bytes).map_err(wrong))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_that_is_too_large_or_no_text_is_not_sent() {
        let largest = vec![b' '; EXTENSION_DOCUMENT_BYTES];
        assert_eq!(read(&largest[..]).unwrap().unwrap().len(), EXTENSION_DOCUMENT_BYTES);
        let larger = vec![b' '; EXTENSION_DOCUMENT_BYTES + 1];
        assert_eq!(read(&larger[..]).unwrap().unwrap_err().kind, "too_large");
        assert_eq!(read(&b"\xff"[..]).unwrap().unwrap_err().kind, "invalid");
        let missing = document(Path::new("/nowhere/hooks.json")).unwrap_err();
        assert!(missing.kind == "io" && missing.message.contains("/nowhere/hooks.json"), "{missing:?}");
    }

    #[tokio::test]
    async fn an_approval_that_was_given_is_not_asked_for() {
        assert!(agree("the hook 0123", "Approve this hook?", true).await.is_ok());
    }
}
