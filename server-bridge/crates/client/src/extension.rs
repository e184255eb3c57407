//! The parts that hooks, MCP servers, HTTP tools and trust share: layers, documents, and approvals that are given to a hash.

use std::io::Read;
use std::path::Path;

use api::problem::Problem;
use api::words::ExtensionLayer;
use serde::Serialize;

use super::ask;
use super::failure::Failure;
use super::limits::{EXTENSION_DOCUMENT_BYTES, HASH_MIN_DIGITS};
use super::output::one_line;

/// A SHA-256, in hexadecimal digits.
pub(super) const HASH_DIGITS: usize = 64;

/// The number of digits of a hash that are shown.
const SHORT_DIGITS: usize = 12;

/// The prefix of each line of a text that others wrote.
pub(super) const QUOTE: &str = "  | ";

/// An approval that was given or revoked, for `--json`.
#[derive(Serialize)]
pub(super) struct Hashed<'a> {
    pub(super) hash: &'a str,
}

/// The beginning of a hash.
pub(super) fn short_hash(hash: &str) -> String {
    hash.chars().take(SHORT_DIGITS).collect()
}

/// The files that something may run although its approval does not cover them, as a line; `None` if there are no such files.
pub(super) fn unseen(what: &[String]) -> Option<String> {
    let what: Vec<String> = what.iter().map(|one| one_line(one)).collect();
    (!what.is_empty()).then(|| format!("runs files that the approval does not cover: {}", what.join(", ")))
}

/// A problem, as a line.
pub(super) fn warning(problem: &Problem) -> String {
    format!("warning: {}", one_line(&problem.to_string()))
}

/// True for a hash, or for a beginning of a hash that is long enough to identify one.
pub(super) fn is_hash(text: &str) -> bool {
    (HASH_MIN_DIGITS..=HASH_DIGITS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Something that is approved by its hash.
pub(super) trait Approvable {
    /// The kind of such a thing, in the singular: `MCP server`.
    const KIND: &'static str;
    /// The command that lists the things of this kind.
    const LIST: &'static str;

    /// The name, which is unique unless a layer hides another.
    fn name(&self) -> &str;

    /// The hash that approvals refer to.
    fn hash(&self) -> &str;
}

/// The only `wanted` thing with this name, or with a hash that begins with this text.
///
/// # Errors
/// `not_found`, or `invalid` if several things match.
pub(super) fn find<'a, T: Approvable>(
    all: &'a [T],
    name_or_hash: &str,
    wanted: fn(&T) -> bool,
    what: &str,
) -> Result<&'a T, Failure> {
    let (kind, list) = (T::KIND, T::LIST);
    let begun = name_or_hash.to_ascii_lowercase();
    let fits =
        |one: &&T| one.name() == name_or_hash || is_hash(name_or_hash) && one.hash().starts_with(&begun);
    let mut found = all.iter().filter(|one| wanted(one)).filter(fits);
    let Some(first) = found.next() else {
        let message = format!(
            "no {kind} that {what} has the name {name_or_hash}, or a hash that begins with it; `{list}` shows names and hashes"
        );
        return Err(Failure::other("not_found", message));
    };
    if let Some(other) = found.find(|other| other.hash() != first.hash()) {
        let message = format!(
            "{name_or_hash} matches several {kind}s; give more digits of the hash: {} or {}",
            first.hash(),
            other.hash()
        );
        return Err(Failure::other("invalid", message));
    }
    Ok(first)
}

/// A name in a command to be copied; one that a shell could read as more than a name is left out.
pub(super) fn argument(name: &str) -> &str {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    if !name.starts_with('-') && name.bytes().all(is_plain) { name } else { "NAME" }
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

/// True for the layers of a workspace, whose definitions take effect only after an approval.
pub(super) fn is_of_workspace(layer: &ExtensionLayer) -> bool {
    matches!(layer, ExtensionLayer::Workspace | ExtensionLayer::WorkspaceLocal)
}

/// Asks for the approval of what was shown, unless `--yes` was given.
///
/// # Errors
/// `approval_required` if the approval was not given, or if there is no person to ask.
pub(super) async fn agree(what: &str, question: &str, yes: bool) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    let required =
        |why: &str| Failure::other("approval_required", format!("{what} needs your approval: {why}"));
    if !ask::is_possible() {
        return Err(required("there is no person to ask; pass --yes to approve it"));
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
    document_within(file, EXTENSION_DOCUMENT_BYTES)
}

/// Reads a document as [`document`] does, with another limit in bytes.
///
/// # Errors
/// As for [`document`].
pub(super) fn document_within(file: &Path, most_bytes: usize) -> Result<String, Failure> {
    let unread =
        |error: std::io::Error| Failure::other("io", format!("cannot read {}: {error}", file.display()));
    if file.as_os_str() == "-" {
        return read(std::io::stdin().lock(), most_bytes).map_err(unread)?;
    }
    read(std::fs::File::open(file).map_err(unread)?, most_bytes).map_err(unread)?
}

fn read(source: impl Read, most_bytes: usize) -> std::io::Result<Result<String, Failure>> {
    let mut bytes = Vec::new();
    source.take(most_bytes as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > most_bytes {
        let message = format!("the document is larger than {} KiB; nothing was changed", most_bytes / 1024);
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
        assert_eq!(
            read(&largest[..], EXTENSION_DOCUMENT_BYTES).unwrap().unwrap().len(),
            EXTENSION_DOCUMENT_BYTES
        );
        let larger = vec![b' '; EXTENSION_DOCUMENT_BYTES + 1];
        assert_eq!(read(&larger[..], EXTENSION_DOCUMENT_BYTES).unwrap().unwrap_err().kind, "too_large");
        assert_eq!(read(&b"\xff"[..], EXTENSION_DOCUMENT_BYTES).unwrap().unwrap_err().kind, "invalid");
        let missing = document(Path::new("/nowhere/hooks.json")).unwrap_err();
        assert!(missing.kind == "io" && missing.message.contains("/nowhere/hooks.json"), "{missing:?}");
    }

    #[tokio::test]
    async fn an_approval_that_was_given_is_not_asked_for() {
        assert!(agree("the hook 0123", "Approve this hook?", true).await.is_ok());
    }
}
