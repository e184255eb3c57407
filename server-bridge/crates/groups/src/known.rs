//! The records of a run of a chain, in the form that crate `chains` uses.

use api::chain::ChainDraft;
use api::words::{GateKind, GateReply};
use chains::{Call, CallState, Gate, Run, Spent};
use store::{ChainRun, GateRow, GroupCall, HandOver};

use crate::budget::USED_UP;
use crate::error::{Error, Result};
use crate::house::Inner;

/// The records of a run.
pub(crate) struct Known {
    pub(crate) draft: ChainDraft,
    pub(crate) calls: Vec<GroupCall>,
    pub(crate) gates: Vec<GateRow>,
    pub(crate) handovers: Vec<HandOver>,
    /// The tokens used by other agents that the run's agents asked, and the cost of these tokens.
    by_others: (i64, i64),
    of_calls: Vec<Call>,
    of_gates: Vec<Gate>,
    now_ms: i64,
}

impl Known {
    pub(crate) async fn read(inner: &Inner, run: &ChainRun) -> Result<Self> {
        let (mut calls, gates) = (inner.store.calls_of_run(run.id).await?, inner.store.gates(run.id).await?);
        let draft = serde_json::from_str(&run.document_json).map_err(|_| unreadable())?;
        let handovers = inner.store.handovers(run.id).await?;
        let by_others = inner.store.spent_by_others(run.id).await?;
        let cut = inner.store.cut_calls(run.id).await?;
        let mut of_calls = Vec::with_capacity(calls.len());
        for call in &mut calls {
            // If the step's agent handed the call over, the answer of the other agent counts.
            if call.state.has_ended() {
                let answering = inner.store.answering_call(call.id).await?;
                (call.state, call.output, call.reason) =
                    (answering.state, answering.output, answering.reason);
            }
            of_calls.push(of_call(call, cut.contains(&call.id)));
        }
        let of_gates = gates.iter().map(of_gate).collect();
        Ok(Self {
            draft,
            calls,
            gates,
            handovers,
            by_others,
            of_calls,
            of_gates,
            now_ms: inner.store.now_ms(),
        })
    }

    /// Converts the run to the form that crate `chains` uses.
    pub(crate) fn run(&self, run: &ChainRun) -> Run<'_> {
        let (tokens, cost_micro_usd) = self.spent();
        let seconds = u64::try_from((self.now_ms - run.created_at_ms) / 1000).unwrap_or(0);
        Run {
            steps: &self.draft.steps,
            budget: self.draft.budget.unwrap_or_default(),
            spent: Spent { tokens, cost_micro_usd, seconds },
            calls: &self.of_calls,
            gates: &self.of_gates,
        }
    }

    /// Returns why the attempt before this one failed, if it did.
    pub(crate) fn failure_before(&self, step: usize, attempt: u32) -> Option<&str> {
        let before = i64::from(attempt) - 1;
        let is_it = |call: &&GroupCall| is_of(call, step) && call.attempt == Some(before);
        let failed = self.calls.iter().find(is_it).filter(|call| call.state == store::CallState::Failed);
        failed.map(|call| call.reason.as_str())
    }

    /// Returns true if no step or attempt began after this call.
    pub(crate) fn is_last(&self, call: &GroupCall) -> bool {
        self.calls.iter().all(|other| (other.step, other.attempt) <= (call.step, call.attempt))
    }

    /// Returns true if the newest attempt at a step ended because of the limit on messages between agents.
    pub(crate) fn is_cut(&self, step: usize) -> bool {
        self.of_calls.iter().rfind(|call| call.step == step).is_some_and(|call| call.is_cut)
    }

    /// Returns the tokens that the run's steps used, including sub-agents, and their cost.
    pub(crate) fn spent(&self) -> (i64, i64) {
        self.calls
            .iter()
            .map(GroupCall::spent)
            .fold(self.by_others, |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }
}

/// Returns true if a call belongs to this step, counted from 0.
pub(crate) fn is_of(call: &GroupCall, step: usize) -> bool {
    call.step.and_then(|of| usize::try_from(of).ok()) == Some(step)
}

fn of_call(call: &GroupCall, is_cut: bool) -> Call {
    Call {
        step: call.step.and_then(|step| usize::try_from(step).ok()).unwrap_or(usize::MAX),
        attempt: call.attempt.and_then(|attempt| u32::try_from(attempt).ok()).unwrap_or(0),
        state: match call.state {
            store::CallState::Queued | store::CallState::Waiting | store::CallState::Running => {
                CallState::Open
            }
            store::CallState::Done => CallState::Done,
            store::CallState::Failed if call.reason == USED_UP => CallState::Unpaid,
            store::CallState::Failed => CallState::Failed,
            store::CallState::Stopped => CallState::Stopped,
        },
        output: call.output.clone(),
        is_cut,
    }
}

fn of_gate(gate: &GateRow) -> Gate {
    Gate {
        step: usize::try_from(gate.step).unwrap_or(usize::MAX),
        attempt: u32::try_from(gate.attempt).unwrap_or(0),
        kind: GateKind::from(gate.kind.as_str()),
        reply: gate.reply.as_deref().map(GateReply::from),
        text: gate.text.clone(),
    }
}

/// Creates the error for a chain that a newer version of the server wrote.
pub(crate) fn unreadable() -> Error {
    Error::refused(
        "failed",
        "this version of the server cannot read the chain; update the server, or define the chain again",
    )
}
