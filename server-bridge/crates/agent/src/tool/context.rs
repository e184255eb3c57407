//! The context of a tool call.

use futures_util::future::BoxFuture;
use records::{ChatId, TurnId, User};
use sandbox::{Approval, Sandbox};

use tokio_util::sync::CancellationToken;

use super::{Bound, CallKey, Failure, Outcome, Question};

/// The engine's services for a running call.
pub trait Host: Send + Sync {
    /// A fresh handle of the machine that the turn works on.
    ///
    /// Fails with [`Failure::Away`] if none can be reached.
    fn sandbox(&self) -> BoxFuture<'_, Result<Sandbox, Failure>>;

    /// Asks the user a question and waits for the answer; `None` if nobody gives one. An option that the user chose is returned as
    /// it was written, also if it was shown in another language. Dropping the future withdraws the question.
    ///
    /// Fails if the question cannot be shown.
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Result<Option<String>, Failure>>;

    /// For each of these paths below `base` that a tool found, true if its caller may not read it.
    ///
    /// Fails if that cannot be found out.
    fn hidden<'a>(&'a self, base: &'a str, paths: &'a [String]) -> BoxFuture<'a, Result<Vec<bool>, Failure>>;

    /// Asks the chat's model for one answer, outside of the conversation; what it costs counts for the turn.
    ///
    /// Fails with [`Failure::Told`] if there is no model, or it does not answer.
    fn sample(&self, request: SampleRequest) -> BoxFuture<'_, Result<Sampled, Failure>>;

    /// Runs a sub-agent to the end of its turn.
    ///
    /// Fails with [`Failure::Told`] if it cannot be called this way, and with another failure if the turn that calls it
    /// cannot continue.
    fn delegate<'a>(&'a self, request: DelegationRequest<'a>) -> BoxFuture<'a, Result<Outcome, Failure>>;

    /// True if the user's sub-agent with this chat is at work.
    fn is_at_work(&self, sub_agent: &ChatId) -> bool;

    /// Stops the sub-agent with this chat, which the chat's agent called in the background, and waits for its end a moment; true if
    /// it has ended.
    ///
    /// Fails if that cannot be found out.
    fn end_sub_agent<'a>(&'a self, _sub_agent: &'a ChatId) -> BoxFuture<'a, Result<bool, Failure>> {
        Box::pin(async { Err(Failure::Told("sub-agents work in a chat only".to_owned())) })
    }
}

/// The place and the user of a call.
pub struct ToolContext<'a> {
    /// The engine's services.
    pub host: &'a dyn Host,
    /// The user on whose behalf it runs.
    pub user: &'a User,
    /// The caller, acting for that user.
    pub caller: ToolCaller<'a>,
    /// Cancelled when its user stops it.
    pub cancelled: &'a CancellationToken,
    /// True if nothing may be changed.
    pub is_plan: bool,
    /// The user's permission for this call to run as the privileged user, if they gave it.
    pub approval: Option<Approval>,
    /// The state that was looked at before the user was asked.
    pub bound: Bound,
}

/// The caller of a tool.
#[derive(Clone, Copy, Debug)]
pub enum ToolCaller<'a> {
    /// An agent, in a turn of a chat.
    Agent(AgentTurn<'a>),
    /// A program of the user, which has no chat.
    Program(Program<'a>),
}

/// The turn that an agent calls a tool in.
#[derive(Clone, Copy, Debug)]
pub struct AgentTurn<'a> {
    /// The agent's own chat.
    pub chat: &'a ChatId,
    /// The chat that the user talks in: differs from `chat` only if a sub-agent calls.
    pub root: &'a ChatId,
    /// The turn of that chat: an undo of it takes back the call's changes.
    pub turn: TurnId,
    /// The call's key; `None` for one that no conversation has on record.
    pub call: Option<CallKey>,
    /// True if an earlier server was cut off during this call, after it had begun: only a tool that `takes_up` sees this. It runs
    /// nothing anew, but waits for the end of what it finds by its key.
    pub is_taken_up: bool,
}

/// A program that calls a tool.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// The place that it names, in place of the user's active one.
    pub on: Option<&'a str>,
    /// True if it may do all that its user may, including joining their terminals.
    pub is_trusted: bool,
}

/// A tool's request for one answer of a model.
#[derive(Clone, Debug)]
pub struct SampleRequest {
    /// The instructions; empty for none.
    pub system: String,
    /// The conversation, which ends with a message of the user.
    pub messages: Vec<llm::Message>,
    /// The most tokens of the answer.
    pub max_tokens: u32,
}

/// A model's answer to a tool.
#[derive(Clone, Debug)]
pub struct Sampled {
    /// Its text.
    pub text: String,
    /// The provider's name for the model.
    pub model: String,
    /// True if the answer was cut off at its limit.
    pub is_cut: bool,
}

/// A model's request for a sub-agent.
pub struct DelegationRequest<'a> {
    /// The tool's own name, for people.
    pub tool: &'static str,
    /// The subject of the call, for people.
    pub hint: String,
    /// The whole text of its task.
    pub task: &'a str,
    /// The role that it takes.
    pub role: Option<&'a str>,
    /// The tools it may use; limited to those of its parent and its role.
    pub tools: Option<&'a [String]>,
    /// The tier of the model it asks.
    pub model: Option<&'a str>,
    /// The name by which it can be called again.
    pub instance: Option<&'a str>,
    /// The machine that it works on, if not its parent's.
    pub on: Option<&'a str>,
    /// True if it works in a git worktree of its own.
    pub worktree: bool,
    /// True if the call does not wait for its end.
    pub background: bool,
}

impl ToolContext<'_> {
    /// A fresh handle of the machine.
    ///
    /// Fails as [`Host::sandbox`] does.
    pub async fn sandbox(&self) -> Result<Sandbox, Failure> {
        self.host.sandbox().await
    }

    /// The turn that an agent calls it in.
    ///
    /// Fails with a text for a program, which has none.
    pub fn agent(&self) -> Result<AgentTurn<'_>, Failure> {
        match self.caller {
            ToolCaller::Agent(turn) => Ok(turn),
            ToolCaller::Program(_) => Err(Failure::Told("this works in a chat only".to_owned())),
        }
    }

    /// The program that calls it; `None` if an agent does.
    pub fn program(&self) -> Option<Program<'_>> {
        match self.caller {
            ToolCaller::Agent(_) => None,
            ToolCaller::Program(program) => Some(program),
        }
    }

    /// The file's SHA-256 at the time its change was allowed.
    pub fn bound_content(&self) -> Option<[u8; 32]> {
        match self.bound.file.as_ref()?.present {
            sandbox::Present::Content(sha256) => Some(sha256),
            sandbox::Present::Nothing | sandbox::Present::AnyFile => None,
        }
    }
}
