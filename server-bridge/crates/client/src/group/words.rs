//! Groups as text. Texts of people and agents are escaped or indented, so that they cannot imitate other output.

use api::chain::{ChainRunView, ChainView, HandOver};
use api::group::{GroupCall, GroupEntries, GroupPosted, GroupView};
use api::words::{EntryAuthor, HandOverState};

use crate::output::{ago, one_line, short_line, table};

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

/// The groups, as a table.
pub(super) fn list(groups: &[GroupView]) -> String {
    if groups.is_empty() {
        return "you are in no group; `sandbridge group create TITLE` creates one".to_owned();
    }
    let mut rows = vec![row(["NUMBER", "TITLE", "YOU ARE", "PEOPLE", "AGENTS", "CHANGED"])];
    rows.extend(groups.iter().map(|group| {
        vec![
            group.id.to_string(),
            short_line(&group.title),
            group.access.to_string(),
            group.people.len().to_string(),
            group.agents.len().to_string(),
            ago(group.updated_at),
        ]
    }));
    table(&rows)
}

/// A group with its people and agents.
pub(super) fn group(group: &GroupView) -> String {
    let mut text = format!("{}  {}\n", group.id, one_line(&group.title));
    let mut people = vec![row(["PERSON", "ACCESS"])];
    people.extend(group.people.iter().map(|person| vec![person.name.clone(), person.access.to_string()]));
    text.push_str(&format!("\n{}\n", table(&people)));
    if group.agents.is_empty() {
        text.push_str("\nthe group has no agents; `sandbridge group add-agent` adds one");
        return text;
    }
    let mut agents = vec![row(["AGENT", "OWNER", "PLACE", "STATE", "APPROVAL", "YOU MAY ASK", "GRANTS"])];
    agents.extend(group.agents.iter().map(|agent| {
        let is_lead = group.lead.as_deref() == Some(agent.handle.as_str());
        let grants: Vec<_> =
            agent.grants.iter().map(|grant| format!("{} ({})", grant.name, grant.mode)).collect();
        vec![
            format!("@{}{}", agent.handle, if is_lead { " (lead)" } else { "" }),
            agent.owner.clone(),
            place(&agent.runner, &agent.folder),
            if agent.online { "online" } else { "offline" }.to_owned(),
            agent.approval.to_string(),
            if agent.may_ask { "yes" } else { "no" }.to_owned(),
            grants.join(", "),
        ]
    }));
    text.push_str(&format!("\n{}", table(&agents)));
    text
}

/// The place that an agent works on, with its folder if it has one.
fn place(runner: &str, folder: &str) -> String {
    if folder.is_empty() { runner.to_owned() } else { format!("{runner}:{}", one_line(folder)) }
}

/// The result of posting a message.
pub(super) fn posted(posted: &GroupPosted) -> String {
    let mut lines: Vec<String> = Vec::new();
    if !posted.entry.asks.is_empty() {
        let asks: Vec<_> = posted.entry.asks.iter().map(|handle| format!("@{handle}")).collect();
        lines.push(format!("posted as message {}; asked: {}", posted.entry.id, asks.join(", ")));
    } else {
        lines.push(format!("posted as message {}", posted.entry.id));
    }
    lines.extend(posted.notes.iter().map(|note| one_line(note)));
    lines.join("\n")
}

/// Entries of a group's log.
pub(super) fn entries(entries: &GroupEntries) -> String {
    if entries.entries.is_empty() {
        return "there are no messages".to_owned();
    }
    let mut lines = Vec::new();
    for entry in &entries.entries {
        let author = match entry.kind {
            EntryAuthor::Agent => format!("@{}", entry.author),
            EntryAuthor::Server => "server".to_owned(),
            _ => entry.author.clone(),
        };
        lines.push(format!("{}  {}  {}", entry.id, one_line(&author), ago(entry.created_at)));
        lines.extend(entry.text.lines().map(|line| format!("    {}", one_line(line))));
    }
    lines.join("\n")
}

/// The calls of a group, as a table.
pub(super) fn calls(calls: &[GroupCall]) -> String {
    if calls.is_empty() {
        return "no agent has been asked yet".to_owned();
    }
    let mut rows = vec![row(["CALL", "AGENT", "PLACE", "ASKED BY", "STATE", "MADE", "REASON"])];
    rows.extend(calls.iter().map(|call| {
        vec![
            call.id.to_string(),
            format!("@{}", call.agent),
            call.runner.clone(),
            match &call.by_agent {
                Some(agent) => format!("@{agent} for {}", call.asked_by),
                None => call.asked_by.clone(),
            },
            call.state.to_string(),
            ago(call.created_at),
            one_line(&call.reason),
        ]
    }));
    table(&rows)
}

/// The chains of a group, with their steps.
pub(super) fn chains(chains: &[ChainView]) -> String {
    if chains.is_empty() {
        return "there are no chains; `sandbridge group chain set` adds one".to_owned();
    }
    let one = |chain: &ChainView| {
        let steps: Vec<_> = chain.text.lines().map(|line| format!("    {}", one_line(line))).collect();
        format!("{}\n{}", chain.name, steps.join("\n"))
    };
    chains.iter().map(one).collect::<Vec<_>>().join("\n")
}

/// The runs of a group's chains, as a table.
pub(super) fn runs(runs: &[ChainRunView]) -> String {
    if runs.is_empty() {
        return "no chain has been run yet".to_owned();
    }
    let mut rows = vec![row(["RUN", "CHAIN", "BEGUN BY", "STATE", "BEGUN", "REQUEST"])];
    rows.extend(runs.iter().map(|run| {
        vec![
            run.id.to_string(),
            run.chain.clone(),
            run.begun_by.clone(),
            run.state.to_string(),
            ago(run.created_at),
            short_line(&run.request),
        ]
    }));
    table(&rows)
}

/// The files that a step received.
fn received(number: usize, files: &HandOver) -> String {
    let HandOver { from_step, from_runner, to_runner, .. } = files;
    let way = format!("step {number}: files of step {} from {from_runner} to {to_runner}", from_step + 1);
    match files.state {
        HandOverState::Done => format!(
            "{way}: they are in {} (files: {}, bytes: {}, SHA-256: {})",
            files.directory,
            files.files,
            files.size,
            files.sha256.as_deref().unwrap_or_default()
        ),
        _ if files.error.is_empty() => format!("{way}: {}", files.state),
        _ => format!("{way}: {} ({})", files.state, one_line(&files.error)),
    }
}

/// A run with its steps, and the gate that waits for an answer.
pub(super) fn run(run: &ChainRunView) -> String {
    let mut rows = vec![row(["STEP", "AGENT", "PLACE", "STATE", "ATTEMPTS", "TOKENS", "REASON"])];
    rows.extend((1..).zip(&run.steps).map(|(number, step)| {
        vec![
            format!("{number}"),
            format!("@{}", step.step.agent),
            step.runner.clone().unwrap_or_default(),
            step.state.to_string(),
            step.attempts.to_string(),
            step.tokens.to_string(),
            one_line(&step.error),
        ]
    }));
    let mut text = format!("run {} of {}: {}\n\n{}", run.id, run.chain, run.state, table(&rows));
    let handed: Vec<_> = (1..)
        .zip(&run.steps)
        .filter_map(|(number, step)| Some(format!("\n{}", received(number, step.received.as_ref()?))))
        .collect();
    if !handed.is_empty() {
        text.push_str(&format!("\n{}", handed.concat()));
    }
    if let Some(gate) = &run.gate {
        let replies: Vec<_> = gate.replies.iter().map(|reply| reply.as_str().to_owned()).collect();
        text.push_str(&format!(
            "\n\ngate {}: {}\n  answers: {}",
            gate.id,
            one_line(&gate.question),
            replies.join(", ")
        ));
    }
    text
}
