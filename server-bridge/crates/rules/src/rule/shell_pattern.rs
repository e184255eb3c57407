//! Patterns of commands: `npm run *`.

use super::RuleError;
use crate::shell::{GAP, Open, Reading, SPACE, sorted};
use crate::wild::Wild;

/// Words that begin a compound command; the command after such a word is matched separately.
const RESERVED: &[&str] = &[
    "!", "{", "}", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if",
    "select", "then", "time", "until", "while",
];

/// A pattern of commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShellPattern {
    wild: Wild,
    /// The pattern without the ` *` at its end, if it has one: the command without arguments.
    alone: Option<Wild>,
    /// The pattern's options and its other words, if the pattern spells out its options.
    sorted: Option<Sorted>,
}

/// A pattern in a form that ignores the place and order of its options.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sorted {
    options: Vec<String>,
    operands: Wild,
    alone: Option<Wild>,
}

impl ShellPattern {
    /// Reads a pattern, which is not empty.
    pub(super) fn parse(text: &str) -> Result<Self, RuleError> {
        let text = match text.strip_suffix(":*") {
            Some(prefix) => format!("{prefix} *"),
            None => text.to_owned(),
        };
        let text = plain(&text)?;
        let first = text.split(GAP).next().unwrap_or_default();
        if RESERVED.contains(&first) {
            return Err(RuleError::ReservedWord(first.to_owned()));
        }
        let name = first.split_once('=').map_or("", |(name, _)| name);
        let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !name.is_empty() && is_name(name) && !name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(RuleError::Assignment(first.to_owned()));
        }
        Ok(Self { wild: Wild::stars(&text), alone: alone(&text), sorted: Sorted::of(&text) })
    }

    /// True if it matches a command exactly as it was written.
    pub(crate) fn matches_exactly(&self, text: &str) -> bool {
        self.wild.matches(text) || self.alone.as_ref().is_some_and(|alone| alone.matches(text))
    }

    /// True if it matches one reading of a command.
    pub(crate) fn matches(&self, reading: &Reading) -> bool {
        self.matches_exactly(&reading.text)
            || self.sorted.as_ref().is_some_and(|sorted| sorted.matches(reading))
    }

    /// True if it may match a command of which some words are only known when it runs.
    pub(crate) fn may_match(&self, open: &Open) -> bool {
        meets(&self.wild, self.alone.as_ref(), &open.text)
            || self
                .sorted
                .as_ref()
                .is_some_and(|sorted| meets(&sorted.operands, sorted.alone.as_ref(), &open.operands))
    }

    /// True if it matches the beginning of a text that cannot be parsed.
    pub(crate) fn begins(&self, text: &str) -> bool {
        self.wild.begins(text) || self.alone.as_ref().is_some_and(|alone| alone.begins(text))
    }

    /// True if the pattern spells out these words, with which a command begins.
    pub(crate) fn spells(&self, words: &str) -> bool {
        let rest = self.wild.head().strip_prefix(words);
        rest.is_some_and(|rest| {
            let ends_there = rest.is_empty() && (self.wild.literal().is_some() || self.alone.is_some());
            ends_there || rest.starts_with(GAP)
        })
    }

    /// True if it matches every command.
    pub(crate) fn is_everything(&self) -> bool {
        self.wild.is_everything()
    }

    /// True if it has no wildcard.
    pub(crate) fn is_literal(&self) -> bool {
        self.wild.literal().is_some()
    }

    /// The name of the command, if the pattern spells it out.
    pub(crate) fn command(&self) -> Option<&str> {
        let (name, has_end) = match self.wild.head().split_once(GAP) {
            Some((name, _)) => (name, true),
            None => (self.wild.head(), self.is_literal()),
        };
        has_end.then_some(name).filter(|name| !name.is_empty())
    }

    /// The name of the command and the word after it, if the pattern spells out both and matches nothing without them.
    pub(crate) fn subcommand(&self) -> Option<&str> {
        let head = self.wild.head();
        let mut gaps = head.match_indices(GAP).map(|(at, _)| &head[..at]);
        let names = gaps.nth(1).or_else(|| (self.is_literal() && head.contains(GAP)).then_some(head))?;
        self.sorted.is_none().then_some(names)
    }

    /// The command's name, if people may expect it to match other spellings; in an allow rule, the name may include the
    /// command's folder.
    pub(crate) fn literal_name(&self, is_allow: bool) -> Option<&str> {
        let name = self.wild.head().split(GAP).next()?;
        (name.contains(['?', '[']) && name != "[" && name != "[[" || (name.contains('/') && !is_allow))
            .then_some(name)
    }

    /// The text with which the command begins.
    pub(crate) fn head(&self) -> &str {
        self.wild.head()
    }

    /// The text with which the command ends; empty if there are several possibilities.
    pub(crate) fn tail(&self) -> &str {
        if self.alone.is_some() { "" } else { self.wild.tail() }
    }

    /// The command, if the pattern leaves open which other command it runs, as in `sudo *`.
    pub(crate) fn leaves_open(&self) -> Option<&str> {
        let alone = self.alone.as_ref().and_then(Wild::literal)?;
        Some(alone.split(GAP).next().unwrap_or(alone))
            .filter(|_| alone.split(GAP).skip(1).all(|word| word.starts_with('-')))
    }
}

impl Sorted {
    fn of(text: &str) -> Option<Self> {
        let (operands, options) = sorted(text.split(GAP));
        let is_plain = !options.is_empty() && options.iter().all(|option| !option.contains(['*', '\\']));
        // The options of reserved words cannot be moved.
        if !is_plain || operands.first().is_none_or(|name| name.contains('*')) {
            return None;
        }
        let operands = operands.join(" ");
        Some(Self { options, alone: alone(&operands), operands: Wild::stars(&operands) })
    }

    fn matches(&self, reading: &Reading) -> bool {
        let operands = &reading.operands;
        self.options.iter().all(|option| reading.options.contains(option))
            && (self.operands.matches(operands)
                || self.alone.as_ref().is_some_and(|alone| alone.matches(operands)))
    }
}

fn meets(pattern: &Wild, alone: Option<&Wild>, open: &Wild) -> bool {
    // An unknown part may also be empty; then there is no gap before it.
    let is_bare = |text: &str| open.tail().is_empty() && open.matches(&format!("{text}{GAP}"));
    [Some(pattern), alone]
        .into_iter()
        .flatten()
        .any(|it| it.may_meet(open) || it.literal().is_some_and(is_bare))
}

/// The pattern without the ` *` at its end.
fn alone(text: &str) -> Option<Wild> {
    text.strip_suffix(" *").filter(|rest| !rest.is_empty()).map(Wild::stars)
}

/// The pattern without quotes, with one space between words; spaces within quotes are marked.
fn plain(text: &str) -> Result<String, RuleError> {
    let mut plain = String::new();
    let mut chars = text.trim().chars();
    let mut quote = None;
    while let Some(c) = chars.next() {
        match c {
            _ if quote == Some(c) => quote = None,
            _ if quote.is_some() => plain.push(if c.is_whitespace() { SPACE } else { c }),
            '\'' | '"' => quote = Some(c),
            '\\' => match chars.next() {
                Some(next @ ('*' | '\\')) => plain.extend(['\\', next]),
                Some(next) => plain.push(if next.is_whitespace() { SPACE } else { next }),
                None => return Err(RuleError::Path(crate::wild::WildError::Backslash)),
            },
            '&' | '|' | ';' | '\n' => return Err(RuleError::SeveralCommands(c)),
            '<' | '>' => return Err(RuleError::Redirection(c)),
            _ if c.is_whitespace() => {
                if !plain.ends_with(GAP) {
                    plain.push(GAP);
                }
            }
            _ => plain.push(c),
        }
    }
    if quote.is_some() { Err(RuleError::Quote) } else { Ok(plain) }
}
