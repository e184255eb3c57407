//! Compressing a conversation: when it is due, where it is cut, the request for a summary, and the compaction.

use std::collections::HashSet;

use llm::{Content, Message, Request};
use records::{Compaction, NewCompaction};

use super::conversation::Item;
use super::{Conversation, history, offload, tokens};
use crate::limits::{
    COMPRESS_AT_PERCENT, COMPRESS_COOL_DOWN_ROUNDS, COMPRESS_SAVES_PERCENT, COMPRESS_TAIL_PERCENT,
    QUOTED_CHARS, SHORTENED_CHARS, SHORTENED_RESULT_CHARS, SUMMARY_TOKENS,
};

/// The prompt for the summary.
const PROMPT: &str = "\
The conversation so far has become long. Write a summary that takes its place: you will go on with your work from that summary \
and the last messages alone. Call no tool; answer with the summary and nothing else, in at most 2,000 words, under these headings:

## Goal
What the user wants, in their own words where the wording matters, with every wish and restriction that they stated.
## Decisions
What was decided and why; what was tried and does not work.
## Facts
What was found out and will be needed: names, numbers, paths, commands, errors, word for word.
## Files touched
Each file that was read for a reason or changed, and what was changed in it.
## Open work
What is done, what is in progress at this moment, what comes next.
## Results that still matter
Results that were put aside or masked and may be needed again: each by its id (like ol_1a2b3c4d or mk_1a2b3c4d), with what is in it. \
Results that are not named here can no longer be read. Keep those of an earlier summary that still matter.";

/// The beginning of each stored summary.
const HEAD: &str = "[The conversation so far, as a summary that you wrote; the messages themselves are no longer shown.]\n\n";

/// Added after the summary if the user's last message was part of the removed text.
const QUOTE: &str = "\n\n[The last message of the user, word for word:]\n";

/// How much of a conversation the model sees when it writes the summary; each extent is tried if the one before was too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The whole conversation, with the same beginning as the earlier requests, which a provider's cache holds.
    Whole,
    /// The whole conversation, with long texts cut.
    Shortened,
    /// The later half of the shortened conversation.
    Half,
}

/// True if the conversation is due to be compressed.
pub fn is_due(conversation: &Conversation) -> bool {
    let (tokens, window) = (conversation.tokens(), conversation.window_tokens());
    let is_cool =
        conversation.rounds_since_compaction().is_none_or(|rounds| rounds >= COMPRESS_COOL_DOWN_ROUNDS);
    tokens * 100 >= window * COMPRESS_AT_PERCENT && is_cool
}

/// The index of the first item that stays: enough for a fifth of the conversation stays, and in any case the last group of calls and
/// results. `None` if nothing would be left to summarise.
pub fn cut(conversation: &Conversation) -> Option<usize> {
    let items = conversation.items();
    let budget = conversation.estimate() * COMPRESS_TAIL_PERCENT / 100;
    let (mut tail, mut cut) = (0, None);
    for (at, item) in items.iter().enumerate().rev() {
        let line = conversation.mask_of(item.id).map(|mask| tokens::of_text(&mask.placeholder));
        tail += line.unwrap_or_else(|| tokens::of_message(&item.message));
        if matches!(item.message, Message::Tool(_)) {
            // A result is never separated from its call.
            continue;
        }
        if cut.is_some() && tail > budget {
            break;
        }
        cut = Some(at);
    }
    cut.filter(|at| *at > 0)
}

/// The extent to try first and those to try after it, for a summary of everything before `cut`.
pub fn extents(conversation: &Conversation, cut: usize) -> &'static [Extent] {
    let head: usize = conversation.shown_before(cut).iter().map(tokens::of_message).sum();
    let (system, tools) = conversation.base();
    let takes = conversation.tokens_at(head + system + tools) + SUMMARY_TOKENS;
    match takes <= conversation.window_tokens() {
        true => &[Extent::Whole, Extent::Shortened, Extent::Half],
        false => &[Extent::Shortened, Extent::Half],
    }
}

/// The request for a summary of everything before `cut`.
pub fn request(conversation: &Conversation, cut: usize, extent: Extent) -> Request {
    let mut messages = conversation.shown_before(cut);
    if extent != Extent::Whole {
        messages.iter_mut().for_each(shorten);
    }
    if extent == Extent::Half {
        let half = messages.len() / 2;
        let begins = |message: &Message| !matches!(message, Message::Tool(_));
        let from = (half..messages.len()).find(|at| begins(&messages[*at])).unwrap_or(half);
        // The summary of the part before is kept.
        let from_first = usize::from(conversation.summary().is_some());
        messages.drain(from_first.min(from)..from);
        if !matches!(messages.first(), Some(Message::User(_))) {
            messages.insert(0, Message::user("[The beginning was too long to be shown.]"));
        }
    }
    messages.push(Message::user(PROMPT));
    let request = conversation.request_of(messages);
    let max_tokens = request.max_tokens.min(u32::try_from(SUMMARY_TOKENS).unwrap_or(u32::MAX));
    Request { max_tokens, ..request }
}

fn shorten(message: &mut Message) {
    match message {
        Message::User(content) => {
            content.iter_mut().for_each(|content| shorten_content(content, SHORTENED_CHARS))
        }
        Message::Tool(result) => {
            result.content.iter_mut().for_each(|content| shorten_content(content, SHORTENED_RESULT_CHARS));
        }
        Message::Assistant(said) => {
            // Reasoning may only be sent back unchanged.
            said.reasoning.clear();
            said.text = shortened(&said.text, SHORTENED_CHARS);
            for call in said.tool_calls.iter_mut().filter(|call| call.arguments.len() > SHORTENED_CHARS) {
                call.arguments = "{}".to_owned();
            }
        }
    }
}

fn shorten_content(content: &mut Content, chars: usize) {
    *content = match content {
        Content::Text(text) => Content::Text(shortened(text, chars)),
        Content::Image { .. } => Content::Text("[an image]".to_owned()),
    };
}

fn shortened(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((at, _)) => format!("{}… [cut]", &text[..at]),
        None => text.to_owned(),
    }
}

/// The compaction that replaces everything before `cut`.
pub fn compaction(conversation: &Conversation, cut: usize, said: &str) -> NewCompaction {
    let (head, tail) = conversation.items().split_at(cut);
    let has_user = tail.iter().any(|item| matches!(item.message, Message::User(_)));
    let quote = if has_user { None } else { last_of_user(head) };
    let quote = quote.map(|text| format!("{QUOTE}{}", shortened(&text, QUOTED_CHARS))).unwrap_or_default();
    let summary = format!("{HEAD}{}{quote}", said.trim());
    let named = |text: &str, prefix: &str| ids(text, prefix).map(str::to_owned).collect::<HashSet<_>>();
    let mut still_named = named(&summary, "ol_");
    for item in tail {
        still_named.extend(named(&history::to_json(&item.message), "ol_"));
    }
    let earlier = conversation.summary().map(|summary| named(summary, "ol_")).unwrap_or_default();
    let put_aside = head.iter().filter_map(|item| match &item.message {
        Message::Tool(result) => offload::id(result.content.first()?.text()?).map(str::to_owned),
        Message::User(_) | Message::Assistant(_) => None,
    });
    let mut forgotten: Vec<String> =
        put_aside.chain(earlier).filter(|id| !still_named.contains(id)).collect();
    forgotten.sort_unstable();
    forgotten.dedup();
    let signed = |tokens: usize| i64::try_from(tokens).unwrap_or(i64::MAX);
    let after = conversation.tokens_at(conversation.estimate_behind(cut, &summary));
    NewCompaction {
        tokens_before: signed(conversation.tokens()),
        tokens_after: signed(after),
        named_masks: named(&summary, "mk_").into_iter().collect(),
        forgotten_offloads: forgotten,
        compaction: Compaction {
            up_to_item: head.last().map(|item| item.id).unwrap_or_default(),
            last_item: conversation.last_item(),
            summary,
        },
    }
}

/// True if the compression saves enough to be worthwhile.
pub fn saves_enough(new: &NewCompaction) -> bool {
    let NewCompaction { tokens_before, tokens_after, .. } = new;
    (tokens_before - tokens_after) * 100 >= tokens_before * COMPRESS_SAVES_PERCENT
}

fn last_of_user(items: &[Item]) -> Option<String> {
    items.iter().rev().find_map(|item| match &item.message {
        Message::User(content) => {
            Some(content.iter().filter_map(Content::text).collect::<Vec<_>>().join("\n"))
        }
        Message::Assistant(_) | Message::Tool(_) => None,
    })
}

/// The ids with this prefix that a text contains.
fn ids<'a>(text: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    /// The number of digits after the prefix.
    const DIGITS: usize = 8;
    text.match_indices(prefix).filter_map(move |(at, _)| {
        let id = text.get(at..at + prefix.len() + DIGITS)?;
        id[prefix.len()..].bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(id)
    })
}

#[cfg(test)]
mod tests {
    use llm::Assistant;
    use records::{ItemId, Mask};

    use super::*;
    use crate::context::conversation::tests::{of, reads, result};

    fn said(text: &str) -> Message {
        Message::Assistant(Assistant { text: text.to_owned(), ..Assistant::default() })
    }

    /// `count` turns of about `tokens` each.
    fn turns(window: u32, count: usize, tokens: usize) -> Conversation {
        let text = "abcd".repeat(tokens);
        let messages: Vec<Message> =
            (0..count).flat_map(|n| [Message::user(format!("turn {n}")), said(&text)]).collect();
        of(window, &messages)
    }

    #[test]
    fn it_is_due_at_75_percent_and_not_within_five_rounds_of_the_last_time() {
        let tokens = turns(1, 10, 100).tokens();
        let window = u32::try_from(tokens * 100 / COMPRESS_AT_PERCENT).unwrap();
        assert!(is_due(&turns(window, 10, 100)) && !is_due(&turns(window + 2, 10, 100)));
        let after = |rounds: i64| {
            let mut conversation = turns(1, 0, 100);
            let summary = "x".repeat(1000);
            conversation.compact(Compaction { up_to_item: ItemId(1), last_item: ItemId(1), summary });
            for id in 2..2 + rounds {
                conversation.push(ItemId(id), records::TurnId(1), said("x"));
            }
            conversation
        };
        assert_eq!([0, 4, 5].map(|rounds| is_due(&after(rounds))), [false, false, true]);
    }

    #[test]
    fn a_fifth_stays_and_calls_are_never_cut_from_their_results() {
        let conversation = turns(1_000, 10, 100);
        assert_eq!(cut(&conversation), Some(16), "two turns of ten");
        assert_eq!(cut(&of(1_000, &[Message::user("only")])), None);
        assert_eq!(cut(&of(1_000, &[])), None);
        let long = "abcd".repeat(1_000);
        let messages = [Message::user("a"), reads(&["1", "2"]), result("1", &long), result("2", &long)];
        assert_eq!(cut(&of(1_000, &messages)), Some(1), "the last group stays, however long it is");
        assert_eq!(cut(&of(1_000, &messages[..1])), None);
    }

    #[test]
    fn what_takes_its_place_quotes_the_user_and_keeps_what_it_names() {
        let aside = |id: &str| format!("📂 [offload:{id}] 9 lines");
        let messages = [
            Message::user("make it fast"),
            reads(&["1"]),
            result("1", &aside("ol_11111111")),
            reads(&["2"]),
            result("2", &aside("ol_22222222")),
            reads(&["3"]),
            result("3", &aside("ol_33333333")),
            reads(&["4"]),
            result("4", "about ol_33333333"),
        ];
        let conversation = of(1_000, &messages);
        let new = compaction(&conversation, 7, "Facts are in ol_11111111 and mk_0000000a, not mk_x or mk_");
        assert!(
            new.compaction.summary.ends_with("[The last message of the user, word for word:]\nmake it fast")
        );
        assert_eq!((new.compaction.up_to_item, new.compaction.last_item), (ItemId(7), ItemId(9)));
        assert_eq!(new.forgotten_offloads, ["ol_22222222"]);
        assert_eq!(new.named_masks, ["mk_0000000a"]);
        // The next summary need not name the results that the first one named.
        let mut later = of(1_000, &messages);
        later.compact(new.compaction);
        let newer = compaction(&later, 1, "nothing matters");
        assert_eq!(newer.forgotten_offloads, ["ol_11111111"]);
    }

    #[test]
    fn what_saves_less_than_5_percent_is_not_worth_it() {
        let new = |after| NewCompaction {
            compaction: Compaction { up_to_item: ItemId(1), last_item: ItemId(1), summary: String::new() },
            tokens_before: 1_000,
            tokens_after: after,
            named_masks: Vec::new(),
            forgotten_offloads: Vec::new(),
        };
        assert_eq!([949, 950, 951, 2_000].map(|after| saves_enough(&new(after))), [true, true, false, false]);
    }

    #[test]
    fn the_summary_is_asked_for_behind_what_a_cache_holds() {
        let mut conversation = turns(100_000, 10, 100);
        conversation.remind(Some("not for the summary".to_owned()));
        let request = request(&conversation, 10, Extent::Whole);
        assert_eq!(request.messages[..10], conversation.request().messages[..10]);
        assert_eq!((request.messages.len(), &request.reminder), (11, &None));
        assert_eq!(extents(&conversation, 10)[0], Extent::Whole);
        assert_eq!(extents(&turns(900, 10, 100), 18)[0], Extent::Shortened);
    }

    #[test]
    fn what_is_too_long_is_shown_shorter_and_stays_a_conversation() {
        let long = "é".repeat(10_000);
        let mut messages = vec![Message::user(long.clone())];
        for path in ["1", "2", "3"] {
            messages.extend([reads(&[path]), result(path, &long)]);
        }
        let mut conversation = of(1_000, &messages);
        let short = request(&conversation, 7, Extent::Shortened);
        let size: usize = short.messages.iter().map(|message| tokens::of_message(message)).sum();
        assert!(size < SHORTENED_CHARS + 3 * SHORTENED_RESULT_CHARS + 1_000, "{size}");
        let half = request(&conversation, 7, Extent::Half);
        assert!(
            matches!(*half.messages[0], Message::User(_))
                && matches!(*half.messages[1], Message::Assistant(_))
        );
        assert!(half.messages.len() < short.messages.len());
        let mask =
            Mask { id: "mk_1".to_owned(), item: ItemId(3), placeholder: "line".to_owned(), size_chars: 1 };
        conversation.mask(vec![mask]);
        assert!(request(&conversation, 7, Extent::Whole).messages.contains(&result("1", "line").into()));
    }
}
