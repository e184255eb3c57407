//! A model's text as lines on a screen: headings, lists, code, quotes, tables, links.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::text::{visible, wrap};
use super::view::theme::Theme;

/// Markdown as lines of at most `width` cells. An incomplete text, as it streams in, is shown as far as it has arrived.
pub(super) fn lines(text: &str, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let text = visible(text);
    let mut writer = Writer {
        theme,
        width,
        lines: Vec::new(),
        spans: Vec::new(),
        styles: Vec::new(),
        prefixes: Vec::new(),
        lists: Vec::new(),
        link: None,
        is_code: false,
    };
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    for event in Parser::new_ext(&text, options) {
        writer.take(event);
    }
    writer.flush();
    while writer.lines.last().is_some_and(|line| line.width() == 0) {
        writer.lines.pop();
    }
    writer.lines
}

/// The prefix of a block's lines.
struct Prefix {
    /// The prefix of the next line only: a list's mark.
    once: Option<Span<'static>>,
    always: Span<'static>,
}

struct Writer<'a> {
    theme: &'a Theme,
    width: usize,
    lines: Vec<Line<'static>>,
    spans: Vec<Span<'static>>,
    styles: Vec<Style>,
    prefixes: Vec<Prefix>,
    lists: Vec<Option<u64>>,
    /// The target of the open link, and where its text begins.
    link: Option<(String, usize)>,
    is_code: bool,
}

impl Writer<'_> {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.is_code => self.code(&text),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.push(&text),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.styled(&text, self.theme.code);
            }
            Event::SoftBreak => self.push(" "),
            Event::HardBreak => self.flush(),
            Event::Rule => {
                self.gap();
                let rule = "─".repeat(self.width.min(40));
                self.lines.push(Line::styled(rule, self.theme.dim));
            }
            Event::TaskListMarker(is_done) => self.push(if is_done { "[x] " } else { "[ ] " }),
            Event::FootnoteReference(name) => self.push(&format!("[{name}]")),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.gap(),
            Tag::Heading { .. } => {
                self.gap();
                self.styles.push(self.theme.heading);
            }
            Tag::BlockQuote(_) => {
                self.gap();
                let always = Span::styled("▎ ", self.theme.dim);
                self.prefixes.push(Prefix { once: None, always });
            }
            Tag::CodeBlock(_) => {
                self.gap();
                self.is_code = true;
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.gap();
                } else {
                    self.flush();
                }
                self.lists.push(first);
            }
            Tag::Item => {
                self.flush();
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                };
                let always = Span::raw(" ".repeat(Span::raw(mark.as_str()).width()));
                self.prefixes.push(Prefix { once: Some(Span::styled(mark, self.theme.accent)), always });
            }
            Tag::Table(_) => self.gap(),
            Tag::Emphasis => self.styles.push(self.theme.emphasis),
            Tag::Strong => self.styles.push(self.theme.strong),
            Tag::Strikethrough => self.styles.push(self.theme.struck),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some((dest_url.into_string(), self.spans.len()));
                self.styles.push(self.theme.link);
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
            }
            TagEnd::Paragraph | TagEnd::HtmlBlock | TagEnd::TableHead | TagEnd::TableRow => self.flush(),
            TagEnd::TableCell => self.styled("  │  ", self.theme.dim),
            TagEnd::BlockQuote(_) | TagEnd::Item => {
                self.flush();
                self.prefixes.pop();
            }
            TagEnd::CodeBlock => self.is_code = false,
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
            _ => {}
        }
    }

    /// The target of a link is always shown: its text may claim something else.
    fn end_link(&mut self) {
        self.styles.pop();
        let Some((to, from)) = self.link.take() else { return };
        let words: String =
            self.spans.get(from..).into_iter().flatten().map(|span| span.content.as_ref()).collect();
        if words != to && !to.is_empty() {
            self.styled(&format!(" ({to})"), self.theme.dim);
        }
    }

    /// Text that was safe to show may no longer be: an entity such as `&#27;` has become a character.
    fn push(&mut self, text: &str) {
        let text = visible(text);
        let style = self.styles.iter().fold(Style::new(), |style, more| style.patch(*more));
        for (at, part) in text.split('\n').enumerate() {
            if at > 0 {
                self.flush();
            }
            if !part.is_empty() {
                self.spans.push(Span::styled(part.to_owned(), style));
            }
        }
    }

    fn styled(&mut self, text: &str, style: Style) {
        self.spans.push(Span::styled(visible(text), style));
    }

    fn code(&mut self, text: &str) {
        for line in text.lines() {
            self.spans.push(Span::styled(format!("  {line}"), self.theme.code));
            self.flush_even_empty();
        }
    }

    /// An empty line between two blocks, but not at the beginning of a list's item.
    fn gap(&mut self) {
        self.flush();
        let has_mark = self.prefixes.iter().any(|prefix| prefix.once.is_some());
        if !self.lines.is_empty() && !has_mark && self.lines.last().is_some_and(|line| line.width() > 0) {
            let (_, rest) = self.prefix();
            self.lines.push(Line::from(rest));
        }
    }

    fn flush(&mut self) {
        if !self.spans.is_empty() {
            self.flush_even_empty();
        }
    }

    fn flush_even_empty(&mut self) {
        let (first, rest) = self.prefix();
        self.prefixes.iter_mut().for_each(|prefix| prefix.once = None);
        self.lines.extend(wrap(&std::mem::take(&mut self.spans), self.width, &first, &rest));
    }

    fn prefix(&self) -> (Vec<Span<'static>>, Vec<Span<'static>>) {
        let first = self.prefixes.iter().map(|prefix| prefix.once.as_ref().unwrap_or(&prefix.always).clone());
        (first.collect(), self.prefixes.iter().map(|prefix| prefix.always.clone()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, width: usize) -> Vec<String> {
        lines(text, width, &Theme::plain())
            .iter()
            .map(|line| line.to_string().trim_end().to_owned())
            .collect()
    }

    #[test]
    fn blocks_are_told_apart() {
        let text = "# Title\n\nSome *words* and `code`.\n\n- one\n- two\n  1. deep\n\n```sh\nls -l\n\nx\n```\n\n> said";
        assert_eq!(
            shown(text, 40),
            [
                "Title",
                "",
                "Some words and code.",
                "",
                "• one",
                "• two",
                "  1. deep",
                "",
                "  ls -l",
                "",
                "  x",
                "",
                "▎ said"
            ]
        );
    }

    #[test]
    fn a_link_says_where_it_leads_and_a_table_is_rows() {
        assert_eq!(shown("[bank](http://evil)", 40), ["bank (http://evil)"]);
        assert_eq!(shown("<http://x.y>", 40), ["http://x.y"]);
        assert_eq!(shown("|a|b|\n|-|-|\n|1|2|", 40), ["a  │  b  │", "1  │  2  │"]);
    }

    #[test]
    fn half_of_a_text_is_shown_as_far_as_it_goes() {
        let text = "# T\n\n- **bold** [l](u)\n\n```\ncode\n```\n| a |\n|---|\n| 1 |";
        for end in 0..=text.len() {
            lines(&text[..end], 7, &Theme::plain());
        }
        assert_eq!(shown("a **b", 10), ["a **b"]);
        assert_eq!(shown("```\nls", 10), ["  ls"]);
    }

    #[test]
    fn an_escape_sequence_in_it_is_no_escape_sequence() {
        let text = "a\u{1b}[2Jb `\u{1b}c` &#27;[31m [x](\u{1b}]0;y\u{7})";
        assert!(shown(text, 80).concat().chars().all(|character| !character.is_control()));
    }
}
