//! The context in which a tool call runs.

use futures_util::future::BoxFuture;
use records::{ChatId, TurnId, User};
use sandbox::{Approval, Sandbox};

use tokio_util::sync::CancellationToken;

use super::{Bound, CallKey, Failure, Outcome, Question};

/// The engine's services for a running call.
pub trait Host: Send + Sync {
    /// A fresh handle to the machine that the turn works on.
    ///
    /// Fails with [`Failure::Away`] if no machine can be reached.
    fn sandbox(&self) -> BoxFuture<'_, Result<Sandbox, Failure>>;

    /// Asks the user a question and waits for the answer; `None` if there is no answer. An option that the user chose is returned as it
    /// was written, even if it was shown in another language. Dropping the future withdraws the question.
    ///
    /// Fails if the question cannot be shown.
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Result<Option<String>, Failure>>;

    /// For each of these paths below `base` that a tool found, true if its caller may not read it.
    ///
    /// Fails if that cannot be determined.
    fn hidden<'a>(&'a self, base: &'a str, paths: &'a [String]) -> BoxFuture<'a, Result<Vec<bool>, Failure>>;

    /// Asks the chat's model for one answer, outside of the conversation; the cost counts for the turn.
    ///
    /// Fails with [`Failure::Message`] if there is no model, or it does not answer.
    fn sample(&self, request: SampleRequest) -> BoxFuture<'_, Result<Sampled, Failure>>;

    /// Runs a sub-agent to the end of its turn.
    ///
    /// Fails with [`Failure::Message`] if it cannot be called this way, and with another failure if the turn that calls it
    /// cannot continue.
    fn delegate<'a>(&'a self, request: DelegationRequest<'a>) -> BoxFuture<'a, Result<Outcome, Failure>>;

    /// True if the user's sub-agent with this chat is at work.
    fn is_at_work(&self, sub_agent: &ChatId) -> bool;

    /// Stops the sub-agent with this chat, which the chat's agent called in the background, and waits a moment for it to end; true if
    /// it has ended.
    ///
    /// Fails if this cannot be determined.
    fn end_sub_agent<'a>(&'a self, _sub_agent: &'a ChatId) -> BoxFuture<'a, Result<bool, Failure>> {
        Box::pin(async { Err(Failure::Message("sub-agents are available only in chats".to_owned())) })
    }
}

/// The context of a call: its user, its caller, and the engine's services.
pub struct ToolContext<'a> {
    /// The engine's services.
    pub host: &'a dyn Host,
    /// The user on whose behalf the call runs.
    pub user: &'a User,
    /// The caller, acting for that user.
    pub caller: ToolCaller<'a>,
    /// Cancelled when the user stops the call.
    pub cancelled: &'a CancellationToken,
    /// True if nothing may be changed, as in plan mode.
    pub is_plan: bool,
    /// The user's permission for this call to run as the privileged user, if they gave it.
    pub approval: Option<Approval>,
    /// The state that was examined before the user was asked.
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

/// The turn in which an agent calls a tool.
#[derive(Clone, Copy, Debug)]
pub struct AgentTurn<'a> {
    /// The agent's own chat.
    pub chat: &'a ChatId,
    /// The chat that the user talks in: differs from `chat` only if a sub-agent calls.
    pub root: &'a ChatId,
    /// The turn of the root chat: an undo of it reverts the call's changes.
    pub turn: TurnId,
    /// The call's key; `None` if no conversation has the call on record.
    pub call: Option<CallKey>,
    /// True if an earlier run of the server was cut off during this call, after the call had begun: only a tool that `takes_up` sees
    /// this. It runs nothing again, but waits for the end of the work that it finds by the call's key.
    pub is_taken_up: bool,
}

/// A program that calls a tool.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// The place that the program names, which replaces the user's active one.
    pub on: Option<&'a str>,
    /// True if the program may do everything that its user may, including joining their terminals.
    pub is_trusted: bool,
}

/// A tool's request for one answer of a model.
#[derive(Clone, Debug)]
pub struct SampleRequest {
    /// The instructions; empty if there are none.
    pub system: String,
    /// The conversation, which ends with a message of the user.
    pub messages: Vec<llm::Message>,
    /// Limit on the answer, in tokens.
    pub max_tokens: u32,
}

/// A model's answer to a tool.
#[derive(Clone, Debug)]
pub struct Sampled {
    /// The text of the answer.
    pub text: String,
    /// The provider's name for the model.
    pub model: String,
    /// True if the answer was cut off at the token limit.
    pub is_cut: bool,
}

/// A model's request for a sub-agent.
pub struct DelegationRequest<'a> {
    /// The tool's own name, for people.
    pub tool: &'static str,
    /// The subject of the call, for people.
    pub hint: String,
    /// The whole text of the task.
    pub task: &'a str,
    /// The role that the sub-agent takes, if one is named.
    pub role: Option<&'a str>,
    /// The tools that the sub-agent may use; limited to those of its parent and its role.
    pub tools: Option<&'a [String]>,
    /// The tier of the sub-agent's model, if one is named.
    pub model: Option<&'a str>,
    /// The name by which the sub-agent can be called again, if it gets one.
    pub instance: Option<&'a str>,
    /// The machine that the sub-agent works on, if that differs from its parent's.
    pub on: Option<&'a str>,
    /// True if the sub-agent works in its own git worktree.
    pub worktree: bool,
    /// True if the call does not wait for the sub-agent to end.
    pub background: bool,
}

impl ToolContext<'_> {
    /// A fresh handle to the machine.
    ///
    /// Fails as [`Host::sandbox`] does.
    pub async fn sandbox(&self) -> Result<Sandbox, Failure> {
        self.host.sandbox().await
    }

    /// The turn in which an agent makes this call.
    ///
    /// Fails with a text if a program makes it, because programs have no turn.
    pub fn agent(&self) -> Result<AgentTurn<'_>, Failure> {
        match self.caller {
            ToolCaller::Agent(turn) => Ok(turn),
            ToolCaller::Program(_) => Err(Failure::Message("this tool works only in a chat".to_owned())),
        }
    }

    /// The program that makes this call; `None` if an agent does.
    pub fn program(&self) -> Option<Program<'_>> {
        match self.caller {
            ToolCaller::Agent(_) => None,
            ToolCaller::Program(program) => Some(program),
        }
    }

    /// The SHA-256 of the file's content at the time its change was allowed.
    pub fn bound_content(&self) -> Option<[u8; 32]> {
        match self.bound.file.as_ref()?.present {
            sandbox::Present::Content(sha256) => Some(sha256),
            sandbox::Present::Nothing | sandbox::Present::AnyFile => None,
        }
    }
}
