//! A happening: an event with all of its data.

use serde_json::{Map, Value, json};

use crate::condition::Call;
use crate::dialect::{Dialect, main_name, to_peer};
use crate::event::Event;

/// The session in which an event occurs.
#[derive(Clone, Debug, Default)]
pub struct Session {
    /// The id of the chat.
    pub id: String,
    /// The conversation's file on the machine where commands run, if there is one.
    pub transcript_path: Option<String>,
    /// The current directory on that machine.
    pub cwd: String,
    /// The workspace's root on that machine.
    pub project_dir: String,
    /// The directory of the user's own settings on that machine, if there is one.
    pub home: Option<String>,
    /// Our name for the approval mode.
    pub mode: Option<String>,
}

/// A call that has ended, as a part of a batch.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The call.
    pub call: Call,
    /// The result that the model gets.
    pub response: Value,
    /// True if it failed.
    pub is_error: bool,
}

/// An event with its data.
#[derive(Clone, Debug)]
pub enum Happening {
    /// A session begins.
    SessionStart {
        /// `startup`, `resume`, `clear` or `compact`.
        source: String,
        /// The name of the session's model, if it is known.
        model: Option<String>,
    },
    /// A session ends.
    SessionEnd {
        /// The reason, such as `clear` or `logout`.
        reason: String,
    },
    /// A user's message arrived.
    UserPromptSubmit {
        /// The text of the message.
        prompt: String,
    },
    /// A call is about to run.
    PreToolUse(Call),
    /// A call succeeded.
    PostToolUse {
        /// The call that succeeded.
        call: Call,
        /// The result that the model gets.
        response: Value,
        /// The duration of the call, in milliseconds.
        duration_ms: u64,
    },
    /// A call failed.
    PostToolUseFailure {
        /// The call that failed.
        call: Call,
        /// The reason that the model gets.
        error: String,
        /// The duration of the call, in milliseconds.
        duration_ms: u64,
        /// True if the user cancelled it.
        is_interrupt: bool,
    },
    /// All calls of an answer have ended.
    PostToolBatch(Vec<Ended>),
    /// The user is about to be asked about a call.
    PermissionRequest(Call),
    /// A call was not allowed.
    PermissionDenied {
        /// The call that was not allowed.
        call: Call,
        /// The reason why it was not allowed.
        reason: String,
    },
    /// A sub-agent begins.
    SubAgentStart {
        /// The sub-agent's id.
        agent_id: String,
        /// The sub-agent's role.
        agent_type: String,
        /// The sub-agent's task.
        task: String,
    },
    /// A sub-agent is about to end.
    SubAgentStop {
        /// The sub-agent's id.
        agent_id: String,
        /// The sub-agent's role.
        agent_type: String,
        /// The sub-agent's last message.
        last_message: String,
        /// True if it is still working only because a hook kept it from stopping.
        stop_hook_active: bool,
    },
    /// An agent is about to end its turn.
    AgentStop {
        /// The agent's last message.
        last_message: String,
        /// True if it works only because a hook kept it from stopping.
        stop_hook_active: bool,
    },
    /// A request to a model failed permanently.
    AgentError {
        /// The kind of the error, such as `rate_limit`.
        kind: String,
        /// The text of the error.
        message: String,
    },
    /// A conversation is about to be summarised.
    PreCompact {
        /// `manual` or `auto`.
        trigger: String,
        /// The instructions of the user who asked for it.
        instructions: String,
    },
    /// A conversation was summarised.
    PostCompact {
        /// `manual` or `auto`.
        trigger: String,
        /// The text of the summary.
        summary: String,
    },
    /// A turn begins whose message was posted by a schedule.
    CronFired {
        /// The name of the automation.
        job_id: String,
        /// The message for the agent.
        message: String,
        /// The slot, or `asked/…` for a run that a user requested.
        slot: String,
        /// The id of the run.
        run_id: i64,
    },
    /// A turn begins whose message was posted by a trigger, for a delivery.
    WebhookReceived {
        /// The name of the automation.
        trigger_id: String,
        /// The event of the delivery, if its sender named one.
        event: Option<String>,
        /// The body of the delivery; null if it is no longer kept.
        payload: Value,
        /// The id of the run.
        run_id: i64,
    },
}

impl Happening {
    /// The event that occurred.
    pub fn event(&self) -> Event {
        match self {
            Self::SessionStart { .. } => Event::SessionStart,
            Self::SessionEnd { .. } => Event::SessionEnd,
            Self::UserPromptSubmit { .. } => Event::UserPromptSubmit,
            Self::PreToolUse(_) => Event::PreToolUse,
            Self::PostToolUse { .. } => Event::PostToolUse,
            Self::PostToolUseFailure { .. } => Event::PostToolUseFailure,
            Self::PostToolBatch(_) => Event::PostToolBatch,
            Self::PermissionRequest(_) => Event::PermissionRequest,
            Self::PermissionDenied { .. } => Event::PermissionDenied,
            Self::SubAgentStart { .. } => Event::SubAgentStart,
            Self::SubAgentStop { .. } => Event::SubAgentStop,
            Self::AgentStop { .. } => Event::AgentStop,
            Self::AgentError { .. } => Event::AgentError,
            Self::PreCompact { .. } => Event::PreCompact,
            Self::PostCompact { .. } => Event::PostCompact,
            Self::CronFired { .. } => Event::CronFired,
            Self::WebhookReceived { .. } => Event::WebhookReceived,
        }
    }

    /// The call that the event is about, if it is about one.
    pub fn call(&self) -> Option<&Call> {
        match self {
            Self::PreToolUse(call)
            | Self::PermissionRequest(call)
            | Self::PostToolUse { call, .. }
            | Self::PostToolUseFailure { call, .. }
            | Self::PermissionDenied { call, .. } => Some(call),
            _ => None,
        }
    }

    /// The payload fields that are specific to this event, without those of its call.
    pub(crate) fn fields(&self, dialect: Dialect, cwd: &str) -> Map<String, Value> {
        let fields = match self {
            Self::SessionStart { source, model } => json!({"source": source, "model": model}),
            Self::SessionEnd { reason } | Self::PermissionDenied { reason, .. } => json!({"reason": reason}),
            Self::UserPromptSubmit { prompt } => json!({"prompt": prompt}),
            Self::PreToolUse(_) | Self::PermissionRequest(_) => json!({}),
            Self::PostToolUse { response, duration_ms, .. } => {
                json!({"tool_response": response, "duration_ms": duration_ms})
            }
            Self::PostToolUseFailure { error, duration_ms, is_interrupt, .. } => {
                json!({"error": error, "duration_ms": duration_ms, "is_interrupt": is_interrupt})
            }
            Self::PostToolBatch(ended) => {
                let calls: Vec<Value> = ended.iter().map(|ended| ended.json(dialect, cwd)).collect();
                json!({"tool_count": calls.len(), "tool_calls": calls})
            }
            Self::SubAgentStart { agent_id, agent_type, task } => {
                json!({"agent_id": agent_id, "agent_type": agent_type, "task": task})
            }
            Self::SubAgentStop { agent_id, agent_type, last_message, stop_hook_active } => json!({
                "agent_id": agent_id,
                "agent_type": agent_type,
                "last_assistant_message": last_message,
                "stop_hook_active": stop_hook_active,
            }),
            Self::AgentStop { last_message, stop_hook_active } => {
                json!({"last_assistant_message": last_message, "stop_hook_active": stop_hook_active})
            }
            Self::AgentError { kind, message } => match dialect {
                Dialect::Own => json!({"error_type": kind, "error_message": message}),
                Dialect::Peer => json!({"error": kind, "error_details": message}),
            },
            Self::PreCompact { trigger, instructions } => {
                json!({"trigger": trigger, "custom_instructions": instructions})
            }
            Self::PostCompact { trigger, summary } => json!({"trigger": trigger, "compact_summary": summary}),
            Self::CronFired { job_id, message, slot, run_id } => {
                json!({"job_id": job_id, "kind": "schedule", "message": message, "slot": slot, "run_id": run_id})
            }
            Self::WebhookReceived { trigger_id, event, payload, run_id } => json!({
                "trigger_id": trigger_id,
                "kind": "trigger",
                "event": event,
                "payload": payload,
                "run_id": run_id,
            }),
        };
        match fields {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    }

    /// The text that matchers are compared with, for events that are not about one call.
    pub(crate) fn subject(&self) -> Option<&str> {
        match self {
            Self::SessionStart { source, .. } => Some(source),
            Self::SessionEnd { reason } => Some(reason),
            Self::SubAgentStart { agent_type, .. } | Self::SubAgentStop { agent_type, .. } => {
                Some(agent_type)
            }
            Self::AgentError { kind, .. } => Some(kind),
            Self::PreCompact { trigger, .. } | Self::PostCompact { trigger, .. } => Some(trigger),
            Self::CronFired { job_id, .. } => Some(job_id),
            Self::WebhookReceived { trigger_id, .. } => Some(trigger_id),
            _ => None,
        }
    }
}

impl Ended {
    fn json(&self, dialect: Dialect, cwd: &str) -> Value {
        let Self { call, response, is_error } = self;
        let input = match dialect {
            Dialect::Own => call.input.clone(),
            Dialect::Peer => to_peer(&call.tool, &call.input, cwd),
        };
        json!({
            "tool_name": main_name(&call.tool, dialect),
            "tool_input": input,
            "tool_use_id": call.id,
            "tool_response": response,
            "is_error": is_error,
        })
    }
}
