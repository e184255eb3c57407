//! The common part of skills, commands and roles: their heads.

use frontmatter::{Text, Value};

use crate::limits::{DESCRIPTION_CHARS, FIELD_CHARS, TEXT_BYTES};
use crate::text::line;
use crate::tree::File;

/// A text of a plugin, split into head and body.
pub(crate) struct Head<'a> {
    pub(crate) text: Text<'a>,
    /// True if the text has a head.
    pub(crate) is_there: bool,
}

impl<'a> Head<'a> {
    /// Reads a file.
    ///
    /// Fails with the problem as text.
    pub(crate) fn read(file: &'a File) -> Result<Self, String> {
        if file.content.len() > TEXT_BYTES {
            return Err(format!("has {} bytes; at most {TEXT_BYTES} are read", file.content.len()));
        }
        let content = std::str::from_utf8(&file.content).map_err(|_| "is not UTF-8 text".to_owned())?;
        if content.contains('\0') {
            return Err("contains a NUL character".to_owned());
        }
        let text = Text::read(content);
        if !text.is_closed {
            return Err("has a head that does not end; add a line `---` after it".to_owned());
        }
        let is_there = !text.head.is_empty();
        Ok(Self { text, is_there })
    }

    /// Reads a text that is not part of a plugin, such as a skill of a workspace: problems of its head are ignored.
    pub(crate) fn of(text: &'a str) -> Self {
        let text = Text::read(text);
        let is_there = !text.head.is_empty();
        Self { text, is_there }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.text.head.get(name)
    }

    /// A short text; empty if there is none.
    pub(crate) fn field(&self, name: &str) -> String {
        line(&self.text.line(name), FIELD_CHARS)
    }

    /// The description, or else the first line of the body that is not a heading.
    pub(crate) fn description(&self) -> String {
        let written = line(&self.text.line("description"), DESCRIPTION_CHARS);
        if !written.is_empty() {
            return written;
        }
        let lines = self.text.body.lines().map(str::trim);
        let first =
            lines.filter(|line| !line.is_empty()).find(|line| !line.starts_with(['#', '<', '-', '`', '!']));
        line(first.unwrap_or_default(), DESCRIPTION_CHARS)
    }

    /// True or false; `None` if the head does not contain the field.
    pub(crate) fn truth(&self, name: &str) -> Option<bool> {
        self.get(name)?.truth()
    }

    /// The fields of the head that only have an effect in other programs.
    pub(crate) fn unused<'f>(&'f self, fields: &'f [&'f str]) -> impl Iterator<Item = &'f str> {
        fields.iter().copied().filter(|name| self.get(name).is_some())
    }

    /// The body for a model, and true if characters that hide text or change its direction were removed.
    pub(crate) fn body(&self) -> (String, bool) {
        let kept: String = self.text.body.chars().filter(|letter| !hides(*letter)).collect();
        let was_cleaned = kept.len() != self.text.body.len();
        (kept, was_cleaned)
    }
}

/// True for characters that change the direction of writing, and for tag characters: both hide from people what a model
/// reads.
fn hides(letter: char) -> bool {
    matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
}
