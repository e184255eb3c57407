//! Computes the next action of a run.

use api::chain::{ChainBudget, ChainStep};
use api::words::{GateKind, GateReply};

use crate::limits::ATTEMPTS_MAX;

/// The data about a run from which its next action is computed.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The run's steps, as they were when the run began.
    pub steps: &'a [ChainStep],
    /// How much the run may use before a person is asked.
    pub budget: ChainBudget,
    /// How much the run has used.
    pub spent: Spent,
    /// The calls that were made for the run.
    pub calls: &'a [Call],
    /// The gates that were opened for the run.
    pub gates: &'a [Gate],
}

/// How much a run has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// The number of tokens used.
    pub tokens: i64,
    /// The cost in millionths of a US dollar, as far as prices are known.
    pub cost_micro_usd: i64,
    /// The time since the run began, in seconds.
    pub seconds: u64,
}

/// The room that a budget has for one more request to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// There is some.
    Free,
    /// There may be none: it depends on what the requests under way use.
    Held,
    /// There is none.
    UsedUp,
}

/// A call, which asks an agent for one attempt at a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The step, counted from 0.
    pub step: usize,
    /// The attempt, counted from 1.
    pub attempt: u32,
    /// The call's state.
    pub state: CallState,
    /// The agent's answer.
    pub output: String,
    /// True if the agents stopped because they reached the limit on messages that they may exchange without a person.
    pub is_cut: bool,
}

/// The state of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallState {
    /// The call has not ended.
    Open,
    /// The agent answered.
    Done,
    /// The agent could not answer, or took longer than the step's limit.
    Failed,
    /// The budget was used up before the agent had answered.
    Unpaid,
    /// A person stopped the call.
    Stopped,
}

/// A gate, which asks a person about a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// The step, counted from 0.
    pub step: usize,
    /// The attempt that the gate asks about; for a budget gate, the attempt that the gate holds up; 0 for a step that needs approval to begin.
    pub attempt: u32,
    /// The reason for the question.
    pub kind: GateKind,
    /// The answer; `None` while the gate waits for one.
    pub reply: Option<GateReply>,
    /// The text of the answer.
    pub text: String,
}

/// The next action of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing happens until a call ends or a gate is answered.
    Wait,
    /// An agent is asked.
    Call {
        /// The step, counted from 0.
        step: usize,
        /// The attempt, counted from 1.
        attempt: u32,
        /// The outputs of the earlier steps, in their order.
        before: Vec<String>,
        /// The change that a person wants, and the earlier attempt's output, which may be empty.
        redo: Option<(String, String)>,
    },
    /// A person is asked.
    Ask {
        /// The step, counted from 0.
        step: usize,
        /// The attempt, counted from 1.
        attempt: u32,
        /// The reason for the question.
        kind: GateKind,
    },
    /// The run ends.
    End(End),
}

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every step is done.
    Done,
    /// A person stopped the run.
    Stopped,
}

/// Returns the answers that a gate accepts. A step that was tried [`ATTEMPTS_MAX`] times is not tried again.
pub fn replies(kind: &GateKind, attempt: u32) -> Vec<GateReply> {
    let mut replies = match kind {
        GateKind::Review if attempt == 0 => vec![GateReply::Approve, GateReply::Stop],
        GateKind::Review => vec![GateReply::Approve, GateReply::Edit, GateReply::Redo, GateReply::Stop],
        GateKind::Failure => vec![GateReply::Redo, GateReply::Edit, GateReply::Stop],
        GateKind::Budget => vec![GateReply::More, GateReply::Stop],
        GateKind::Unknown(_) => vec![GateReply::Stop],
    };
    if attempt >= ATTEMPTS_MAX {
        replies.retain(|reply| *reply != GateReply::Redo);
    }
    replies
}

/// Computes the next action of a run. The same data give the same action. The caller keeps calls and gates unique by step, attempt and kind, so that
/// carrying out an action twice has no effect.
pub fn next(run: &Run<'_>) -> Next {
    let mut before = Vec::with_capacity(run.steps.len());
    for (index, step) in run.steps.iter().enumerate() {
        match run.of_step(index, step, &before) {
            Step::Gave(output) => before.push(output),
            Step::Next(next) => return next,
        }
    }
    Next::End(End::Done)
}

/// Returns the outputs of the steps that are done, in their order.
pub fn outputs(run: &Run<'_>) -> Vec<String> {
    let mut before = Vec::with_capacity(run.steps.len());
    for (index, step) in run.steps.iter().enumerate() {
        let Step::Gave(output) = run.of_step(index, step, &before) else { break };
        before.push(output);
    }
    before
}

enum Step {
    Gave(String),
    Next(Next),
}

impl Run<'_> {
    fn of_step(&self, index: usize, step: &ChainStep, before: &[String]) -> Step {
        let (mut attempt, mut failures, mut redo) = (1, 0, None);
        loop {
            let Some(call) = self.call(index, attempt) else {
                return Step::Next(self.begin(index, attempt, before, redo));
            };
            let kind = match call.state {
                CallState::Open => return Step::Next(Next::Wait),
                CallState::Stopped => return Step::Next(Next::End(End::Stopped)),
                CallState::Done if !step.gate && !self.is_cut(call) => {
                    return Step::Gave(call.output.clone());
                }
                CallState::Done => GateKind::Review,
                // Nobody failed: the next attempt begins as soon as there is a budget for it.
                CallState::Unpaid if attempt < ATTEMPTS_MAX => {
                    attempt += 1;
                    continue;
                }
                CallState::Failed | CallState::Unpaid => {
                    failures += 1;
                    if failures <= step.retries && attempt < ATTEMPTS_MAX {
                        attempt += 1;
                        continue;
                    }
                    GateKind::Failure
                }
            };
            let Some(gate) = self.gate(index, attempt, &kind) else {
                return Step::Next(Next::Ask { step: index, attempt, kind });
            };
            match &gate.reply {
                None => return Step::Next(Next::Wait),
                Some(GateReply::Approve) => return Step::Gave(call.output.clone()),
                Some(GateReply::Edit) => return Step::Gave(gate.text.clone()),
                Some(GateReply::Redo) if attempt < ATTEMPTS_MAX => {
                    redo = Some((gate.text.clone(), call.output.clone()));
                    failures = 0;
                    attempt += 1;
                }
                Some(_) => return Step::Next(Next::End(End::Stopped)),
            }
        }
    }

    /// Returns true if a gate has to ask about a step because its agents stopped before they were done. Messages that the agents exchange in the
    /// background after the next step has begun do not hold up the run.
    fn is_cut(&self, call: &Call) -> bool {
        call.is_cut && self.calls.iter().all(|other| other.step <= call.step)
    }

    /// Begins an attempt, unless a review gate or the budget holds it up.
    fn begin(&self, step: usize, attempt: u32, before: &[String], redo: Option<(String, String)>) -> Next {
        match self.gate(step, 0, &GateKind::Review).map(|gate| &gate.reply) {
            None | Some(Some(GateReply::Approve)) => {}
            Some(None) => return Next::Wait,
            Some(Some(_)) => return Next::End(End::Stopped),
        }
        let call = Next::Call { step, attempt, before: before.to_vec(), redo };
        match self.gate(step, attempt, &GateKind::Budget).map(|gate| &gate.reply) {
            None if self.is_used_up() => Next::Ask { step, attempt, kind: GateKind::Budget },
            None | Some(Some(GateReply::More)) => call,
            Some(None) => Next::Wait,
            Some(Some(_)) => Next::End(End::Stopped),
        }
    }

    /// Says if there is room for one more request to a model, beside the requests that are under way and may use this much. The last request
    /// before the budget is used up may exceed it: how much it uses is known only afterwards.
    pub fn room(&self, under_way: Spent) -> Room {
        if self.is_used_up() {
            return Room::UsedUp;
        }
        let left = self.left();
        let is_short = left.tokens.is_some_and(|left| under_way.tokens >= left)
            || left.cost_micro_usd.is_some_and(|left| under_way.cost_micro_usd >= left);
        if is_short { Room::Held } else { Room::Free }
    }

    /// Returns true if the budget is used up.
    pub fn is_used_up(&self) -> bool {
        let ChainBudget { tokens, cost_micro_usd, seconds } = self.left();
        tokens == Some(0) || cost_micro_usd == Some(0) || seconds == Some(0)
    }

    /// Returns the rest of the budget; each answer `more` adds the whole budget again.
    pub fn left(&self) -> ChainBudget {
        let is_more = |gate: &&Gate| gate.kind == GateKind::Budget && gate.reply == Some(GateReply::More);
        let times = 1 + self.gates.iter().filter(is_more).count();
        let (signed, unsigned) = (i64::try_from(times).unwrap_or(i64::MAX), times as u64);
        let Spent { tokens, cost_micro_usd, seconds } = self.spent;
        let left = |most: i64, spent: i64| most.saturating_mul(signed).saturating_sub(spent).max(0);
        ChainBudget {
            tokens: self.budget.tokens.map(|most| left(most, tokens)),
            cost_micro_usd: self.budget.cost_micro_usd.map(|most| left(most, cost_micro_usd)),
            seconds: self.budget.seconds.map(|most| most.saturating_mul(unsigned).saturating_sub(seconds)),
        }
    }

    fn call(&self, step: usize, attempt: u32) -> Option<&Call> {
        self.calls.iter().find(|call| (call.step, call.attempt) == (step, attempt))
    }

    fn gate(&self, step: usize, attempt: u32, kind: &GateKind) -> Option<&Gate> {
        let is_it = |gate: &&Gate| (gate.step, gate.attempt) == (step, attempt) && gate.kind == *kind;
        self.gates.iter().find(is_it)
    }
}
