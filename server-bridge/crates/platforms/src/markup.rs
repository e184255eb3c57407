//! Renders styled text as Markdown for platforms that read it, and as plain text for the others.
//!
//! No platform documents exactly which Markdown it supports, so a text is escaped wherever any platform could mistake it for a mark, styles begin and
//! end within a line, and texts that would mention people are broken by a zero-width space.

use crate::parts::{Cost, tight};
use crate::platform::{Button, Unit};
use crate::styled::{Piece, Place, Style, Styled};

/// A zero-width space, which invisibly breaks a mark that cannot be escaped.
const BREAK: char = '\u{200b}';

/// The longest address that becomes a link, in bytes; if the address is longer, only the link's text remains.
const LINK_MAX_BYTES: usize = 1000;

/// The longest name of a code block's language, in bytes.
const LANGUAGE_MAX_BYTES: usize = 20;

/// The properties of a platform's Markdown.
#[derive(Clone, Copy, Debug)]
pub struct Markdown {
    /// True if characters are escaped as entities (`&#42;`), false if they are escaped with a backslash.
    pub is_entity: bool,
    /// True if the platform's limit counts the text as a JSON string, where `"`, `\` and line feeds are two bytes.
    pub is_json: bool,
    /// The mark of struck-through text; empty if the platform has none.
    pub strike: &'static str,
    /// Beginnings of tags that the platform interprets, such as `<at`.
    pub tags: &'static [&'static str],
}

impl Markdown {
    /// Renders a part as Markdown.
    pub fn render(&self, part: &Styled) -> String {
        let mut out = String::new();
        for piece in &tight(part).pieces {
            if let Place::Code(language) = &piece.style.place {
                self.fence(&mut out, language, &piece.text);
            } else {
                self.lines(&mut out, piece);
            }
        }
        out.truncate(out.trim_end_matches('\n').len());
        out
    }

    fn fence(&self, out: &mut String, language: &str, text: &str) {
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str("```");
        let is_good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '#' | '_');
        if language.len() <= LANGUAGE_MAX_BYTES && language.chars().all(is_good) {
            out.push_str(language);
        }
        out.push('\n');
        self.code(out, text.trim_end_matches('\n'));
        out.push_str("\n```\n");
    }

    /// Appends text within code: nothing is escaped there, but marks that would end the code, and tags, are broken.
    fn code(&self, out: &mut String, text: &str) {
        let mut last = ' ';
        for (at, c) in text.char_indices() {
            if c == '`' && last == '`' {
                out.push(BREAK);
            }
            out.push(c);
            if c == '<' && self.is_tag(&text[at..]) {
                out.push(BREAK);
            }
            last = c;
        }
    }

    fn lines(&self, out: &mut String, piece: &Piece) {
        for (index, line) in piece.text.split('\n').enumerate() {
            if index > 0 {
                out.push('\n');
            }
            if line.trim().is_empty() {
                out.push_str(line);
                continue;
            }
            let is_start = out.is_empty() || out.ends_with('\n');
            if is_start && piece.style.place == Place::Quote {
                out.push_str("> ");
            }
            let (front, back) = self.marks(&piece.style);
            out.push_str(&front);
            if piece.style.code && !line.contains('`') {
                out.push('`');
                self.code(out, line);
                out.push('`');
            } else {
                self.escaped(out, line);
            }
            out.push_str(&back);
        }
    }

    fn marks(&self, style: &Style) -> (String, String) {
        let link = style.link.as_deref().filter(|link| link.len() <= LINK_MAX_BYTES).map(address);
        let bold = if style.bold { "**" } else { "" };
        let italic = if style.italic { "*" } else { "" };
        let strike = if style.strike { self.strike } else { "" };
        let open = if link.is_some() { "[" } else { "" };
        let close = link.map_or_else(String::new, |link| format!("]({link})"));
        (format!("{open}{strike}{bold}{italic}"), format!("{italic}{bold}{strike}{close}"))
    }

    fn is_tag(&self, rest: &str) -> bool {
        let start = |tag: &&str| rest.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag));
        self.tags.iter().any(start)
    }

    /// Appends a line, or the rest of one, and escapes every character that could be markup.
    fn escaped(&self, out: &mut String, line: &str) {
        // Text of another style may precede this text on the line; then this text is not at the start of the line.
        let before = out.rsplit('\n').next().unwrap_or_default();
        let before = before.strip_prefix("> ").unwrap_or(before);
        let mut last = before.chars().next_back().unwrap_or(' ');
        let is_space = |c: char| matches!(c, ' ' | '\u{a0}');
        // True at the start of a line, or after the digits at the beginning of a numbered list.
        let mut starts = before.chars().all(is_space);
        let mut counts = before.chars().all(|c| is_space(c) || c.is_ascii_digit());
        for (at, c) in line.char_indices() {
            let next = line[at + c.len_utf8()..].chars().next().unwrap_or(' ');
            let is_mark = match c {
                '*' | '~' | '`' | '[' | ']' | '<' | '>' | '\\' | '$' => true,
                '_' => !(last.is_alphanumeric() && next.is_alphanumeric()),
                '#' | '-' | '+' | '=' | '|' | ':' => starts,
                '.' | ')' => counts && last.is_ascii_digit(),
                '&' => next == '#' || next.is_ascii_alphanumeric(),
                _ => false,
            };
            if starts && c == ' ' {
                // Four spaces would be a block of code.
                out.push('\u{a0}');
            } else if is_mark && self.is_entity {
                out.push_str(&format!("&#{};", u32::from(c)));
            } else {
                if is_mark {
                    out.push('\\');
                }
                out.push(c);
                if c == '<' && self.is_tag(&line[at..]) {
                    out.push(BREAK);
                }
            }
            starts &= c == ' ';
            counts &= c == ' ' || c.is_ascii_digit();
            last = c;
        }
    }

    /// Returns the maximum number of bytes that a character takes when rendered.
    fn most(&self, c: char, is_code: bool) -> usize {
        let json = usize::from(self.is_json && matches!(c, '"' | '\\' | '\n' | '\t'));
        let own = c.len_utf8() + json;
        if is_code {
            return if matches!(c, '`' | '<') { own + BREAK.len_utf8() } else { own };
        }
        let is_mark = "*~`[]<>\\$_#-+=|:.)&".contains(c);
        match c {
            ' ' => 2,
            _ if is_mark && self.is_entity => "&#124;".len(),
            '<' => own + 2 + BREAK.len_utf8(),
            _ if is_mark => own + 1 + usize::from(self.is_json),
            _ => own,
        }
    }
}

impl Cost for Markdown {
    fn text(&self, text: &str, style: &Style) -> usize {
        let is_code = matches!(style.place, Place::Code(_));
        let line = if is_code { 0 } else { self.line(style) };
        let letters = text.chars().map(|c| self.most(c, is_code)).sum::<usize>();
        letters + text.matches('\n').count() * line
    }

    fn around(&self, style: &Style) -> usize {
        match &style.place {
            // Two fences of three characters, and three line feeds.
            Place::Code(language) => 6 + 3 * 2 + language.len().min(LANGUAGE_MAX_BYTES),
            _ => self.line(style),
        }
    }
}

impl Markdown {
    /// The number of bytes that each line of a style needs in addition to its text.
    fn line(&self, style: &Style) -> usize {
        let (front, back) = self.marks(style);
        let quote = if style.place == Place::Quote { 2 } else { 0 };
        front.len() + back.len() + quote + 2 * usize::from(style.code)
    }
}

/// Plain text, in which a link's address follows its text.
#[derive(Clone, Copy, Debug)]
pub struct Plain {
    /// The unit of the platform's limit.
    pub unit: Unit,
    /// Beginnings of tags that the platform interprets in plain text.
    pub tags: &'static [&'static str],
}

impl Plain {
    /// Renders a part as plain text.
    pub fn render(&self, part: &Styled) -> String {
        let mut out = String::new();
        for Piece { text, style } in &tight(part).pieces {
            for (at, c) in text.char_indices() {
                out.push(c);
                let rest = &text[at..];
                let is_tag =
                    |tag: &&str| rest.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag));
                if c == '<' && self.tags.iter().any(is_tag) {
                    out.push(BREAK);
                }
            }
            if let Some(link) = behind(text, style) {
                out.push_str(&format!(" ({link})"));
            }
        }
        out
    }
}

impl Cost for Plain {
    fn text(&self, text: &str, style: &Style) -> usize {
        let breaks = if self.tags.is_empty() { 0 } else { text.matches('<').count() };
        self.unit.text(text, style) + breaks * self.unit.text("\u{200b}", style)
    }

    fn around(&self, style: &Style) -> usize {
        let link = style.link.as_deref().filter(|link| link.len() <= LINK_MAX_BYTES);
        link.map_or(0, |link| self.unit.text(link, style) + 3)
    }
}

/// A text with numbered choices below it, for platforms without buttons. `gap` precedes each choice.
pub fn numbered(text: &Styled, buttons: &[Button], gap: &str) -> Styled {
    let mut text = text.clone();
    for (index, button) in buttons.iter().enumerate() {
        text.push(&format!("{gap}{}. {}", index + 1, button.label), &Style::default());
    }
    text
}

/// Returns the address to show after a link's text; `None` if the text already shows it.
fn behind<'a>(text: &str, style: &'a Style) -> Option<&'a str> {
    let link = style.link.as_deref().filter(|link| link.len() <= LINK_MAX_BYTES)?;
    (!text.trim().is_empty() && text.trim() != link && text.trim() != link.trim_start_matches("mailto:"))
        .then_some(link)
}

/// Encodes an address so that none of its characters can end the link.
fn address(link: &str) -> String {
    let mut out = String::new();
    for c in link.chars() {
        match c {
            '(' | ')' | '<' | '>' | ' ' | '"' | '\\' | '\n' | '\t' | '`' => {
                out.push_str(&format!("%{:02X}", u32::from(c)))
            }
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::parts::split;

    const ENTITY: Markdown = Markdown { is_entity: true, is_json: true, strike: "~~", tags: &["<at"] };
    const BACKSLASH: Markdown = Markdown { is_entity: false, is_json: false, strike: "", tags: &["<@"] };

    fn letters(text: &str) -> String {
        text.chars().filter(|c| c.is_alphanumeric()).collect()
    }

    /// Returns the letters that a CommonMark renderer would show.
    fn read(markdown: &str) -> String {
        let events = pulldown_cmark::Parser::new(markdown);
        let text = events.filter_map(|event| match event {
            pulldown_cmark::Event::Text(text) | pulldown_cmark::Event::Code(text) => Some(letters(&text)),
            pulldown_cmark::Event::Html(html) | pulldown_cmark::Event::InlineHtml(html) => {
                panic!("HTML: {html}")
            }
            _ => None,
        });
        text.collect()
    }

    #[test]
    fn styles_become_marks_and_text_is_escaped() {
        let styled = Styled::markdown(
            "# A\n\n**b** *c* `d` [e](https://e.org/a_(b)) 2*3 snake_case\n\n> q\n> r\n\n```rust\nfn x() {}\n```\n1. z",
        );
        assert_eq!(
            BACKSLASH.render(&styled),
            "**A**\n\n**b** *c* `d` [e](https://e.org/a_%28b%29) 2\\*3 snake_case\n\n> q\n> r\n\n```rust\nfn x() {}\n```\n\n1\\. z"
        );
        assert!(ENTITY.render(&styled).contains("2&#42;3"));
    }

    #[test]
    fn a_line_of_several_styles_begins_neither_a_list_nor_a_heading() {
        // On a platform without strikethrough, the number and the point are two adjacent pieces without markup between them.
        assert_eq!(BACKSLASH.render(&Styled::markdown("~a\n1~. z")), "a\n1\\. z");
        assert_eq!(BACKSLASH.render(&Styled::markdown("> ~a\n> 1~) z")), "> a\n> 1\\) z");
    }

    #[test]
    fn nobody_is_mentioned_and_no_fence_is_closed_by_its_text() {
        let styled = Styled::markdown("<at id=all></at> <@x>\n\n````\n```\n<at id=all>\n````");
        let text = ENTITY.render(&styled);
        assert!(!text.contains("<at"), "{text}");
        assert_eq!(text.matches("```").count(), 2, "{text}");
        assert!(!BACKSLASH.render(&styled).contains("<@"));
    }

    #[test]
    fn plain_text_shows_the_addresses_of_links() {
        let plain = Plain { unit: Unit::Chars, tags: &["<@"] };
        let styled = Styled::markdown("**a** [b](https://b.org) <https://c.org> <@d>");
        assert_eq!(plain.render(&styled), "a b (https://b.org) https://c.org <\u{200b}@d>");
    }

    proptest! {
        #[test]
        fn what_is_rendered_fits_and_keeps_its_letters(text in "[a-c1名 \n`*_#>|<&;.~+=\\[\\]()\\\\-]{0,400}", max in 200_usize..600) {
            let styled = Styled::markdown(&text);
            for dialect in [ENTITY, BACKSLASH] {
                let mut kept = String::new();
                for part in split(&styled, max, &dialect) {
                    let shown = dialect.render(&part);
                    let length = if dialect.is_json { serde_json::to_string(&shown).unwrap().len() - 2 } else { shown.len() };
                    prop_assert!(length <= max, "{length} > {max}: {shown}");
                    prop_assert!(!shown.is_empty());
                    kept.push_str(&read(&shown));
                }
                prop_assert_eq!(&kept, &letters(&styled.text()), "{:?}", dialect);
            }
            let plain = Plain { unit: Unit::Utf16, tags: &["<@"] };
            for part in split(&styled, max, &plain) {
                prop_assert!(plain.render(&part).encode_utf16().count() <= max);
            }
        }
    }
}
