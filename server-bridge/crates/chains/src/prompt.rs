//! Writes the text that a step's agent gets.

use std::fmt::Write as _;

use api::chain::ChainStep;

use crate::limits::{QUOTED_BYTES, QUOTED_STEP_BYTES};

/// The data from which the text for a step's agent is composed.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// All steps of the run.
    pub steps: &'a [ChainStep],
    /// The step, counted from 0.
    pub step: usize,
    /// The request that all steps work on.
    pub request: &'a str,
    /// The outputs of the earlier steps, in their order.
    pub before: &'a [String],
    /// The change that a person wants, and the earlier attempt's output.
    pub redo: Option<(&'a str, &'a str)>,
    /// Why the last attempt failed.
    pub failed: Option<&'a str>,
}

/// Writes the text for the agent. Texts of others are enclosed in tags that those texts cannot close, so that they count as information.
pub fn write(parts: &Parts<'_>) -> String {
    let Parts { steps, step, request, before, redo, failed } = *parts;
    let outputs = steps.get(step).map_or(&[][..], |step| &step.outputs);
    let goes = match outputs {
        [] => "Only your answer goes to the next step, so it has to contain",
        _ => "Only your answer and the outputs below go to the next step, so they have to contain",
    };
    let mut text = format!(
        "You are doing step {} of {} of a chain. {goes} everything that the next step needs.\n",
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
    if let Some(why) = failed {
        quote(&mut text, "failed", "", why);
        text.push_str("Your last attempt failed for this reason.\n");
    }
    text.push_str(&wanted(outputs));
    let instruction = steps.get(step).map_or("", |step| step.instruction.trim());
    let _ = write!(text, "\nYour step:\n{instruction}\n");
    text
}

/// Returns the part of the text that lists the outputs that an agent has to leave in its workspace; empty if the step has none.
pub fn wanted(outputs: &[String]) -> String {
    let mut text = String::new();
    if !outputs.is_empty() {
        quote(&mut text, "outputs", "", &list("", outputs));
        text.push_str("These files have to be in your workspace when you end: they go to the next step.\n");
    }
    text
}

/// The files of the previous step that are in the workspace of a step's agent.
#[derive(Clone, Copy, Debug)]
pub struct Files<'a> {
    /// The step that produced the files, counted from 0.
    pub step: usize,
    /// The handle of the agent that produced the files.
    pub agent: &'a str,
    /// The outputs that the step declares.
    pub outputs: &'a [String],
    /// The directory of files from another machine; `None` if the agents share a workspace, so that the files are where the first agent left them.
    pub arrived: Option<Arrived<'a>>,
}

/// Files that came from another machine.
#[derive(Clone, Copy, Debug)]
pub struct Arrived<'a> {
    /// The directory that contains the files, relative to the workspace.
    pub directory: &'a str,
    /// The number of files.
    pub files: i64,
    /// The total size of the files, in bytes.
    pub size_bytes: i64,
}

/// Returns the part of the text that lists the files that a step's agent received, and where they are.
pub fn files(files: &Files<'_>) -> String {
    let Files { step, agent, outputs, arrived } = *files;
    let attributes = format!(" step=\"{}\" agent=\"@{agent}\"", step + 1);
    let mut text = String::new();
    match arrived {
        Some(Arrived { directory, files, size_bytes }) => {
            quote(&mut text, "files", &attributes, &list(&format!("{directory}/"), outputs));
            let _ = writeln!(
                text,
                "These files came from the previous step (files: {files}, bytes: {size_bytes}). They are in your workspace, in {directory}/."
            );
        }
        None => {
            quote(&mut text, "files", &attributes, &list("", outputs));
            text.push_str("The previous step made these files. They are in your workspace.\n");
        }
    }
    text
}

/// Returns one line for each path, each beginning with `before`.
fn list(before: &str, paths: &[String]) -> String {
    paths.iter().fold(String::new(), |mut list, path| {
        let _ = writeln!(list, "- {before}{path}");
        list
    })
}

/// Cuts each output to [`QUOTED_STEP_BYTES`]; if they are too long together, the oldest ones are cut further.
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

/// Cuts a text that is longer than `most` bytes to its beginning and its end, with a line between them that reports the cut.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let (head, tail) = (text.floor_char_boundary(most / 2), text.ceil_char_boundary(text.len() - most / 2));
    format!("{}\n[{} bytes are left out here]\n{}", &text[..head], tail - head, &text[tail..])
}

/// Adds a text between tags; the same tags within the text are escaped.
fn quote(into: &mut String, tag: &str, attributes: &str, text: &str) {
    let text = text.replace("</", "<\u{200b}/");
    let _ = write!(into, "\n<{tag}{attributes}>\n{}\n</{tag}>\n", text.trim_end());
}
