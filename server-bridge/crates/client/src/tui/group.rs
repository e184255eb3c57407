//! A group in its window: its log, what its agents do, the run in progress, and the text being written.

use api::chain::{ChainRunView, ChainStepView, GateView};
use api::group::{GroupCall, GroupEntry, GroupView};
use api::words::{EntryAuthor, GateReply, GroupAccess, StepState};

use super::event::GroupNews;
use super::text::{one_line, visible};
use crate::limits::{GROUP_ENTRIES_KEPT, GROUP_ENTRY_SHOWN_BYTES};

/// An agent, as a list of completions shows it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Agent {
    pub(super) handle: String,
    pub(super) place: String,
    pub(super) may_ask: bool,
}

/// A message of the log.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) id: i64,
    pub(super) kind: EntryAuthor,
    /// A person's name, or an agent's handle.
    pub(super) author: String,
    pub(super) text: String,
}

/// A call that has not ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    pub(super) agent: String,
    pub(super) place: String,
    pub(super) person: String,
    pub(super) is_running: bool,
    /// Why it waits; may be empty.
    pub(super) reason: String,
}

/// A step of the run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) agent: String,
    pub(super) place: String,
    pub(super) state: StepState,
    pub(super) error: String,
}

/// The question of a gate.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Gate {
    pub(super) id: i64,
    pub(super) question: String,
    /// The output of the step.
    pub(super) output: String,
    pub(super) replies: Vec<GateReply>,
}

/// A run of a chain that has not ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Run {
    pub(super) id: i64,
    pub(super) chain: String,
    pub(super) steps: Vec<Step>,
    pub(super) gate: Option<Gate>,
}

/// A gate that receives the keys.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answering {
    pub(super) gate: i64,
    /// Since when the gate is on the screen.
    pub(super) since_ms: u64,
    /// The answer whose text is being written, and the text.
    pub(super) writes: Option<(GateReply, String)>,
    pub(super) is_sent: bool,
}

/// The window. It keeps its text while it is closed.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// The group's id; 0 before a group was opened.
    pub(super) id: i64,
    pub(super) title: String,
    pub(super) may_post: bool,
    pub(super) agents: Vec<Agent>,
    /// The messages of the log, the oldest first.
    pub(super) entries: Vec<Entry>,
    pub(super) has_older: bool,
    pub(super) calls: Vec<Call>,
    pub(super) run: Option<Run>,
    /// The text being written; the cursor is at its end.
    pub(super) text: String,
    /// The index of the selected completion.
    pub(super) completion: usize,
    /// The number of lines by which the log is scrolled up.
    pub(super) scrolled: usize,
    /// The maximum of `scrolled` when the log was last drawn.
    pub(super) scrolled_most: usize,
    pub(super) answering: Option<Answering>,
    /// The id of the open gate, and since when it is on the screen.
    pub(super) gate_since: (i64, u64),
    pub(super) is_known: bool,
    pub(super) is_loading: bool,
    /// True if the group changed while it was being read.
    pub(super) is_stale: bool,
    pub(super) is_loading_older: bool,
    pub(super) is_posting: bool,
    /// A sent text that may or may not have arrived, with its `send_id`.
    pub(super) unanswered: Option<(String, String)>,
}

impl Group {
    /// The window of a group, before its data was read.
    pub(super) fn of(id: i64, title: &str) -> Self {
        Self { id, title: title.to_owned(), ..Self::default() }
    }

    /// Takes the data that was read.
    pub(super) fn take(&mut self, news: GroupNews, now_ms: u64) {
        let GroupNews { view, entries, calls, run } = news;
        let GroupView { title, access, agents, .. } = view;
        self.title = one_line(&title);
        self.may_post = !matches!(access, GroupAccess::Reader | GroupAccess::Unknown(_));
        self.agents = agents
            .iter()
            .map(|agent| Agent {
                handle: one_line(&agent.handle),
                place: one_line(&agent.runner),
                may_ask: agent.may_ask,
            })
            .collect();
        // Older messages that were read stay, if no messages are missing in between.
        let newest: Vec<Entry> = entries.entries.iter().map(entry).collect();
        let first = newest.first().map_or(i64::MAX, |entry| entry.id);
        if self.entries.iter().any(|entry| entry.id >= first) {
            self.entries.retain(|entry| entry.id < first);
        } else {
            self.entries.clear();
            self.has_older = entries.more;
        }
        self.entries.extend(newest);
        let surplus = self.entries.len().saturating_sub(GROUP_ENTRIES_KEPT);
        self.entries.drain(..surplus);
        self.has_older |= surplus > 0;
        self.calls = calls
            .iter()
            .filter(|call| call.ended_at.is_none() && call.run_id.is_none())
            .map(call_of)
            .collect();
        self.run = run.map(|run| run_of(run, &self.agents));
        let gate = self.gate().map_or(0, |gate| gate.id);
        if gate != self.gate_since.0 {
            self.gate_since = (gate, now_ms);
            self.answering = None;
        }
        self.is_known = true;
    }

    /// Takes older messages, the oldest first.
    pub(super) fn older(&mut self, entries: &[GroupEntry], more: bool) {
        let first = self.entries.first().map_or(i64::MAX, |entry| entry.id);
        let older: Vec<Entry> = entries.iter().map(entry).filter(|entry| entry.id < first).collect();
        self.entries.splice(0..0, older);
        self.has_older = more;
    }

    /// The gate that waits for an answer.
    pub(super) fn gate(&self) -> Option<&Gate> {
        self.run.as_ref().and_then(|run| run.gate.as_ref())
    }

    /// The handle that is being written at the end of the text, without its `@`.
    fn begun(&self) -> Option<&str> {
        let is_of_handle = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-');
        let before = self.text.trim_end_matches(is_of_handle);
        let may_precede =
            |text: &str| text.chars().next_back().is_none_or(|character| !character.is_ascii_alphanumeric());
        let is_mention = before.strip_suffix('@').is_some_and(may_precede);
        is_mention.then(|| &self.text[before.len()..])
    }

    /// The agents that may be asked and whose handles begin with the one that is being written.
    pub(super) fn completions(&self) -> Vec<&Agent> {
        let Some(begun) = self.begun().map(str::to_lowercase) else { return Vec::new() };
        let fits = |agent: &&Agent| {
            let handle = agent.handle.to_lowercase();
            agent.may_ask && handle.starts_with(&begun) && handle != begun
        };
        self.agents.iter().filter(fits).collect()
    }

    /// Completes the handle that is being written.
    pub(super) fn complete(&mut self) -> bool {
        let completions = self.completions();
        let at = self.completion.min(completions.len().saturating_sub(1));
        let Some(handle) = completions.get(at).map(|agent| agent.handle.clone()) else { return false };
        let begun = self.begun().map_or(0, str::len);
        self.text.truncate(self.text.len() - begun);
        self.text.push_str(&handle);
        self.text.push(' ');
        self.completion = 0;
        true
    }

    /// The place of an agent, if it is still in the group.
    pub(super) fn place(&self, handle: &str) -> Option<&str> {
        self.agents.iter().find(|agent| agent.handle == handle).map(|agent| agent.place.as_str())
    }
}

fn entry(view: &GroupEntry) -> Entry {
    let end = view.text.floor_char_boundary(GROUP_ENTRY_SHOWN_BYTES);
    let mut text = visible(view.text[..end].trim_end());
    if end < view.text.len() {
        text.push_str(" …");
    }
    Entry { id: view.id, kind: view.kind.clone(), author: one_line(&view.author), text }
}

fn call_of(view: &GroupCall) -> Call {
    Call {
        agent: one_line(&view.agent),
        place: one_line(&view.runner),
        person: one_line(&view.asked_by),
        is_running: view.state == api::words::CallState::Running,
        reason: one_line(&view.reason),
    }
}

fn run_of(view: ChainRunView, agents: &[Agent]) -> Run {
    // A step that has not begun is bound to no machine yet: it will run on its agent's machine.
    let of_agent =
        |handle: &str| agents.iter().find(|agent| agent.handle == handle).map(|agent| agent.place.clone());
    let step = |step: &ChainStepView| Step {
        agent: one_line(&step.step.agent),
        place: step
            .runner
            .as_deref()
            .map(one_line)
            .or_else(|| of_agent(&step.step.agent))
            .unwrap_or_default(),
        state: step.state.clone(),
        error: one_line(&step.error),
    };
    let gate = view.gate.as_ref().map(|gate: &GateView| {
        let output = view.steps.get(gate.step).map_or("", |step| step.output.as_str());
        Gate {
            id: gate.id,
            question: one_line(&gate.question),
            output: visible(&output[..output.floor_char_boundary(GROUP_ENTRY_SHOWN_BYTES)]),
            replies: gate.replies.clone(),
        }
    });
    Run { id: view.id, chain: one_line(&view.chain), steps: view.steps.iter().map(step).collect(), gate }
}
