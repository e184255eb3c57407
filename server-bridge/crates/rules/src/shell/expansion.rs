//! Expansions within a word: substitutions, variables, arithmetic, `$'…'`.

use super::scan::Parser;
use super::{Doubt, Word};

impl Parser<'_> {
    /// Reads a substitution in backticks.
    pub(super) fn backticks(&mut self, word: &mut Word) {
        let begin = self.at;
        self.at += 1;
        let mut text = Vec::new();
        loop {
            match self.peek() {
                None => {
                    self.doubt(Doubt::Unterminated("a backtick"));
                    break;
                }
                Some('`') => {
                    self.at += 1;
                    break;
                }
                Some('\\') if matches!(self.peek_at(1), Some('`' | '\\' | '$')) => {
                    text.extend(self.peek_at(1));
                    self.at += 2;
                }
                // Within double quotes, some shells drop it.
                Some('\\') if self.peek_at(1) == Some('"') => {
                    self.doubt(Doubt::Dialect("`\\\"` in backticks"));
                    self.at += 1;
                }
                Some(c) => {
                    text.push(c);
                    self.at += 1;
                }
            }
        }
        let mut inner = Parser::new(text, self.depth, self.line);
        inner.substitution_text();
        word.push_dynamic(&self.chars[begin..self.at]);
    }

    /// Reads a whole text as commands, one level deeper.
    fn substitution_text(&mut self) {
        let text: String = self.chars.iter().collect();
        super::scan::scan(&text, self.depth + 1, self.line);
    }

    /// Reads an expansion after `$`.
    pub(super) fn dollar(&mut self, word: &mut Word, is_quoted: bool) {
        let begin = self.at;
        match self.peek_at(1) {
            Some('(') if self.peek_at(2) == Some('(') => {
                self.at += 3;
                self.arithmetic();
            }
            Some('(') => {
                self.at += 2;
                self.substitution();
            }
            Some('{') => self.braced(is_quoted),
            Some('[') => {
                self.doubt(Doubt::Dialect("`$[`"));
                self.at += 2;
            }
            Some('\'') if !is_quoted => return self.ansi(word),
            Some('"') if !is_quoted => {
                word.is_odd = true;
                self.at += 1;
                return;
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                self.at += 2;
                while self.peek().is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') {
                    self.at += 1;
                }
            }
            Some('0'..='9' | '?' | '$' | '!' | '#' | '*' | '@' | '-') => self.at += 2,
            _ => {
                word.push('$');
                self.at += 1;
                return;
            }
        }
        word.push_dynamic(&self.chars[begin..self.at]);
    }

    /// Reads `${…}`: only the substitutions in it, and what it assigns or runs, matter.
    fn braced(&mut self, is_quoted: bool) {
        self.at += 2;
        self.depth += 1;
        let begin = self.at;
        if self.peek().is_some_and(|c| matches!(c, '@' | '*' | '?' | '-' | '$')) {
            self.at += 1;
        }
        while self.peek().is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '!' | '#')) {
            self.at += 1;
        }
        if self.is_shallow() {
            let name: String = self.chars[begin..self.at].iter().collect();
            self.braced_evaluation(&name);
            match (self.peek(), self.peek_at(1)) {
                (Some(':'), Some('=')) | (Some('='), _) => {
                    self.sets_named(&name);
                    self.sets_variable();
                }
                (Some('@'), Some('P')) => self.doubt(Doubt::RunsText("${…@P}".to_owned())),
                _ => {}
            }
            self.braced_rest(is_quoted);
        }
        self.depth -= 1;
    }

    /// Records a doubt about the parts of `${…}` in which the shell evaluates the value of a variable: `${!x}`, a subscript,
    /// an offset.
    fn braced_evaluation(&mut self, name: &str) {
        if name.len() > 1 && name.starts_with('!') {
            self.doubt(Doubt::Evaluates("`${!`"));
        }
        if self.peek() == Some('(') {
            self.doubt(Doubt::Dialect("`${(`"));
        }
        let mut at = self.at;
        let length = self.chars.len();
        let end_of = |chars: &[char], at: usize, end: char| {
            chars[at..].iter().position(|c| *c == end).map_or(length, |found| at + found)
        };
        if self.chars.get(at) == Some(&'[') {
            let end = end_of(&self.chars, at, ']');
            if names_a_variable(&self.chars[at..end]) {
                self.doubt(Doubt::Evaluates("a subscript"));
            }
            at = length.min(end + 1);
        }
        let is_offset = self.chars.get(at) == Some(&':')
            && !matches!(self.chars.get(at + 1), Some('-' | '=' | '+' | '?'));
        let end = end_of(&self.chars, at, '}');
        if is_offset && names_a_variable(&self.chars[at..end]) {
            self.doubt(Doubt::Evaluates("an offset"));
        }
    }

    fn braced_rest(&mut self, is_quoted: bool) {
        let mut skipped = Word::default();
        while let Some(c) = self.peek() {
            match c {
                '}' => {
                    self.at += 1;
                    return;
                }
                '\\' => self.at = (self.at + 2).min(self.chars.len()),
                '\'' if is_quoted => {
                    self.doubt(Doubt::Dialect("a single quote in a quoted `${`"));
                    self.at += 1;
                }
                '\'' => self.single(&mut skipped),
                '"' => {
                    self.at += 1;
                    self.expanding(&mut skipped, Some('"'));
                }
                '$' => self.dollar(&mut skipped, is_quoted),
                '`' => self.backticks(&mut skipped),
                '<' | '>' if self.peek_at(1) == Some('(') => {
                    self.at += 2;
                    self.substitution();
                }
                // An indirection, a subscript or an operator may follow the name.
                '@' if self.peek_at(1) == Some('P') => {
                    self.doubt(Doubt::RunsText("${…@P}".to_owned()));
                    self.at += 2;
                }
                '=' => {
                    self.sets_variable();
                    self.at += 1;
                }
                _ => self.at += 1,
            }
        }
        self.doubt(Doubt::Unterminated("`${`"));
    }

    /// Reads arithmetic, after `((`, to `))`.
    pub(super) fn arithmetic(&mut self) {
        self.depth += 1;
        if self.is_shallow() {
            self.arithmetic_rest();
        }
        self.depth -= 1;
    }

    fn arithmetic_rest(&mut self) {
        let mut skipped = Word::default();
        let begin = self.at;
        let mut open = 2;
        while let Some(c) = self.peek() {
            match c {
                '(' => open += 1,
                ')' => open -= 1,
                '$' => {
                    self.dollar(&mut skipped, true);
                    continue;
                }
                '`' => {
                    self.backticks(&mut skipped);
                    continue;
                }
                '\'' | '"' => self.doubt(Doubt::Dialect("a quote in arithmetic")),
                '\\' => self.doubt(Doubt::Dialect("a backslash in arithmetic")),
                _ => {}
            }
            self.at += 1;
            if open == 1 {
                if names_a_variable(&self.chars[begin..self.at]) {
                    self.doubt(Doubt::Evaluates("arithmetic"));
                }
                if !self.skip(")") {
                    self.doubt(Doubt::Dialect("`((`"));
                }
                return;
            }
        }
        self.doubt(Doubt::Unterminated("arithmetic"));
    }

    /// Reads `$'…'`, which not every shell supports.
    fn ansi(&mut self, word: &mut Word) {
        word.is_odd = true;
        word.is_quoted = true;
        self.at += 2;
        while let Some(c) = self.peek() {
            self.at += 1;
            match c {
                '\'' => return,
                '\\' => {
                    let Some(decoded) = self.ansi_escape() else {
                        self.doubt(Doubt::Dialect("an escape in `$'…'`"));
                        continue;
                    };
                    word.push(decoded);
                }
                _ => word.push(c),
            }
        }
        self.doubt(Doubt::Unterminated("`$'`"));
    }

    /// The character of an escape, after its backslash; `None` for escapes that shells interpret differently.
    fn ansi_escape(&mut self) -> Option<char> {
        let c = self.peek()?;
        let (radix, longest) = match c {
            'x' => (16, 2),
            'u' => (16, 4),
            'U' => (16, 8),
            '0'..='7' => (8, 3),
            _ => {
                self.at += 1;
                let (from, to) = ("abtnvfreE\\\"?", "\u{7}\u{8}\t\n\u{b}\u{c}\r\u{1b}\u{1b}\\\"?");
                return from
                    .chars()
                    .zip(to.chars())
                    .find_map(|(letter, value)| (letter == c).then_some(value));
            }
        };
        if radix == 16 {
            self.at += 1;
        }
        let (mut value, mut count) = (0_u32, 0);
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(radix)).filter(|_| count < longest) {
            value = value.checked_mul(radix)?.checked_add(digit)?;
            count += 1;
            self.at += 1;
        }
        char::from_u32(value).filter(|c| *c != '\0' && count > 0)
    }
}

/// True if arithmetic reads a variable, by its name or in an expansion: the variable's value is evaluated as well.
pub(super) fn names_a_variable(text: &[char]) -> bool {
    let mut is_number = false;
    text.iter().any(|c| {
        let is_letter = c.is_alphabetic() || *c == '_';
        is_number = c.is_ascii_digit() || (is_number && (is_letter || matches!(c, '#' | '@')));
        (is_letter && !is_number) || matches!(c, '$' | '`')
    })
}
