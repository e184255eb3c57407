use proptest::prelude::*;

use super::*;

fn passages(text: &str, kind: Kind, tokens: usize) -> Vec<(String, &str)> {
    let chunks = split(text, kind, Limits { tokens });
    chunks.into_iter().map(|chunk| (chunk.headings.join(" > "), &text[chunk.span])).collect()
}

/// Checks the properties that the passages of every text have.
fn check(text: &str, kind: Kind, tokens_limit: usize) {
    let mut end = 0;
    for chunk in split(text, kind, Limits { tokens: tokens_limit }) {
        assert!(chunk.span.start >= end, "{chunk:?} overlaps what ends at {end}");
        assert!(text[end..chunk.span.start].trim().is_empty(), "text is left out before {chunk:?}");
        // Indexing panics if a span ends inside a character.
        let passage = &text[chunk.span.clone()];
        assert!(!passage.is_empty() && passage.trim() == passage, "{passage:?}");
        assert!(tokens(passage) <= tokens_limit.max(PASSAGE_TOKENS_MIN), "{} tokens", tokens(passage));
        assert!(chunk.headings.iter().all(|heading| !heading.is_empty()));
        end = chunk.span.end;
    }
    assert!(text[end..].trim().is_empty(), "text is left out at the end");
}

proptest! {
    #[test]
    fn passages_of_any_text_leave_nothing_out(text in "\\PC{0,400}", tokens in 0usize..80) {
        for kind in [Kind::Markdown, Kind::Plain, Kind::Code] {
            check(&text, kind, tokens);
        }
    }

    #[test]
    fn passages_of_any_document_leave_nothing_out(
        lines in prop::collection::vec("(#{0,7} |```|---|===| {0,9}|> |\t)?([a-z]{1,9} ?|[一-龥]{1,6}[。，]?|\u{1f600}|e\u{301}|\r){0,20}", 0..25),
        tokens in 16usize..120,
    ) {
        for kind in [Kind::Markdown, Kind::Plain, Kind::Code] {
            check(&lines.join("\n"), kind, tokens);
        }
    }
}

#[test]
fn a_passage_knows_the_headings_it_stands_under() {
    let words = "word ".repeat(30);
    let text = format!(
        "# Guide\n\n{words}\n\n## Install\n\n{words}\n\n### On Debian\n\n{words}\n\n## Use\n\n{words}"
    );
    let found = passages(&text, Kind::Markdown, 60);
    let headings: Vec<&str> = found.iter().map(|(headings, _)| headings.as_str()).collect();
    assert_eq!(headings, ["Guide", "Guide > Install", "Guide > Install > On Debian", "Guide > Use"]);
    assert!(found[2].1.starts_with("### On Debian"));
}

#[test]
fn short_sections_share_a_passage_under_their_common_heading() {
    let text = "# Keys\n\n## Up\n\nGoes up.\n\n## Down\n\nGoes down.";
    assert_eq!(passages(text, Kind::Markdown, 256), [("Keys".to_owned(), text)]);
}

#[test]
fn underlined_headings_count_and_front_matter_tables_lists_and_fences_do_not() {
    let text = "---\ntitle: x\n---\n\nTitle\n=====\n\na | b\n---|---\n1 | 2\n\n```sh\n# a comment\n```\n\n- item\n---\n";
    let found = passages(text, Kind::Markdown, 256);
    assert_eq!(found.len(), 1);
    let body = &text[text.find("a |").unwrap()..];
    let words = "word ".repeat(200);
    let found = passages(&text.replace(body, &format!("{body}\n\n{words}")), Kind::Markdown, 64)
        .iter()
        .map(|(headings, _)| headings.clone())
        .collect::<Vec<_>>();
    assert_eq!(found.last().unwrap(), "Title");
    assert!(found.iter().all(|headings| ["", "Title"].contains(&headings.as_str())), "{found:?}");
}

#[test]
fn a_cut_is_at_a_paragraph_before_a_line_before_a_sentence_before_a_word() {
    let part = |end: &str| format!("{}{end}", "abc ".repeat(15).trim_end());
    for (end, next) in [("\n\n", "P"), ("\n", "L"), (". ", "S")] {
        let text = format!("{}{next}{}", part(end), "def ".repeat(40));
        assert!(passages(&text, Kind::Plain, 24)[1].1.starts_with(next), "{end:?}");
    }
    let words = "word ".repeat(100);
    assert!(
        passages(&words, Kind::Plain, 24)
            .iter()
            .all(|(_, words)| words.split(' ').all(|word| word == "word"))
    );
}

#[test]
fn chinese_is_cut_after_its_sentences() {
    let text = "沙箱把命令限制在工作区内。".repeat(20);
    let found = passages(&text, Kind::Plain, 30);
    assert_eq!(found.len(), 10, "two sentences of 13 characters each");
    assert!(found.iter().all(|(_, passage)| passage.ends_with('。')));
}

#[test]
fn code_is_cut_between_definitions_and_a_long_one_names_itself() {
    let body = "    let value = compute(value);\n".repeat(30);
    let text = format!("use std::fs;\n\nfn first() {{\n{body}}}\n\n/// Adds.\nfn second() {{\n    1\n}}\n");
    let found = passages(&text, Kind::Code, 100);
    assert!(
        found
            .iter()
            .any(|(headings, passage)| headings == "fn first() {" && passage.starts_with("let value"))
    );
    assert!(found.iter().any(|(_, passage)| passage.starts_with("/// Adds.\nfn second()")));
}

#[test]
fn a_line_of_ten_megabytes_without_white_space_is_cut_to_size() {
    for (text, count) in [("x".repeat(10_000_000), 9_766), ("知".repeat(500_000), 1_954)] {
        assert_eq!(split(&text, Kind::Markdown, Limits::default()).len(), count);
    }
    assert!(split(&" ".repeat(1_000_000), Kind::Plain, Limits::default()).is_empty());
    assert!(split(&"\n".repeat(1_000_000), Kind::Code, Limits::default()).is_empty());
    check(&"#\n".repeat(100_000), Kind::Markdown, 64);
    check(&"=\n".repeat(100_000), Kind::Markdown, 64);
}

#[test]
fn the_embedded_text_names_title_and_headings_once() {
    let headings = ["Guide".to_owned(), "Use".to_owned()];
    assert_eq!(with_headings("Guide", &headings, "Start it."), "Guide > Use\nStart it.");
    assert_eq!(with_headings("a.md", &headings, "## Use\n\nStart it."), "a.md > Guide\n## Use\n\nStart it.");
    assert_eq!(with_headings(" ", &[], "Start it."), "Start it.");
    assert_eq!(with_titles("Guide", &headings, "Start it."), "Guide\nGuide\nGuide > Use\nStart it.");
    assert_eq!(with_titles("", &[], "Start it."), "Start it.");
}
