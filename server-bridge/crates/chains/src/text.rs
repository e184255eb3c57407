//! A chain as text: a numbered list, with options in square brackets at the end of a step.
//!
//! ```text
//!   1. @writer: Write a story about the request. [outputs story.md, notes/]
//!   2. @editor: Shorten it to 500 words.
//!      Keep the ending. [gate] [retries 2] [limit 10m]
//!   3. @writer: Incorporate the editor's changes.
//!   budget: 200000 tokens, $2.50, 1h
//! ```

use std::fmt::Write as _;

use api::chain::{ChainBudget, ChainDraft, ChainStep};

use crate::Refused;
use crate::check::is_of_handle;
use crate::limits::TEXT_MAX_BYTES;

/// Reads a chain; the caller still has to check the result.
///
/// # Errors
/// [`Refused`], which names the line or the step that cannot be read.
pub fn read(text: &str) -> Result<ChainDraft, Refused> {
    if text.len() > TEXT_MAX_BYTES {
        return Err(Refused(format!("the text of a chain can have at most {TEXT_MAX_BYTES} bytes")));
    }
    let mut chain = ChainDraft::default();
    for (number, line) in (1..).zip(text.lines()) {
        let wrong = |why: &str| Err(Refused(format!("line {number}: {why}")));
        let is_indented = line.starts_with([' ', '\t']);
        let line = line.trim();
        if !is_indented && let Some(budget) = after_word(line, "budget:") {
            match self::budget(budget) {
                Some(budget) if chain.budget.is_none() => chain.budget = Some(budget),
                Some(_) => return wrong("the budget is given twice; keep one of the lines"),
                None => {
                    return wrong(
                        "write the budget as `budget: 200000 tokens, $2.50, 1h`, or as any part of that",
                    );
                }
            }
        } else if let Some(step) = step(line).filter(|_| !is_indented) {
            chain.steps.push(step);
        } else if let Some(step) = chain.steps.last_mut() {
            step.instruction.push('\n');
            step.instruction.push_str(line);
        } else if !line.is_empty() && !line.starts_with('#') {
            return wrong(
                "begin each step with its number and its agent, such as `1. @writer: Write a story.`",
            );
        }
    }
    for (number, step) in (1..).zip(&mut chain.steps) {
        take_options(step).map_err(|why| Refused(format!("step {number}: {why}")))?;
    }
    Ok(chain)
}

/// Writes a chain in the form that [`read`] reads.
pub fn write(chain: &ChainDraft) -> String {
    let mut text = String::new();
    for (number, step) in (1..).zip(&chain.steps) {
        let instruction = step.instruction.trim().replace('\n', "\n   ");
        let _ = write!(text, "{number}. @{}: {instruction}", step.agent);
        // Brackets at the end of the instruction itself would be read as an option.
        if take_option(instruction.trim_end()).is_some() {
            text.push_str(" []");
        }
        if step.gate {
            text.push_str(" [gate]");
        }
        if step.retries > 0 {
            let _ = write!(text, " [retries {}]", step.retries);
        }
        if let Some(limit) = step.limit_seconds {
            let _ = write!(text, " [limit {}]", span(limit));
        }
        if !step.outputs.is_empty() {
            let _ = write!(text, " [outputs {}]", step.outputs.join(", "));
        }
        text.push('\n');
    }
    if let Some(ChainBudget { tokens, cost_micro_usd, seconds }) = chain.budget {
        let parts = [
            tokens.map(|tokens| format!("{tokens} tokens")),
            cost_micro_usd.map(|cost| format!("${}", dollars(cost))),
            seconds.map(span),
        ];
        let _ = writeln!(text, "budget: {}", parts.into_iter().flatten().collect::<Vec<_>>().join(", "));
    }
    text
}

/// Reads a step's first line, such as `1. @writer: …`; `)` or `、` after the number, `-` in place of the number, and a Chinese colon are accepted too.
fn step(line: &str) -> Option<ChainStep> {
    let rest = line.trim_start_matches(|character: char| character.is_ascii_digit());
    let rest = if rest.len() < line.len() {
        rest.strip_prefix(['.', ')', '、'])?
    } else {
        line.strip_prefix(['-', '*'])?
    };
    let rest = rest.trim_start().strip_prefix('@')?;
    let end = rest.find(|character| !is_of_handle(character)).unwrap_or(rest.len());
    let (agent, rest) = rest.split_at(end);
    let instruction = rest.strip_prefix([':', '：', ',', '，']).unwrap_or(rest).trim();
    let step =
        ChainStep { agent: agent.to_owned(), instruction: instruction.to_owned(), ..ChainStep::default() };
    (!agent.is_empty()).then_some(step)
}

/// Takes the options from the end of a step's instruction.
fn take_options(step: &mut ChainStep) -> Result<(), String> {
    let mut instruction = step.instruction.trim_end().to_owned();
    while let Some((rest, option)) = take_option(&instruction) {
        let (word, value) = option.split_once(char::is_whitespace).unwrap_or((option, ""));
        let value = value.trim();
        match word {
            // Empty brackets end the options: everything before them belongs to the instruction.
            "" => {
                instruction.truncate(rest.len());
                break;
            }
            "gate" => step.gate = true,
            "retries" => {
                step.retries =
                    value.parse().map_err(|_| format!("`[{option}]` needs a number, such as [retries 2]"))?;
            }
            "outputs" => {
                let mut outputs: Vec<_> =
                    value.split([',', '，']).map(|path| path.trim().to_owned()).collect();
                // Options are read from the end, so those read so far come after this one.
                outputs.append(&mut step.outputs);
                step.outputs = outputs;
            }
            _ => {
                let limit = seconds(value)
                    .ok_or_else(|| format!("`[{option}]` needs a time, such as [limit 10m]"))?;
                step.limit_seconds = Some(limit);
            }
        }
        instruction.truncate(rest.len());
    }
    step.instruction = instruction.trim().to_owned();
    Ok(())
}

/// Splits off the option at the end of a text; returns the text before it, and the option. Brackets with other words belong to the
/// text.
fn take_option(text: &str) -> Option<(&str, &str)> {
    let (rest, option) = text.strip_suffix(']')?.rsplit_once('[')?;
    let option = option.trim();
    let word = option.split_whitespace().next().unwrap_or("");
    let is_one = option.is_empty() || option == "gate" || matches!(word, "retries" | "limit" | "outputs");
    is_one.then_some((rest.trim_end(), option))
}

/// Returns the rest of a line after a word at its beginning, in upper or lower case.
fn after_word<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let (head, rest) = line.split_at_checked(word.len())?;
    head.eq_ignore_ascii_case(word).then_some(rest)
}

fn budget(text: &str) -> Option<ChainBudget> {
    let mut budget = ChainBudget::default();
    for part in text.split(',').map(str::trim) {
        if let Some(cost) = part.strip_prefix('$') {
            budget.cost_micro_usd = Some(micro(cost.trim())?);
        } else if let Some(tokens) = part.strip_suffix("tokens") {
            budget.tokens = Some(tokens.trim().parse().ok()?);
        } else {
            budget.seconds = Some(seconds(part)?);
        }
    }
    Some(budget)
}

/// Parses an amount in dollars with at most six decimal places; returns millionths of a dollar.
fn micro(text: &str) -> Option<i64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if part.len() > 6 || !are_digits(part) || !are_digits(whole) || whole.is_empty() {
        return None;
    }
    let part: i64 = format!("{part:0<6}").parse().ok()?;
    whole.parse::<i64>().ok()?.checked_mul(1_000_000)?.checked_add(part)
}

fn dollars(micro: i64) -> String {
    let text = format!("{}.{:06}", micro / 1_000_000, micro % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The units of time, largest first, with their length in seconds.
const UNITS: [(char, u64); 4] = [('d', 24 * 3600), ('h', 3600), ('m', 60), ('s', 1)];

fn seconds(text: &str) -> Option<u64> {
    let (unit, size) = UNITS.into_iter().find(|(unit, _)| text.ends_with(*unit))?;
    text.strip_suffix(unit)?.trim().parse::<u64>().ok()?.checked_mul(size)
}

/// Writes a time in the largest unit that divides it without a remainder.
fn span(seconds: u64) -> String {
    let exact = UNITS.into_iter().find(|(_, size)| seconds > 0 && seconds.is_multiple_of(*size));
    let (unit, size) = exact.unwrap_or(('s', 1));
    format!("{}{unit}", seconds / size)
}
