//! Compound commands: loops, `case`, conditions, functions, arrays.

use super::scan::{Frame, Open, Parser, has_evaluated_subscript};
use super::{Doubt, Word};

impl Parser<'_> {
    /// Skips the values of an array, of which only substitutions matter.
    pub(super) fn array(&mut self) {
        self.at += 1;
        loop {
            self.blank_lines();
            match self.peek() {
                Some(')') => {
                    self.at += 1;
                    return;
                }
                None => return self.doubt(Doubt::Unterminated("an array")),
                Some(c @ (';' | '&' | '|' | '(')) => {
                    self.at += 1;
                    self.doubt(Doubt::Unexpected(c));
                }
                Some(c @ ('<' | '>')) if self.peek_at(1) != Some('(') => {
                    self.at += 1;
                    self.doubt(Doubt::Unexpected(c));
                }
                Some(_) => {
                    let word = self.word();
                    if word.text.starts_with('[') && has_evaluated_subscript(&word.text) {
                        self.doubt(Doubt::Evaluates("a subscript"));
                    }
                }
            }
        }
    }

    /// True for a reserved word, after which another command may begin. Also parses what belongs to the word, such as the head of a loop.
    pub(super) fn is_reserved(&mut self, word: &Word, frame: &mut Frame) -> bool {
        if word.is_quoted || word.is_dynamic {
            return false;
        }
        match word.text.as_str() {
            "if" | "then" | "elif" | "else" | "fi" | "do" | "done" | "while" | "until" | "{" | "}" | "!" => {}
            "time" => {
                self.blanks();
                while self.skip("-p ") || self.skip("-- ") {
                    self.blanks();
                }
            }
            "for" | "select" => self.loop_head(),
            "case" => self.case_head(frame),
            "esac" => {
                if frame.open.last() == Some(&Open::Case) {
                    frame.open.pop();
                } else {
                    self.doubt(Doubt::Unexpected('e'));
                }
            }
            "function" => {
                self.blanks();
                let name = self.word().text;
                self.doubt(Doubt::Defines(format!("function {name}")));
                self.blanks();
                if self.skip("(") {
                    self.blanks();
                    self.skip(")");
                }
            }
            "coproc" => self.doubt(Doubt::Dialect("`coproc`")),
            "[[" => self.condition(frame, word),
            _ => return false,
        }
        true
    }

    /// Reads the variable and the values of a loop.
    fn loop_head(&mut self) {
        self.blanks();
        if self.skip("((") {
            self.arithmetic();
            return;
        }
        let variable = self.word().text;
        self.sets_named(&variable);
        // Lower-case names have no meaning for programs, except those of proxies and, in zsh, of paths.
        let is_own = variable.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if !is_own || variable.ends_with("_proxy") || variable.ends_with("path") {
            self.sets_variable();
        }
        self.blank_lines();
        let begin = self.at;
        if self.word().text != "in" {
            self.at = begin;
            return;
        }
        loop {
            self.blanks();
            match self.peek() {
                None | Some('\n' | ';' | '&' | '|' | '(' | ')') => return,
                Some('<' | '>') if self.peek_at(1) != Some('(') => return,
                Some(_) => drop(self.word()),
            }
        }
    }

    fn case_head(&mut self, frame: &mut Frame) {
        self.blanks();
        let _subject = self.word();
        self.blank_lines();
        if self.word().text != "in" {
            self.doubt(Doubt::Unterminated("`case`"));
        }
        frame.open.push(Open::Case);
        self.patterns(frame);
    }

    /// Reads the patterns of a branch, or the end of the `case`.
    pub(super) fn patterns(&mut self, frame: &mut Frame) {
        let mut is_first = true;
        loop {
            self.blank_lines();
            match self.peek() {
                None => return,
                Some(')') => {
                    self.at += 1;
                    return;
                }
                Some('(' | '|') => self.at += 1,
                Some(c @ (';' | '&')) => {
                    self.at += 1;
                    self.doubt(Doubt::Unexpected(c));
                }
                Some(c @ ('<' | '>')) if self.peek_at(1) != Some('(') => {
                    self.at += 1;
                    self.doubt(Doubt::Unexpected(c));
                }
                Some(_) => {
                    let word = self.word();
                    if is_first && word.text == "esac" && !word.is_quoted {
                        frame.open.pop();
                        return;
                    }
                }
            }
            is_first = false;
        }
    }

    /// Reads `[[ … ]]`. A shell without it runs the parts between `&&` and `||` as commands, so they are segments.
    fn condition(&mut self, frame: &mut Frame, opening: &Word) {
        frame.command.words.push(opening.clone());
        frame.command.is_odd = true;
        loop {
            self.blanks();
            match self.peek() {
                None => return self.doubt(Doubt::Unterminated("`[[`")),
                Some('\n') => self.newline(),
                Some('&' | '|' | ';') => {
                    if !self.skip("&&") && !self.skip("||") {
                        self.at += 1;
                    }
                    self.finish(frame);
                    frame.command.is_odd = true;
                }
                Some('(' | ')') => self.at += 1,
                Some('<' | '>') if self.peek_at(1) != Some('(') => self.at += 1,
                Some(_) => {
                    let word = self.word();
                    let is_end = word.text == "]]" && !word.is_quoted;
                    frame.command.words.push(word);
                    if is_end {
                        self.finish(frame);
                        return;
                    }
                }
            }
        }
    }
}
