//! A summary, for people, of what fills the window.

use llm::{Content, Message};

use super::{ContextMode, Conversation, offload, tokens};
use crate::grouped::grouped;
use crate::limits::{COMPRESS_AT_PERCENT, METER_CELLS};

/// The kind of content whose documents are listed by name.
const SYSTEM_PROMPT: &str = "the system prompt";

/// A bar, the approximate tokens of each kind, and how the server reacts.
pub fn text(conversation: &Conversation, mode: ContextMode) -> String {
    let (used, window) = (conversation.tokens(), conversation.window_tokens());
    let percent = used * 100 / window;
    let filled = (used * METER_CELLS / window).min(METER_CELLS);
    let bar = format!("{}{}", "█".repeat(filled), "░".repeat(METER_CELLS - filled));
    let shown = |tokens: usize| grouped(tokens as u64);
    let mut lines =
        vec![format!("{bar} {percent} %: about {} of {} tokens", shown(used), shown(window)), String::new()];
    let kinds = kinds(conversation);
    let width = kinds.iter().map(|(_, tokens)| shown(*tokens).len()).max().unwrap_or(0);
    for (kind, tokens) in kinds {
        lines.push(format!("{:>width$}  {kind}", shown(tokens)));
        if kind == SYSTEM_PROMPT {
            let documents = conversation.documents().iter();
            lines.extend(
                documents.map(|(name, tokens)| format!("{:>width$}    of which {name}", shown(*tokens))),
            );
        }
    }
    lines.push(if mode.compresses() {
        format!("\nAt {COMPRESS_AT_PERCENT} % the conversation is compressed automatically; /compress does it now.")
    } else {
        format!("\nThis server's context mode is {mode}: {}.", mode.in_words())
    });
    lines.join("\n")
}

/// The kinds of content with their tokens, by our estimate.
fn kinds(conversation: &Conversation) -> [(&'static str, usize); 7] {
    let (system, tools) = conversation.base();
    let summary = conversation.summary().map(tokens::of_text).unwrap_or(0);
    let (mut messages, mut results, mut masked, mut offloaded) = (0, 0, 0, 0);
    for item in conversation.items() {
        let whole = tokens::of_message(&item.message);
        match (&item.message, conversation.mask_of(item.id)) {
            (_, Some(mask)) => masked += tokens::of_text(&mask.placeholder),
            (Message::Tool(result), None) => {
                let text = result.content.first().and_then(Content::text);
                let is_offloaded = text.is_some_and(|text| offload::id(text).is_some());
                *(if is_offloaded { &mut offloaded } else { &mut results }) += whole;
            }
            (Message::User(_) | Message::Assistant(_), None) => messages += whole,
        }
    }
    [
        (SYSTEM_PROMPT, system),
        ("the descriptions of the tools", tools),
        ("a summary of earlier messages", summary),
        ("messages and calls", messages),
        ("tool results", results),
        ("lines that replace old results", masked),
        ("excerpts of results that were put aside", offloaded),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::conversation::tests::{of, reads, result};

    #[test]
    fn every_kind_is_counted_once_and_the_bar_ends_at_its_end() {
        let messages = [
            Message::user("abcd".repeat(10)),
            reads(&["1", "2"]),
            result("1", "x"),
            result("2", "📂 [offload:ol_1] 3 lines"),
        ];
        let conversation = of(100, &messages);
        let sum: usize = kinds(&conversation).iter().map(|(_, tokens)| tokens).sum();
        assert_eq!(sum, conversation.estimate());
        let shown = text(&of(50, &messages), ContextMode::Full);
        assert!(shown.starts_with(&"█".repeat(METER_CELLS)), "{shown}");
        assert!(text(&of(1_000_000, &messages), ContextMode::Full).starts_with(&"░".repeat(METER_CELLS)));
        assert!(shown.contains("compressed automatically"));
        let mut conversation = of(50, &messages);
        conversation.names_documents(vec![("AGENTS.md".to_owned(), 1_200), ("SOUL.md".to_owned(), 7)]);
        let shown = text(&conversation, ContextMode::Full);
        let lines: Vec<&str> =
            shown.lines().skip_while(|line| !line.ends_with("the system prompt")).collect();
        assert_eq!(lines[1..3], ["1,200    of which AGENTS.md", " 7    of which SOUL.md"], "{shown}");
        assert_eq!(conversation.count_of(0).documents_json, r#"[["AGENTS.md",1200],["SOUL.md",7]]"#);
        let shown = text(&of(50, &messages), ContextMode::NoCompression);
        assert!(shown.contains("no-compression") && !shown.contains("automatically"), "{shown}");
    }
}
