//! The agents of a chain's steps, by handle.

use std::collections::HashSet;

use api::chain::ChainDraft;

/// The agents of a chain, each once, in the order of its steps.
pub fn handles(chain: &ChainDraft) -> Vec<String> {
    let mut seen = HashSet::new();
    let agents = chain.steps.iter().map(|step| step.agent.as_str());
    agents.filter(|agent| !agent.is_empty() && seen.insert(*agent)).map(str::to_owned).collect()
}

/// The handles that none of these agents has in any case.
pub fn strangers<'a>(handles: &'a [String], agents: &[&str]) -> Vec<&'a str> {
    let known: HashSet<String> = agents.iter().map(|agent| agent.to_lowercase()).collect();
    handles.iter().map(String::as_str).filter(|handle| !known.contains(&handle.to_lowercase())).collect()
}

/// Puts these agents in the place of those of a chain that was written for another group, where that is obvious.
pub fn fit(chain: &mut ChainDraft, agents: &[&str]) {
    let agents: Vec<(String, &str)> = agents.iter().map(|agent| (agent.to_lowercase(), *agent)).collect();
    for step in &mut chain.steps {
        if let Some(fitting) = fitting(&step.agent, &agents) {
            step.agent = fitting.to_owned();
        }
    }
}

/// The agent that a handle stands for: the one with this handle in any case, or the only one that has it as a word of its own. The agents come
/// with their handles in lower case.
fn fitting<'a>(handle: &str, agents: &[(String, &'a str)]) -> Option<&'a str> {
    let wanted = handle.to_lowercase();
    if let Some(&(_, same)) = agents.iter().find(|(lower, _)| *lower == wanted) {
        return Some(same);
    }
    let has_word =
        |lower: &str| lower.split(|character: char| !character.is_alphabetic()).any(|word| word == wanted);
    let mut named = agents.iter().filter(|(lower, _)| has_word(lower)).map(|(_, agent)| *agent);
    match (named.next(), named.next()) {
        (Some(only), None) if !wanted.is_empty() => Some(only),
        _ => None,
    }
}
