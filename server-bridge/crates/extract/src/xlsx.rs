//! Workbooks of Office Open XML: each sheet as lines of values, with the sheet's name as the title of its pages.

use std::collections::HashMap;

use crate::failure::Failure;
use crate::limits::{CELLS, PAGE_BYTES, SHARED_TEXT_BYTES};
use crate::page::{Pages, Stop};
use crate::xml::{self, Item};
use crate::zip::Archive;

/// The file by which an archive is recognised as a workbook.
pub(crate) const MAIN: &str = "xl/workbook.xml";

pub(crate) fn read(archive: &Archive<'_>, pages: &mut Pages<'_>) -> Result<(), Stop> {
    let targets = targets(archive)?;
    let texts = shared(archive)?;
    let mut cells = 0;
    for (name, id) in sheets(archive)? {
        let Some(target) = targets.get(&id) else { continue };
        let path = match target.strip_prefix('/') {
            Some(absolute) => absolute.to_owned(),
            None => format!("xl/{target}"),
        };
        let Some(content) = archive.read(&path)? else { continue };
        let mut sheet = Sheet {
            pages,
            name: &name,
            texts: &texts,
            cells: &mut cells,
            row: String::new(),
            kind: String::new(),
            value: String::new(),
            in_value: false,
        };
        xml::read(content, |item| sheet.take(item))?;
    }
    Ok(())
}

/// The names of the sheets and the ids of their files, in order.
fn sheets(archive: &Archive<'_>) -> Result<Vec<(String, String)>, Failure> {
    let mut sheets = Vec::new();
    let Some(content) = archive.read(MAIN)? else { return Err(Failure::broken("it has no workbook")) };
    xml::read(content, |item| {
        if let Item::Open(element) = item
            && element.name() == "sheet"
        {
            // The attribute is `r:id`, whose local name is `id`; `sheetId` is a different attribute.
            sheets.push((element.attribute("name"), element.attribute("id")));
        }
        Ok::<(), Failure>(())
    })?;
    Ok(sheets)
}

fn targets(archive: &Archive<'_>) -> Result<HashMap<String, String>, Failure> {
    let mut targets = HashMap::new();
    if let Some(content) = archive.read("xl/_rels/workbook.xml.rels")? {
        xml::read(content, |item| {
            if let Item::Open(element) = item
                && element.name() == "Relationship"
            {
                targets.insert(element.attribute("Id"), element.attribute("Target"));
            }
            Ok::<(), Failure>(())
        })?;
    }
    Ok(targets)
}

/// The shared texts, to which cells refer by number.
fn shared(archive: &Archive<'_>) -> Result<Vec<String>, Failure> {
    let (mut texts, mut bytes) = (Vec::new(), 0);
    let Some(content) = archive.read("xl/sharedStrings.xml")? else { return Ok(texts) };
    let (mut text, mut in_text, mut in_reading_aid) = (String::new(), false, false);
    xml::read(content, |item| {
        match item {
            Item::Open(element) => match element.name() {
                "t" => in_text = true,
                "rPh" => in_reading_aid = true,
                _ => {}
            },
            Item::Close("t") => in_text = false,
            Item::Close("rPh") => in_reading_aid = false,
            Item::Close("si") => {
                bytes += text.len() + std::mem::size_of::<String>();
                texts.push(std::mem::take(&mut text));
            }
            Item::Text(more) if in_text && !in_reading_aid => text.push_str(more),
            Item::Close(_) | Item::Text(_) => {}
        }
        if bytes + text.len() > SHARED_TEXT_BYTES { Err(Failure::TooMuchText) } else { Ok(()) }
    })?;
    Ok(texts)
}

struct Sheet<'a, 'p> {
    pages: &'a mut Pages<'p>,
    name: &'a str,
    texts: &'a [String],
    cells: &'a mut u64,
    /// The values of the row so far.
    row: String,
    /// The type of the cell, as the file names it.
    kind: String,
    value: String,
    in_value: bool,
}

impl Sheet<'_, '_> {
    fn take(&mut self, item: Item<'_>) -> Result<(), Stop> {
        match item {
            Item::Open(element) => match element.name() {
                "c" => {
                    self.kind = element.attribute("t");
                    self.value.clear();
                    *self.cells += 1;
                    if *self.cells > CELLS {
                        return Err(Failure::TooManyCells.into());
                    }
                }
                "v" | "t" => self.in_value = true,
                _ => {}
            },
            Item::Close("v" | "t") => self.in_value = false,
            Item::Close("c") => self.cell(),
            Item::Close("row") => return self.end_row(),
            Item::Text(text) if self.in_value && self.value.len() < PAGE_BYTES => self.value.push_str(text),
            Item::Close(_) | Item::Text(_) => {}
        }
        Ok(())
    }

    fn cell(&mut self) {
        let value = match self.kind.as_str() {
            "s" => {
                let text = self.value.trim().parse::<usize>().ok().and_then(|at| self.texts.get(at));
                text.map_or("", String::as_str)
            }
            "b" if self.value.trim() == "1" => "TRUE",
            "b" => "FALSE",
            _ => self.value.as_str(),
        };
        let value = value.trim();
        if value.is_empty() || self.row.len() > PAGE_BYTES {
            return;
        }
        if !self.row.is_empty() {
            self.row.push_str(" | ");
        }
        self.row.extend(value.chars().map(|c| if c == '\n' || c == '\r' { ' ' } else { c }));
    }

    fn end_row(&mut self) -> Result<(), Stop> {
        let mut row = std::mem::take(&mut self.row);
        if row.is_empty() {
            return Ok(());
        }
        row.push('\n');
        self.pages.text(self.name, &row)
    }
}
