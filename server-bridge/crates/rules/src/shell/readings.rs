//! The ways in which a command is read for denying and asking: without its folder, without its wrapper, with braces expanded.

use super::{Segment, Word, braces};
use crate::limits::{READING_BYTES, READINGS};
use crate::wild::Wild;

/// The character between two words of a reading.
pub(crate) const GAP: char = ' ';

/// The character for a space within a word.
pub(crate) const SPACE: char = '\u{1}';

/// One way in which a command can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    /// The command's words, joined.
    pub(crate) text: String,
    /// The command's name and operands, without options, joined.
    pub(crate) operands: String,
    /// The command's options, one for each letter.
    pub(crate) options: Vec<String>,
    /// The command with its unknown words, if any of its words is only known when it runs.
    pub(crate) open: Option<Open>,
}

/// A command of which some words are only known when it runs: each of them may be any number of words, and is replaced
/// with a wildcard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Open {
    pub(crate) text: Wild,
    pub(crate) operands: Wild,
}

/// A word of a reading: its text, and true if it is only known when it runs.
type Part<'a> = (&'a str, bool);

impl Reading {
    fn of(words: &[Part<'_>], is_open: bool, space: char) -> Self {
        let (operands, options) = sorted(words.iter().map(|(text, _)| *text));
        let spaced = |word: &str| word.replace(char::is_whitespace, space.encode_utf8(&mut [0; 4]));
        let join = |words: &[&str]| words.iter().map(|word| spaced(word)).collect::<Vec<_>>().join(" ");
        // A command whose name is unknown is recorded as a doubt elsewhere.
        let has_open = !words[0].1 && (is_open || words.iter().any(|(_, is_unknown)| *is_unknown));
        let open = has_open.then(|| {
            let parts = |keeps_options: bool| {
                let known: Vec<&Part<'_>> = words
                    .iter()
                    .filter(|(text, unknown)| {
                        keeps_options || *unknown || !text.starts_with('-') || text.len() == 1
                    })
                    .collect();
                let mut pieces = vec![String::new()];
                for (text, is_unknown) in known.into_iter().chain(is_open.then_some(&("", true))) {
                    let Some(piece) = pieces.last_mut() else { break };
                    if !piece.is_empty() {
                        piece.push(GAP);
                    }
                    if !is_unknown {
                        piece.push_str(&spaced(text));
                    } else if !piece.is_empty() {
                        pieces.push(String::new());
                    }
                }
                Wild::Stars(pieces.into_iter().map(String::into_boxed_str).collect())
            };
            Open { text: parts(true), operands: parts(false) }
        });
        Self {
            text: join(words.iter().map(|(text, _)| *text).collect::<Vec<_>>().as_slice()),
            operands: join(&operands),
            options,
            open,
        }
    }
}

/// The words that are not options, and the options; a short cluster is split into its letters.
pub(crate) fn sorted<'a>(words: impl Iterator<Item = &'a str>) -> (Vec<&'a str>, Vec<String>) {
    /// A longer cluster is a single option with one dash, such as `-exec`.
    const LONGEST_CLUSTER: usize = 5;
    let (mut operands, mut options, mut has_ended) = (Vec::new(), Vec::new(), false);
    for word in words {
        let letters = word.strip_prefix('-').filter(|rest| !rest.is_empty() && !has_ended);
        match letters {
            None => operands.push(word),
            Some("-") => has_ended = true,
            Some(long) if long.starts_with('-') => {
                options.push(word.split('=').next().unwrap_or(word).to_owned());
            }
            Some(cluster)
                if cluster.len() <= LONGEST_CLUSTER
                    && cluster.bytes().all(|byte| byte.is_ascii_alphabetic()) =>
            {
                options.extend(cluster.chars().map(|letter| format!("-{letter}")));
            }
            Some(_) => options.push(word.to_owned()),
        }
    }
    (operands, options)
}

/// A command's words, joined in the form that allow rules match.
pub(crate) fn exact(words: &[Word]) -> String {
    let words = words.iter().map(|word| word.text.replace(char::is_whitespace, "\u{1}"));
    words.collect::<Vec<_>>().join(" ")
}

/// All ways in which a command can be read; also returns true if there are more than the limit. `bytes` is the size of the
/// readings of the line's earlier commands.
pub(crate) fn readings(segment: &Segment, bytes: &mut usize) -> (Vec<Reading>, bool) {
    let mut all = Readings { found: Vec::new(), bytes, is_open: segment.is_open, is_cut: false };
    let words: Vec<Part<'_>> =
        segment.words.iter().map(|word| (word.text.as_str(), word.is_unknown())).collect();
    if words.is_empty() {
        return (all.found, false);
    }
    all.add(&words, segment.is_wrapper);
    if segment.words.iter().any(Word::has_braces) {
        let mut expanded: Vec<(String, bool)> = Vec::new();
        for word in &segment.words {
            if word.has_braces() && !word.is_unknown() {
                let (texts, is_cut) = braces::expand(word, READINGS);
                all.is_cut |= is_cut;
                expanded.extend(texts.into_iter().map(|text| (text, false)));
            } else {
                expanded.push((word.text.clone(), word.is_unknown()));
            }
        }
        let words: Vec<Part<'_>> = expanded.iter().map(|(text, unknown)| (text.as_str(), *unknown)).collect();
        all.add(&words, segment.is_wrapper);
    }
    (all.found, all.is_cut)
}

/// The readings that were found, limited in their total size.
struct Readings<'a> {
    found: Vec<Reading>,
    bytes: &'a mut usize,
    is_open: bool,
    is_cut: bool,
}

impl Readings<'_> {
    fn push(&mut self, words: &[Part<'_>]) {
        *self.bytes += words.iter().map(|(text, _)| text.len() + 1).sum::<usize>();
        // The plain reading is always kept.
        if *self.bytes > READING_BYTES && !self.found.is_empty() {
            self.is_cut = true;
            return;
        }
        self.found.push(Reading::of(words, self.is_open, SPACE));
        if words.iter().any(|(text, _)| text.contains(char::is_whitespace)) {
            self.found.push(Reading::of(words, self.is_open, GAP));
        }
    }

    /// Adds the readings of a list of words.
    fn add(&mut self, words: &[Part<'_>], is_wrapper: bool) {
        /// The largest number of words before a subcommand of which any may be the value of an option; after them, each
        /// option has at most one value.
        const FREE: usize = 8;
        let Some(((name, is_unknown), rest)) = words.split_first() else { return };
        if self.is_cut {
            return;
        }
        let base = name.rsplit('/').next().unwrap_or(name);
        self.push(words);
        if base != *name {
            self.push(&[&[(base, *is_unknown)], rest].concat());
        }
        let is_option = |at: usize| rest.get(at).is_some_and(|(word, _)| word.starts_with('-'));
        if is_option(0) {
            let mut dropped = 1;
            while dropped < rest.len() && !self.is_cut {
                if dropped >= FREE && !is_option(dropped - 1) && !is_option(dropped - 2) {
                    break;
                }
                self.push(&[&[(base, *is_unknown)], &rest[dropped..]].concat());
                dropped += 1;
            }
        }
        if is_wrapper {
            // The other command may begin at each of these words.
            for begin in (0..rest.len()).filter(|at| !is_option(*at)) {
                self.add(&rest[begin..], false);
            }
        }
    }
}

/// A line without quotes and operators, and the places where a command may begin in it: the last resort for a line that cannot
/// be parsed.
pub(crate) fn raw(line: &str) -> (String, Vec<usize>) {
    let (mut text, mut starts) = (String::with_capacity(line.len()), Vec::new());
    let line = line.replace("${IFS}", " ").replace("$IFS", " ");
    let mut is_start = true;
    for c in line.chars() {
        match c {
            '\'' | '"' | '\\' => {}
            ';' | '|' | '&' | '(' | ')' | '{' | '}' | ',' | '<' | '>' | '`' | '=' | '/' => {
                // A slash or an equals sign is part of the text, and a command may begin after it.
                let is_kept = matches!(c, '=' | '/');
                if is_kept || !text.ends_with(GAP) {
                    text.push(if is_kept { c } else { GAP });
                }
                is_start = true;
            }
            _ if c.is_whitespace() || super::is_unseen(c) => {
                if !text.ends_with(GAP) {
                    text.push(GAP);
                }
                is_start = true;
            }
            _ => {
                if is_start {
                    starts.push(text.len());
                }
                is_start = false;
                text.push(c);
            }
        }
    }
    text.truncate(text.trim_end().len());
    (text, starts)
}
