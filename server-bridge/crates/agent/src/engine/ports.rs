//! What a turn asks of the house around it: six ports, each made for one turn of one chat.
//!
//! | port | what is asked of it |
//! |---|---|
//! | [`Journal`] | what was said, recorded before anything comes of it |
//! | [`Display`] | what people see |
//! | [`Permissions`] | what the user lets the agent do |
//! | [`ModelPool`] | which model answers, and when |
//! | [`Workplace`] | the machine that the work is done on |
//! | [`SubAgents`] | agents that an agent calls |
//!
//! `stored` has them over the database and the clients' events; the engine's own tests have them in memory.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use llm::retry::Patience;
use llm::slots::{Kind, Seat};
use llm::{Message, ToolCall};
use records::{
    ChatId, ItemId, Mask, MessageId, NewCompaction, PromptCount, Spent, StoredContext, SubAgent, TurnStatus,
};
use sandbox::Sandbox;
use tokio_util::sync::CancellationToken;

use super::agents::{Name, Named, TurnAncestry};
use crate::approval::{Access, Mode};
use crate::ask::{Ask, Asking};
use crate::models::{ModelChain, NoModel, Place, Tier};
use crate::tool::{Failure, Looked, Outcome, SubAgentState, TurnCost};

/// What comes of asking a port; it fails where the store does, or the chat is gone.
pub type Asked<'a, T> = BoxFuture<'a, crate::PortResult<T>>;

/// The ports of a turn. Cheap to clone.
#[derive(Clone)]
pub struct Ports {
    /// See [`Journal`].
    pub journal: Arc<dyn Journal>,
    /// See [`Display`].
    pub display: Arc<dyn Display>,
    /// See [`Permissions`].
    pub permissions: Arc<dyn Permissions>,
    /// See [`ModelPool`].
    pub models: Arc<dyn ModelPool>,
    /// See [`Workplace`].
    pub workplace: Arc<dyn Workplace>,
    /// See [`SubAgents`].
    pub sub_agents: Arc<dyn SubAgents>,
}

/// What was said in a turn: each answer, with the calls in it, and each result is on record before the next step begins.
pub trait Journal: Send + Sync {
    /// Notes that the turn begins with a model; `false` where it was ended elsewhere.
    fn begin<'a>(&'a self, model: &'a str) -> Asked<'a, bool>;

    /// The conversation up to and with the turn.
    fn load(&self) -> Asked<'_, StoredContext>;

    /// Adds an entry to the conversation; the message that it became.
    fn append<'a>(&'a self, entry: Entry<'a>) -> Asked<'a, (ItemId, Message)>;

    /// Changes how the conversation is shown to its model.
    fn change<'a>(&'a self, change: Change<'a>) -> Asked<'a, ()>;

    /// Notes what a request took that left no entry.
    fn spend<'a>(&'a self, spent: Spent<'a>) -> Asked<'a, ()>;

    /// Notes that a call which may change something is about to take effect: after a death, one that was not noted was not begun.
    fn begins<'a>(&'a self, call: &'a ToolCall, access: Access) -> Asked<'a, ()>;

    /// Notes how the turn ended.
    fn end<'a>(&'a self, status: TurnStatus, error: Option<&'a str>) -> Asked<'a, ()>;
}

/// Something that is added to a conversation.
pub enum Entry<'a> {
    /// Something that was said, at no cost.
    Said(Message),
    /// An answer, what its request took, and how the provider counted that.
    Answer(Message, Spent<'a>, PromptCount),
    /// What a call came to, and where it ran; what is long is put aside.
    Result(&'a ToolCall, Outcome, Option<&'a str>),
}

/// A change of how a conversation is shown to its model.
pub enum Change<'a> {
    /// An item becomes another one.
    Amended(ItemId, &'a Message),
    /// Lines take the place of results.
    Masked(&'a [Mask]),
    /// A summary takes the place of all but the end.
    Compacted(&'a NewCompaction),
    /// That was tried at this item, and came to nothing.
    NotCompacted(ItemId),
}

/// A turn as people see it: a message for each answer, and a card for each call of a tool.
pub trait Display: Send + Sync {
    /// Adds the message of an answer that begins; the turn's first one is there already.
    fn add_reply(&self) -> Asked<'_, MessageId>;

    /// Changes the message of an answer.
    fn reply<'a>(&'a self, message: MessageId, text: &'a str, state: ReplyState<'a>) -> Asked<'a, ()>;

    /// Shows more at the end of a message, until that is changed.
    fn stream(&self, message: MessageId, what: Stream, text: String);

    /// Adds a word of the server itself.
    fn notice<'a>(&'a self, text: &'a str) -> Asked<'a, ()>;

    /// Adds the card of a call, of which nobody is told before [`Display::tell`].
    fn keep_call<'a>(&'a self, card: Card<'a>) -> Asked<'a, MessageId>;

    /// Tells of a card that was added.
    fn tell(&self, message: MessageId);

    /// Changes the card of a call, and tells of it unless nobody was told of the card yet.
    fn call<'a>(&'a self, message: MessageId, card: Card<'a>) -> Asked<'a, ()>;

    /// Says of every card and answer after the turn's first message that still looks as if it went on that it does not.
    fn settle(&self, first: MessageId) -> Asked<'_, ()>;
}

/// More of what a message shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// What the model says.
    Text,
    /// What it thinks.
    Reasoning,
    /// What a call writes.
    Output,
}

/// How an answer stands.
#[derive(Clone, Copy, Debug)]
pub struct ReplyState<'a> {
    /// Of the turn where it is the first answer; of a later one `Running` or `Done`.
    pub status: TurnStatus,
    /// What the model thought, where it tells.
    pub reasoning: &'a str,
    /// Why the turn did not end well, and what to do.
    pub error: Option<&'a str>,
    /// What the turn took, once it is over.
    pub cost: Option<TurnCost>,
    /// Whether it is queued and answers of others are before it.
    pub waits: bool,
}

impl ReplyState<'_> {
    /// One with nothing to say but its status.
    pub fn of(status: TurnStatus) -> Self {
        Self { status, reasoning: "", error: None, cost: None, waits: false }
    }
}

/// A call of a tool as people see it.
#[derive(Clone, Copy)]
pub struct Card<'a> {
    /// The tool's name, as far as it is shown.
    pub tool: &'a str,
    /// What the call is about.
    pub hint: &'a str,
    /// Where it runs.
    pub place: Option<&'a str>,
    /// The sub-agent that asks, where it is not the chat's own agent.
    pub asked_by: Option<&'a str>,
    /// How it stands.
    pub state: CallState<'a>,
}

/// How a call stands.
#[derive(Clone, Copy)]
pub enum CallState<'a> {
    /// It asks its user whether it may.
    Asks(&'a Looked, Access),
    /// It asks its user something, with answers to choose from or none.
    Questions(&'a str, &'a [String]),
    /// It goes on.
    Runs,
    /// It goes on, and this is how its sub-agent stands.
    Delegates(&'a SubAgentState),
    /// It was asked for here, and went on elsewhere.
    Settled(CallStatus),
    /// It is over. How long it took in milliseconds, where it ran.
    Ended(CallStatus, &'a Outcome, Option<u64>),
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallStatus {
    /// It did what it was asked for.
    Done,
    /// It could not.
    Failed,
    /// It was not allowed.
    Denied,
    /// Its user stopped it.
    Cancelled,
}

/// What the user lets the agent do. What they said in their own chat holds for all sub-agents of it.
pub trait Permissions: Send + Sync {
    /// How much may be done without asking at the moment.
    fn mode(&self) -> Asked<'_, Mode>;

    /// Whether the user allowed calls of a tool with this subject for good.
    fn is_allowed<'a>(&'a self, tool: &'a str, subject: &'a str) -> Asked<'a, bool>;

    /// Allows calls of a tool with this subject for good; `scope` says what that covers, in the words that the user agreed to.
    fn allow_for_good<'a>(&'a self, tool: &'a str, subject: &'a str, scope: &'a str) -> Asked<'a, ()>;

    /// A file is about to be changed without anybody being asked: a command that was allowed for good may do something else
    /// now, and is asked for again.
    fn files_change(&self) -> Asked<'_, ()>;

    /// Asks the user with a message, which shows the question afterwards: no answer comes too soon.
    fn ask(&self, message: MessageId, ask: Ask) -> Asked<'_, Asking>;

    /// Whether the user wants the conversation compressed; asked for once, it is not wanted any more.
    fn wants_room(&self) -> bool;
}

/// Which model answers, and when.
pub trait ModelPool: Send + Sync {
    /// The model that the user's chat asks now, or of the same subscription that of a tier, and those that stand in for it.
    ///
    /// Fails with what the user is told where there is none.
    fn chain(&self, tier: Option<Tier>) -> BoxFuture<'_, Result<ModelChain, NoModel>>;

    /// Where calls of a model wait for their turn.
    fn seat(&self, kind: Kind) -> Seat;

    /// How often and how patiently a model is asked.
    fn patience(&self) -> Patience;

    /// A place among the answers under way, which is not taken yet.
    fn place(&self, kind: Kind) -> Place;
}

/// The machine that the work is done on, chosen when the turn first asks for it.
pub trait Workplace: Send + Sync {
    /// A fresh handle.
    ///
    /// Fails with [`Failure::Away`] where no machine can be reached.
    fn sandbox(&self) -> BoxFuture<'_, Result<Sandbox, Failure>>;

    /// The name of the place, where there is one.
    fn name(&self) -> Asked<'_, Option<String>>;

    /// The directory that the chat is in, from the workspace; empty for the workspace.
    fn cwd(&self) -> Asked<'_, String>;

    /// What the model is reminded of: which files changed since it saw them.
    fn news(&self) -> Asked<'_, Option<String>>;
}

/// Agents that the turn's agent calls.
pub trait SubAgents: Send + Sync {
    /// Takes the name of a sub-agent; `None` while another call has it.
    fn take_name(&self, name: &str) -> Option<Name>;

    /// The sub-agent that the turn's agent calls by that name.
    fn named<'a>(&'a self, name: &'a str) -> Asked<'a, Named>;

    /// Makes a new one with a conversation of its own.
    fn create<'a>(&'a self, new: NewSubAgent<'a>) -> Asked<'a, SubAgent>;

    /// Gives it a task, and runs its turn to the end.
    fn run<'a>(&'a self, task: SubAgentTask<'a>) -> Asked<'a, TurnEnd>;
}

/// A sub-agent to be.
pub struct NewSubAgent<'a> {
    /// What shows the call.
    pub card: MessageId,
    /// The role that it takes.
    pub role: Option<&'a str>,
    /// The name it is to be called by again.
    pub instance: Option<&'a str>,
    /// The names of the tools that it may use, as [`crate::tool::Toolbox::to_json`] writes them.
    pub tools_json: &'a str,
}

/// A task for a sub-agent.
pub struct SubAgentTask<'a> {
    /// Its chat.
    pub chat: &'a ChatId,
    /// What shows the call in its parent's chat.
    pub card: MessageId,
    /// All it is told.
    pub text: &'a str,
    /// The turns above it, and what they allow it.
    pub ancestry: &'a TurnAncestry,
    /// Its user wants it to stop.
    pub cancelled: &'a CancellationToken,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnEnd {
    /// The way it ended.
    pub status: TurnStatus,
    /// Why it did not end well.
    pub error: Option<String>,
    /// What it took.
    pub cost: TurnCost,
    /// What its model said last, where it said anything.
    pub words: Option<String>,
}
