//! The agents of a chain's steps, by handle.

use api::chain::ChainDraft;

/// The agents of a chain, each once, in the order of its steps.
pub fn handles(chain: &ChainDraft) -> Vec<String> {
    let mut handles: Vec<String> = Vec::new();
    for step in &chain.steps {
        if !step.agent.is_empty() && !handles.contains(&step.agent) {
            handles.push(step.agent.clone());
        }
    }
    handles
}

/// The handles that none of these agents has in any case.
pub fn strangers<'a>(handles: &'a [String], agents: &[&str]) -> Vec<&'a str> {
    let is_known = |handle: &str| agents.iter().any(|agent| agent.to_lowercase() == handle.to_lowercase());
    handles.iter().map(String::as_str).filter(|handle| !is_known(handle)).collect()
}

/// Puts these agents in the place of those of a chain that was written for another group, where that is obvious.
pub fn fit(chain: &mut ChainDraft, agents: &[&str]) {
    for step in &mut chain.steps {
        if let Some(fitting) = fitting(&step.agent, agents) {
            step.agent = fitting.to_owned();
        }
    }
}

/// The agent that a handle stands for: the one with this handle in any case, or the only one that has it as a word of its own.
fn fitting<'a>(handle: &str, agents: &[&'a str]) -> Option<&'a str> {
    let wanted = handle.to_lowercase();
    if let Some(same) = agents.iter().copied().find(|agent| agent.to_lowercase() == wanted) {
        return Some(same);
    }
    let has_word = |agent: &&str| {
        let agent = agent.to_lowercase();
        agent.split(|character: char| !character.is_alphabetic()).any(|word| word == wanted)
    };
    let mut named = agents.iter().copied().filter(has_word);
    match (named.next(), named.next()) {
        (Some(only), None) if !wanted.is_empty() => Some(only),
        _ => None,
    }
}
