//! The events of hooks: their names, here and in peers' files, and the effect of a block at each.

use crate::dialect::Dialect;

/// An event in the life of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Event {
    /// A session begins or is resumed.
    SessionStart,
    /// A session ends.
    SessionEnd,
    /// A user's message arrived, and no model has seen it yet.
    UserPromptSubmit,
    /// A call is about to run.
    PreToolUse,
    /// A call succeeded.
    PostToolUse,
    /// A call failed.
    PostToolUseFailure,
    /// All calls of an answer have ended.
    PostToolBatch,
    /// The user is about to be asked to allow a call.
    PermissionRequest,
    /// A call was not allowed.
    PermissionDenied,
    /// A sub-agent begins.
    SubAgentStart,
    /// A sub-agent is about to end.
    SubAgentStop,
    /// An agent is about to end its turn.
    AgentStop,
    /// A request to a model failed permanently.
    AgentError,
    /// A conversation is about to be summarised.
    PreCompact,
    /// A conversation was summarised.
    PostCompact,
    /// A turn begins whose message was posted by a schedule.
    CronFired,
    /// A turn begins whose message was posted by a trigger, for a delivery.
    WebhookReceived,
}

/// The effect of a block at an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The action does not take place.
    Denies,
    /// The agent that wanted to stop continues, with the reason as its task.
    WorksOn,
    /// The turn ends before the model is asked again.
    EndsTurn,
    /// The action has taken place; the model is given the reason.
    Tells,
    /// No effect: only people see the reason.
    Nothing,
}

/// The text that a matcher of an event is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The tool's name.
    Tool,
    /// A field of the event, by its name in the payload.
    Field(&'static str),
    /// The event has no such text: every matcher fits.
    None,
}

/// The meaning of an event's name in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// The name of one of our events.
    Ours(Event),
    /// The name of a peer's event that does not occur here.
    Unused,
    /// An unknown name.
    Unknown,
}

/// The peers' events that do not occur here.
const UNUSED: &[&str] = &[
    "ConfigChange",
    "CwdChanged",
    "DirectoryAdded",
    "Elicitation",
    "ElicitationResult",
    "FileChanged",
    "InstructionsLoaded",
    "MessageDisplay",
    "Notification",
    "QueryEnd",
    "Setup",
    "TaskCompleted",
    "TaskCreated",
    "TeammateIdle",
    "UserPromptExpansion",
    "WorktreeCreate",
    "WorktreeRemove",
];

impl Event {
    /// All events, in the order of the type.
    pub const ALL: [Self; 17] = [
        Self::SessionStart,
        Self::SessionEnd,
        Self::UserPromptSubmit,
        Self::PreToolUse,
        Self::PostToolUse,
        Self::PostToolUseFailure,
        Self::PostToolBatch,
        Self::PermissionRequest,
        Self::PermissionDenied,
        Self::SubAgentStart,
        Self::SubAgentStop,
        Self::AgentStop,
        Self::AgentError,
        Self::PreCompact,
        Self::PostCompact,
        Self::CronFired,
        Self::WebhookReceived,
    ];

    /// The meaning of an event's name in a document.
    pub fn named(name: &str) -> Named {
        let spelt = |event: &Self| Dialect::ALL.iter().any(|dialect| event.name(*dialect) == name);
        match Self::ALL.into_iter().find(spelt) {
            Some(event) => Named::Ours(event),
            None if UNUSED.contains(&name) => Named::Unused,
            None => Named::Unknown,
        }
    }

    /// The event's name in files and payloads.
    pub fn name(self, dialect: Dialect) -> &'static str {
        match (self, dialect) {
            (Self::SubAgentStart, Dialect::Peer) => "SubagentStart",
            (Self::SubAgentStop, Dialect::Peer) => "SubagentStop",
            (Self::AgentStop, Dialect::Peer) => "Stop",
            (Self::AgentError, Dialect::Peer) => "StopFailure",
            (Self::SessionStart, _) => "SessionStart",
            (Self::SessionEnd, _) => "SessionEnd",
            (Self::UserPromptSubmit, _) => "UserPromptSubmit",
            (Self::PreToolUse, _) => "PreToolUse",
            (Self::PostToolUse, _) => "PostToolUse",
            (Self::PostToolUseFailure, _) => "PostToolUseFailure",
            (Self::PostToolBatch, _) => "PostToolBatch",
            (Self::PermissionRequest, _) => "PermissionRequest",
            (Self::PermissionDenied, _) => "PermissionDenied",
            (Self::SubAgentStart, Dialect::Own) => "SubAgentStart",
            (Self::SubAgentStop, Dialect::Own) => "SubAgentStop",
            (Self::AgentStop, Dialect::Own) => "AgentStop",
            (Self::AgentError, Dialect::Own) => "AgentError",
            (Self::PreCompact, _) => "PreCompact",
            (Self::PostCompact, _) => "PostCompact",
            (Self::CronFired, _) => "CronFired",
            (Self::WebhookReceived, _) => "WebhookReceived",
        }
    }

    /// The effect of a block.
    pub fn effect(self) -> Effect {
        match self {
            Self::PreToolUse
            | Self::PermissionRequest
            | Self::UserPromptSubmit
            | Self::PreCompact
            | Self::CronFired
            | Self::WebhookReceived => Effect::Denies,
            Self::SubAgentStop | Self::AgentStop => Effect::WorksOn,
            Self::PostToolBatch => Effect::EndsTurn,
            Self::PostToolUse | Self::PostToolUseFailure => Effect::Tells,
            Self::SessionStart
            | Self::SessionEnd
            | Self::PermissionDenied
            | Self::SubAgentStart
            | Self::AgentError
            | Self::PostCompact => Effect::Nothing,
        }
    }

    /// True if a handler can change the course of events.
    pub fn may_block(self) -> bool {
        matches!(self.effect(), Effect::Denies | Effect::WorksOn | Effect::EndsTurn)
    }

    /// True if a handler that fails may deny the action. Otherwise a failure is only reported: without a summary a full
    /// conversation could not continue, and an agent that a broken program keeps sending back to work would never end.
    pub fn fails_closed(self) -> bool {
        matches!(
            self,
            Self::PreToolUse
                | Self::PermissionRequest
                | Self::UserPromptSubmit
                | Self::CronFired
                | Self::WebhookReceived
        )
    }

    /// True if the user can be asked instead of the action being denied.
    pub fn can_ask(self) -> bool {
        matches!(self, Self::PreToolUse | Self::PermissionRequest)
    }

    /// True if plain text on standard output is context for the model.
    pub fn text_is_context(self) -> bool {
        matches!(self, Self::SessionStart | Self::UserPromptSubmit | Self::CronFired | Self::WebhookReceived)
    }

    /// True if the event is about one call of a tool.
    pub fn is_of_tool(self) -> bool {
        self.subject() == Subject::Tool
    }

    /// The kind of text that matchers are compared with.
    pub fn subject(self) -> Subject {
        match self {
            Self::PreToolUse
            | Self::PostToolUse
            | Self::PostToolUseFailure
            | Self::PermissionRequest
            | Self::PermissionDenied => Subject::Tool,
            Self::SessionStart => Subject::Field("source"),
            Self::SessionEnd => Subject::Field("reason"),
            Self::SubAgentStart | Self::SubAgentStop => Subject::Field("agent_type"),
            Self::AgentError => Subject::Field("error_type"),
            Self::PreCompact | Self::PostCompact => Subject::Field("trigger"),
            Self::CronFired => Subject::Field("job_id"),
            Self::WebhookReceived => Subject::Field("trigger_id"),
            Self::UserPromptSubmit | Self::PostToolBatch | Self::AgentStop => Subject::None,
        }
    }
}

#[cfg(test)]
mod tests;
