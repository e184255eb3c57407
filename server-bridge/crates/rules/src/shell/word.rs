//! One word of a shell line: quotes and expansions.

use super::Doubt;
use super::scan::Parser;

/// A word of a shell line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Word {
    /// The word's text without quotes; expansions are kept as they were written.
    pub(crate) text: String,
    /// True if it has an expansion, whose value is only known when it runs.
    pub(crate) is_dynamic: bool,
    /// True if any part is quoted, so that it is not a reserved word.
    pub(crate) is_quoted: bool,
    /// True if it has an unquoted pattern of file names.
    pub(crate) has_glob: bool,
    /// True if shells read it differently.
    pub(crate) is_odd: bool,
    /// True if it begins with an unquoted `~`.
    pub(crate) has_tilde: bool,
    /// True if it sets a variable when it precedes a command.
    pub(super) is_assignment: bool,
    /// The word's characters, each with true unless it is an unquoted brace or comma; only kept for a word with braces.
    pub(super) letters: Vec<(char, bool)>,
}

impl Word {
    /// A word without quotes or expansions.
    pub(crate) fn plain(text: String) -> Self {
        Self { text, ..Self::default() }
    }

    /// True if the shell replaces it with several words.
    pub(crate) fn has_braces(&self) -> bool {
        !self.letters.is_empty()
    }

    /// True if its value is its text.
    pub(crate) fn is_literal(&self) -> bool {
        !(self.is_dynamic || self.has_glob || self.is_odd || self.has_tilde || self.has_braces())
    }

    /// True if the shell replaces it with an unknown number of words, which are only known when it runs.
    pub(crate) fn is_unknown(&self) -> bool {
        self.is_dynamic || self.has_glob || (self.has_braces() && self.text.contains(".."))
    }

    /// True if it names the file descriptor of the redirection after it.
    pub(super) fn is_descriptor(&self) -> bool {
        let name = self.text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let is_named = name
            .is_some_and(|name| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_'));
        is_named || (!self.text.is_empty() && self.text.bytes().all(|byte| byte.is_ascii_digit()))
    }

    pub(super) fn push(&mut self, c: char) {
        self.text.push(c);
    }

    fn push_quoted(&mut self, c: char) {
        self.is_quoted = true;
        self.text.push(c);
    }

    /// Adds an expansion as it was written.
    pub(super) fn push_dynamic(&mut self, written: &[char]) {
        self.is_dynamic = true;
        self.text.extend(written);
    }

    /// True if the text read so far may precede the `=` of an assignment.
    fn may_be_assigned(&self) -> bool {
        let name = self.text.strip_suffix('+').unwrap_or(&self.text);
        let name =
            name.split_once('[').map_or(name, |(name, rest)| if rest.ends_with(']') { name } else { "" });
        !self.is_quoted && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && is_name(name)
    }
}

fn is_name(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl Parser<'_> {
    /// Reads a word. It is empty only if an operator comes next.
    pub(super) fn word(&mut self) -> Word {
        let mut word = Word::default();
        // The positions of the unquoted braces and commas, in bytes.
        let mut unquoted: Vec<usize> = Vec::new();
        let (mut has_equals, mut has_bracket) = (false, false);
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' => break,
                '<' | '>' if self.peek_at(1) != Some('(') => break,
                '<' | '>' => {
                    let begin = self.at;
                    self.at += 2;
                    self.substitution();
                    word.push_dynamic(&self.chars[begin..self.at]);
                }
                '\\' => self.escaped(&mut word),
                '\'' => self.single(&mut word),
                '"' => {
                    self.at += 1;
                    word.is_quoted = true;
                    self.expanding(&mut word, Some('"'));
                }
                '$' => self.dollar(&mut word, false),
                '`' => self.backticks(&mut word),
                _ => {
                    word.is_assignment |= c == '=' && !has_equals && word.may_be_assigned();
                    has_equals |= c == '=';
                    word.has_tilde |= c == '~' && word.text.is_empty() && !word.is_quoted;
                    word.has_glob |= matches!(c, '*' | '?');
                    has_bracket |= c == '[';
                    if matches!(c, '{' | ',' | '}') {
                        unquoted.push(word.text.len());
                    }
                    word.push(c);
                    self.at += 1;
                }
            }
        }
        word.has_glob |= has_bracket && word.text.contains(']');
        if unquoted.iter().any(|at| word.text[*at..].starts_with('{'))
            && (word.text.contains(',') || word.text.contains(".."))
        {
            let letters = word.text.char_indices();
            word.letters = letters.map(|(at, c)| (c, unquoted.binary_search(&at).is_err())).collect();
        }
        word
    }

    fn escaped(&mut self, word: &mut Word) {
        match self.peek_at(1) {
            Some('\n') => self.at += 2,
            Some(c) => {
                word.push_quoted(c);
                self.at += 2;
            }
            None => {
                self.doubt(Doubt::Unterminated("a backslash"));
                self.at += 1;
            }
        }
    }

    /// Reads a text in single quotes.
    pub(super) fn single(&mut self, word: &mut Word) {
        word.is_quoted = true;
        self.at += 1;
        while let Some(c) = self.peek() {
            self.at += 1;
            if c == '\'' {
                return;
            }
            word.push(c);
        }
        self.doubt(Doubt::Unterminated("a single quote"));
    }

    /// Reads a text with expansions, up to the quote that ends it, or to the end of a here-document.
    pub(super) fn expanding(&mut self, word: &mut Word, end: Option<char>) {
        while let Some(c) = self.peek() {
            match c {
                _ if Some(c) == end => {
                    self.at += 1;
                    return;
                }
                '\\' => match self.peek_at(1) {
                    Some('\n') => self.at += 2,
                    Some(next @ ('$' | '`' | '\\' | '"')) => {
                        word.push(next);
                        self.at += 2;
                    }
                    _ => {
                        word.push(c);
                        self.at += 1;
                    }
                },
                '$' => self.dollar(word, true),
                '`' => self.backticks(word),
                _ => {
                    word.push(c);
                    self.at += 1;
                }
            }
        }
        if end.is_some() {
            self.doubt(Doubt::Unterminated("a double quote"));
        }
    }
}
