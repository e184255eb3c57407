//! The check of a definition.

use api::chain::{ChainBudget, ChainDraft, ChainStep};

use crate::Refused;
use crate::limits::{
    BUDGET_MAX_SECONDS, HANDLE_MAX_CHARS, INSTRUCTION_MAX_BYTES, LIMIT_MAX_SECONDS, LIMIT_MIN_SECONDS,
    RETRIES_MAX, STEPS_MAX,
};

/// Checks a definition. That its agents are members of the group is for the caller to check.
///
/// # Errors
/// [`Refused`] that names the first step at fault and says what to change.
pub fn check(chain: &ChainDraft) -> Result<(), Refused> {
    if chain.steps.is_empty() {
        return refused("a chain needs at least one step, such as `1. @writer: Write a story.`");
    }
    if chain.steps.len() > STEPS_MAX {
        return refused(format!("a chain may have at most {STEPS_MAX} steps; make two of it"));
    }
    for (number, step) in (1..).zip(&chain.steps) {
        check_step(step).map_err(|Refused(why)| Refused(format!("step {number}: {why}")))?;
    }
    chain.budget.as_ref().map_or(Ok(()), check_budget)
}

fn check_step(step: &ChainStep) -> Result<(), Refused> {
    let handle = step.agent.as_str();
    if !is_handle(handle) {
        return refused("name its agent by the handle, such as @writer");
    }
    let instruction = step.instruction.trim();
    if instruction.is_empty() {
        return refused(format!("say what @{handle} is to do"));
    }
    if instruction.len() > INSTRUCTION_MAX_BYTES {
        return refused(format!(
            "the instruction may have at most {INSTRUCTION_MAX_BYTES} bytes; put the rest into a file"
        ));
    }
    if step.retries > RETRIES_MAX {
        return refused(format!("at most {RETRIES_MAX} retries are possible"));
    }
    if step.limit_seconds.is_some_and(|limit| !(LIMIT_MIN_SECONDS..=LIMIT_MAX_SECONDS).contains(&limit)) {
        return refused("an attempt may take from 10s to 24h");
    }
    Ok(())
}

/// True for a handle: 1 to 32 letters, digits, `-` and `_`, the first of them a letter or a digit.
pub fn is_handle(text: &str) -> bool {
    text.starts_with(char::is_alphanumeric)
        && text.chars().all(is_of_handle)
        && text.chars().count() <= HANDLE_MAX_CHARS
}

/// True for what handles consist of.
pub(crate) fn is_of_handle(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '-' | '_')
}

fn check_budget(budget: &ChainBudget) -> Result<(), Refused> {
    if budget.tokens.is_some_and(|tokens| tokens < 1) || budget.cost_micro_usd.is_some_and(|cost| cost < 1) {
        return refused("a budget has to be more than nothing; leave it out for no bound");
    }
    if budget.seconds.is_some_and(|seconds| !(LIMIT_MIN_SECONDS..=BUDGET_MAX_SECONDS).contains(&seconds)) {
        return refused("the time of a budget may be from 10s to 30d");
    }
    Ok(())
}

fn refused<T>(why: impl Into<String>) -> Result<T, Refused> {
    Err(Refused(why.into()))
}
