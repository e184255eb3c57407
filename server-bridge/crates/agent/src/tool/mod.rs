//! Tools as the engine sees them: a name, a description and a schema for models, rules for the loop, and calls that are parsed, examined and run.
//!
//! ```text
//!   Registry ──snapshot──▶ Toolbox (of one turn) ──understand──▶ Understood ──look, run──▶ Outcome
//!                                                                     └── ToolContext: the caller, and the engine's services
//! ```
//! Tools are added, replaced and removed while the server runs; a turn keeps the snapshot that it began with. A removed tool
//! that the conversation names stays declared, since some providers refuse calls of undeclared tools.
//!
//! | module | holds |
//! |---|---|
//! | `rules` | rules for every call of a tool |
//! | `subject` | the part of a call that permission rules look at |
//! | `typed` | tools whose arguments are a type: its doc comments are what the model reads |
//! | `registry` | all tools of the server, and the sources of those that depend on the user |
//! | `toolbox` | the tools of a turn |
//! | [`deferred`] | tools that are declared to a model only after it found them |
//! | `context`, `call_key` | the context of a call, and its identifier |
//! | `outcome` | a call's result, or its failure |
//! | `proposal` | the user's question, and the content of its card |
//! | `question` | a question that a running call asks |
//! | [`look`] | determining what a call would do before its user is asked |
//! | [`image`] | images that a provider accepts |
//! | [`path`], [`visible`] | paths as a model writes them; text made safe to show to people |

mod call_key;
mod context;
pub mod deferred;
pub mod image;
pub mod look;
mod outcome;
pub mod path;
mod proposal;
mod question;
mod registry;
mod rules;
mod subject;
mod toolbox;
mod typed;
pub mod visible;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::approval::Access;
use crate::limits::TOOL_HINT_CHARS;
pub use call_key::CallKey;
pub use context::{
    AgentTurn, DelegationRequest, Host, Program, SampleRequest, Sampled, ToolCaller, ToolContext,
};
pub use look::{Bound, Ground, Looked, words_of};
pub use outcome::{Failure, FileBytes, FileSeen, ForPrograms, Outcome, SubAgentState, TurnCost};
pub use proposal::{CardData, Proposal, ProposalPart, ProposalPlace, TodoItem};
pub use question::{Phrase, Question};
pub use registry::{Registry, ToolSource};
pub use rules::{Beside, ForSubAgents, Offered, Rules};
pub use subject::Subject;
pub use toolbox::{Toolbox, kept};
pub use typed::schema_of;
pub use typed::{Typed, TypedTool};

/// Called with a tool's output while it is written.
pub type Live<'a> = &'a mut (dyn FnMut(&str) + Send);

/// A tool that models may call.
pub trait Tool: Send + Sync + 'static {
    /// The name by which models call the tool: `[a-zA-Z0-9_-]{1,64}`.
    fn name(&self) -> &str;

    /// A description for models: what the tool does and when to use it.
    fn description(&self) -> &str;

    /// The JSON schema of the arguments, an object; the same bytes each time.
    fn parameters(&self) -> Value;

    /// The rules that apply to every call of the tool.
    fn rules(&self) -> Rules;

    /// The JSON schema of the data that programs get from the tool, an object; `None` if they only get text.
    fn output_schema(&self) -> Option<Value> {
        None
    }

    /// Parses the arguments of a call.
    ///
    /// Fails with a text for the model that names the error.
    fn understand(&self, arguments: Map<String, Value>) -> Result<Box<dyn Call>, String>;

    /// Returns a version of the tool for an agent that has only the tools whose names `holds` accepts; `None` if this tool does not
    /// mention other tools. If a person chose those tools (`is_chosen`), the version mentions nothing else, not even services whose
    /// tools are not known.
    fn within(&self, _holds: &dyn Fn(&str) -> bool, _is_chosen: bool) -> Option<Arc<dyn Tool>> {
        None
    }
}

/// One call of a tool, with parsed arguments.
pub trait Call: Send + Sync {
    /// This call's access to the place; no more than the tool's rules state.
    fn access(&self) -> Access;

    /// The user account of the machine that the call names to run as.
    fn run_as(&self) -> Option<&str> {
        None
    }

    /// The call's subject, for people.
    fn hint(&self) -> &str;

    /// The call's subject, for permission rules.
    fn subject(&self) -> Subject<'_> {
        Subject::Nothing
    }

    /// Determines what the call would do, without doing it: the basis of the question to the user. The ground is `None` if no machine can be reached.
    ///
    /// Fails as [`Call::run`] does, if the call would fail anyway.
    fn look<'a>(&'a self, ground: Option<&'a Ground>) -> BoxFuture<'a, Result<Looked, Failure>>;

    /// Carries the call out; `live` is called with its output while it is written.
    ///
    /// Fails with [`Failure::Message`] or [`Failure::Refused`] for errors that the model gets, otherwise if the turn cannot continue.
    fn run<'a>(
        &'a self,
        context: &'a ToolContext<'_>,
        live: Live<'a>,
    ) -> BoxFuture<'a, Result<Outcome, Failure>>;
}

/// A parsed call of a tool, with the tool's rules.
pub struct Understood {
    rules: Rules,
    call: Box<dyn Call>,
}

impl Understood {
    /// The rules of the call's tool.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// True if the call is one of a sub-agent.
    pub fn is_sub_agent(&self) -> bool {
        self.rules.beside == Beside::SubAgents
    }

    /// The call's access to the place it works in.
    pub fn access(&self) -> Access {
        self.call.access()
    }

    /// The user account of the machine that the call names to run as.
    pub fn run_as(&self) -> Option<&str> {
        self.call.run_as()
    }

    /// The call's subject, for permission rules.
    pub fn subject(&self) -> Subject<'_> {
        self.call.subject()
    }

    /// Determines what the call would do; see [`Call::look`].
    ///
    /// Fails with a text for the model if the call would fail anyway.
    pub async fn look(&self, ground: Option<&Ground>) -> Result<Looked, Failure> {
        self.call.look(ground).await
    }

    /// The call's subject, in a few words for people.
    pub fn hint(&self) -> String {
        shortened(self.call.hint())
    }

    /// Carries the call out; `live` is called with a command's output while it is written.
    ///
    /// Fails only if the turn cannot continue.
    pub async fn run(&self, context: &ToolContext<'_>, live: Live<'_>) -> Result<Outcome, Failure> {
        match self.call.run(context, live).await {
            Err(Failure::Message(text) | Failure::Refused { text, .. }) => Ok(Outcome::failed(&text)),
            done => done,
        }
    }
}

/// A hint, shortened to the length that people are shown.
pub fn shortened(hint: &str) -> String {
    visible::whole(&hint.chars().take(TOOL_HINT_CHARS).collect::<String>())
}
