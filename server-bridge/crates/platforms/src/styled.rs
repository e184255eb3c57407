//! Markdown as styled text: a flat form that can be cut anywhere, and that every platform can show in its own way.
//!
//! A list becomes lines with markers in front, a table becomes aligned text, and a picture becomes a link, so that no platform loads an address that
//! a model writes.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use unicode_width::UnicodeWidthStr as _;

use crate::limits::MARKDOWN_MAX_BYTES;

/// The widest table that is aligned, in character cells; in wider tables, columns are separated but not aligned.
const TABLE_ALIGNED_CELLS: usize = 120;

/// The deepest level of a list that is indented further than the level above it: the indentations of deeper levels would be longer than all else.
const INDENTED_MAX: usize = 16;

/// The kind of block that a piece belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// Running text, including headings and lists.
    #[default]
    Text,
    /// A quotation.
    Quote,
    /// A block of code, in this language; empty if none is named.
    Code(String),
}

/// The style of a piece.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Strong text, such as headings.
    pub bold: bool,
    /// Emphasized text.
    pub italic: bool,
    /// Struck-through text.
    pub strike: bool,
    /// Code within a line.
    pub code: bool,
    /// The address that the text links to: only `http`, `https` or `mailto`. A link to any other address is plain text.
    pub link: Option<String>,
    /// The kind of block that the text belongs to.
    pub place: Place,
}

/// Text of one style. Line feeds are part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The text: never empty, and without control characters except line feeds and tabs.
    pub text: String,
    /// The style of the text.
    pub style: Style,
}

/// A styled text: a list of pieces; neighbouring pieces have different styles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Styled {
    /// The pieces.
    pub pieces: Vec<Piece>,
}

impl Styled {
    /// Reads a Markdown text, which is cut off after [`MARKDOWN_MAX_BYTES`].
    pub fn markdown(text: &str) -> Self {
        let text = &text[..text.floor_char_boundary(MARKDOWN_MAX_BYTES)];
        let mut writer = Writer::default();
        let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
        for event in Parser::new_ext(text, options) {
            writer.take(event);
        }
        writer.styled.trimmed()
    }

    /// Wraps a text without interpreting any markup.
    pub fn plain(text: &str) -> Self {
        let mut styled = Self::default();
        styled.push(text, &Style::default());
        styled.trimmed()
    }

    /// Adds a text in a style. Control characters other than line feeds and tabs are left out.
    pub fn push(&mut self, text: &str, style: &Style) {
        let clean = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
        let text: String = text.chars().filter(clean).collect();
        if text.is_empty() {
            return;
        }
        match self.pieces.last_mut() {
            Some(last) if last.style == *style => last.text.push_str(&text),
            _ => self.pieces.push(Piece { text, style: style.clone() }),
        }
    }

    /// The text without styles.
    pub fn text(&self) -> String {
        self.pieces.iter().map(|piece| piece.text.as_str()).collect()
    }

    /// True if there is nothing to read.
    pub fn is_empty(&self) -> bool {
        self.pieces.iter().all(|piece| piece.text.trim().is_empty())
    }

    /// The text without line feeds at its beginning and end.
    #[must_use]
    pub fn trimmed(mut self) -> Self {
        while let Some(last) = self.pieces.last_mut() {
            last.text.truncate(last.text.trim_end_matches('\n').len());
            if !last.text.is_empty() {
                break;
            }
            self.pieces.pop();
        }
        while let Some(first) = self.pieces.first_mut() {
            let kept = first.text.trim_start_matches('\n').len();
            first.text.drain(..first.text.len() - kept);
            if !first.text.is_empty() {
                break;
            }
            self.pieces.remove(0);
        }
        self
    }
}

/// A table that is being read.
#[derive(Default)]
struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    fn cell(&mut self, text: &str) {
        if let Some(cell) = self.rows.last_mut().and_then(|row| row.last_mut()) {
            cell.push_str(&text.replace('\n', " "));
        }
    }

    /// The table's rows as lines, aligned unless that would be too wide.
    fn lines(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width =
            |column: usize| self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max();
        let mut widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
        if widths.iter().sum::<usize>() + 3 * columns > TABLE_ALIGNED_CELLS {
            widths.fill(0);
        }
        let line = |row: &Vec<String>| {
            let cell = |(cell, width): (&String, &usize)| {
                format!("{cell}{}", " ".repeat(width.saturating_sub(cell.width())))
            };
            row.iter().zip(&widths).map(cell).collect::<Vec<_>>().join(" | ").trim_end().to_owned()
        };
        self.rows.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// Converts the events of the parser to styled text.
#[derive(Default)]
struct Writer {
    styled: Styled,
    style: Style,
    /// The number of open levels of each style, because styles nest.
    strong: usize,
    emphasis: usize,
    struck: usize,
    quotes: usize,
    /// The next number of each open list; `None` in a list without numbers.
    lists: Vec<Option<u64>>,
    table: Option<Table>,
    /// The addresses of open links and pictures.
    links: Vec<Option<String>>,
    /// True after a list item's marker was written, because the item's paragraph continues on the same line.
    after_mark: bool,
}

impl Writer {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.write(&text),
            Event::Code(text) => {
                self.style.code = true;
                self.write(&text);
                self.style.code = false;
            }
            // HTML is shown as text, so that no platform interprets it.
            Event::Html(text) | Event::InlineHtml(text) => self.write(&text),
            Event::SoftBreak | Event::HardBreak => self.write("\n"),
            Event::Rule => {
                self.begin_block();
                self.write("———\n");
            }
            Event::TaskListMarker(is_done) => self.write(if is_done { "☑ " } else { "☐ " }),
            Event::FootnoteReference(_) | Event::InlineMath(_) | Event::DisplayMath(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.begin_block(),
            Tag::Heading { .. } => {
                self.begin_block();
                self.strong += 1;
            }
            Tag::BlockQuote(_) => {
                self.begin_block();
                self.quotes += 1;
            }
            Tag::CodeBlock(kind) => {
                self.begin_block();
                let language = match kind {
                    CodeBlockKind::Fenced(info) => {
                        info.split(|c: char| c.is_whitespace() || c == ',').next().unwrap_or("").to_owned()
                    }
                    CodeBlockKind::Indented => String::new(),
                };
                self.style.place = Place::Code(language);
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.begin_block();
                } else {
                    self.begin_line();
                }
                self.lists.push(first);
            }
            Tag::Item => {
                self.begin_line();
                let depth = self.lists.len().saturating_sub(1).min(INDENTED_MAX);
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        let mark = format!("{number}. ");
                        *number += 1;
                        mark
                    }
                    _ => "• ".to_owned(),
                };
                self.write(&format!("{}{mark}", "  ".repeat(depth)));
                self.after_mark = true;
            }
            Tag::Emphasis => self.emphasis += 1,
            Tag::Strong => self.strong += 1,
            Tag::Strikethrough => self.struck += 1,
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push(is_open(&dest_url).then(|| dest_url.into_string()));
            }
            Tag::Table(_) => {
                self.begin_block();
                self.table = Some(Table::default());
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::TableCell => {
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(String::new());
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.begin_line(),
            TagEnd::Heading(_) => {
                self.strong = self.strong.saturating_sub(1);
                self.begin_line();
            }
            TagEnd::BlockQuote(_) => {
                self.begin_line();
                self.quotes = self.quotes.saturating_sub(1);
            }
            TagEnd::CodeBlock => {
                self.begin_line();
                self.style.place = Place::Text;
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.begin_line();
            }
            TagEnd::Item => self.begin_line(),
            TagEnd::Emphasis => self.emphasis = self.emphasis.saturating_sub(1),
            TagEnd::Strong => self.strong = self.strong.saturating_sub(1),
            TagEnd::Strikethrough => self.struck = self.struck.saturating_sub(1),
            TagEnd::Link | TagEnd::Image => {
                self.links.pop();
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.style.place = Place::Code(String::new());
                    self.write(&table.lines());
                    self.begin_line();
                    self.style.place = Place::Text;
                }
            }
            _ => {}
        }
    }

    fn write(&mut self, text: &str) {
        self.after_mark = false;
        if let Some(table) = &mut self.table {
            table.cell(text);
            return;
        }
        let mut style = self.style.clone();
        let is_code = matches!(style.place, Place::Code(_));
        style.bold = self.strong > 0 && !is_code;
        style.italic = self.emphasis > 0 && !is_code;
        style.strike = self.struck > 0 && !is_code;
        style.link = self.links.iter().rev().flatten().next().cloned().filter(|_| !is_code);
        if self.quotes > 0 && !is_code {
            style.place = Place::Quote;
        }
        self.styled.push(text, &style);
    }

    /// True if the text ends with `end`, across pieces of any style; also true if the text is empty.
    fn ends_with(&self, end: &str) -> bool {
        let written = self.styled.pieces.iter().rev().flat_map(|piece| piece.text.chars().rev());
        self.styled.pieces.is_empty() || written.take(end.len()).eq(end.chars().rev())
    }

    /// Adds a line feed, unless the text is at the start of a line. The line feed has the style of the text before it.
    fn begin_line(&mut self) {
        if let Some(last) = self.styled.pieces.last_mut()
            && !last.text.ends_with('\n')
        {
            last.text.push('\n');
        }
    }

    /// Adds an empty line between blocks, except in lists and after a list item's marker.
    fn begin_block(&mut self) {
        if self.after_mark {
            self.after_mark = false;
            return;
        }
        self.begin_line();
        if self.lists.is_empty() && !self.ends_with("\n\n") {
            self.styled.push("\n", &Style::default());
        }
    }
}

/// True for an address that a link may lead to.
fn is_open(address: &str) -> bool {
    ["http://", "https://", "mailto:"].iter().any(|scheme| address.to_ascii_lowercase().starts_with(scheme))
}

#[cfg(test)]
mod tests;
