//! Checks the definition of a chain.

use api::chain::{ChainBudget, ChainDraft, ChainStep};

use crate::Refused;
use crate::limits::{
    BUDGET_MAX_SECONDS, HANDLE_MAX_CHARS, INSTRUCTION_MAX_BYTES, LIMIT_MAX_SECONDS, LIMIT_MIN_SECONDS,
    OUTPUT_MAX_BYTES, OUTPUTS_MAX, RETRIES_MAX, STEPS_MAX,
};

/// Checks a definition. The caller has to check that its agents are members of the group.
///
/// # Errors
/// [`Refused`], which names the first wrong step and what to change.
pub fn check(chain: &ChainDraft) -> Result<(), Refused> {
    if chain.steps.is_empty() {
        return refused("a chain needs at least one step, such as `1. @writer: Write a story.`");
    }
    check_count(chain)?;
    for (number, step) in (1..).zip(&chain.steps) {
        check_step(step).map_err(|Refused(why)| Refused(format!("step {number}: {why}")))?;
    }
    if let Some(last) = chain.steps.last().filter(|last| !last.outputs.is_empty()) {
        let number = chain.steps.len();
        return refused(format!(
            "step {number}: no later step receives `{}`; remove its outputs, or add a step",
            last.outputs.join(", ")
        ));
    }
    chain.budget.as_ref().map_or(Ok(()), check_budget)
}

/// Checks the size of a definition that is being written: the number of its steps, and the length of their instructions.
///
/// # Errors
/// [`Refused`], with the same texts as [`check`].
pub fn check_size(chain: &ChainDraft) -> Result<(), Refused> {
    check_count(chain)?;
    for (number, step) in (1..).zip(&chain.steps) {
        check_length(step.instruction.trim())
            .map_err(|Refused(why)| Refused(format!("step {number}: {why}")))?;
    }
    Ok(())
}

fn check_count(chain: &ChainDraft) -> Result<(), Refused> {
    if chain.steps.len() > STEPS_MAX {
        return refused(format!("a chain can have at most {STEPS_MAX} steps; split it into two chains"));
    }
    Ok(())
}

fn check_length(instruction: &str) -> Result<(), Refused> {
    if instruction.len() > INSTRUCTION_MAX_BYTES {
        return refused(format!(
            "the instruction can have at most {INSTRUCTION_MAX_BYTES} bytes; put the rest into a file"
        ));
    }
    Ok(())
}

fn check_step(step: &ChainStep) -> Result<(), Refused> {
    let handle = step.agent.as_str();
    if !is_handle(handle) {
        return refused("name its agent by the handle, such as @writer");
    }
    let instruction = step.instruction.trim();
    if instruction.is_empty() {
        return refused(format!("write what @{handle} is to do"));
    }
    check_length(instruction)?;
    if step.retries > RETRIES_MAX {
        return refused(format!("a step can have at most {RETRIES_MAX} retries"));
    }
    if step.limit_seconds.is_some_and(|limit| !(LIMIT_MIN_SECONDS..=LIMIT_MAX_SECONDS).contains(&limit)) {
        return refused("the time limit of an attempt must be from 10s to 24h");
    }
    if step.outputs.len() > OUTPUTS_MAX {
        return refused(format!(
            "a step can have at most {OUTPUTS_MAX} outputs; name a directory that contains them"
        ));
    }
    step.outputs.iter().find(|path| !is_output(path)).map_or(Ok(()), |path| {
        refused(format!(
            "`{path}` cannot be an output: name a path in the workspace, such as data.csv, report/ or logs/*.txt"
        ))
    })
}

/// Returns true for a relative path without `..`, or a pattern of such paths; the runner refuses a path that leads out of the workspace through a
/// link. Characters with a meaning in a list of outputs or in a pattern are refused, so that each text denotes exactly one path.
pub fn is_output(path: &str) -> bool {
    let is_odd =
        |character: char| character.is_control() || matches!(character, ',' | '[' | ']' | '{' | '}' | '\\');
    path.trim() == path
        && path.len() <= OUTPUT_MAX_BYTES
        && !path.starts_with('~')
        && !path.chars().any(is_odd)
        && path.strip_suffix('/').unwrap_or(path).split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// Returns true for a pattern, which stands for all paths that match it; otherwise the output is one file or directory.
pub fn is_pattern(output: &str) -> bool {
    output.contains(['*', '?'])
}

/// Returns true for a handle, which consists of 1 to 32 letters, digits, `-` and `_`, the first of them a letter or a digit.
pub fn is_handle(text: &str) -> bool {
    text.starts_with(char::is_alphanumeric)
        && text.chars().all(is_of_handle)
        && text.chars().count() <= HANDLE_MAX_CHARS
}

/// Returns true for a character that handles can contain.
pub(crate) fn is_of_handle(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '-' | '_')
}

fn check_budget(budget: &ChainBudget) -> Result<(), Refused> {
    if budget.tokens.is_some_and(|tokens| tokens < 1) || budget.cost_micro_usd.is_some_and(|cost| cost < 1) {
        return refused("a budget must be greater than zero; leave it out for no limit");
    }
    if budget.seconds.is_some_and(|seconds| !(LIMIT_MIN_SECONDS..=BUDGET_MAX_SECONDS).contains(&seconds)) {
        return refused("the time of a budget must be from 10s to 30d");
    }
    Ok(())
}

fn refused<T>(why: impl Into<String>) -> Result<T, Refused> {
    Err(Refused(why.into()))
}
