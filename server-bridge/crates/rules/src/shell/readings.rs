//! The ways in which a command is read for denying and asking: without its folder, without its wrapper, with braces expanded.

use super::{Segment, Word, braces};
use crate::limits::{READING_BYTES, READINGS};

/// The character between two words of a reading.
pub(crate) const GAP: char = ' ';

/// The character for a space within a word.
pub(crate) const SPACE: char = '\u{1}';

/// One way to read a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    /// Its words, joined.
    pub(crate) text: String,
    /// Its name and operands, without options, joined.
    pub(crate) operands: String,
    /// Its options, one for each letter.
    pub(crate) options: Vec<String>,
}

impl Reading {
    fn of(words: &[&str], space: char) -> Self {
        let (operands, options) = sorted(words.iter().copied());
        let join = |words: &[&str]| {
            let words =
                words.iter().map(|word| word.replace(char::is_whitespace, space.encode_utf8(&mut [0; 4])));
            words.collect::<Vec<_>>().join(" ")
        };
        Self { text: join(words), operands: join(&operands), options }
    }
}

/// The words that are no options, and the options, one for each letter of a short cluster.
pub(crate) fn sorted<'a>(words: impl Iterator<Item = &'a str>) -> (Vec<&'a str>, Vec<String>) {
    /// Longer clusters are options of one dash: `-exec`.
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

/// A command's words, joined, as allow rules see them.
pub(crate) fn exact(words: &[Word]) -> String {
    let words = words.iter().map(|word| word.text.replace(char::is_whitespace, "\u{1}"));
    words.collect::<Vec<_>>().join(" ")
}

/// All ways to read a command.
pub(crate) fn readings(segment: &Segment) -> Vec<Reading> {
    let words: Vec<&str> = segment.words.iter().map(|word| word.text.as_str()).collect();
    let mut found = Vec::new();
    if words.is_empty() {
        return found;
    }
    let is_long = words.iter().map(|word| word.len()).sum::<usize>() > READING_BYTES;
    add(&words, segment.is_wrapper && !is_long, is_long, &mut found);
    if !is_long && segment.words.iter().any(Word::has_braces) {
        let expanded: Vec<String> = segment
            .words
            .iter()
            .flat_map(|word| {
                if word.has_braces() { braces::expand(word, READINGS) } else { vec![word.text.clone()] }
            })
            .collect();
        let words: Vec<&str> = expanded.iter().map(String::as_str).collect();
        add(&words, segment.is_wrapper, false, &mut found);
    }
    found
}

/// Adds the readings of a list of words.
fn add(words: &[&str], is_wrapper: bool, is_long: bool, found: &mut Vec<Reading>) {
    /// The most words that may be options, and their values, before a subcommand.
    const DROPPED: usize = 8;
    let Some((name, rest)) = words.split_first() else { return };
    if found.len() >= READINGS {
        return;
    }
    let base = name.rsplit('/').next().unwrap_or(name);
    let push = |words: &[&str], found: &mut Vec<Reading>| {
        found.push(Reading::of(words, SPACE));
        if words.iter().any(|word| word.contains(char::is_whitespace)) {
            found.push(Reading::of(words, GAP));
        }
    };
    push(words, found);
    if is_long && base == *name {
        return;
    }
    let with_base: Vec<&str> = std::iter::once(base).chain(rest.iter().copied()).collect();
    if base != *name {
        push(&with_base, found);
    }
    if is_long {
        return;
    }
    if rest.first().is_some_and(|word| word.starts_with('-')) {
        for dropped in 1..rest.len().min(DROPPED) {
            let words: Vec<&str> = std::iter::once(base).chain(rest[dropped..].iter().copied()).collect();
            push(&words, found);
        }
    }
    if is_wrapper {
        // Each word may be where the other command begins.
        for begin in (0..rest.len()).filter(|at| !rest[*at].starts_with('-')) {
            add(&rest[begin..], false, false, found);
        }
    }
}

/// A line without quotes and operators, and where a command may begin in it: the last resort for a line that is not understood.
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
