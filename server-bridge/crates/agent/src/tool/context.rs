//! What a call of a tool works with.

use futures_util::future::BoxFuture;
use records::{ChatId, TurnId, User};
use sandbox::{Approval, Sandbox};

use tokio_util::sync::CancellationToken;

use super::{Bound, Failure, Outcome};

/// What the engine does for a call under way.
pub trait Host: Send + Sync {
    /// A fresh handle of the machine that the turn works on.
    ///
    /// Fails with [`Failure::Away`] where none can be reached.
    fn sandbox(&self) -> BoxFuture<'_, Result<Sandbox, Failure>>;

    /// Asks the user something, with answers to choose from or none, and waits for the answer; `None` where nobody gives one.
    /// Dropped, it withdraws the question.
    ///
    /// Fails where the question cannot be shown.
    fn ask<'a>(
        &'a self,
        question: &'a str,
        options: &'a [String],
    ) -> BoxFuture<'a, Result<Option<String>, Failure>>;

    /// Runs a sub-agent to the end of its turn.
    ///
    /// Fails with [`Failure::Told`] where it cannot be called so, and where the turn that calls it cannot go on either.
    fn delegate<'a>(&'a self, request: DelegationRequest<'a>) -> BoxFuture<'a, Result<Outcome, Failure>>;
}

/// Where a call works, and for whom.
pub struct ToolContext<'a> {
    /// What the engine does for it.
    pub host: &'a dyn Host,
    /// The user whom it is for.
    pub user: &'a User,
    /// Who calls it in their name.
    pub caller: ToolCaller<'a>,
    /// Its user wants it to stop.
    pub cancelled: &'a CancellationToken,
    /// Whether nothing may be changed.
    pub is_plan: bool,
    /// The user's word that this very call may run as the privileged user, where they gave it.
    pub approval: Option<Approval>,
    /// What was looked at before its user was asked.
    pub bound: Bound,
}

/// Who calls a tool.
#[derive(Clone, Copy, Debug)]
pub enum ToolCaller<'a> {
    /// An agent, in a turn of a chat.
    Agent(AgentTurn<'a>),
    /// A program of the user's own, which has no chat.
    Program(Program<'a>),
}

/// The turn that an agent calls a tool in.
#[derive(Clone, Copy, Debug)]
pub struct AgentTurn<'a> {
    /// The agent's own chat.
    pub chat: &'a ChatId,
    /// The chat that the user talks in: the same one, unless a sub-agent calls.
    pub root: &'a ChatId,
    /// The turn of that chat: what is changed in it is taken back with it.
    pub turn: TurnId,
}

/// A program that calls a tool.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// The place that it names instead of the user's active one.
    pub on: Option<&'a str>,
    /// Whether it may do all that its user may: take part in their terminals, too.
    pub is_trusted: bool,
}

/// What a model wants of a sub-agent.
pub struct DelegationRequest<'a> {
    /// The tool's own name, and what the call is about, for people.
    pub tool: &'static str,
    /// The words that say what the call is about, for people.
    pub hint: String,
    /// What it is to do: all it is told.
    pub task: &'a str,
    /// The role that it takes.
    pub role: Option<&'a str>,
    /// What it may use; no more than its parent and its role.
    pub tools: Option<&'a [String]>,
    /// How able a model it asks.
    pub model: Option<&'a str>,
    /// The name it is called by again.
    pub instance: Option<&'a str>,
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
    /// Fails with words for a program, which has none.
    pub fn agent(&self) -> Result<AgentTurn<'_>, Failure> {
        match self.caller {
            ToolCaller::Agent(turn) => Ok(turn),
            ToolCaller::Program(_) => Err(Failure::Told("this works in a chat only".to_owned())),
        }
    }

    /// The program that calls it, unless an agent does.
    pub fn program(&self) -> Option<Program<'_>> {
        match self.caller {
            ToolCaller::Agent(_) => None,
            ToolCaller::Program(program) => Some(program),
        }
    }

    /// The SHA-256 that the file had when its change was allowed.
    pub fn bound_content(&self) -> Option<[u8; 32]> {
        match self.bound.file.as_ref()?.present {
            sandbox::Present::Content(sha256) => Some(sha256),
            sandbox::Present::Nothing | sandbox::Present::AnyFile => None,
        }
    }
}
