//! Automations: messages that a schedule or a webhook posts to a chat.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::{
    Approval, AutomationChats, AutomationKind, AutomationState, MissedSlots, OverlappingRuns, RunOutcome,
    TriggerSource,
};

/// When a schedule posts its message: exactly one of `at`, `every` and `cron`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Schedule {
    /// A single time: `2026-12-01T09:00` in the time zone, or with an offset `2026-12-01T09:00:00+01:00`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The time between two runs, such as `90s`, `15m`, `2h` or `1d`; at least 60 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<String>,
    /// A pattern of five fields: minute, hour, day of the month, month, day of the week, such as `0 9 * * 1-5`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    /// The time zone of `at` and `cron`, such as `Europe/Berlin`; UTC if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
}

/// The deliveries that a trigger accepts, and the parts of them that it shows to the agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Trigger {
    /// How the sender proves who it is.
    pub from: TriggerSource,
    /// The events to accept, as the sender's header names them, such as `push`; an empty list accepts all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<String>,
    /// Conditions on the delivery, all of which must be met.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only_if: Vec<DeliveryCondition>,
    /// The JSON pointers (RFC 6901) of the values that the agent is shown, such as `/repository/full_name`; an empty list shows the whole delivery.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
}

/// A condition on a delivery.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeliveryCondition {
    /// The JSON pointer (RFC 6901) of a value.
    pub pointer: String,
    /// The text that the value has to equal; a number, `true`, `false` and `null` are compared as JSON writes them.
    pub equals: String,
}

/// The definition of an automation, with exactly one of `schedule` and `trigger`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AutomationDraft {
    /// The message that each run posts. A schedule's may be `!` and a shell command; a trigger's is always for the agent.
    pub text: String,
    /// The schedule on which it is posted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
    /// The trigger whose deliveries post it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Trigger>,
    /// The place that its chats are bound to: a runner's name, `__docker__` or `none`; if not given, they follow the active runner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner: Option<String>,
    /// The approval mode of its runs; if not given, `plan` for a trigger, and for a schedule the user's own mode when it is saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// The chats of its runs; `one` if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chats: Option<AutomationChats>,
    /// What happens to scheduled runs that were missed; `once` if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed: Option<MissedSlots>,
    /// What happens to a run that is due while an earlier one is in progress; if not given, `skip` for a schedule and `queue` for a trigger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<OverlappingRuns>,
}

/// A new or changed automation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AutomationPut {
    /// The definition of the automation.
    pub automation: AutomationDraft,
    /// The secret that signs a trigger's deliveries; if not given, a new trigger gets one, and a changed trigger keeps its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

/// An automation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AutomationView {
    /// The automation's name, unique among its user's.
    pub name: String,
    /// The way its runs are started: by a schedule or by a trigger.
    pub kind: AutomationKind,
    /// The definition of the automation.
    pub automation: AutomationDraft,
    /// The automation's state: active, paused or ended.
    pub state: AutomationState,
    /// Why the server paused it; null if its user paused it, or it is not paused.
    #[serde(default, serialize_with = "crate::language::text")]
    #[schema(required)]
    pub paused_because: Option<String>,
    /// The time of its next scheduled run, in Unix milliseconds; null if there is none.
    #[serde(default)]
    #[schema(required)]
    pub next_at: Option<i64>,
    /// The chat that its runs share; null until that chat exists.
    #[serde(default)]
    #[schema(required)]
    pub chat_id: Option<String>,
    /// The automation's latest run.
    #[serde(default)]
    #[schema(required)]
    pub last_run: Option<AutomationRun>,
    /// When it was created, in Unix milliseconds.
    pub created_at: i64,
}

/// An automation that was saved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AutomationSaved {
    /// The automation as it was saved.
    pub automation: AutomationView,
    /// For a new trigger: the path of the address for its deliveries, on this server. It cannot be read again.
    #[serde(default)]
    #[schema(required)]
    pub delivery_path: Option<String>,
    /// The secret that signs a trigger's deliveries, if it was generated by this request. It cannot be read again.
    #[serde(default)]
    #[schema(required)]
    pub secret: Option<String>,
}

/// A request to pause or resume an automation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AutomationPause {
    /// True to pause it, false to resume it.
    pub paused: bool,
}

/// A run of an automation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AutomationRun {
    /// The id; later runs have larger ones.
    pub id: i64,
    /// The outcome of the run; while it has not ended, its state.
    pub outcome: RunOutcome,
    /// Why it failed, was skipped or was refused; may be empty.
    #[serde(default, serialize_with = "crate::language::text")]
    #[schema(required)]
    pub reason: String,
    /// The number of deliveries that this entry counts: refused ones for the same reason, or one that was run once and its repetitions.
    pub times: i64,
    /// The chat that it posted to.
    #[serde(default)]
    #[schema(required)]
    pub chat_id: Option<String>,
    /// The message that it posted.
    #[serde(default)]
    #[schema(required)]
    pub message_id: Option<i64>,
    /// True if its delivery is kept, and can be run again.
    pub has_delivery: bool,
    /// When it was due, in Unix milliseconds.
    pub due_at: i64,
    /// When it ended, in Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub ended_at: Option<i64>,
}

/// A request to start a run now.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AutomationStart {
    /// The run whose delivery is used again; required for a trigger, ignored for a schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<i64>,
}

/// A delivery that was accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DeliveryTaken {
    /// True if the same delivery arrived before; it is not run again.
    pub is_repeated: bool,
    /// Why the delivery was skipped; empty if it starts a run.
    #[serde(default, serialize_with = "crate::language::text")]
    #[schema(required)]
    pub left_out: String,
}
