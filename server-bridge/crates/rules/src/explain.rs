//! The answer to "what would happen to this call?": the verdict on each part of it, with the rules that match it.

use crate::call::Call;
use crate::findings::{Finding, PartKind};
use crate::rule::Effect;
use crate::set::{Decision, RuleRef, RuleSet, named, quoted};
use crate::shell::Doubt;

/// The verdict on a call, with its explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation<'a> {
    /// The verdict, as [`RuleSet::decide`] gives it.
    pub decision: Decision<'a>,
    /// The parts of the call, each with its own verdict.
    pub parts: Vec<Part<'a>>,
    /// The reasons why its shell line cannot be parsed.
    pub doubts: Vec<Doubt>,
}

/// A part of a call: a command, a path, a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// The kind of the part.
    pub kind: PartKind,
    /// The part as people would write it.
    pub text: String,
    /// The number of other commands that it is within: 1 for `rm` in `sudo rm`.
    pub depth: usize,
    /// The verdict on this part alone.
    pub verdict: Option<Effect>,
    /// All rules that match it, the strictest first.
    pub rules: Vec<RuleRef<'a>>,
    /// The reason in one sentence.
    pub reason: String,
}

impl RuleSet {
    /// The verdict on a call, and on each of its parts.
    pub fn explain(&self, call: &Call<'_>) -> Explanation<'_> {
        let findings = self.findings(call);
        let decision = self.conclude(&findings);
        let has_something = |part: &&Finding| {
            part.kind != PartKind::Tool
                || part.needs_cover
                || Effect::ALL.iter().any(|effect| !part.hits(*effect).is_empty())
        };
        let mut parts: Vec<Part<'_>> =
            findings.parts.iter().filter(has_something).map(|part| self.part(part)).collect();
        if let Some(doubt) = findings.doubts.first() {
            for part in parts.iter_mut().filter(|part| part.kind == PartKind::Line && part.verdict.is_none())
            {
                part.verdict = Some(Effect::Ask);
                part.reason = format!("The line cannot be parsed: {doubt}.");
            }
        }
        Explanation { decision, parts, doubts: findings.doubts }
    }

    fn part(&self, part: &Finding) -> Part<'_> {
        let numbers = Effect::ALL.iter().flat_map(|effect| part.hits(*effect));
        let rules: Vec<RuleRef<'_>> = numbers.map(|number| self.rule(*number)).collect();
        let strictest = Effect::ALL.into_iter().find(|effect| !part.hits(*effect).is_empty());
        let verdict = match strictest {
            Some(Effect::Allow) | None => part.is_covered.then_some(Effect::Allow),
            strict => strict,
        };
        let verdict = match part.possible.first() {
            Some(_) if verdict != Some(Effect::Deny) => Some(Effect::Ask),
            _ => verdict,
        };
        let possible: Vec<RuleRef<'_>> = part.possible.iter().map(|number| self.rule(*number)).collect();
        let text = quoted(&part.text);
        let reason = match (verdict, rules.first()) {
            (Some(Effect::Deny), Some(rule)) => format!("`{text}` is denied by {}.", named(*rule)),
            (Some(Effect::Ask), _) if strictest != Some(Effect::Ask) && !possible.is_empty() => {
                format!("The user is asked about `{text}`, which may match {}.", named(possible[0]))
            }
            (Some(Effect::Ask), Some(rule)) => {
                format!("The user is asked about `{text}` because of {}.", named(*rule))
            }
            (Some(Effect::Allow), Some(rule)) => format!("`{text}` is allowed by {}.", named(*rule)),
            (Some(_), None) => format!("`{text}` needs no separate rule."),
            (None, Some(_)) => {
                format!("`{text}` matches an allow rule, which does not cover the commands within it.")
            }
            (None, None) => format!("No rule matches `{text}`."),
        };
        let rules = possible.into_iter().chain(rules).collect();
        Part { kind: part.kind, text: part.text.clone(), depth: part.depth, verdict, rules, reason }
    }
}

#[cfg(test)]
mod tests;
