//! Chains: the steps that several agents of a group do one after the other, and their runs.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::{ChainState, GateKind, GateReply, HandOverState, StepState};

/// A step of a chain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChainStep {
    /// The handle of the agent that does it, without `@`.
    pub agent: String,
    /// What the agent is to do.
    pub instruction: String,
    /// True if a person decides on its output before the next step begins.
    #[serde(default)]
    pub gate: bool,
    /// How often it is tried again after a failure, without asking; at most 5.
    #[serde(default)]
    pub retries: u32,
    /// How long one attempt may take, in seconds, from 10 to 86,400; 1,800 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_seconds: Option<u64>,
    /// The files that go to the agent of the next step, as paths in the workspace of this step's agent: a file, a directory with all it
    /// holds, or a pattern with `*`, `?` and `**`. At most 20. Without one of them the attempt fails.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
}

/// What a run may use before a person is asked. Without a price for a model, only tokens and time count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChainBudget {
    /// Tokens, read and written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<i64>,
    /// Money, in millionths of a US dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<i64>,
    /// Time since the run began, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
}

/// The definition of a chain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChainDraft {
    /// Its steps, at least one and at most 50. An agent may do several of them.
    #[serde(default)]
    pub steps: Vec<ChainStep>,
    /// What a run may use; no bound if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<ChainBudget>,
}

/// A file in the workspace of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChainFile {
    /// The handle of the agent, which has to be the caller's own, without `@`.
    pub agent: String,
    /// The path in its workspace, such as `chains/story.md`.
    pub path: String,
}

/// A new or changed chain: one of its definition, the same as text, and a file with this text. With neither `changed_at` nor `replace` it is
/// a new one, and its name has to be free.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChainPut {
    /// The definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<ChainDraft>,
    /// The definition as text, one numbered line for each step: `1. @writer: Write a story. [gate] [retries 2]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The file that holds this text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<ChainFile>,
    /// The `updated_at` of the chain that this changes: if it is another one by now, nothing is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_at: Option<i64>,
    /// True to replace the chain of this name, whatever it is now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replace: bool,
    /// True to have it only checked and returned in both forms; nothing is stored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// A chain to show in both forms: one of its definition, the same as text, and a file with this text. It is neither checked nor stored, and may be
/// unfinished.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChainTextAsk {
    /// The definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<ChainDraft>,
    /// The definition as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The file that holds this text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<ChainFile>,
    /// True to put the group's own agents in the place of others where that is obvious: the one with the same handle in any case, or the only
    /// one that has it as a word of its own, as `rust-coder` has `coder`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fit: bool,
}

/// A chain in both forms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChainText {
    /// The definition.
    pub chain: ChainDraft,
    /// The definition as text; empty for a chain without steps.
    pub text: String,
    /// The agents of its steps, by handle, each once, in the order of the steps.
    pub agents: Vec<String>,
    /// Those of them that the group does not have.
    pub strangers: Vec<String>,
}

/// A chain of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChainView {
    /// Its name, unique in its group.
    pub name: String,
    /// Its definition.
    pub chain: ChainDraft,
    /// The definition as text.
    pub text: String,
    /// When it was last changed, in Unix milliseconds; 0 if it is not stored.
    pub updated_at: i64,
}

/// A chain to begin with, in the language that the request asks for. Its agents are examples: whoever uses it puts the handles of
/// their group in place of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChainTemplate {
    /// Its name, the same in all languages.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// What it is for.
    pub what: String,
    /// Its definition as text.
    pub text: String,
    /// Its definition.
    pub chain: ChainDraft,
}

/// A run to begin.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChainStart {
    /// What all steps work on.
    pub request: String,
    /// An id that the caller chooses, so that a repeated request begins no second run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_id: Option<String>,
}

/// A run of a chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChainRunView {
    /// The id; later runs have larger ones.
    pub id: i64,
    /// The chain's name when it began.
    pub chain: String,
    /// What the steps work on.
    pub request: String,
    /// Who began it.
    pub begun_by: String,
    /// Its state.
    pub state: ChainState,
    /// Its steps, as they were when it began.
    pub steps: Vec<ChainStepView>,
    /// The gate that waits for a person.
    #[serde(default)]
    #[schema(required)]
    pub gate: Option<GateView>,
    /// What it may use.
    #[serde(default)]
    #[schema(required)]
    pub budget: Option<ChainBudget>,
    /// The tokens that its steps used.
    pub tokens: i64,
    /// Their cost, in millionths of a US dollar, where the prices are known.
    pub cost_micro_usd: i64,
    /// When it began, in Unix milliseconds.
    pub created_at: i64,
    /// When it ended, in Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub ended_at: Option<i64>,
}

/// A step of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChainStepView {
    /// Its definition.
    #[serde(flatten)]
    pub step: ChainStep,
    /// Its state.
    pub state: StepState,
    /// The number of its attempts.
    pub attempts: u32,
    /// The machine of its agent; null if it is bound to none.
    #[serde(default)]
    #[schema(required)]
    pub runner: Option<String>,
    /// The call that its newest attempt makes.
    #[serde(default)]
    #[schema(required)]
    pub call_id: Option<i64>,
    /// What it gave, or a person's text in its place; empty until it is done, and in lists of runs.
    #[serde(default)]
    #[schema(required)]
    pub output: String,
    /// Why its newest attempt failed or waits; may be empty.
    #[serde(default, serialize_with = "crate::language::text")]
    #[schema(required)]
    pub error: String,
    /// The files of the step before that its newest attempt gets; null if there are none, and if they are on its agent's machine already.
    #[serde(default)]
    #[schema(required)]
    pub received: Option<HandOver>,
    /// The tokens of all its attempts.
    pub tokens: i64,
    /// Their cost, in millionths of a US dollar.
    pub cost_micro_usd: i64,
    /// When its first attempt was made, in Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub begun_at: Option<i64>,
    /// When its newest attempt ended, in Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub ended_at: Option<i64>,
}

/// Files on their way from the agent of one step to the agent of the next one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HandOver {
    /// Its state.
    pub state: HandOverState,
    /// The step that made the files, counted from 0.
    pub from_step: usize,
    /// The machine that they come from.
    pub from_runner: String,
    /// The machine that they go to.
    pub to_runner: String,
    /// The directory that holds them, in the workspace of the agent that gets them; empty until they have arrived.
    pub directory: String,
    /// The number of files.
    pub files: i64,
    /// Their content, in bytes.
    pub size: i64,
    /// The SHA-256 of their listing, in hexadecimal digits: the same for what was read on one machine and what was written on the other.
    #[serde(default)]
    #[schema(required)]
    pub sha256: Option<String>,
    /// Why it failed; may be empty.
    #[serde(serialize_with = "crate::language::text")]
    pub error: String,
    /// When it began, in Unix milliseconds.
    pub begun_at: i64,
    /// When it ended, in Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub ended_at: Option<i64>,
}

/// A gate: a stored question about a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GateView {
    /// The id.
    pub id: i64,
    /// The step, counted from 0.
    pub step: usize,
    /// The attempt, counted from 1.
    pub attempt: u32,
    /// Why it asks.
    pub kind: GateKind,
    /// The question, for people.
    #[serde(serialize_with = "crate::language::text")]
    pub question: String,
    /// The answers that it takes.
    pub replies: Vec<GateReply>,
}

/// An answer to a gate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GateAnswer {
    /// The answer.
    pub reply: GateReply,
    /// For `edit`, the text that takes the output's place; for `redo`, what to change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}
