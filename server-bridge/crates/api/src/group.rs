//! Groups: people and agents who share a log.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::{Approval, CallState, EntryAuthor, GrantMode, GroupAccess};

/// A group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GroupView {
    /// The id of the group.
    pub id: i64,
    /// The title, 1 to 200 bytes.
    pub title: String,
    /// What the caller may do in it.
    pub access: GroupAccess,
    /// The handle of the agent that answers messages that mention no agent; null if there is none.
    #[serde(default)]
    #[schema(required)]
    pub lead: Option<String>,
    /// The group's people, by name.
    pub people: Vec<GroupPerson>,
    /// The group's agents, by handle.
    pub agents: Vec<GroupAgent>,
    /// When it last changed, in Unix milliseconds.
    pub updated_at: i64,
}

/// A person of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GroupPerson {
    /// The user's name.
    pub name: String,
    /// What they may do.
    pub access: GroupAccess,
}

/// An agent of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GroupAgent {
    /// The id, with which its owner lists what the agent remembers.
    #[serde(default)]
    #[schema(required)]
    pub id: i64,
    /// The handle, without `@`; unique in the group.
    pub handle: String,
    /// The user whose machine, model and tools it works with.
    pub owner: String,
    /// The place that it works on: a runner's name, `__docker__` or `none`.
    pub runner: String,
    /// True if that place can be used now.
    pub online: bool,
    /// The approval mode that it works in.
    pub approval: Approval,
    /// The agent's model, as in the list of models; null for the model that its owner chose for new chats.
    #[serde(default)]
    #[schema(required)]
    pub model: Option<String>,
    /// The agent's persona: the text that describes its role to it.
    pub persona: String,
    /// The names of the tools that it may use, in which `*` stands for any text; null for all of its owner's.
    #[serde(default)]
    #[schema(required)]
    pub tools: Option<Vec<String>>,
    /// The agent's folder, relative to the workspace of its place; empty for the whole workspace.
    #[serde(default)]
    #[schema(required)]
    pub folder: String,
    /// The chat that it works in; null for everyone but its owner, and before its first call.
    #[serde(default)]
    #[schema(required)]
    pub chat_id: Option<String>,
    /// True if the caller may ask it.
    pub may_ask: bool,
    /// The people other than its owner who may ask it.
    pub grants: Vec<GroupGrant>,
}

/// A grant: a person who is not an agent's owner may ask it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GroupGrant {
    /// The name of the person.
    pub name: String,
    /// How the agent works for them.
    pub mode: GrantMode,
}

/// A new group, or a group's new title.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GroupPut {
    /// The title, 1 to 200 bytes.
    pub title: String,
}

/// What a person may do in a group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GroupPersonPut {
    /// What they may do.
    pub access: GroupAccess,
}

/// An agent to add, or the new settings of one of the caller's agents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GroupAgentPut {
    /// The place that it works on: a runner of the caller's, `__docker__` or `none`.
    pub runner: String,
    /// The agent's approval mode; `ask` if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// The model, as in the list of models; the caller's own choice for new chats if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The persona: the text that describes its role to it; at most 16 KiB.
    #[serde(default)]
    pub persona: String,
    /// The names of the tools that it may use, such as `Read` or `mcp__github__*`, in which `*` stands for any text; 1 to 200 names; `["*"]`
    /// for all of the caller's. If not given, an agent keeps those that it has, and a new one has all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// The folder that it works in, relative to the workspace of its place, such as `agents/coder`; empty for the whole workspace. If not
    /// given, an agent keeps the one that it has, and a new one has the whole workspace. A missing folder is created when it is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
}

/// A grant to give or to change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GroupGrantPut {
    /// How the agent works for the person.
    pub mode: GrantMode,
}

/// The agent that answers messages that mention no agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GroupLead {
    /// The agent's handle; null for none.
    #[serde(default)]
    #[schema(required)]
    pub agent: Option<String>,
}

/// A message to a group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GroupPost {
    /// The text, at most 1 MiB; at most 960 KiB if it asks an agent. `@handle` asks an agent, `@all` every agent that the caller may ask.
    pub text: String,
    /// An id that the caller chooses, at most 64 bytes, so that a repeated request does not post the message twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_id: Option<String>,
}

/// A message that was posted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GroupPosted {
    /// The entry of the log that the message became.
    pub entry: GroupEntry,
    /// The calls to agents that it makes.
    pub calls: Vec<GroupCall>,
    /// Notes for the author, such as that no agent was asked.
    #[serde(serialize_with = "crate::language::text")]
    pub notes: Vec<String>,
}

/// An entry of a group's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GroupEntry {
    /// The id; later entries have larger ones.
    pub id: i64,
    /// The kind of its author.
    pub kind: EntryAuthor,
    /// The person's name or the agent's handle; empty for the server.
    pub author: String,
    /// The text of the entry.
    pub text: String,
    /// The handles of the agents that it asks.
    #[serde(default)]
    #[schema(required)]
    pub asks: Vec<String>,
    /// The call that it answers.
    #[serde(default)]
    #[schema(required)]
    pub call_id: Option<i64>,
    /// When it was posted, in Unix milliseconds.
    pub created_at: i64,
}

/// A part of a group's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GroupEntries {
    /// The entries, the oldest first.
    pub entries: Vec<GroupEntry>,
    /// Whether there are more entries in the direction that was asked for.
    pub more: bool,
}

/// A call: a request to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GroupCall {
    /// The id; later calls have larger ones.
    pub id: i64,
    /// The agent's handle.
    pub agent: String,
    /// The agent's place.
    pub runner: String,
    /// The person who asks.
    pub asked_by: String,
    /// The handle of the agent that asks for that person; null if the person asks.
    #[serde(default)]
    #[schema(required)]
    pub by_agent: Option<String>,
    /// The entry that asks; null for a step of a chain.
    #[serde(default)]
    #[schema(required)]
    pub entry_id: Option<i64>,
    /// The run of a chain that it belongs to.
    #[serde(default)]
    #[schema(required)]
    pub run_id: Option<i64>,
    /// The state of the call.
    pub state: CallState,
    /// Why it waits or failed; may be empty.
    #[serde(serialize_with = "crate::language::text")]
    pub reason: String,
    /// The tokens that it used.
    pub tokens: i64,
    /// The cost of those tokens, in millionths of a US dollar, as far as prices are known.
    pub cost_micro_usd: i64,
    /// When it was made, in Unix milliseconds.
    pub created_at: i64,
    /// When it ended, in Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub ended_at: Option<i64>,
}
