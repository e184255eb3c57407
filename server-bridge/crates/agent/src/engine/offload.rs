//! Long results of tools, put aside: the conversation keeps their beginning and end, and a name to ask for the rest by.

use store::{ChatId, Store, UserId};

use crate::limits::{OFFLOAD_BYTES, OFFLOAD_LINE_CHARS, OFFLOAD_SHOWN_LINES, OFFLOAD_TOKENS};
use crate::tools::Outcome;

/// Letters of ASCII that are about one token.
const ASCII_PER_TOKEN: usize = 4;

/// About how many tokens a text is: four letters of ASCII each, and one for every other character. No provider counts like
/// another; this errs on the side of more.
pub(super) fn tokens(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    ascii.div_ceil(ASCII_PER_TOKEN) + text.chars().filter(|c| !c.is_ascii()).count()
}

fn is_long(text: &str) -> bool {
    text.len() > OFFLOAD_BYTES || tokens(text) > OFFLOAD_TOKENS
}

/// What the conversation keeps of a tool's result.
///
/// Fails with the store's errors.
pub(super) async fn kept(
    store: &Store,
    user: UserId,
    chat: &ChatId,
    outcome: &Outcome,
) -> store::Result<String> {
    if !outcome.may_be_offloaded || !is_long(&outcome.text) {
        return Ok(outcome.text.clone());
    }
    let id = format!("ol_{:08x}", rand::random::<u32>());
    match store.put_offload(user, chat, &id, &outcome.text, None).await {
        Ok(()) => Ok(summary(&id, &outcome.text)),
        // Beyond what is kept: the beginning and the end say so.
        Err(store::Error::Invalid { .. }) => Ok(summary("too long to be kept", &outcome.text)),
        Err(error) => Err(error),
    }
}

fn summary(id: &str, text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let cut = |line: &&str| {
        let cut: String = line.chars().take(OFFLOAD_LINE_CHARS).collect();
        if cut.len() < line.len() { format!("{cut}…") } else { cut }
    };
    let shown = |lines: &[&str]| lines.iter().map(cut).collect::<Vec<_>>().join("\n");
    let (count, characters) = (lines.len(), text.chars().count());
    let head = format!(
        "📂 [offload:{id}] {count} lines, {characters} characters; read the rest with offload_recall"
    );
    if count <= 2 * OFFLOAD_SHOWN_LINES {
        return format!("{head}\n{}", shown(&lines));
    }
    let (first, last) = (&lines[..OFFLOAD_SHOWN_LINES], &lines[count - OFFLOAD_SHOWN_LINES..]);
    let between = count - 2 * OFFLOAD_SHOWN_LINES;
    format!("{head}\n{}\n… {between} lines …\n{}", shown(first), shown(last))
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
        assert_eq!((tokens(""), tokens("a"), tokens("abcde"), tokens("aé")), (0, 1, 2, 2));
    }

    #[test]
    fn a_summary_is_short_and_shows_both_ends() {
        let text: String = (0..10_000).map(|n| format!("{n} {}\n", "x".repeat(1000))).collect();
        let summary = summary("ol_1", &text);
        assert!(!is_long(&summary) || summary.len() < OFFLOAD_BYTES, "{}", summary.len());
        assert!(summary.starts_with("📂 [offload:ol_1] 10000 lines, "));
        assert!(
            summary.contains("\n0 x") && summary.contains("\n9999 x") && summary.contains("… 9960 lines …")
        );
    }
}
