//! Converts places in a turn to events of hooks.

use agent::Cause;
use agent::hooks::{HookedTurn, Place};
use hooks::Happening;
use hooks::condition::Call;
use hooks::happening::Ended;
use llm::ToolCall;
use serde_json::Value;
use store::{JobKind, RunOfTurn, TurnStatus};

use super::turns::TurnHooks;

impl TurnHooks {
    /// The events at a place in a turn, in order.
    pub(super) fn happenings(&self, turn: HookedTurn<'_>, place: Place<'_>) -> Vec<Happening> {
        let (agent_id, agent_type) = (turn.chat.to_string(), self.role.clone());
        match place {
            Place::TurnBegins { text, .. } if turn.is_sub_agent() => {
                vec![Happening::SubAgentStart { agent_id, agent_type, task: text.to_owned() }]
            }
            Place::TurnBegins { text, is_first } => {
                let source = if is_first { "startup" } else { "resume" }.to_owned();
                let start = self.is_new_session.then_some(Happening::SessionStart { source, model: None });
                let prompt = Happening::UserPromptSubmit { prompt: text.to_owned() };
                self.run.as_ref().map(fired).into_iter().chain(start).chain([prompt]).collect()
            }
            Place::CallBegins { call, .. } => vec![Happening::PreToolUse(call_of(call))],
            Place::Asks { call, .. } => vec![Happening::PermissionRequest(call_of(call))],
            Place::Denied { call, why } => {
                let call = call_of(call);
                self.ended(Ended { call: call.clone(), response: why.into(), is_error: true });
                vec![Happening::PermissionDenied { call, reason: why.to_owned() }]
            }
            Place::CallEnds { call, outcome, took_ms, is_cancelled } => {
                let (call, response) = (call_of(call), Value::from(outcome.text.as_str()));
                self.ended(Ended {
                    call: call.clone(),
                    response: response.clone(),
                    is_error: outcome.is_error,
                });
                vec![match outcome.is_error {
                    false => Happening::PostToolUse { call, response, duration_ms: took_ms },
                    true => Happening::PostToolUseFailure {
                        call,
                        error: outcome.text.clone(),
                        duration_ms: took_ms,
                        is_interrupt: is_cancelled,
                    },
                }]
            }
            Place::CallsEnd { calls } => vec![Happening::PostToolBatch(in_order(self.take_ended(), calls))],
            Place::Stops { text, is_again } if turn.is_sub_agent() => vec![Happening::SubAgentStop {
                agent_id,
                agent_type,
                last_message: text.to_owned(),
                stop_hook_active: is_again,
            }],
            Place::Stops { text, is_again } => {
                vec![Happening::AgentStop { last_message: text.to_owned(), stop_hook_active: is_again }]
            }
            Place::Compresses { is_asked } => {
                vec![Happening::PreCompact { trigger: trigger(is_asked), instructions: String::new() }]
            }
            Place::Compressed { is_asked, summary } => {
                vec![Happening::PostCompact { trigger: trigger(is_asked), summary: summary.to_owned() }]
            }
            Place::TurnEnds { status: TurnStatus::Failed, error, cause } => vec![Happening::AgentError {
                kind: cause.unwrap_or(Cause::Unknown).word().to_owned(),
                message: error.unwrap_or_default().to_owned(),
            }],
            Place::TurnEnds { .. } => Vec::new(),
        }
    }
}

/// The run of an automation that posted the message.
fn fired(run: &RunOfTurn) -> Happening {
    match run.kind {
        JobKind::Schedule => Happening::CronFired {
            job_id: run.name.clone(),
            message: run.text.clone(),
            slot: run.slot.clone(),
            run_id: run.id,
        },
        JobKind::Trigger => Happening::WebhookReceived {
            trigger_id: run.name.clone(),
            event: run.event.clone(),
            payload: run
                .payload
                .as_deref()
                .and_then(|text| serde_json::from_str(text).ok())
                .unwrap_or_default(),
            run_id: run.id,
        },
    }
}

/// Calls that have ended, in the order in which the model made them: calls that run at the same time end in any order.
fn in_order(mut ended: Vec<Ended>, calls: &[ToolCall]) -> Vec<Ended> {
    ended.sort_by_key(|ended| calls.iter().position(|call| call.id == ended.call.id));
    ended
}

fn trigger(is_asked: bool) -> String {
    if is_asked { "manual" } else { "auto" }.to_owned()
}

/// A call as hooks see it. Arguments that cannot be parsed become null; no hook is asked about such a call.
fn call_of(call: &ToolCall) -> Call {
    Call { tool: call.name.clone(), input: call.parse().unwrap_or_default(), id: call.id.clone() }
}
