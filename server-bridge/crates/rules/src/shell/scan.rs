//! The parser: lists, compound commands, functions.

use super::redirect::HereDocument;
use super::{Doubt, Line, Segment};
use crate::limits::{DEPTH, SEGMENTS};

/// Adds the commands of `text` to `line`.
pub(super) fn scan(text: &str, depth: usize, line: &mut Line) {
    let mut parser = Parser::new(text.chars().collect(), depth, line);
    if parser.is_shallow() {
        parser.list(false);
    }
}

/// True for a variable whose value a shell runs, or from which it reads commands.
pub(super) fn runs_value(name: &str) -> bool {
    const RUN: &[&str] = &["BASH_ENV", "ENV", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS3", "PS4"];
    RUN.contains(&name) || name.starts_with("BASH_FUNC_")
}

/// True if a variable's name has a subscript that names another one: `a[b]`.
pub(super) fn has_evaluated_subscript(place: &str) -> bool {
    let subscript = place.split_once('[').map(|(_, rest)| rest.chars().collect::<Vec<_>>());
    subscript.is_some_and(|subscript| super::expansion::names_a_variable(&subscript))
}

/// A text that is being parsed.
pub(super) struct Parser<'a> {
    pub(super) chars: Vec<char>,
    pub(super) at: usize,
    pub(super) depth: usize,
    pub(super) line: &'a mut Line,
    /// Here-documents whose text begins after the next newline.
    pub(super) awaited: Vec<HereDocument>,
}

/// A construct that has begun and not ended.
#[derive(PartialEq, Eq)]
pub(super) enum Open {
    Subshell,
    Case,
}

/// A list that is being read: its current command, and the open constructs around it.
#[derive(Default)]
pub(super) struct Frame {
    pub(super) command: Segment,
    pub(super) open: Vec<Open>,
}

impl Frame {
    /// True if a command may begin here.
    pub(super) fn is_at_command(&self) -> bool {
        let Segment { words, redirects, assigns, .. } = &self.command;
        words.is_empty() && redirects.is_empty() && !assigns
    }
}

impl<'a> Parser<'a> {
    pub(super) fn new(chars: Vec<char>, depth: usize, line: &'a mut Line) -> Self {
        Self { chars, at: 0, depth, line, awaited: Vec::new() }
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    /// Skips `expected` if it comes next.
    pub(super) fn skip(&mut self, expected: &str) -> bool {
        let is_next = expected.chars().enumerate().all(|(ahead, c)| self.peek_at(ahead) == Some(c));
        if is_next {
            self.at += expected.chars().count();
        }
        is_next
    }

    pub(super) fn doubt(&mut self, doubt: Doubt) {
        if self.line.doubts.len() < SEGMENTS && !self.line.doubts.contains(&doubt) {
            self.line.doubts.push(doubt);
        }
    }

    /// Returns false if the nesting is too deep, after recording a doubt and discarding the rest of the text.
    pub(super) fn is_shallow(&mut self) -> bool {
        let is_shallow = self.depth <= DEPTH;
        if !is_shallow {
            self.doubt(Doubt::TooDeep);
            self.at = self.chars.len();
        }
        is_shallow
    }

    /// Reads the list of a substitution, after its opening parenthesis.
    pub(super) fn substitution(&mut self) {
        let (outer, begin) = (std::mem::take(&mut self.awaited), self.at);
        self.depth += 1;
        if self.is_shallow() {
            self.list(true);
        }
        self.depth -= 1;
        if !outer.is_empty() && self.chars[begin..self.at].contains(&'\n') {
            self.doubt(Doubt::Dialect("a substitution of several lines next to a here-document"));
        }
        self.awaited = outer;
    }

    /// Skips spaces, line continuations and a comment.
    pub(super) fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(' ' | '\t') => self.at += 1,
                Some('\\') if self.peek_at(1) == Some('\n') => self.at += 2,
                Some('#') => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    pub(super) fn blank_lines(&mut self) {
        self.blanks();
        while self.peek() == Some('\n') {
            self.newline();
            self.blanks();
        }
    }

    pub(super) fn newline(&mut self) {
        self.at += 1;
        self.here_documents();
    }

    /// Reads commands to the end of the text, or to the parenthesis that closes a substitution.
    fn list(&mut self, is_substitution: bool) {
        let mut frame = Frame::default();
        loop {
            self.blanks();
            match self.peek() {
                None => {
                    self.finish(&mut frame);
                    if is_substitution || !frame.open.is_empty() {
                        self.doubt(Doubt::Unterminated("a parenthesis or `case`"));
                    }
                    if !std::mem::take(&mut self.awaited).is_empty() {
                        self.doubt(Doubt::Unterminated("a here-document"));
                    }
                    return;
                }
                Some('\n') => {
                    self.finish(&mut frame);
                    self.newline();
                }
                Some(';') => self.semicolon(&mut frame),
                Some('&') if self.peek_at(1) == Some('>') => self.redirect(&mut frame.command),
                Some('&' | '|') => {
                    self.finish(&mut frame);
                    let _operator = ["&&", "||", "|&", "&", "|"].iter().any(|operator| self.skip(operator));
                }
                Some('(') => self.parenthesis(&mut frame),
                Some(')') => {
                    self.finish(&mut frame);
                    self.at += 1;
                    match frame.open.pop() {
                        Some(Open::Subshell) => {}
                        None if is_substitution => {
                            if !std::mem::take(&mut self.awaited).is_empty() {
                                self.doubt(Doubt::Unterminated("a here-document"));
                            }
                            return;
                        }
                        Some(Open::Case) | None => self.doubt(Doubt::Unexpected(')')),
                    }
                }
                Some('<' | '>') if self.peek_at(1) != Some('(') => self.redirect(&mut frame.command),
                Some(_) => self.next_word(&mut frame),
            }
        }
    }

    /// Ends the current command.
    pub(super) fn finish(&mut self, frame: &mut Frame) {
        let is_empty = frame.is_at_command();
        let mut command = std::mem::take(&mut frame.command);
        if is_empty {
            return;
        }
        if self.line.segments.len() >= SEGMENTS {
            self.doubt(Doubt::TooMany);
            self.at = self.chars.len();
            return;
        }
        command.depth = self.depth;
        let number = self.line.segments.len();
        for document in self.awaited.iter_mut().filter(|document| document.segment.is_none()) {
            document.segment = Some(number);
        }
        self.line.segments.push(command);
    }

    /// Records that the line sets a variable without an assignment.
    pub(super) fn sets_variable(&mut self) {
        if self.line.segments.len() < SEGMENTS {
            self.line.segments.push(Segment { assigns: true, depth: self.depth, ..Segment::default() });
        }
    }

    /// Records a doubt if the line sets a variable whose value a shell runs.
    pub(super) fn sets_named(&mut self, name: &str) {
        if runs_value(name) {
            self.doubt(Doubt::RunsText(name.to_owned()));
        }
    }

    fn semicolon(&mut self, frame: &mut Frame) {
        self.finish(frame);
        let ends_branch = [";;&", ";;", ";&"].iter().any(|operator| self.skip(operator));
        if !ends_branch {
            self.at += 1;
        } else if frame.open.last() == Some(&Open::Case) {
            self.patterns(frame);
        } else {
            self.doubt(Doubt::Unexpected(';'));
        }
    }

    fn parenthesis(&mut self, frame: &mut Frame) {
        self.at += 1;
        if frame.is_at_command() {
            if self.peek() == Some('(') {
                self.doubt(Doubt::Dialect("`((`"));
            }
            frame.open.push(Open::Subshell);
            return;
        }
        self.blanks();
        if frame.command.words.len() == 1 && self.peek() == Some(')') {
            self.at += 1;
            let name = std::mem::take(&mut frame.command).shown();
            self.doubt(Doubt::Defines(format!("{name}()")));
        } else {
            // The rest may be commands in some shells.
            self.doubt(Doubt::Unexpected('('));
            self.finish(frame);
            frame.open.push(Open::Subshell);
        }
    }

    fn next_word(&mut self, frame: &mut Frame) {
        let word = self.word();
        let is_descriptor = !word.is_quoted && matches!(self.peek(), Some('<' | '>')) && word.is_descriptor();
        if is_descriptor || (frame.is_at_command() && self.is_reserved(&word, frame)) {
            return;
        }
        if frame.command.words.is_empty() && word.is_assignment {
            frame.command.assigns = true;
            let name = word.text.split(['=', '+', '[']).next().unwrap_or_default();
            self.sets_named(name);
            let place = word.text.split('=').next().unwrap_or_default();
            if has_evaluated_subscript(place) {
                self.doubt(Doubt::Evaluates("a subscript"));
            }
            if word.text.ends_with('=') && self.peek() == Some('(') {
                self.array();
            }
            frame.command.assigned.push(word);
            return;
        }
        if frame.command.is_cut {
            self.doubt(Doubt::Dialect("words after `&>`"));
        }
        frame.command.words.push(word);
    }
}
