//! The lines of one file: the matches, and the lines around them.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};

use proto::message::GrepLine;
use regex::bytes::Regex;

use crate::limits::{GREP_BUFFER_BYTES, GREP_LEAD_BYTES, GREP_LINE_BYTES, GREP_LONGEST_LINE_BYTES};

/// A file being searched. The work is done in steps, each of which reads one buffer or processes one line.
#[derive(Debug)]
pub(super) struct Lines {
    file: File,
    /// Data that was read; `start` is the beginning of the next line.
    buffer: Vec<u8>,
    start: usize,
    /// True if nothing is left to be read.
    ended: bool,
    /// True if the rest of an overlong line is skipped.
    skips: bool,
    number: u64,
    context_lines: usize,
    /// The last lines that were not sent.
    before: VecDeque<GrepLine>,
    /// How many more lines are sent as context.
    after: usize,
}

/// The outcome of a step.
#[derive(Debug)]
pub(super) enum Step {
    /// More data was read.
    Read,
    /// A line that neither matches nor is context.
    Nothing,
    /// A line after a match.
    Context(GrepLine),
    /// A matching line, after its preceding context lines.
    Match(Vec<GrepLine>),
    /// A line is longer than the part that is searched.
    LongLine,
    /// There is a NUL byte: the rest is not text.
    Binary,
    End,
}

impl Lines {
    pub(super) fn new(file: File, context_lines: usize) -> Self {
        Self {
            file,
            buffer: Vec::new(),
            start: 0,
            ended: false,
            skips: false,
            number: 0,
            context_lines,
            before: VecDeque::new(),
            after: 0,
        }
    }

    pub(super) fn step(&mut self, pattern: &Regex) -> io::Result<Step> {
        let rest = &self.buffer[self.start..];
        if let Some(length) = memchr::memchr(b'\n', rest) {
            let line = self.start..self.start + length;
            self.start = line.end + 1;
            if std::mem::take(&mut self.skips) {
                return Ok(Step::Nothing);
            }
            return Ok(self.line(line, pattern));
        }
        if rest.len() >= GREP_LONGEST_LINE_BYTES {
            if self.skips {
                self.start = self.buffer.len();
                return Ok(Step::Nothing);
            }
            return self.long_line(pattern);
        }
        if !self.ended {
            return self.read();
        }
        let line = self.start..self.buffer.len();
        self.start = line.end;
        if line.is_empty() || self.skips { Ok(Step::End) } else { Ok(self.line(line, pattern)) }
    }

    /// Searches the beginning of an overlong line, unless that is done, and skips the rest.
    fn long_line(&mut self, pattern: &Regex) -> io::Result<Step> {
        self.skips = true;
        let line = self.start..self.start + GREP_LONGEST_LINE_BYTES;
        self.start = self.buffer.len();
        Ok(match self.line(line, pattern) {
            Step::Nothing => Step::LongLine,
            found => found,
        })
    }

    fn read(&mut self) -> io::Result<Step> {
        if self.skips {
            self.start = self.buffer.len();
        }
        self.buffer.drain(..self.start);
        self.start = 0;
        let filled = self.buffer.len();
        self.buffer.resize(filled + GREP_BUFFER_BYTES, 0);
        let length = loop {
            match self.file.read(&mut self.buffer[filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.buffer.truncate(filled + *length.as_ref().unwrap_or(&0));
        self.ended = length? == 0;
        let is_binary = memchr::memchr(0, &self.buffer[filled..]).is_some();
        Ok(if is_binary { Step::Binary } else { Step::Read })
    }

    fn line(&mut self, line: std::ops::Range<usize>, pattern: &Regex) -> Step {
        self.number += 1;
        let text = &self.buffer[line];
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let found = pattern.find(text);
        if found.is_none() && self.after == 0 && self.context_lines == 0 {
            return Step::Nothing;
        }
        let (is_cut, piece) = piece(text, found.map_or(0, |found| found.start()));
        let line = GrepLine { number: self.number, is_match: found.is_some(), is_cut, text: piece.to_vec() };
        if line.is_match {
            self.after = self.context_lines;
            let mut lines: Vec<_> = self.before.drain(..).collect();
            lines.push(line);
            return Step::Match(lines);
        }
        if self.after > 0 {
            self.after -= 1;
            return Step::Context(line);
        }
        if self.before.len() >= self.context_lines {
            self.before.pop_front();
        }
        self.before.push_back(line);
        Step::Nothing
    }
}

/// The part of a line that is sent: all of it, or the text around `at`; cut between characters if it is UTF-8.
fn piece(line: &[u8], at: usize) -> (bool, &[u8]) {
    if line.len() <= GREP_LINE_BYTES {
        return (false, line);
    }
    let continues = |at: usize| line.get(at).is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000);
    // A character has at most three bytes after its first.
    let boundary = |at: usize| (at.saturating_sub(3)..=at).rev().find(|at| !continues(*at)).unwrap_or(at);
    let start = boundary(at.saturating_sub(GREP_LEAD_BYTES).min(line.len() - GREP_LINE_BYTES));
    (true, &line[start..boundary(start + GREP_LINE_BYTES)])
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, Write};

    use super::*;

    fn file(content: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        file.rewind().unwrap();
        file
    }

    /// The numbers of the sent lines, with matches marked; and how the file ended.
    fn search(content: &[u8], pattern: &str, context_lines: usize) -> (Vec<(u64, bool)>, &'static str) {
        let pattern = Regex::new(pattern).unwrap();
        let mut lines = Lines::new(file(content), context_lines);
        let mut sent = Vec::new();
        loop {
            match lines.step(&pattern).unwrap() {
                Step::Read | Step::Nothing => {}
                Step::Context(line) => sent.push((line.number, line.is_match)),
                Step::Match(lines) => sent.extend(lines.iter().map(|line| (line.number, line.is_match))),
                Step::LongLine => sent.push((0, false)),
                Step::Binary => return (sent, "binary"),
                Step::End => return (sent, "end"),
            }
        }
    }

    #[test]
    fn lines_are_matched_one_by_one_with_and_without_a_last_newline() {
        for (content, expected) in [
            ("a\nb\na", vec![(1, true), (3, true)]),
            ("a\r\nb\r\na\r\n", vec![(1, true), (3, true)]),
            ("", vec![]),
            ("\n\n", vec![]),
        ] {
            assert_eq!(search(content.as_bytes(), "^a$", 0), (expected, "end"), "{content:?}");
        }
        assert_eq!(search(b"x\ny\n", "x\ny", 0).0, [], "a match never spans lines");
        assert_eq!(search(b"\n\nx", "^$", 0).0, [(1, true), (2, true)]);
    }

    #[test]
    fn context_is_sent_once_and_in_order() {
        let content = b"1\n2\n3 hit\n4\n5 hit\n6\n7\n8\n9 hit\n";
        let expected = [2, 3, 4, 5, 6, 8, 9].map(|number| (number, [3, 5, 9].contains(&number)));
        assert_eq!(search(content, "hit", 1).0, expected);
    }

    #[test]
    fn a_nul_byte_ends_the_search_and_lines_span_buffers() {
        assert_eq!(search(b"hit\n\0hit\n", "hit", 0), (vec![], "binary"));
        let mut content = vec![b'x'; GREP_BUFFER_BYTES - 2];
        content.extend_from_slice(b"hit\nhit\n");
        assert_eq!(search(&content, "hit", 0), (vec![(1, true), (2, true)], "end"));
        content.push(0);
        assert_eq!(search(&content, "hit", 0).1, "binary");
    }

    #[test]
    fn a_line_without_end_is_searched_at_its_beginning_only() {
        let mut content = vec![b'x'; 3 * GREP_LONGEST_LINE_BYTES];
        content.extend_from_slice(b"hit\nhit\n");
        assert_eq!(search(&content, "hit", 0), (vec![(0, false), (2, true)], "end"));
        content[5] = b'\t';
        assert_eq!(search(&content, "\t", 0).0, [(1, true)]);
    }

    #[test]
    fn a_long_line_is_sent_around_its_match() {
        let line = "ä".repeat(2_000) + "hit" + &"ö".repeat(2_000);
        let (is_cut, text) = piece(line.as_bytes(), 4_000);
        let text = std::str::from_utf8(text).unwrap();
        assert!(is_cut && text.contains("hit") && text.len() <= GREP_LINE_BYTES, "{text}");
        assert_eq!(piece(&[0x80; 5_000], 0).1.len(), GREP_LINE_BYTES);
    }
}
