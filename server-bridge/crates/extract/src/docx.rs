//! Text documents of Office Open XML: paragraphs, headings, lists and tables, as Markdown.

use crate::limits::PAGE_BYTES;
use crate::page::{Pages, Stop};
use crate::xml::{self, Element, Item};
use crate::zip::Archive;

/// The file by which an archive is recognised as a text document.
pub(crate) const MAIN: &str = "word/document.xml";
/// The deepest heading of Markdown.
const DEEPEST: usize = 6;

pub(crate) fn read(archive: &Archive<'_>, pages: &mut Pages<'_>) -> Result<(), Stop> {
    let notes = ["word/footnotes.xml", "word/endnotes.xml"];
    for name in [MAIN].into_iter().chain(notes) {
        let Some(content) = archive.read(name)? else { continue };
        let mut text = Text {
            pages,
            line: String::new(),
            level: 0,
            is_item: false,
            in_text: false,
            cells: 0,
            deleted: 0,
        };
        xml::read(content, |item| text.take(item))?;
    }
    Ok(())
}

struct Text<'a, 'p> {
    pages: &'a mut Pages<'p>,
    /// The text so far of the paragraph or table row.
    line: String,
    /// The heading level of the paragraph; 0 for none.
    level: usize,
    is_item: bool,
    in_text: bool,
    /// The number of open table cells.
    cells: usize,
    /// The number of open parts that were deleted with change tracking.
    deleted: usize,
}

impl Text<'_, '_> {
    fn take(&mut self, item: Item<'_>) -> Result<(), Stop> {
        match item {
            Item::Open(element) => self.open(element),
            Item::Close(name) => return self.close(name),
            Item::Text(text) if self.in_text && self.deleted == 0 => {
                self.line.push_str(text);
                if self.line.len() > PAGE_BYTES {
                    return self.end_line("\n");
                }
            }
            Item::Text(_) => {}
        }
        Ok(())
    }

    fn open(&mut self, element: &Element<'_>) {
        match element.name() {
            "t" => self.in_text = true,
            "tab" if self.deleted == 0 && !self.line.is_empty() => self.line.push('\t'),
            "br" | "cr" if self.deleted == 0 => self.line.push(if self.cells > 0 { ' ' } else { '\n' }),
            "pStyle" => self.level = level(&element.attribute("val")),
            "outlineLvl" => {
                let level = element.attribute("val").parse::<usize>().map_or(0, |level| level + 1);
                self.level = if level > DEEPEST { 0 } else { level };
            }
            "numPr" => self.is_item = true,
            "tc" => {
                self.cells += 1;
                self.line.push_str("| ");
            }
            "del" | "moveFrom" => self.deleted += 1,
            _ => {}
        }
    }

    fn close(&mut self, name: &str) -> Result<(), Stop> {
        match name {
            "t" => self.in_text = false,
            "tc" => {
                self.cells = self.cells.saturating_sub(1);
                self.line.push(' ');
            }
            "tr" if self.cells == 0 => return self.end_line("\n"),
            "tbl" if self.cells == 0 => return self.pages.text("", "\n"),
            "p" if self.cells == 0 => return self.end_line("\n\n"),
            "p" => self.line.push(' '),
            "del" | "moveFrom" => self.deleted = self.deleted.saturating_sub(1),
            _ => {}
        }
        Ok(())
    }

    fn end_line(&mut self, end: &str) -> Result<(), Stop> {
        let line = std::mem::take(&mut self.line);
        let (level, is_item) = (std::mem::take(&mut self.level), std::mem::take(&mut self.is_item));
        let line = line.trim();
        if line.is_empty() {
            return Ok(());
        }
        let mark = match level {
            0 if is_item => "- ".to_owned(),
            0 => String::new(),
            level => format!("{} ", "#".repeat(level)),
        };
        self.pages.text("", &format!("{mark}{line}{end}"))
    }
}

/// The heading level of a style: `Heading1`, `Title`, or a number alone, which programs write in other languages.
fn level(style: &str) -> usize {
    let style = style.to_ascii_lowercase();
    let number = style.strip_prefix("heading").unwrap_or(&style).trim();
    match number.parse::<usize>() {
        Ok(level) if (1..=DEEPEST).contains(&level) => level,
        _ if style == "title" => 1,
        _ => 0,
    }
}
