//! Chains: steps that agents of a group carry out one after the other, and the runs of chains.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::words::{ChainState, GateKind, GateReply, HandOverState, StepState};

/// A step of a chain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChainStep {
    /// The handle of the agent that carries it out, without `@`.
    pub agent: String,
    /// The agent's task in this step.
    pub instruction: String,
    /// True if a person decides on its output before the next step begins.
    #[serde(default)]
    pub gate: bool,
    /// How many times the step is retried after failures before a person is asked; at most 5.
    #[serde(default)]
    pub retries: u32,
    /// How long one attempt may take, in seconds, from 10 to 86,400; 1,800 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_seconds: Option<u64>,
    /// The files that go to the agent of the next step, as paths in the workspace of this step's agent: a file, a directory with its content,
    /// or a pattern with `*`, `?` and `**`. At most 20. If one of them is missing, the attempt fails.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
}

/// The budget of a run. When it is used up, a person is asked. If the price of a model is unknown, only tokens and time count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChainBudget {
    /// The maximum number of tokens, read and written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<i64>,
    /// The maximum cost, in millionths of a US dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<i64>,
    /// The maximum time since the run began, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
}

/// The definition of a chain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChainDraft {
    /// The chain's steps, at least one and at most 50. An agent may do several of them.
    #[serde(default)]
    pub steps: Vec<ChainStep>,
    /// The budget of a run; unlimited if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<ChainBudget>,
}

/// A file in the workspace of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChainFile {
    /// The handle, without `@`, of one of the caller's own agents.
    pub agent: String,
    /// The path in its workspace, such as `chains/story.md`.
    pub path: String,
}

/// A chain's definition: exactly one of these.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChainForms {
    /// The definition, structured for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<ChainDraft>,
    /// The definition as text, one numbered line for each step: `1. @writer: Write a story. [gate] [retries 2]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The file that contains the definition as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<ChainFile>,
}

/// A new or changed chain. With neither `changed_at` nor `replace` it is a new one, and its name has
/// to be free.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChainPut {
    /// The definition.
    #[serde(flatten)]
    pub forms: ChainForms,
    /// The `updated_at` of the chain that this changes: if it is another one by now, nothing is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_at: Option<i64>,
    /// True to replace the chain of this name, whatever it is now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replace: bool,
    /// True to only check the chain and return it in both forms; nothing is stored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// A chain to show in both forms. Only its size is checked; nothing is stored, and it may be unfinished.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChainTextAsk {
    /// The definition.
    #[serde(flatten)]
    pub forms: ChainForms,
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
    /// The chain's name, unique in its group.
    pub name: String,
    /// The definition, structured for programs.
    pub chain: ChainDraft,
    /// The definition as text.
    pub text: String,
    /// When it was last changed, in Unix milliseconds; 0 if it is not stored.
    pub updated_at: i64,
}

/// A chain to start from, in the language that the request asks for. Its agents are examples: replace them with handles of your group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChainTemplate {
    /// The template's name, the same in all languages.
    pub name: String,
    /// The template's name for people.
    pub title: String,
    /// The purpose of the chain.
    pub what: String,
    /// The template's definition as text.
    pub text: String,
    /// The definition, structured for programs.
    pub chain: ChainDraft,
}

/// A request to start a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChainStart {
    /// The task that all steps work on.
    pub request: String,
    /// An id that the caller chooses, so that a repeated request does not start a second run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_id: Option<String>,
}

/// A run of a chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChainRunView {
    /// The id; later runs have larger ones.
    pub id: i64,
    /// The chain's name at the time the run began.
    pub chain: String,
    /// The task that the steps work on.
    pub request: String,
    /// The name of the user who started the run.
    pub begun_by: String,
    /// The state of the run.
    pub state: ChainState,
    /// The run's steps, as they were when it began.
    pub steps: Vec<ChainStepView>,
    /// The gate that waits for a person.
    #[serde(default)]
    #[schema(required)]
    pub gate: Option<GateView>,
    /// The budget of the run; null if it is unlimited.
    #[serde(default)]
    #[schema(required)]
    pub budget: Option<ChainBudget>,
    /// The tokens that its steps used.
    pub tokens: i64,
    /// The cost of those tokens, in millionths of a US dollar, as far as prices are known.
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
    /// The definition of the step.
    #[serde(flatten)]
    pub step: ChainStep,
    /// The state of the step in this run.
    pub state: StepState,
    /// The number of its attempts.
    pub attempts: u32,
    /// The machine of its agent; null if it is bound to none.
    #[serde(default)]
    #[schema(required)]
    pub runner: Option<String>,
    /// The id of the call to the agent that the latest attempt made.
    #[serde(default)]
    #[schema(required)]
    pub call_id: Option<i64>,
    /// The step's output, or the text by which a person replaced it; empty until the step is done, and always empty in lists of runs.
    #[serde(default)]
    #[schema(required)]
    pub output: String,
    /// Why the latest attempt failed or waits; may be empty.
    #[serde(default, serialize_with = "crate::language::text")]
    #[schema(required)]
    pub error: String,
    /// The transfer of the previous step's files for the latest attempt; null if there are no files, or if they are already on the agent's machine.
    #[serde(default)]
    #[schema(required)]
    pub received: Option<HandOver>,
    /// The tokens of all its attempts.
    pub tokens: i64,
    /// The cost of those tokens, in millionths of a US dollar.
    pub cost_micro_usd: i64,
    /// When the first attempt began, in Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub begun_at: Option<i64>,
    /// When the latest attempt ended, in Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub ended_at: Option<i64>,
}

/// The transfer of files from the agent of one step to the agent of the next one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HandOver {
    /// The state of the transfer.
    pub state: HandOverState,
    /// The step that produced the files, counted from 0.
    pub from_step: usize,
    /// The machine that the files come from.
    pub from_runner: String,
    /// The machine that the files go to.
    pub to_runner: String,
    /// The directory with the files, in the workspace of the agent that receives them; empty until they have arrived.
    pub directory: String,
    /// The number of files.
    pub files: i64,
    /// The total size of the files, in bytes.
    pub size: i64,
    /// The SHA-256 of the list of files, in hexadecimal digits; the files read on one machine and those written on the other have the same.
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
    /// The id, by which the gate is answered.
    pub id: i64,
    /// The step, counted from 0.
    pub step: usize,
    /// The attempt, counted from 1.
    pub attempt: u32,
    /// The reason for the question.
    pub kind: GateKind,
    /// The question, for people.
    #[serde(serialize_with = "crate::language::text")]
    pub question: String,
    /// The answers that the gate accepts.
    pub replies: Vec<GateReply>,
}

/// An answer to a gate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GateAnswer {
    /// The person's decision.
    pub reply: GateReply,
    /// For `edit`, the text that replaces the output; for `redo`, what to change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}
