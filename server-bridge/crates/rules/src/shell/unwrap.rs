//! Commands within the words of other commands: `sudo rm`, `sh -c 'rm'`, `find -exec rm`.

use super::wrappers::{
    CARRIERS, CONTAINERS, EVALUATORS, EXEC_OPTIONS, SHELLS, TEXT_OPTION, WRAPPERS, Wrapper,
};
use super::{Doubt, Line, Segment, Within, Word};
use crate::limits::{DEPTH, SEGMENTS};

/// Adds the commands within the commands of a line, to any depth.
pub(super) fn unwrap(line: &mut Line) {
    let mut number = 0;
    // New segments come at the end, and are looked at in their turn.
    while number < line.segments.len() {
        let segment = line.segments[number].clone();
        if !segment.words.is_empty() {
            Inside { line, number, segment: &segment }.look();
        }
        number += 1;
    }
}

/// Shells that read a text in their own way.
const NOT_PLAIN: &[&str] = &["zsh", "fish", "csh", "tcsh", "ksh", "mksh"];

/// True for a command that runs other commands.
pub(crate) fn runs_others(name: &str) -> bool {
    let more = ["eval", "watch", "ssh", "find", "fd", "fdfind"];
    WRAPPERS.iter().any(|wrapper| wrapper.name == name)
        || [SHELLS, TEXT_OPTION, CARRIERS, &more].iter().any(|names| names.contains(&name))
}

/// A segment whose inside is looked for.
pub(super) struct Inside<'a> {
    pub(super) line: &'a mut Line,
    pub(super) number: usize,
    pub(super) segment: &'a Segment,
}

impl Inside<'_> {
    fn look(&mut self) {
        let first = &self.segment.words[0];
        if first.is_dynamic || first.has_glob || first.has_braces() || first.is_odd {
            self.doubt(Doubt::UnknownCommand(first.text.clone()));
        }
        if first.text.starts_with('=') && !first.is_quoted {
            self.doubt(Doubt::Dialect("a command that begins with `=`"));
        }
        let name = self.segment.base_name();
        let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.name == name);
        if SHELLS.contains(&name) {
            self.shell();
        } else if let Some(wrapper) = wrapper {
            self.wrapper(wrapper);
        }
        if TEXT_OPTION.contains(&name) {
            self.text_option();
        }
        if CARRIERS.contains(&name) {
            self.line.segments[self.number].is_wrapper = true;
        }
        if CARRIERS.contains(&name) || CONTAINERS.contains(&name) {
            self.carried_shell();
        }
        if EVALUATORS.contains(&name) {
            self.evaluator();
        }
        match name {
            "eval" => self.joined(1, true),
            "watch" => self.watch(),
            "ssh" => self.ssh(),
            "trap" => self.trap(),
            "alias" => self.alias(),
            "find" | "fd" | "fdfind" => self.find(),
            "source" | "." => self.source(),
            _ => {}
        }
        // A program of the same name elsewhere may do anything.
        if !first.is_literal() || first.text != name || NOT_PLAIN.contains(&name) {
            self.line.segments[self.number].is_transparent = false;
        }
    }

    pub(super) fn words(&self) -> &[Word] {
        &self.segment.words
    }

    pub(super) fn doubt(&mut self, doubt: Doubt) {
        if !self.line.doubts.contains(&doubt) {
            self.line.doubts.push(doubt);
        }
    }

    /// False, with a doubt, if there is no room for another segment within this one.
    fn has_room(&mut self) -> bool {
        let doubt = if self.segment.depth >= DEPTH { Doubt::TooDeep } else { Doubt::TooMany };
        let has_room = self.segment.depth < DEPTH && self.line.segments.len() < SEGMENTS;
        if !has_room {
            self.doubt(doubt);
        }
        has_room
    }

    /// Adds the command that is these words of the segment.
    fn command(&mut self, words: std::ops::Range<usize>, assigns: bool) {
        if words.is_empty() || !self.has_room() {
            return;
        }
        self.line.segments.push(Segment {
            words: self.segment.words[words.clone()].to_vec(),
            assigns,
            is_odd: self.segment.is_odd,
            within: Some(Within { segment: self.number, word: Some(words.start) }),
            input: self.segment.input.clone(),
            depth: self.segment.depth + 1,
            ..Segment::default()
        });
    }

    /// Adds the commands of a text.
    pub(super) fn text(&mut self, text: &Word) {
        if text.is_dynamic || text.has_glob || text.is_odd || text.has_braces() {
            self.doubt(Doubt::RunsText(self.segment.base_name().to_owned()));
        }
        if text.text.trim().is_empty() || !self.has_room() {
            return;
        }
        let begin = self.line.segments.len();
        super::scan::scan(&text.text, self.segment.depth + 1, self.line);
        for segment in &mut self.line.segments[begin..] {
            segment.within.get_or_insert(Within { segment: self.number, word: None });
        }
    }

    /// Adds the commands of the text that these words make when joined.
    pub(super) fn joined(&mut self, begin: usize, is_transparent: bool) {
        let words = &self.words()[begin.min(self.words().len())..];
        let text = words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
        let is_dynamic = words.iter().any(|word| word.is_dynamic || word.has_glob || word.has_braces());
        self.line.segments[self.number].is_transparent = is_transparent;
        self.text(&Word { is_dynamic, ..Word::plain(text) });
    }

    fn wrapper(&mut self, wrapper: &Wrapper) {
        self.line.segments[self.number].is_wrapper = true;
        let words = self.words();
        let (mut at, mut operands, mut assigns) = (1, wrapper.operands, false);
        while let Some(word) = words.get(at) {
            let text = word.text.as_str();
            if text == "--" {
                at += 1;
                break;
            }
            if text.len() > 1 && text.starts_with('-') {
                match option(wrapper, text) {
                    // `command -v` only looks a name up.
                    None if wrapper.name == "command" && matches!(text, "-v" | "-V") => return,
                    None => {
                        let option = text.to_owned();
                        return self.doubt(Doubt::UnknownOption { command: wrapper.name.to_owned(), option });
                    }
                    Some(has_value) => at += if has_value { 2 } else { 1 },
                }
            } else if wrapper.takes_assignments && is_assignment(text) {
                assigns = true;
                at += 1;
            } else if operands > 0 {
                operands -= 1;
                at += 1;
            } else {
                break;
            }
        }
        while operands > 0 && at < words.len() {
            operands -= 1;
            at += 1;
        }
        let length = words.len();
        if at < length {
            let is_plain = words[..at].iter().all(Word::is_literal);
            self.line.segments[self.number].is_transparent = wrapper.is_transparent && is_plain;
            self.command(at..length, assigns);
        }
    }

    /// A shell somewhere among the words: `docker exec web sh -c 'make'`.
    fn carried_shell(&mut self) {
        let words = self.words();
        let is_shell = |word: &Word| SHELLS.contains(&word.text.rsplit('/').next().unwrap_or_default());
        if let Some(at) = words.iter().skip(1).position(is_shell) {
            self.command(at + 1..words.len(), false);
        }
    }

    fn evaluator(&mut self) {
        let runs = |word: &Word| !word.is_dynamic && (word.text.contains("$(") || word.text.contains('`'));
        if self.words().iter().any(runs) {
            self.doubt(Doubt::RunsText(self.segment.base_name().to_owned()));
        }
    }

    fn find(&mut self) {
        let words = self.segment.words.clone();
        let option = |word: &Word| EXEC_OPTIONS.contains(&word.text.as_str());
        for begin in (0..words.len()).filter(|at| option(&words[*at])).map(|at| at + 1) {
            let rest = words[begin..].iter();
            let length = rest.take_while(|word| word.text != ";" && !option(word)).count();
            self.command(begin..begin + length, false);
        }
    }
}

/// True if the option's value is the next word; none if the option is not known.
fn option(wrapper: &Wrapper, text: &str) -> Option<bool> {
    if let Some(long) = text.strip_prefix("--") {
        let (name, has_value_inside) = long.split_once('=').map_or((long, false), |(name, _)| (name, true));
        if wrapper.long_values.contains(&name) {
            return Some(!has_value_inside);
        }
        return wrapper.long_flags.contains(&name).then_some(false);
    }
    let mut letters = text[1..].chars();
    while let Some(letter) = letters.next() {
        if wrapper.values.contains(letter) {
            return Some(letters.as_str().is_empty());
        }
        if !wrapper.flags.contains(letter) {
            return None;
        }
    }
    Some(false)
}

fn is_assignment(text: &str) -> bool {
    let name = text.split_once('=').map_or("", |(name, _)| name);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}
