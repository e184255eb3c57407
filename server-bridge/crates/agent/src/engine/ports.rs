//! The turn's interface to the server around it: seven ports, each made for one turn of one chat.
//!
//! | port | answers for |
//! |---|---|
//! | [`Journal`] | what was said, recorded before it takes effect |
//! | [`Display`] | what people see |
//! | [`Permissions`] | what the user lets the agent do |
//! | [`ModelPool`] | which model answers, and when |
//! | [`Workplace`] | the machine that the work is done on |
//! | [`SubAgents`] | agents that an agent calls |
//! | [`BackgroundAgents`] | the sub-agents that it does not wait for |
//!
//! `stored` implements them over the database and the clients' events; the engine's own tests implement them in memory.

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

use super::agents::{Background, Name, Named, TurnAncestry};
use crate::approval::{Access, Mode, Ruling};
use crate::ask::{Ask, Asking};
use crate::library::Library;
use crate::models::{ModelChain, NoModel, Place, Tier};
use crate::tool::{CallKey, Failure, Looked, Outcome, SubAgentState, Subject, TurnCost};

/// The result of a port's method. The method fails if the store does, or if the chat was deleted.
pub type Asked<'a, T> = BoxFuture<'a, crate::PortResult<T>>;

/// The ports of a turn. Cheap to clone.
#[derive(Clone)]
pub struct Ports {
    /// The record of the turn; see [`Journal`].
    pub journal: Arc<dyn Journal>,
    /// The people's view of the turn; see [`Display`].
    pub display: Arc<dyn Display>,
    /// The user's permissions; see [`Permissions`].
    pub permissions: Arc<dyn Permissions>,
    /// The models; see [`ModelPool`].
    pub models: Arc<dyn ModelPool>,
    /// The machine; see [`Workplace`].
    pub workplace: Arc<dyn Workplace>,
    /// The sub-agents; see [`SubAgents`].
    pub sub_agents: Arc<dyn SubAgents>,
    /// The sub-agents in the background; see [`BackgroundAgents`].
    pub background: Arc<dyn BackgroundAgents>,
    /// The roles that sub-agents can have.
    pub library: Library,
    /// Translates one of the server's texts into the language of the people who see the turn.
    pub say: Arc<dyn Fn(&str) -> String + Send + Sync>,
}

/// The record of a turn: each answer with its calls, and each result, is recorded before the next step begins.
pub trait Journal: Send + Sync {
    /// Records that the turn begins with a model.
    fn begin<'a>(&'a self, model: &'a str) -> Asked<'a, Begins>;

    /// The conversation up to and including the turn.
    fn load(&self) -> Asked<'_, StoredContext>;

    /// Adds an entry to the conversation; returns the message that it became, with its item.
    fn append<'a>(&'a self, entry: Entry<'a>) -> Asked<'a, (ItemId, Message)>;

    /// Changes how the model sees the conversation.
    fn change<'a>(&'a self, change: Change<'a>) -> Asked<'a, ()>;

    /// Records the cost of a request that left no entry.
    fn spend<'a>(&'a self, spent: Spent<'a>) -> Asked<'a, ()>;

    /// Records that a call that may change something is about to take effect. After a crash, a call without this record is known not to have begun.
    fn begins<'a>(&'a self, call: &'a ToolCall, access: Access) -> Asked<'a, ()>;

    /// True if the command that a call began under this key is on record.
    fn has_command(&self, call: CallKey) -> Asked<'_, bool>;

    /// Records how the turn ended, and shows it in the turn's first message. Both are one change, because no later run would correct the
    /// message of a turn that has ended.
    fn end<'a>(&'a self, first: MessageId, text: &'a str, state: ReplyState<'a>) -> Asked<'a, ()>;
}

/// The way in which a turn begins.
pub enum Begins {
    /// The turn was queued, and begins for the first time.
    First,
    /// An earlier run of the server began the turn; it continues from its record.
    Again(Box<Left>),
    /// The turn does not begin: it was ended elsewhere.
    Over,
}

/// The record that an earlier run of the server left of a turn, in addition to its conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// The number of answers on record.
    pub answers: usize,
    /// The text of the first answer, and its reasoning as it is shown.
    pub first: (String, String),
    /// The text of the last answer that has any.
    pub words: Option<String>,
    /// The names of the tools that the answers call.
    pub called: Vec<String>,
    /// The message of an answer that was cut off, unless it is the turn's first message; the next answer is shown there.
    pub void: Option<MessageId>,
    /// The recorded cost.
    pub cost: TurnCost,
    /// True if the turn waits for a sub-agent that was called while a machine was connected.
    pub needs_machine: bool,
    /// True if the recorded answer was made from a user's message, and its call's result is the final answer: no model was asked.
    pub is_relay: bool,
}

/// An addition to a conversation.
pub enum Entry<'a> {
    /// A message that cost nothing.
    Said(Message),
    /// An answer, the cost of its request, and the provider's count of its tokens.
    Answer(Message, Spent<'a>, PromptCount),
    /// The result of a call, and where it ran; a long one is put aside.
    Result(&'a ToolCall, Box<Outcome>, Option<&'a str>),
}

/// A change to how the model sees a conversation.
pub enum Change<'a> {
    /// An item is replaced by another one.
    Amended(ItemId, &'a Message),
    /// Lines replace results.
    Masked(&'a [Mask]),
    /// A summary replaces all but the end.
    Compacted(&'a NewCompaction),
    /// Compressing was tried at this item, and failed.
    NotCompacted(ItemId),
}

/// A turn as people see it: a message for each answer, and a card for each call of a tool.
pub trait Display: Send + Sync {
    /// Adds the message of an answer that begins; the turn's first message already exists.
    fn add_reply(&self) -> Asked<'_, MessageId>;

    /// Changes the message of an answer.
    fn reply<'a>(&'a self, message: MessageId, text: &'a str, state: ReplyState<'a>) -> Asked<'a, ()>;

    /// Streams more text to the end of a message, until the message is changed.
    fn stream(&self, message: MessageId, what: Stream, text: String);

    /// Adds a notice from the server.
    fn notice<'a>(&'a self, text: &'a str) -> Asked<'a, ()>;

    /// Adds the card of a call, without an event until [`Display::tell`]; a card that an earlier run of the server made stays as it is.
    fn keep_call<'a>(&'a self, card: Card<'a>) -> Asked<'a, MessageId>;

    /// Sends the event of a card that was added.
    fn tell(&self, message: MessageId);

    /// Changes the card of a call, and sends an event unless the card has not been announced yet.
    fn call<'a>(&'a self, message: MessageId, card: Card<'a>) -> Asked<'a, ()>;

    /// Marks every card and answer after the turn's first message that still looks active as ended.
    fn settle(&self, first: MessageId) -> Asked<'_, ()>;
}

/// The kind of content that is streamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The model's text.
    Text,
    /// The model's reasoning.
    Reasoning,
    /// The output of a call.
    Output,
}

/// The state of an answer.
#[derive(Clone, Copy, Debug)]
pub struct ReplyState<'a> {
    /// The turn's status for its first answer; `Running` or `Done` for a later one.
    pub status: TurnStatus,
    /// The model's reasoning, if it reports any.
    pub reasoning: &'a str,
    /// The reason why the turn did not end well, and what to do.
    pub error: Option<&'a str>,
    /// The cost of the turn, once it has ended.
    pub cost: Option<TurnCost>,
    /// True if the answer is queued because other answers are ahead of it.
    pub waits: bool,
}

impl ReplyState<'_> {
    /// A state with a status and nothing else.
    pub fn of(status: TurnStatus) -> Self {
        Self { status, reasoning: "", error: None, cost: None, waits: false }
    }
}

/// A tool call as people see it.
#[derive(Clone, Copy)]
pub struct Card<'a> {
    /// The tool's name in the form that people see.
    pub tool: &'a str,
    /// The subject of the call, for people.
    pub hint: &'a str,
    /// The place where the call runs.
    pub place: Option<&'a str>,
    /// The sub-agent that asks, if it is not the chat's own agent.
    pub asked_by: Option<&'a str>,
    /// The state of the call.
    pub state: CallState<'a>,
}

/// The state of a call.
#[derive(Clone, Copy)]
pub enum CallState<'a> {
    /// The call waits for the user's permission.
    Asks(&'a Looked, Access),
    /// The call asks the user a question, with or without options to choose from.
    Questions(&'a str, &'a [String]),
    /// The call is running.
    Runs,
    /// The call is running; this is the state of its sub-agent.
    Delegates(&'a SubAgentState),
    /// This card asked for the permission, and the call ran with another card.
    Settled(CallStatus),
    /// The call has ended; with its duration in milliseconds if it ran.
    Ended(CallStatus, &'a Outcome, Option<u64>),
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallStatus {
    /// The call succeeded.
    Done,
    /// The call failed.
    Failed,
    /// The call was not allowed.
    Denied,
    /// The user stopped the call.
    Cancelled,
}

/// The user's permissions for the agent. An answer given in the user's own chat applies to all of its sub-agents.
pub trait Permissions: Send + Sync {
    /// The mode that applies at the moment.
    fn mode(&self) -> Asked<'_, Mode>;

    /// The ruling of the permission rules on a call of a tool. With `counts`, a rule that decides it is counted as used.
    fn ruling<'a>(&'a self, tool: &'a str, subject: Subject<'a>, counts: bool) -> Asked<'a, Ruling>;

    /// For each of these paths below `base` that a tool found, true if the permission rules keep it from being read. All are
    /// relative to the workspace, or absolute.
    fn hidden<'a>(&'a self, tool: &'a str, base: &'a str, paths: &'a [String]) -> Asked<'a, Vec<bool>>;

    /// True if the user allowed calls of a tool with this subject for good.
    fn is_allowed<'a>(&'a self, tool: &'a str, subject: &'a str) -> Asked<'a, bool>;

    /// Allows calls of a tool with this subject for good; `scope` describes what that covers, in the words that the user agreed to.
    fn allow_for_good<'a>(&'a self, tool: &'a str, subject: &'a str, scope: &'a str) -> Asked<'a, ()>;

    /// Called when a file is about to be changed without a question. A command that was allowed for good may do something else
    /// afterwards, so it is asked about again.
    fn files_change(&self) -> Asked<'_, ()>;

    /// Asks the user. The message shows the question only once the wait for the answer has begun, so that no answer can arrive too early.
    fn ask(&self, message: MessageId, ask: Ask) -> Asked<'_, Asking>;

    /// True if the user asked for the conversation to be compressed. Reading this resets the request.
    fn wants_room(&self) -> bool;
}

/// The choice of the model that answers, and the wait for it.
pub trait ModelPool: Send + Sync {
    /// The model that the user's chat uses now, or one of this tier from the same subscription, with its stand-ins.
    ///
    /// Fails with a text for the user if there is none.
    fn chain(&self, tier: Option<Tier>) -> BoxFuture<'_, Result<ModelChain, NoModel>>;

    /// The place in the queue for calls of a model.
    fn seat(&self, kind: Kind) -> Seat;

    /// The retries and timeouts of requests to a model.
    fn patience(&self) -> Patience;

    /// A place among the answers in progress; it is not taken yet.
    fn place(&self, kind: Kind) -> Place;
}

/// The machine on which the work is done, chosen when the turn first needs it.
pub trait Workplace: Send + Sync {
    /// A fresh handle to the machine.
    ///
    /// Fails with [`Failure::Away`] if no machine can be reached.
    fn sandbox(&self) -> BoxFuture<'_, Result<Sandbox, Failure>>;

    /// The name of the place of work, if there is one.
    fn name(&self) -> Asked<'_, Option<String>>;

    /// The chat's directory, relative to the workspace; empty for the workspace.
    fn cwd(&self) -> Asked<'_, String>;

    /// A reminder for the model that lists the files that changed since it saw them.
    fn news(&self) -> Asked<'_, Option<String>>;
}

/// The agents that the turn's agent calls.
pub trait SubAgents: Send + Sync {
    /// Takes the name of a sub-agent; `None` while another call has it.
    fn take_name(&self, name: &str) -> Option<Name>;

    /// The sub-agent that the turn's agent calls by this name.
    fn named<'a>(&'a self, name: &'a str) -> Asked<'a, Named>;

    /// The recorded state of the turn's next call without a result, which must be a call of a sub-agent.
    fn called(&self) -> Asked<'_, Called>;

    /// True if the user's sub-agent with this chat is at work.
    fn is_at_work(&self, chat: &ChatId) -> bool;

    /// The place for a sub-agent on the machine with this name; `None` if the turn's agent works there itself.
    ///
    /// Fails with [`Failure::Message`] if it is not a machine of the user, cannot be reached, or is closed to this chat.
    fn place<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, Failure>>;

    /// Creates a sub-agent with an empty conversation.
    fn create<'a>(&'a self, new: NewSubAgent<'a>) -> Asked<'a, SubAgent>;

    /// Gives a sub-agent a task, and runs its turn to the end. If the task `goes_on`, the turn resumes from its record, and the task is
    /// posted only if the server died before it did so. If the turn has already ended, this only returns its end.
    ///
    /// Fails with [`Failure::Message`] if it cannot begin, and with [`Failure::Port`] as the other methods do.
    fn run<'a>(&'a self, task: SubAgentTask<'a>) -> BoxFuture<'a, Result<SubAgentEnd, Failure>>;
}

/// The sub-agents that the turn's agent calls and does not wait for.
pub trait BackgroundAgents: Send + Sync {
    /// Fails with [`Failure::Message`] if the turn cannot call a sub-agent in the background: too many are at work, or the chat may have
    /// none. Called before anything is created for the call.
    fn check(&self) -> BoxFuture<'_, Result<(), Failure>>;

    /// Gives a sub-agent a task, once per card. Its turn is then on record, and begins when the call's result is on record too.
    ///
    /// Fails with [`Failure::Message`] if too many are at work in the background, or the chat may have none.
    fn begin<'a>(&'a self, task: BackgroundTask<'a>) -> BoxFuture<'a, Result<(), Failure>>;

    /// Stops a sub-agent, and waits a moment for it to end; true if it has ended.
    fn end<'a>(&'a self, chat: &'a ChatId) -> Asked<'a, bool>;

    /// Sends a message to a running sub-agent, once per card; false if it is not at work in the background.
    fn send<'a>(&'a self, message: BackgroundMessage<'a>) -> Asked<'a, bool>;

    /// Adds the next unread item to the turn's conversation, once, and returns it: the end of a sub-agent, or, in a sub-agent's own
    /// turn, the next message to it. `None` if nothing is left.
    fn hear(&self) -> Asked<'_, Option<(ItemId, Message)>>;
}

/// A message to a sub-agent in the background.
pub struct BackgroundMessage<'a> {
    /// The sub-agent's chat.
    pub chat: &'a ChatId,
    /// The message that shows the call in the parent's chat.
    pub card: MessageId,
    /// The whole text.
    pub text: &'a str,
}

/// A task for a sub-agent in the background.
pub struct BackgroundTask<'a> {
    /// The sub-agent's chat.
    pub chat: &'a ChatId,
    /// The message that shows the call in the parent's chat.
    pub card: MessageId,
    /// The whole task text.
    pub text: &'a str,
    /// The other inputs of the sub-agent's turn.
    pub background: &'a Background,
}

/// The data of a new sub-agent.
pub struct NewSubAgent<'a> {
    /// The message that shows the call.
    pub card: MessageId,
    /// The role that the sub-agent takes, if one was named.
    pub role: Option<&'a str>,
    /// The name by which the sub-agent can be called again, if it has one.
    pub instance: Option<&'a str>,
    /// The machine that the sub-agent works on, if that differs from its parent's.
    pub place: Option<&'a str>,
    /// The names of the tools that the sub-agent may use, as [`crate::tool::Toolbox::to_json`] writes them.
    pub tools_json: &'a str,
}

/// A task for a sub-agent.
pub struct SubAgentTask<'a> {
    /// The sub-agent's chat.
    pub chat: &'a ChatId,
    /// The message that shows the call in the parent's chat.
    pub card: MessageId,
    /// The whole task text.
    pub text: &'a str,
    /// True if the sub-agent is to work in its own git worktree from this call on.
    pub worktree: bool,
    /// True if the sub-agent was already called for this card before a restart.
    pub goes_on: bool,
    /// The turns above the sub-agent's turn, and the permissions it inherits.
    pub ancestry: &'a TurnAncestry,
    /// Cancelled when the user stops the sub-agent.
    pub cancelled: &'a CancellationToken,
}

/// The recorded state of a call of a sub-agent that has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Called {
    /// No sub-agent was created or called.
    Nobody,
    /// This sub-agent was called.
    Agent(Box<CalledAgent>),
    /// A server of an earlier version called a sub-agent, and recorded nothing of its progress.
    Unknown,
}

/// A sub-agent that was called before a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalledAgent {
    /// The sub-agent that was called.
    pub agent: SubAgent,
    /// The number of tool calls that the sub-agent made for this task.
    pub steps: u32,
    /// True if the sub-agent has ended, but its parent has not been informed yet.
    pub is_over: bool,
}

/// The end of a sub-agent's work on a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubAgentEnd {
    /// The end of the sub-agent's turn.
    pub turn: TurnEnd,
    /// What happened to the sub-agent's worktree, in words for its parent.
    pub worktree: Option<String>,
}

/// The end of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnEnd {
    /// The status that the turn ended with.
    pub status: TurnStatus,
    /// The reason why the turn did not end well.
    pub error: Option<String>,
    /// The cost of the turn.
    pub cost: TurnCost,
    /// The last text of the turn's model, if any.
    pub words: Option<String>,
}
