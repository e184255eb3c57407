//! Long tool results, put aside: the conversation keeps a summary of a few lines, and an id by which the model can read the rest.

use super::{summary, tokens};
use crate::limits::{OFFLOAD_BYTES, OFFLOAD_TOKENS};

/// The beginning of the summary of a result that was put aside.
const MARK: &str = "📂 [offload:";

/// True if a result is too long to stay in the conversation.
pub fn is_long(text: &str) -> bool {
    text.len() > OFFLOAD_BYTES || tokens::of_text(text) > OFFLOAD_TOKENS
}

/// The id under which a result was put aside, from its summary.
pub fn id(kept: &str) -> Option<&str> {
    let (id, _) = kept.strip_prefix(MARK)?.split_once(']')?;
    id.starts_with("ol_").then_some(id)
}

/// The summary that the conversation keeps of a result put aside under `id`.
pub fn shown(id: &str, tool: &str, text: &str) -> String {
    let (lines, characters) = (summary::number(text.lines().count(), "line"), text.chars().count());
    format!(
        "{MARK}{id}] {lines}, {characters} characters; read the rest with offload_recall\n{}",
        summary::lines(tool, text)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_long_beyond_its_bytes_or_its_tokens() {
        assert!(!is_long(&"abcd".repeat(OFFLOAD_TOKENS)), "2,000 tokens");
        assert!(is_long(&format!("{}a", "abcd".repeat(OFFLOAD_TOKENS))));
        assert!(!is_long(&"界".repeat(OFFLOAD_TOKENS)));
        assert!(is_long(&"界".repeat(OFFLOAD_TOKENS + 1)));
    }

    #[test]
    fn what_is_kept_is_short_and_shows_both_ends() {
        let text: String = (0..10_000).map(|n| format!("{n} {}\n", "x".repeat(1000))).collect();
        for tool in ["Shell", "Other"] {
            let kept = shown("ol_1", tool, &text);
            assert!(kept.len() < OFFLOAD_BYTES, "{}", kept.len());
            assert!(kept.starts_with("📂 [offload:ol_1] 10000 lines, "));
            assert!(kept.contains("\n0 x") && kept.contains("\n9999 x") && kept.contains("… 9960 lines …"));
            assert_eq!(id(&kept), Some("ol_1"));
        }
        assert_eq!(id(&shown("too long to be kept", "Shell", &text)), None);
        assert_eq!((id(""), id("📂 [offload:ol_1"), id("x 📂 [offload:ol_1]")), (None, None, None));
    }
}
