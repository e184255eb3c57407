//! Texts that a command runs as shell lines: `sh -c`, `eval`, `ssh`, `trap`.

use super::unwrap::Inside;
use super::wrappers::SSH_VALUES;
use super::{Doubt, Word};

impl Inside<'_> {
    /// A shell, which runs its text, its script or its standard input.
    pub(super) fn shell(&mut self) {
        let (mut at, mut takes_text, mut is_plain, mut reads_input) = (1, false, true, false);
        let words = self.segment.words.clone();
        while let Some(word) = words.get(at).filter(|word| word.text.starts_with(['-', '+'])) {
            let text = word.text.as_str();
            at += 1;
            match text {
                "--" | "-" => break,
                "--rcfile" | "--init-file" | "-o" | "+o" | "-O" | "+O" => {
                    at += 1;
                    is_plain = false;
                }
                _ if text.starts_with("--") => is_plain = false,
                _ => {
                    takes_text |= text.contains('c');
                    reads_input |= text.contains('s');
                    is_plain &= text == "-c";
                    // The next word is the name of an option.
                    at += usize::from(text.ends_with('o') || text.ends_with('O'));
                }
            }
        }
        let operand = words.get(at);
        if self.segment.is_open && operand.is_none() {
            self.doubt(Doubt::RunsInput(self.segment.shown()));
        }
        match operand {
            Some(text) if takes_text => {
                self.line.segments[self.number].is_transparent = is_plain && at + 1 == words.len();
                self.text(text);
            }
            Some(script) if !reads_input => {
                let is_elsewhere = script.is_dynamic
                    || script.text.starts_with("/dev/")
                    || script.text.starts_with("/proc/");
                if is_elsewhere {
                    self.doubt(Doubt::RunsInput(self.segment.shown()));
                }
            }
            _ => match self.segment.input.clone() {
                Some(input) => self.text(&input),
                None if words.iter().any(|word| word.text == "--version" || word.text == "--help") => {}
                None => self.doubt(Doubt::RunsInput(self.segment.shown())),
            },
        }
    }

    /// Reads the text of `su -c TEXT`.
    pub(super) fn text_option(&mut self) {
        let words = self.segment.words.clone();
        for (at, word) in words.iter().enumerate().skip(1) {
            let text = word.text.as_str();
            if let Some(value) = text.strip_prefix("--command=") {
                self.text(&Word { text: value.to_owned(), ..word.clone() });
                continue;
            }
            let is_short = text.starts_with('-') && !text.starts_with("--") && text.ends_with('c');
            if let Some(text) = words.get(at + 1).filter(|_| is_short || text == "--command") {
                self.text(text);
            }
        }
    }

    pub(super) fn watch(&mut self) {
        let words = self.words();
        let mut at = 1;
        while let Some(word) = words.get(at).filter(|word| word.text.starts_with('-')) {
            at += if matches!(word.text.as_str(), "-n" | "--interval" | "-q" | "--equexit") { 2 } else { 1 };
        }
        self.joined(at, false);
    }

    pub(super) fn ssh(&mut self) {
        let words = self.words();
        let mut at = 1;
        while let Some(word) = words.get(at).filter(|word| word.text.starts_with('-')) {
            let mut letters = word.text[1..].chars();
            let valued = letters.by_ref().find(|letter| SSH_VALUES.contains(*letter));
            at += if valued.is_some() && letters.next().is_none() { 2 } else { 1 };
        }
        if self.words().len() > at + 1 {
            return self.joined(at + 1, false);
        }
        // Without a command, the other machine's shell reads standard input.
        match self.segment.input.clone() {
            Some(input) => self.text(&input),
            None => self.doubt(Doubt::RunsInput(self.segment.shown())),
        }
    }

    pub(super) fn trap(&mut self) {
        let words = self.segment.words.clone();
        if let Some(text) = words.iter().skip(1).find(|word| !word.text.starts_with('-')) {
            self.text(text);
        }
    }

    pub(super) fn alias(&mut self) {
        self.doubt(Doubt::Defines("alias".to_owned()));
        let words = self.segment.words.clone();
        for (_, value) in words.iter().skip(1).filter_map(|word| word.text.split_once('=')) {
            self.text(&Word::plain(value.to_owned()));
        }
    }

    pub(super) fn source(&mut self) {
        // A name without a slash is looked up among the programs.
        self.line.segments[self.number].is_wrapper = true;
        let is_elsewhere = |word: &Word| {
            word.is_dynamic || word.text.starts_with("/dev/") || word.text.starts_with("/proc/")
        };
        if self.words().get(1).is_some_and(is_elsewhere) {
            self.doubt(Doubt::RunsInput(self.segment.shown()));
        }
    }
}
