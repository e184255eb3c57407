//! Masking old results: which results are replaced with a line, and the text of that line.

use std::collections::HashSet;

use llm::{Content, Message, ToolCall, ToolResult};
use records::Mask;

use super::{Conversation, groups, offload, summary, tokens};
use crate::limits::{
    ACTIVE_GROUPS, MASK_ARGUMENTS_CHARS, MASK_AT_PERCENT, MASK_MIN_CHARS, MASK_SAVES_PERCENT,
    MASKED_GROUPS_KEPT,
};

/// The results to mask now, with their lines. None while there is enough room, or if masking would save too little to justify that the
/// provider's cache loses everything after them.
pub fn due(conversation: &Conversation) -> Vec<Mask> {
    let (tokens, window) = (conversation.tokens(), conversation.window_tokens());
    if tokens * 100 < window * MASK_AT_PERCENT {
        return Vec::new();
    }
    let items = conversation.items();
    let groups = groups::of(items);
    let old = groups.len().saturating_sub(groups_kept(tokens, window));
    let active: HashSet<String> = groups[groups.len().saturating_sub(ACTIVE_GROUPS)..]
        .iter()
        .flat_map(|group| group.calls(items))
        .filter_map(groups::path)
        .collect();
    let (mut masks, mut saved) = (Vec::new(), 0);
    for (at, call, result) in groups[..old].iter().flat_map(|group| group.results(items)) {
        let item = items[at].id;
        if conversation.mask_of(item).is_some() {
            continue;
        }
        let Some((text, size_chars)) = long_text(result) else { continue };
        if groups::path(call).is_some_and(|path| active.contains(&path)) {
            continue;
        }
        let id = format!("mk_{:08x}", rand::random::<u32>());
        let placeholder = placeholder(&id, call, text);
        saved += tokens::of_text(text).saturating_sub(tokens::of_text(&placeholder));
        masks.push(Mask { id, item, placeholder, size_chars });
    }
    if saved * 100 < window * MASK_SAVES_PERCENT { Vec::new() } else { masks }
}

/// The number of groups that keep their results: the fuller the window, the fewer.
fn groups_kept(tokens: usize, window: usize) -> usize {
    let (fullest, others) = (MASKED_GROUPS_KEPT.0, MASKED_GROUPS_KEPT.1);
    let fits = others.iter().find(|(percent, _)| tokens * 100 <= window * percent);
    fits.map_or(fullest, |(_, groups)| *groups)
}

/// A result's text and its length in characters, if it is only text and long enough.
fn long_text(result: &ToolResult) -> Option<(&str, i64)> {
    let [Content::Text(text)] = result.content.as_slice() else { return None };
    let chars = text.chars().count();
    (chars >= MASK_MIN_CHARS).then(|| (text.as_str(), i64::try_from(chars).unwrap_or(i64::MAX)))
}

/// The line that replaces a result. For a result that was put aside, it contains that id too, so that the model finds it in one step.
fn placeholder(id: &str, call: &ToolCall, text: &str) -> String {
    let arguments: String = call.arguments.chars().take(MASK_ARGUMENTS_CHARS).collect();
    let cut = if arguments.len() < call.arguments.len() { "…" } else { "" };
    let aside = offload::id(text).map(|id| format!(" [offload:{id}]")).unwrap_or_default();
    let line = summary::line(&call.name, text);
    format!("📂 [masked:{id}]{aside} {}({arguments}{cut}): {line}; see it with recall_masked", call.name)
}

/// The text of a masked result.
pub fn recalled(message: &Message) -> Option<String> {
    let Message::Tool(ToolResult { content, .. }) = message else { return None };
    Some(content.iter().filter_map(Content::text).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::conversation::tests::{of, reads, result};

    /// A question, and `groups` groups, each with a result of this many tokens.
    fn conversation(window: u32, groups: usize, result_tokens: usize) -> Conversation {
        let mut messages = vec![Message::user("a")];
        for number in 0..groups {
            let path = format!("{number}.rs");
            messages.extend([reads(&[&path]), result(&path, &"abcd".repeat(result_tokens))]);
        }
        of(window, &messages)
    }

    #[test]
    fn nothing_is_masked_below_60_percent() {
        let tokens = conversation(1, 20, 1_000).tokens();
        // Just below the threshold, and at it.
        let below = u32::try_from(tokens * 100 / MASK_AT_PERCENT + 1).unwrap();
        assert!(due(&conversation(below, 20, 1_000)).is_empty());
        assert_eq!(due(&conversation(below - 2, 20, 1_000)).len(), 20 - 12);
    }

    #[test]
    fn the_fuller_the_window_the_fewer_groups_keep_their_results() {
        let kept = [60, 70, 71, 80, 81, 90, 91, 120].map(|percent| groups_kept(percent, 100));
        assert_eq!(kept, [12, 12, 8, 8, 5, 5, 3, 3]);
    }

    #[test]
    fn short_results_and_those_of_files_that_are_worked_on_stay() {
        let text = "abcd".repeat(1_000);
        let short = "x".repeat(MASK_MIN_CHARS - 1);
        let mut messages = vec![Message::user("a")];
        for path in ["worked_on", "short", "just", "masked"] {
            let text = match path {
                "short" => &short,
                "just" => &"x".repeat(MASK_MIN_CHARS),
                _ => &text,
            };
            messages.extend([reads(&[path]), result(path, text)]);
        }
        // The last three of the kept groups show which files are being worked on.
        for path in ["old", "1", "worked_on", "3"] {
            messages.extend([reads(&[path]), result(path, &text)]);
        }
        messages.extend([reads(&["5"]), result("5", &text)]);
        let full = of(5_000, &messages);
        let masked: Vec<i64> = due(&full).iter().map(|mask| mask.item.0).collect();
        assert_eq!(masked, [7, 9, 11, 13], "just, masked, old, 1");
    }

    #[test]
    fn what_saves_too_little_is_left_alone() {
        // There are 20 groups, of which eight are old; masking them saves about a tenth of the window or a little less.
        let text_tokens = 500;
        let line_tokens = {
            let text = "abcd".repeat(text_tokens);
            let call = ToolCall {
                id: "1".to_owned(),
                name: "Read".to_owned(),
                arguments: r#"{"path":"1.rs"}"#.to_owned(),
            };
            tokens::of_text(&placeholder("mk_12345678", &call, &text))
        };
        let saved = 8 * (text_tokens - line_tokens);
        let window = saved * 100 / MASK_SAVES_PERCENT;
        let at = |window: usize| {
            let mut conversation = conversation(u32::try_from(window).unwrap(), 20, text_tokens);
            // At the threshold, regardless of the window's size.
            let count = conversation.count_of((window * 65 / 100) as u64);
            conversation.counted(count);
            due(&conversation).len()
        };
        assert_eq!((at(window - 400), at(window + 400)), (8, 0));
    }

    #[test]
    fn what_is_masked_is_masked_once_and_frees_its_room() {
        let mut conversation = conversation(20_000, 20, 1_000);
        let before = conversation.tokens();
        let masks = due(&conversation);
        assert!(
            masks[0]
                .placeholder
                .starts_with(&format!("📂 [masked:{}] Read({{\"path\":\"0.rs\"}}): ", masks[0].id))
        );
        conversation.mask(masks);
        assert!(conversation.tokens() < before);
        assert!(due(&conversation).iter().all(|mask| mask.item.0 > 17), "none of them again");
    }
}
