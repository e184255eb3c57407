//! Examples of a rule, which are checked when it is loaded: a rule that contradicts them is refused.

use crate::call::{Call, PathAccess, Place, Subject};
use crate::layer::{Layer, LoadedRule};
use crate::limits::EXAMPLES;
use crate::names;
use crate::rule::{Effect, Origin, Rule, RuleError, Target};
use crate::set::RuleSet;

/// The folders that the examples refer to.
const PLACE: Place<'_> = Place { cwd: "/workspace", root: Some("/workspace"), home: Some("/home/user") };

/// Examples of a rule: shell lines, paths, hosts or names, depending on its tool. Paths are relative to the workspace's root,
/// and the home directory is `~`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examples {
    /// Calls that the rule must match.
    pub matches: Vec<String>,
    /// Calls that it must not match.
    pub not_matches: Vec<String>,
}

impl Examples {
    /// Checks that a rule with this effect, on its own, agrees with its examples.
    pub fn check(&self, rule: &Rule, effect: Effect) -> Result<(), RuleError> {
        if self.matches.len() > EXAMPLES || self.not_matches.len() > EXAMPLES {
            return Err(RuleError::TooManyExamples);
        }
        let loaded = LoadedRule { id: String::new(), effect, rule: rule.clone(), justification: None };
        let set = RuleSet::new([Layer { origin: Origin::Managed, rules: vec![loaded] }]);
        for (examples, should_match) in [(&self.matches, true), (&self.not_matches, false)] {
            for example in examples {
                if matches(&set, rule, effect, example) != should_match {
                    return Err(RuleError::Example { example: example.clone(), should_match });
                }
            }
        }
        Ok(())
    }
}

/// True if the only rule of the set decides about the example.
fn matches(set: &RuleSet, rule: &Rule, effect: Effect, example: &str) -> bool {
    let (tool, subject) = match &rule.target {
        Target::Everything | Target::Mcp { .. } => (example, None),
        Target::Tool(tool) => (tool.as_str(), subject(tool, example)),
    };
    let subjects: &[Subject<'_>] = match &subject {
        Some(subject) => std::slice::from_ref(subject),
        None => &[],
    };
    let decision = set.decide(&Call { tool: names::ours(tool), subjects, place: PLACE });
    decision.verdict == Some(effect) && !decision.rules.is_empty()
}

fn subject<'a>(tool: &str, example: &'a str) -> Option<Subject<'a>> {
    Some(match tool {
        "Shell" => Subject::Shell { line: example },
        "FileCreate" | "FileReplace" => Subject::Path { path: example, access: PathAccess::Write },
        "Read" | "Glob" | "Grep" | "Cd" => Subject::Path { path: example, access: PathAccess::Read },
        "Fetch" => Subject::Domain { host: host(example) },
        "DownloadFile" if example.contains("://") => Subject::Domain { host: host(example) },
        "DownloadFile" => Subject::Path { path: example, access: PathAccess::Write },
        "SubAgent" | "Skill" => Subject::Named { name: example },
        _ => return None,
    })
}

/// The host of a URL, or the text itself.
fn host(example: &str) -> &str {
    let rest = example.split_once("://").map_or(example, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = authority.rsplit('@').next().unwrap_or(authority);
    match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => host,
    }
}
