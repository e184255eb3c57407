//! The parts of a shell line: its commands, and the files that it reads and writes.

use std::cell::Cell;

use super::{Finding, Findings, PartKind, Rules};
use crate::call::Place;
use crate::index::Number;
use crate::limits::{MATCH_BYTES, RAW_BYTES};
use crate::rule::{Effect, ShellPattern, Specifier};
use crate::shell::{self, Doubt, GAP, Line, Reached, Reading};

const SHELL: &str = "Shell";

/// Tools whose rules a shell line may violate.
const CONCERNED: [&str; 4] = [SHELL, "FileReplace", "FileCreate", "Read"];

/// The bytes that were compared with patterns for a line.
#[derive(Debug, Default)]
struct Work(Cell<usize>);

impl Work {
    /// Counts a comparison with a text; returns false if the limit is reached, so that the comparison must not be made.
    fn spend(&self, text: &str) -> bool {
        self.0.set(self.0.get().saturating_add(text.len()));
        !self.is_over()
    }

    fn is_over(&self) -> bool {
        self.0.get() > MATCH_BYTES
    }
}

impl Rules {
    /// Adds the parts of a line.
    pub(super) fn line(&self, line: &str, place: &Place<'_>, findings: &mut Findings) {
        self.line_within(line, place, findings, &Work::default());
    }

    fn line_within(&self, line: &str, place: &Place<'_>, findings: &mut Findings, work: &Work) {
        let mut parsed = shell::parse(line);
        if self.commands(&parsed, findings, work) {
            parsed.doubts.push(Doubt::TooManyReadings);
        }
        for reached in shell::reached(&parsed, place.cwd, place.home) {
            findings.parts.extend(self.reached(&reached, place));
        }
        if work.is_over() {
            parsed.doubts.push(Doubt::TooMuchWork);
        }
        if parsed.doubts.is_empty() {
            return;
        }
        let mut part = Finding::new(PartKind::Line, line.trim());
        part.hits = self.hits(|effect, index| match effect {
            Effect::Allow => Vec::new(),
            Effect::Deny | Effect::Ask => self.raw_hits(line, index, work),
        });
        findings.parts.push(part);
        if work.is_over() && !parsed.doubts.contains(&Doubt::TooMuchWork) {
            parsed.doubts.push(Doubt::TooMuchWork);
        }
        // Rules that only allow are no reason to ask: a line that cannot be parsed is not covered, and the mode
        // decides.
        if [Effect::Deny, Effect::Ask].iter().any(|effect| self.index(*effect).has_any(&CONCERNED)) {
            findings.doubts.extend(parsed.doubts);
        }
    }

    fn pattern(&self, number: Number) -> Option<&ShellPattern> {
        match &self.rule(number).specifier {
            Specifier::Shell(pattern) => Some(pattern),
            _ => None,
        }
    }

    /// Adds the commands; returns true if one of them was not read in all possible ways.
    fn commands(&self, line: &Line, findings: &mut Findings, work: &Work) -> bool {
        let (mut is_cut, mut bytes) = (false, 0);
        let covers = self.covers(line);
        for (segment, (is_covered, allows)) in line.segments.iter().zip(covers) {
            let mut part = Finding::new(PartKind::Command, segment.shown());
            let mut outer = segment.within;
            while let Some(within) = outer {
                part.depth += 1;
                outer = line.segments[within.segment].within;
            }
            let (readings, is_short) = shell::readings(segment, &mut bytes);
            is_cut |= is_short;
            part.hits = self.hits(|effect, index| {
                let mut found = index.whole_tool(SHELL);
                if effect == Effect::Allow {
                    found.extend(&allows);
                    return found;
                }
                for reading in &readings {
                    let may_match = index.commands(&reading.text).into_iter();
                    found.extend(may_match.filter(|number| {
                        work.spend(&reading.text)
                            && self.pattern(*number).is_some_and(|pattern| pattern.matches(reading))
                    }));
                }
                found
            });
            part.possible = self.possible(&readings, &part, work);
            // A command within a covered one needs no separate allow rule.
            part.needs_cover = segment.within.is_none();
            part.is_covered = is_covered;
            findings.parts.push(part);
        }
        is_cut
    }

    /// The rules that deny or ask and may match a command, but do not match it for certain.
    fn possible(&self, readings: &[Reading], part: &Finding, work: &Work) -> Vec<Number> {
        let mut found = Vec::new();
        for (reading, open) in readings.iter().filter_map(|reading| Some((reading, reading.open.as_ref()?))) {
            for effect in [Effect::Deny, Effect::Ask] {
                let may_match = self.index(effect).open_commands(open.text.head()).into_iter();
                found.extend(may_match.filter(|number| {
                    work.spend(&reading.text)
                        && !part.hits(effect).contains(number)
                        && self.pattern(*number).is_some_and(|pattern| pattern.may_match(open))
                }));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// For each command, true if allow rules cover it, with those rules.
    fn covers(&self, line: &Line) -> Vec<(bool, Vec<Number>)> {
        let index = self.index(Effect::Allow);
        let covers_all = !index.whole_tool(SHELL).is_empty();
        let mut covers = vec![(covers_all, Vec::new()); line.segments.len()];
        if covers_all {
            return covers;
        }
        let mut within: Vec<Vec<usize>> = vec![Vec::new(); line.segments.len()];
        for (number, segment) in line.segments.iter().enumerate() {
            if let Some(outer) = segment.within {
                within[outer.segment].push(number);
            }
        }
        // In reverse order, because commands come before those within them.
        for (number, segment) in line.segments.iter().enumerate().rev() {
            if segment.assigns || segment.is_odd {
                continue;
            }
            if segment.words.is_empty() {
                covers[number].0 = true;
                continue;
            }
            let mut text = shell::exact(&segment.words);
            if segment.is_open {
                text.extend([GAP, shell::SPACE]);
            }
            let inner = &within[number];
            let is_spelled = |pattern: &ShellPattern, inner: usize| match line.segments[inner]
                .within
                .and_then(|it| it.word)
            {
                Some(word) => pattern.spells(&shell::exact(&segment.words[..=word])),
                None => pattern.is_literal(),
            };
            let matching = index.commands(&text).into_iter().filter(|rule| {
                self.pattern(*rule).is_some_and(|pattern| {
                    pattern.matches_exactly(&text)
                        && inner.iter().all(|inner| covers[*inner].0 || is_spelled(pattern, *inner))
                })
            });
            let matching: Vec<Number> = matching.collect();
            let is_passed_on =
                segment.is_transparent && !inner.is_empty() && inner.iter().all(|inner| covers[*inner].0);
            covers[number] = (!matching.is_empty() || is_passed_on, matching);
        }
        covers
    }

    /// A file that the line reads or writes; `None` if no rule depends on it.
    fn reached(&self, reached: &Reached, place: &Place<'_>) -> Option<Finding> {
        let kind = if reached.writes { PartKind::Write } else { PartKind::Read };
        let mut part = Finding::new(kind, reached.shown.as_str());
        part.hits = self.hits(|effect, index| {
            let is_allow = effect == Effect::Allow;
            let tools: &[&str] = match (reached.writes, is_allow) {
                (true, true) => &["FileReplace"],
                (true, false) => &["FileReplace", "FileCreate"],
                (false, _) => &["Read"],
            };
            // A link may lead elsewhere, and only the machine could find out: no allowed path covers a file that a line
            // writes.
            if is_allow && (reached.writes || !reached.is_certain) {
                return index.whole_tool(SHELL);
            }
            let paths = reached.paths.iter();
            let mut found: Vec<Number> =
                paths.flat_map(|path| self.path_hits(index, tools, path, place, is_allow)).collect();
            if is_allow {
                found.extend(index.whole_tool(SHELL));
            }
            found
        });
        part.needs_cover = reached.is_redirect && reached.writes;
        let is_hit = [Effect::Deny, Effect::Ask].iter().any(|effect| !part.hits(*effect).is_empty());
        (part.needs_cover || is_hit).then(|| part.covered_by_hits())
    }

    /// The patterns that match the beginning of a word of a line that cannot be parsed.
    fn raw_hits(&self, line: &str, index: &super::Index, work: &Work) -> Vec<Number> {
        let (text, starts) = shell::raw(line);
        let mut found = Vec::new();
        // A pattern that begins with a wildcard matches at the first word whatever it matches at a later word.
        if let Some(start) = starts.first() {
            let rest = &text[*start..];
            found.extend(index.open_ended().into_iter().filter(|number| {
                work.spend(rest) && self.pattern(*number).is_some_and(|pattern| pattern.begins(rest))
            }));
        }
        for start in starts {
            let mut end = text.len().min(start + RAW_BYTES);
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            let rest = &text[start..end];
            let may_match = index.raw_commands(rest).into_iter();
            found.extend(may_match.filter(|number| {
                self.pattern(*number).is_some_and(|pattern| {
                    rest.starts_with(pattern.head().trim_end_matches(GAP))
                        && work.spend(rest)
                        && pattern.begins(rest)
                })
            }));
        }
        found
    }
}

#[cfg(test)]
mod tests;
