//! HTML as readable text for a model.
//!
//! One pass over the tokens, without a tree: for any page, time and space grow linearly with its length.

use html5gum::emitters::default::{DefaultEmitter, StartTag};
use html5gum::{Token, Tokenizer};
use url::Url;

/// Elements whose content is skipped.
const SKIPPED: [&str; 7] = ["script", "style", "template", "svg", "noscript", "iframe", "object"];
/// Elements that begin and end a paragraph.
const PARAGRAPHS: [&str; 16] = [
    "p",
    "article",
    "section",
    "header",
    "footer",
    "main",
    "nav",
    "aside",
    "ul",
    "ol",
    "table",
    "form",
    "figure",
    "blockquote",
    "dl",
    "details",
];
/// Elements that begin and end a line.
const LINES: [&str; 9] = ["div", "tr", "dt", "dd", "summary", "option", "caption", "figcaption", "hr"];
/// The deepest list that is still indented.
const DEEPEST_LIST: usize = 6;

/// The text of a page, limited in bytes. Links are shown with their targets if the page's address is known.
pub fn of(html: &str, base: Option<&Url>, with_marks: bool, max_bytes: usize) -> String {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut writer = Writer { with_marks, ..Writer::new(base) };
    for token in Tokenizer::new_with_emitter(html, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => writer.open(&tag),
            Token::EndTag(tag) => writer.close(&String::from_utf8_lossy(&tag.name)),
            Token::String(text) => writer.text(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
        if writer.out.len() > max_bytes {
            writer.out.truncate(writer.out.floor_char_boundary(max_bytes));
            break;
        }
    }
    writer.out.trim_end().to_owned()
}

struct Writer<'a> {
    base: Option<&'a Url>,
    with_marks: bool,
    out: String,
    /// The number of line ends before the next text.
    breaks: usize,
    /// True if white space separates the text so far from the next.
    is_apart: bool,
    /// The skipped element, and the number of open elements of its kind.
    skipped: Option<(String, usize)>,
    /// The open lists; for a numbered one, the number of its next item.
    lists: Vec<Option<u32>>,
    is_preformatted: bool,
    /// True if a list item has begun and is still empty: the next text follows its mark.
    is_item_empty: bool,
    /// The target of an open link, and where its text begins.
    link: Option<(String, usize)>,
}

impl<'a> Writer<'a> {
    fn new(base: Option<&'a Url>) -> Self {
        Self {
            base,
            with_marks: true,
            out: String::new(),
            breaks: 0,
            is_apart: false,
            skipped: None,
            lists: Vec::new(),
            is_preformatted: false,
            is_item_empty: false,
            link: None,
        }
    }

    fn open(&mut self, tag: &StartTag<()>) {
        let name = String::from_utf8_lossy(&tag.name);
        if let Some((skipped, depth)) = &mut self.skipped {
            if *skipped == name && !tag.self_closing {
                *depth += 1;
            }
            return;
        }
        match name.as_ref() {
            name if SKIPPED.contains(&name) => {
                self.skipped = (!tag.self_closing).then(|| (name.to_owned(), 1));
            }
            "title" | "h1" => self.begin("# "),
            "h2" => self.begin("## "),
            "h3" => self.begin("### "),
            "h4" | "h5" | "h6" => self.begin("#### "),
            "br" => self.part(1),
            "li" => self.item(),
            "td" | "th" => self.mark(" | "),
            "code" if !self.is_preformatted => self.mark("`"),
            "pre" => {
                self.begin("```\n");
                self.is_preformatted = true;
            }
            "img" => self.image(tag),
            "a" => self.begin_link(tag),
            name => self.block(name),
        }
        if matches!(name.as_ref(), "ul" | "ol") {
            self.lists.push((name == "ol").then_some(1));
        }
    }

    fn close(&mut self, name: &str) {
        if let Some((skipped, depth)) = &mut self.skipped {
            if skipped == name {
                *depth -= 1;
                if *depth == 0 {
                    self.skipped = None;
                }
            }
            return;
        }
        match name {
            "title" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.part(2),
            "li" => self.part(1),
            "a" => self.end_link(),
            "code" if !self.is_preformatted => self.mark("`"),
            "pre" if self.is_preformatted => {
                self.is_preformatted = false;
                if self.with_marks {
                    self.part(1);
                    self.put("```");
                }
                self.part(2);
            }
            "ul" | "ol" => {
                self.lists.pop();
                self.part(if self.lists.is_empty() { 2 } else { 1 });
            }
            name => self.block(name),
        }
    }

    fn text(&mut self, text: &str) {
        if self.skipped.is_some() {
            return;
        }
        if self.is_preformatted {
            return self.put(text);
        }
        self.is_apart |= text.starts_with(char::is_whitespace);
        for word in text.split_whitespace() {
            self.put(word);
            self.is_apart = true;
        }
        self.is_apart = text.ends_with(char::is_whitespace) || self.is_apart && text.trim().is_empty();
    }

    fn block(&mut self, name: &str) {
        // An item of a list is one line.
        if PARAGRAPHS.contains(&name) {
            self.part(if self.lists.is_empty() { 2 } else { 1 });
        } else if LINES.contains(&name) {
            self.part(1);
        }
    }

    /// Begins a paragraph with a mark.
    fn begin(&mut self, mark: &str) {
        self.part(2);
        self.mark(mark);
    }

    fn mark(&mut self, mark: &str) {
        if self.with_marks {
            let begins_line = self.breaks > 0 || self.out.is_empty();
            self.put(if begins_line { mark.trim_start() } else { mark });
            self.is_apart = false;
        } else if mark.starts_with(' ') {
            self.is_apart = true;
        }
    }

    fn item(&mut self) {
        self.part(1);
        let indent = "  ".repeat(self.lists.len().saturating_sub(1).min(DEEPEST_LIST));
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number = number.saturating_add(1);
                format!("{indent}{}. ", *number - 1)
            }
            Some(None) | None => format!("{indent}- "),
        };
        self.is_item_empty = false;
        self.put(&mark);
        self.is_item_empty = true;
    }

    fn image(&mut self, tag: &StartTag<()>) {
        let text = attribute(tag, b"alt");
        if self.with_marks && !text.trim().is_empty() {
            self.text(&format!(" [image: {}] ", text.trim()));
        }
    }

    fn begin_link(&mut self, tag: &StartTag<()>) {
        self.end_link();
        let Some(base) = self.base else { return };
        let leads = base.join(attribute(tag, b"href").trim());
        let Ok(leads) = leads.map(String::from) else { return };
        if self.with_marks && tag.attributes.contains_key(&b"href"[..]) && leads.starts_with("http") {
            self.put("[");
            self.is_apart = false;
            self.link = Some((leads, self.out.len()));
        }
    }

    fn end_link(&mut self) {
        let Some((leads, begins)) = self.link.take() else { return };
        if self.out.len() == begins {
            // The link has no text.
            self.out.pop();
            return;
        }
        let is_apart = std::mem::take(&mut self.is_apart);
        self.out.push_str(&format!("]({leads})"));
        self.is_apart = is_apart;
    }

    /// Separates the text so far from the next by this many line ends.
    fn part(&mut self, breaks: usize) {
        self.end_link();
        self.breaks = self.breaks.max(breaks);
        self.is_apart = false;
    }

    fn put(&mut self, text: &str) {
        let mut breaks = std::mem::take(&mut self.breaks);
        if std::mem::take(&mut self.is_item_empty) {
            breaks = 0;
        }
        let is_apart = std::mem::take(&mut self.is_apart);
        if !self.out.is_empty() {
            (0..breaks).for_each(|_| self.out.push('\n'));
            let is_amid_line = breaks == 0 && !self.out.ends_with([' ', '\n', '[', '`']);
            if is_apart && is_amid_line {
                self.out.push(' ');
            }
        }
        self.out.push_str(text);
    }
}

fn attribute(tag: &StartTag<()>, name: &[u8]) -> String {
    tag.attributes.get(name).map(|value| String::from_utf8_lossy(value).into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(html: &str, with_marks: bool) -> String {
        of(html, Some(&"https://a.example/b/c".parse().unwrap()), with_marks, 1 << 20)
    }

    #[test]
    fn a_page_becomes_text_with_marks_or_without() {
        let page = "<!doctype html><head><title>Doors &amp; more</title><style>p { color: red }</style>\
            <script>if (a < b) { document.write('<p>no') }</script></head><body><nav><a href='/'>Home</a></nav>\
            <h2>Red\n doors</h2><p>The <b>red</b> door is at <a href=\"d?x=1\">No. 9</a>, not<br>green.</p>\
            <ul><li>one<li><p>two</p><ol><li>inner</li></ol></ul><pre>let a =\n  1;</pre>\
            <p>Use <code>cargo</code>.</p><table><tr><td>a</td><td>b</td></tr></table>\
            <img alt='a door' src=x><svg><title>no</title></svg><a href='javascript:x()'>bad</a>";
        assert_eq!(
            read(page, true),
            "# Doors & more\n\n[Home](https://a.example/)\n\n## Red doors\n\nThe red door is at \
             [No. 9](https://a.example/b/d?x=1), not\ngreen.\n\n- one\n- two\n  1. inner\n\n```\nlet a =\n  1;\n```\n\n\
             Use `cargo`.\n\n| a | b\n\n[image: a door] bad"
        );
        let plain = read(page, false);
        assert!(
            plain.starts_with("Doors & more\n\nHome\n\nRed doors\n\nThe red door is at No. 9, not\ngreen.")
        );
        assert!(!plain.contains('`') && !plain.contains("https"), "{plain}");
    }

    #[test]
    fn a_hostile_page_is_read_in_one_pass_and_to_an_end() {
        for html in [
            "<div>".repeat(200_000),
            "<ul><li>x".repeat(50_000),
            "<a href=x>".repeat(50_000),
            format!("<svg>{}", "<svg>".repeat(100_000)),
            "</p></li></svg></a></ul></pre>".repeat(10_000),
            "<".repeat(100_000),
            "&#x110000;&nbsp".repeat(10_000),
            format!("<p {}>", "a ".repeat(20_000)),
            "<pre><pre></pre><code></pre>".to_owned(),
        ] {
            assert!(read(&html, true).len() <= 1 << 20);
        }
        let long = format!("https://a.example/{}", "x".repeat(2000));
        let many = "<a href=y>z</a>".repeat(100_000);
        assert!(of(&many, Some(&long.parse().unwrap()), true, 1 << 20).len() <= 1 << 20);
        assert_eq!(read("<a href=x></a><p>é<script>", true), "é");
    }
}
