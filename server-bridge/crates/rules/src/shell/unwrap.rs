//! Commands within the words of other commands: `sudo rm`, `sh -c 'rm'`, `find -exec rm`.

use super::wrappers::{
    CARRIERS, CONTAINERS, EVALUATORS, EXEC_OPTIONS, SHELLS, TEXT_OPTION, WRAPPERS, Wrapper,
};
use super::{Doubt, Line, Segment, Within, Word};
use crate::limits::{DEPTH, SEGMENTS};

/// Adds the commands within the commands of a line, to any depth.
pub(super) fn unwrap(line: &mut Line) {
    let mut number = 0;
    // New segments are appended, and are examined in turn.
    while number < line.segments.len() {
        let segment = line.segments[number].clone();
        if !segment.words.is_empty() {
            Inside { line, number, segment: &segment }.look();
        }
        number += 1;
    }
}

/// Shells that read a text differently from the others.
const NOT_PLAIN: &[&str] = &["zsh", "fish", "csh", "tcsh", "ksh", "mksh"];

/// True for a command that runs other commands.
pub(crate) fn runs_others(name: &str) -> bool {
    let more = ["eval", "watch", "ssh", "find", "fd", "fdfind"];
    WRAPPERS.iter().any(|wrapper| wrapper.name == name)
        || [SHELLS, TEXT_OPTION, CARRIERS, &more].iter().any(|names| names.contains(&name))
}

/// A segment that is searched for inner commands.
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
            "hash" if self.words().len() > 2 => self.doubt(Doubt::Defines("hash".to_owned())),
            "jobs" => {
                let begin = self.words().iter().position(|word| word.text == "-x").map(|at| at + 1);
                self.command(begin.unwrap_or(self.words().len())..self.words().len(), false);
            }
            "mapfile" | "readarray" => self.callback(),
            // `parallel` inserts words of its input, or those after `:::`, anywhere into its command.
            "parallel" => self.doubt(Doubt::RunsInput(self.segment.shown())),
            // The dynamic loader, which runs a program.
            _ if name.starts_with("ld-") || name == "ld.so" => {
                self.line.segments[self.number].is_wrapper = true;
            }
            _ => {}
        }
        // A program of the same name in another folder may do anything.
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

    /// Returns false, after recording a doubt, if there is no room for another segment within this one.
    fn has_room(&mut self) -> bool {
        let doubt = if self.segment.depth >= DEPTH { Doubt::TooDeep } else { Doubt::TooMany };
        let has_room = self.segment.depth < DEPTH && self.line.segments.len() < SEGMENTS;
        if !has_room {
            self.doubt(doubt);
        }
        has_room
    }

    /// Adds the command that consists of these words of the segment.
    fn command(&mut self, words: std::ops::Range<usize>, assigns: bool) {
        if words.is_empty() || !self.has_room() {
            return;
        }
        self.line.segments.push(Segment {
            words: self.segment.words[words.clone()].to_vec(),
            assigns,
            is_odd: self.segment.is_odd,
            within: Some(Within { segment: self.number, word: Some(words.start) }),
            is_open: self.segment.is_open,
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

    /// Adds the commands of the text that results from joining these words.
    pub(super) fn joined(&mut self, begin: usize, is_transparent: bool) {
        let words = &self.words()[begin.min(self.words().len())..];
        let text = words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
        let is_dynamic = words.iter().any(|word| word.is_dynamic || word.has_glob || word.has_braces());
        self.line.segments[self.number].is_transparent = is_transparent;
        self.text(&Word { is_dynamic, ..Word::plain(text) });
    }

    /// Marks the command that was added last: words that are not in the line follow it, or replace its words that contain a
    /// mark.
    fn open(&mut self, follow: bool, marks: &[&str]) {
        let Some(inner) = self.line.segments.last_mut() else { return };
        inner.is_open |= follow;
        for word in &mut inner.words {
            word.is_dynamic |= marks.iter().any(|mark| !mark.is_empty() && word.text.contains(mark));
        }
    }

    fn wrapper(&mut self, wrapper: &Wrapper) {
        self.line.segments[self.number].is_wrapper = true;
        let words = &self.segment.words;
        let (mut at, mut operands, mut assigns) = (1, wrapper.operands, false);
        while let Some(word) = words.get(at) {
            let text = word.text.as_str();
            if text == "--" {
                at += 1;
                break;
            }
            if text.len() > 1 && text.starts_with('-') {
                match option(wrapper, text) {
                    // `command -v` only looks up a name.
                    None if wrapper.name == "command" && matches!(text, "-v" | "-V") => return,
                    None => {
                        let option = text.to_owned();
                        return self.doubt(Doubt::UnknownOption { command: wrapper.name.to_owned(), option });
                    }
                    Some(has_value) => at += if has_value { 2 } else { 1 },
                }
            } else if wrapper.takes_assignments && is_assignment(text) {
                if super::scan::runs_value(text.split('=').next().unwrap_or_default()) {
                    self.doubt(Doubt::RunsText(text.to_owned()));
                }
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
            let before = self.line.segments.len();
            self.command(at..length, assigns);
            if wrapper.name == "xargs" && self.line.segments.len() > before {
                let options = &words[1..at];
                let value = |(number, word): (usize, &Word)| {
                    let rest =
                        ["-I", "-J", "-i", "--replace="].iter().find_map(|it| word.text.strip_prefix(it))?;
                    let next = options.get(number + 1).map(|word| word.text.clone());
                    if rest.is_empty() { next } else { Some(rest.to_owned()) }
                };
                let marks: Vec<String> = options.iter().enumerate().filter_map(value).collect();
                let marks: Vec<&str> = marks.iter().map(String::as_str).chain(["{}"]).collect();
                self.open(true, &marks);
            }
        } else if self.segment.is_open {
            self.doubt(Doubt::UnknownCommand(self.segment.shown()));
        }
    }

    /// Finds a shell somewhere among the words, as in `docker exec web sh -c 'make'`.
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
        let name = self.segment.base_name();
        let words = &self.segment.words[1..];
        match name {
            "[[" => {
                let is_number = |word: &Word| {
                    word.is_literal()
                        && !super::expansion::names_a_variable(&word.text.chars().collect::<Vec<_>>())
                };
                let compares =
                    |word: &Word| ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"].contains(&word.text.as_str());
                let evaluates = (0..words.len()).filter(|at| compares(&words[*at])).any(|at| {
                    let sides = [at.checked_sub(1).and_then(|at| words.get(at)), words.get(at + 1)];
                    !sides.into_iter().flatten().all(is_number)
                });
                if evaluates || self.tests_name() {
                    self.doubt(Doubt::Evaluates("a condition"));
                }
            }
            "[" | "test" => {
                if self.tests_name() {
                    self.doubt(Doubt::Evaluates("a condition"));
                }
            }
            "printf" => {
                // The first word may be the option.
                if words
                    .first()
                    .is_some_and(|word| word.text.starts_with("-v") || word.text.starts_with(['$', '`']))
                {
                    self.line.segments[self.number].assigns = true;
                }
                let value = words.iter().take(2).find_map(|word| match word.text.strip_prefix("-v") {
                    Some(attached) => Some(attached),
                    None => {
                        (words[0].text == "-v").then_some(word.text.as_str()).filter(|name| *name != "-v")
                    }
                });
                let name = value
                    .filter(|name| !name.is_empty())
                    .or_else(|| words.get(1).map(|word| word.text.as_str()));
                if words.first().is_some_and(|word| word.text.starts_with("-v")) {
                    self.sets(name.unwrap_or_default());
                }
            }
            "let"
                if words.iter().any(|word| {
                    super::expansion::names_a_variable(&word.text.chars().collect::<Vec<_>>())
                }) =>
            {
                self.doubt(Doubt::Evaluates("arithmetic"));
            }
            "wait" => {}
            _ => {
                let is_integer = matches!(name, "declare" | "typeset" | "local" | "export" | "readonly")
                    && words.iter().any(|word| word.text.starts_with('-') && word.text.contains(['i', 'n']));
                if is_integer {
                    self.doubt(Doubt::Evaluates("a declaration"));
                }
                for word in words {
                    self.sets(word.text.split(['=', '+']).next().unwrap_or_default());
                }
            }
        }
    }

    /// True if a condition tests whether a variable is set, and evaluates the variable's name.
    fn tests_name(&self) -> bool {
        let words = self.words();
        let is_evaluated = |word: &Word| word.is_dynamic || word.text.contains('[');
        (1..words.len())
            .filter(|at| matches!(words[*at].text.as_str(), "-v" | "-R"))
            .any(|at| words.get(at + 1).is_some_and(is_evaluated))
    }

    /// Records a doubt about setting a variable with this name.
    fn sets(&mut self, name: &str) {
        if super::scan::runs_value(name) {
            self.doubt(Doubt::RunsText(name.to_owned()));
        }
        if name.contains(['$', '`']) || super::scan::has_evaluated_subscript(name) {
            self.doubt(Doubt::Evaluates("a variable's name"));
        }
    }

    /// `mapfile -C TEXT`, which runs the text with more words.
    fn callback(&mut self) {
        let words = &self.segment.words;
        for (at, word) in words.iter().enumerate().skip(1) {
            let Some(attached) = word.text.strip_prefix("-C") else { continue };
            self.doubt(Doubt::RunsText(self.segment.base_name().to_owned()));
            let text = Word::plain(attached.to_owned());
            self.text(if attached.is_empty() { words.get(at + 1).unwrap_or(&text) } else { &text });
        }
    }

    fn find(&mut self) {
        let words = self.segment.words.clone();
        // The unknown word may be such an option.
        let may_be_option = |word: &Word| {
            word.is_dynamic
                || word.has_braces()
                || (word.has_glob && word.text.starts_with(['-', '*', '?', '[']))
        };
        if self.segment.is_open || words[1..].iter().any(may_be_option) {
            self.doubt(Doubt::UnknownOption {
                command: self.segment.base_name().to_owned(),
                option: words[1..]
                    .iter()
                    .find(|word| may_be_option(word))
                    .map_or("…", |word| &word.text)
                    .to_owned(),
            });
        }
        let is_find = self.segment.base_name() == "find";
        let option = |word: &Word| EXEC_OPTIONS.contains(&word.text.as_str());
        for begin in (0..words.len()).filter(|at| option(&words[*at])).map(|at| at + 1) {
            let rest = words[begin..].iter();
            let length = rest.take_while(|word| word.text != ";" && !option(word)).count();
            let before = self.line.segments.len();
            self.command(begin..begin + length, false);
            if self.line.segments.len() > before {
                self.open(!is_find, &[if is_find { "{}" } else { "{" }]);
            }
        }
    }
}

/// True if the option's value is the next word; `None` if the option is unknown.
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
