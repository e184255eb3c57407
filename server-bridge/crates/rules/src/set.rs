//! All rules that apply to a chat, and their verdict on a call.

use crate::call::Call;
use crate::findings::{Finding, Findings, Rules};
use crate::index::Number;
use crate::layer::{Layer, LoadedRule};
use crate::limits::QUOTED_CHARS;
use crate::rule::{Effect, Origin};

/// All rules that apply to a chat. Built once after each change of a rule; a decision takes microseconds.
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    rules: Rules,
}

/// A rule that decided or matches, with its origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleRef<'a> {
    /// Who set the rule.
    pub origin: Origin,
    /// The rule, with the caller's id for it.
    pub rule: &'a LoadedRule,
}

/// The verdict on a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision<'a> {
    /// The verdict; `None` if no rule decides, so that the chat's mode does.
    pub verdict: Option<Effect>,
    /// The rules that decided, for counting their hits: one that denies or asks, or all that allow together. Empty if nothing
    /// decided, or if the user is asked because the line cannot be parsed.
    pub rules: Vec<RuleRef<'a>>,
    /// The reason in one sentence, for people.
    pub reason: String,
    /// False if the user is asked only because a part of the call is not known before it runs, or cannot be parsed: a rule
    /// may match.
    pub is_certain: bool,
}

impl RuleSet {
    /// Joins layers. Rules that allow are left out of a workspace's layer.
    pub fn new(layers: impl IntoIterator<Item = Layer>) -> Self {
        let mut layers: Vec<Layer> = layers.into_iter().collect();
        layers.sort_by_key(|layer| layer.origin);
        let mut rules = Rules::default();
        for Layer { origin, rules: loaded } in layers {
            let is_inert = |loaded: &LoadedRule| {
                (origin == Origin::Workspace && loaded.effect == Effect::Allow)
                    || loaded.rule.refusal(loaded.effect).is_some()
            };
            for loaded in loaded.into_iter().filter(|loaded| !is_inert(loaded)) {
                rules.insert(origin, loaded);
            }
        }
        Self { rules }
    }

    /// The number of rules that have an effect.
    pub fn len(&self) -> usize {
        self.rules.entries.len()
    }

    /// True if no rule has an effect.
    pub fn is_empty(&self) -> bool {
        self.rules.entries.is_empty()
    }

    /// True if a rule is about paths, so that its verdict depends on the folders of a call and on where links lead.
    pub fn has_paths(&self) -> bool {
        self.rules.has_paths
    }

    /// The verdict on a call: deny over ask over allow, over all layers.
    pub fn decide(&self, call: &Call<'_>) -> Decision<'_> {
        if self.is_empty() {
            return Decision {
                verdict: None,
                rules: Vec::new(),
                reason: "There are no rules.".to_owned(),
                is_certain: true,
            };
        }
        self.conclude(&self.findings(call))
    }

    pub(crate) fn findings(&self, call: &Call<'_>) -> Findings {
        self.rules.findings(call)
    }

    pub(crate) fn rule(&self, number: Number) -> RuleRef<'_> {
        let entry = &self.rules.entries[number as usize];
        RuleRef { origin: entry.origin, rule: &entry.loaded }
    }

    /// The verdict that follows from the parts of a call.
    pub(crate) fn conclude(&self, findings: &Findings) -> Decision<'_> {
        for effect in [Effect::Deny, Effect::Ask] {
            let hits = findings.parts.iter().filter_map(|part| Some((*part.hits(effect).first()?, part)));
            if let Some((number, part)) = hits.min_by_key(|(number, _)| *number) {
                let rule = self.rule(number);
                return Decision {
                    verdict: Some(effect),
                    rules: vec![rule],
                    reason: by_rule(effect, part, rule),
                    is_certain: true,
                };
            }
            let possible = findings.parts.iter().filter_map(|part| Some((*part.possible.first()?, part)));
            let possible = possible.min_by_key(|(number, _)| *number).filter(|_| effect == Effect::Ask);
            if let Some((number, part)) = possible {
                let rule = self.rule(number);
                let reason = format!(
                    "The user is asked about `{}`, a part of which is known only when it runs: it may match {}.",
                    quoted(&part.text),
                    named(rule)
                );
                return Decision { verdict: Some(Effect::Ask), rules: vec![rule], reason, is_certain: false };
            }
            let doubt = findings.doubts.first().filter(|_| effect == Effect::Ask);
            if let Some(doubt) = doubt {
                let reason = format!("The user is asked because the line cannot be parsed: {doubt}.");
                return Decision { verdict: Some(Effect::Ask), rules: Vec::new(), reason, is_certain: false };
            }
        }
        let open: Vec<&Finding> =
            findings.parts.iter().filter(|part| part.needs_cover && !part.is_covered).collect();
        let mut allows: Vec<Number> =
            findings.parts.iter().flat_map(|part| part.hits(Effect::Allow)).copied().collect();
        allows.sort_unstable();
        allows.dedup();
        let has_cover = findings.parts.iter().any(|part| part.needs_cover);
        match (open.first(), allows.is_empty()) {
            (None, false) if has_cover => {
                let rules: Vec<_> = allows.into_iter().map(|number| self.rule(number)).collect();
                let texts: Vec<_> = rules.iter().map(|rule| named(*rule)).collect();
                let reason = format!("It is allowed by {}.", quoted(&texts.join(" and ")));
                Decision { verdict: Some(Effect::Allow), rules, reason, is_certain: true }
            }
            (Some(part), false) => {
                let reason = format!("No rule decides: no allow rule covers `{}`.", quoted(&part.text));
                Decision { verdict: None, rules: Vec::new(), reason, is_certain: true }
            }
            _ => Decision {
                verdict: None,
                rules: Vec::new(),
                reason: "No rule matches.".to_owned(),
                is_certain: true,
            },
        }
    }
}

/// The sentence about a rule that denies or asks.
fn by_rule(effect: Effect, part: &Finding, rule: RuleRef<'_>) -> String {
    let part = quoted(&part.text);
    let because = rule.rule.justification.as_ref().map(|why| format!(": {}", why.trim_end_matches('.')));
    let because = because.unwrap_or_default();
    match effect {
        Effect::Deny => format!("`{part}` is denied by {}{because}.", named(rule)),
        Effect::Ask => format!("The user is asked about `{part}` because of {}{because}.", named(rule)),
        Effect::Allow => format!("`{part}` is allowed by {}{because}.", named(rule)),
    }
}

/// A rule in a sentence.
pub(crate) fn named(rule: RuleRef<'_>) -> String {
    let whose = match rule.origin {
        Origin::Managed => "the administrator's rule",
        Origin::User => "the user's rule",
        Origin::Chat => "the chat's rule",
        Origin::Workspace => "the workspace's rule",
        Origin::BuiltIn => "the built-in rule",
    };
    format!("{whose} `{}`", quoted(rule.rule.rule.text()))
}

/// A text for use in a sentence: on one line, and not too long.
pub(crate) fn quoted(text: &str) -> String {
    let line = text.replace(|c: char| c.is_control(), " ");
    match line.char_indices().nth(QUOTED_CHARS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

#[cfg(test)]
mod tests;
