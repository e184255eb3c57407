//! The text that a step's agent gets.

use std::fmt::Write as _;

use api::chain::ChainStep;

use crate::limits::{QUOTED_BYTES, QUOTED_STEP_BYTES};

/// What the text of a step is made of.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// All steps of the run.
    pub steps: &'a [ChainStep],
    /// The step, counted from 0.
    pub step: usize,
    /// What all steps work on.
    pub request: &'a str,
    /// What the steps before gave, in their order.
    pub before: &'a [String],
    /// What a person wants changed, with the earlier attempt's output.
    pub redo: Option<(&'a str, &'a str)>,
}

/// The text for the agent. What others wrote stands between tags that it cannot close, and counts as information.
pub fn write(parts: &Parts<'_>) -> String {
    let Parts { steps, step, request, before, redo } = *parts;
    let mut text = format!(
        "You do step {} of {} of a chain. Only your answer goes to the next step, so it has to hold all that the next step needs.\n",
        step + 1,
        steps.len()
    );
    quote(&mut text, "request", "", request);
    for (index, output) in (0..).zip(bounded(before)) {
        let agent = steps.get(index).map_or("", |step| step.agent.as_str());
        quote(&mut text, "output", &format!(" step=\"{}\" agent=\"@{agent}\"", index + 1), &output);
    }
    if let Some((wish, attempt)) = redo {
        if !attempt.is_empty() {
            quote(&mut text, "attempt", "", &cut(attempt, QUOTED_STEP_BYTES));
        }
        quote(&mut text, "change", "", if wish.trim().is_empty() { "Do it again." } else { wish });
        text.push_str("A person looked at your last attempt and wants this change.\n");
    }
    let instruction = steps.get(step).map_or("", |step| step.instruction.trim());
    let _ = write!(text, "\nYour step:\n{instruction}\n");
    text
}

/// The outputs, each cut to its share; if all of them are too much, the oldest ones are cut further.
fn bounded(outputs: &[String]) -> Vec<String> {
    let mut left = QUOTED_BYTES;
    let mut kept: Vec<String> = outputs
        .iter()
        .rev()
        .map(|output| {
            let output = cut(output, QUOTED_STEP_BYTES.min(left));
            left = left.saturating_sub(output.len());
            output
        })
        .collect();
    kept.reverse();
    kept
}

/// The beginning and the end of a text that is longer than `most` bytes, with a line between them that says so.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let (head, tail) = (text.floor_char_boundary(most / 2), text.ceil_char_boundary(text.len() - most / 2));
    format!("{}\n[{} bytes are left out here]\n{}", &text[..head], tail - head, &text[tail..])
}

/// Adds a text between tags; a tag like them within it is made harmless.
fn quote(into: &mut String, tag: &str, attributes: &str, text: &str) {
    let text = text.replace("</", "<\u{200b}/");
    let _ = write!(into, "\n<{tag}{attributes}>\n{}\n</{tag}>\n", text.trim_end());
}
