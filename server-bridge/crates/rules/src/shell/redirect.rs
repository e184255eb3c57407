//! Redirections and here-documents.

use super::scan::Parser;
use super::{Doubt, Segment, Word};

/// A file that a command opens.
#[derive(Clone, Debug)]
pub(crate) struct Redirect {
    /// The path of the file.
    pub(crate) target: Word,
    /// True if the command may change the file.
    pub(crate) writes: bool,
}

/// A here-document whose text has not been read.
pub(super) struct HereDocument {
    delimiter: String,
    strips_tabs: bool,
    expands: bool,
    /// The number of the command that reads it, once that command has ended.
    pub(super) segment: Option<usize>,
}

impl Parser<'_> {
    /// Reads a redirection of a command.
    pub(super) fn redirect(&mut self, command: &mut Segment) {
        const OPERATORS: [&str; 12] =
            ["&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", "<", ">>", ">|", ">&", ">"];
        let operator = OPERATORS.into_iter().find(|operator| self.skip(operator)).unwrap_or_default();
        self.blanks();
        let target = self.word();
        if target.text.is_empty() && !target.is_quoted {
            self.doubt(Doubt::Unterminated("a redirection"));
            return;
        }
        command.is_cut |= matches!(operator, "&>" | "&>>");
        match operator {
            "<<<" => command.input = Some(target),
            "<<" | "<<-" => {
                if target.is_dynamic || target.is_odd {
                    self.doubt(Doubt::Dialect("an expansion in the delimiter of a here-document"));
                }
                self.awaited.push(HereDocument {
                    delimiter: target.text,
                    strips_tabs: operator == "<<-",
                    expands: !target.is_quoted,
                    segment: None,
                });
                // The text of the here-document is added when it has been read.
                command.input = Some(Word::default());
            }
            "<&" | ">&" if is_descriptor(&target) => {}
            "<" => command.redirects.push(Redirect { target, writes: false }),
            _ => command.redirects.push(Redirect { target, writes: true }),
        }
    }

    /// Reads the texts of the here-documents that begin on this line.
    pub(super) fn here_documents(&mut self) {
        for document in std::mem::take(&mut self.awaited) {
            let text = self.here_document(&document);
            let mut word = Word::default();
            if document.expands {
                self.depth += 1;
                if self.is_shallow() {
                    let mut inner = Parser::new(text.chars().collect(), self.depth, self.line);
                    inner.expanding(&mut word, None);
                }
                self.depth -= 1;
            } else {
                word.text = text;
            }
            if let Some(segment) = document.segment.and_then(|number| self.line.segments.get_mut(number)) {
                segment.input = Some(word);
            }
        }
    }

    fn here_document(&mut self, document: &HereDocument) -> String {
        let mut text = String::new();
        while self.at < self.chars.len() {
            let rest = &self.chars[self.at..];
            let length = rest.iter().position(|c| *c == '\n').unwrap_or(rest.len());
            let line: String = rest[..length].iter().collect();
            self.at = (self.at + length + 1).min(self.chars.len());
            let line = if document.strips_tabs { line.trim_start_matches('\t') } else { &line };
            if line == document.delimiter {
                return text;
            }
            if document.expands && line.ends_with('\\') {
                self.doubt(Doubt::Dialect("a backslash at the end of a line of a here-document"));
            }
            text.push_str(line);
            text.push('\n');
        }
        self.doubt(Doubt::Unterminated("a here-document"));
        text
    }
}

/// True if the target of `>&` or `<&` is a file descriptor, not a file.
fn is_descriptor(target: &Word) -> bool {
    let digits = target.text.strip_suffix('-').unwrap_or(&target.text);
    target.is_literal() && digits.bytes().all(|byte| byte.is_ascii_digit())
}
