//! What a tool is, the table of all of them, and a call of one that was understood.

use std::fmt::Debug;

use futures_util::future::BoxFuture;
use llm::{Assistant, ToolCall};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::look::{Ground, Looked, part};
use super::{Failure, ForSubAgents, Outcome, Toolbox, Workshop, visible};
use super::{
    ask_user, cd, chat_history, config, context_edit, download_file, fetch, file_create, file_replace, glob,
    grep, memory, read, recall, recall_masked, shell, skill, sub_agent, tasks, todo, web_search,
};
use crate::approval::Access;
use crate::limits::{ARGUMENTS_BYTES, TOOL_HINT_CHARS};
use crate::web::Web;

/// Told what a tool writes, as it does.
pub(crate) type Live<'a> = &'a mut (dyn FnMut(&str) + Send);

/// A tool: its arguments as a model writes them, which know what to do. Their doc comments are what the model reads.
pub(super) trait Tool: DeserializeOwned + JsonSchema + Debug + Send + Sync + 'static {
    /// What models call it.
    const NAME: &'static str;
    /// What models are told of it.
    const DESCRIPTION: &'static str;
    /// What it does to the place it works in.
    const ACCESS: Access;
    /// Whether others that change nothing may run beside it.
    const RUNS_BESIDE_OTHERS: bool = matches!(Self::ACCESS, Access::Read);
    /// Whether it calls a sub-agent: those may run beside one another.
    const IS_SUB_AGENT: bool = false;
    /// Whether sub-agents get it.
    const FOR_SUB_AGENTS: ForSubAgents = ForSubAgents::Unasked;
    /// Whether it sees a cancel by itself and tidies up; others are dropped.
    const SEES_CANCEL: bool = false;

    /// Whether models are told of it, with these ways to the internet.
    fn is_offered(_web: &Web) -> bool {
        true
    }

    /// What this very call does to the place.
    fn access(&self) -> Access {
        Self::ACCESS
    }

    /// The user of the machine that it names to run as.
    fn run_as(&self) -> Option<&str> {
        None
    }

    /// Whether it waits for its user, so that other answers may go on meanwhile.
    const WAITS_FOR_ITS_USER: bool = false;

    /// What it is about, for people.
    fn hint(&self) -> &str;

    /// Looks at what it would do, and does nothing of it: what its user is asked with. There is no ground where no machine
    /// can be reached.
    ///
    /// Fails as [`Tool::run`] does, where it would fail anyway.
    fn look(&self, ground: Option<&Ground>) -> impl Future<Output = Result<Looked, Failure>> + Send {
        let looked =
            Looked::words(format!("uses {}", Self::NAME), vec![part("about", self.hint())]).at(ground);
        async { Ok(looked) }
    }

    /// Does it.
    ///
    /// Fails as [`Call::run`] does, and with [`Failure::Told`] where the model is to be told what was wrong.
    fn run(
        &self,
        workshop: &Workshop<'_>,
        live: Live<'_>,
    ) -> impl Future<Output = Result<Outcome, Failure>> + Send;
}

/// All tools, in the order that a model is told of them in.
pub(super) const TOOLS: &[Entry] = &[
    Entry::of::<shell::Arguments>(),
    Entry::of::<read::Arguments>(),
    Entry::of::<file_create::Arguments>(),
    Entry::of::<file_replace::Arguments>(),
    Entry::of::<glob::Arguments>(),
    Entry::of::<grep::Arguments>(),
    Entry::of::<cd::Arguments>(),
    Entry::of::<tasks::Status>(),
    Entry::of::<tasks::Read>(),
    Entry::of::<tasks::Kill>(),
    Entry::of::<recall::Arguments>(),
    Entry::of::<todo::Write>(),
    Entry::of::<todo::List>(),
    Entry::of::<chat_history::Arguments>(),
    Entry::of::<ask_user::Arguments>(),
    Entry::of::<download_file::Arguments>(),
    Entry::of::<fetch::Arguments>(),
    Entry::of::<web_search::Arguments>(),
    Entry::of::<config::Arguments>(),
    Entry::of::<sub_agent::Arguments>(),
    Entry::of::<skill::Arguments>(),
    Entry::of::<memory::Write>(),
    Entry::of::<memory::List>(),
    Entry::of::<recall_masked::Arguments>(),
    Entry::of::<context_edit::Arguments>(),
];

/// A row of the table.
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) for_sub_agents: ForSubAgents,
    is_offered: fn(&Web) -> bool,
    describe: fn() -> llm::Tool,
    parse: fn(&ToolCall) -> Result<Call, String>,
}

impl Entry {
    const fn of<T: Tool>() -> Self {
        Self {
            name: T::NAME,
            for_sub_agents: T::FOR_SUB_AGENTS,
            is_offered: T::is_offered,
            describe: describe::<T>,
            parse: parse::<T>,
        }
    }

    pub(super) fn describe(&self) -> llm::Tool {
        (self.describe)()
    }
}

/// All tools that there are with these ways to the internet.
pub(super) fn offered(web: &Web) -> impl Iterator<Item = &'static Entry> {
    TOOLS.iter().filter(move |entry| (entry.is_offered)(web))
}

/// An answer as the conversation keeps it: without arguments that no tool takes, which would fill it for good.
pub(crate) fn kept(mut answer: Assistant) -> Assistant {
    for call in answer.tool_calls.iter_mut().filter(|call| call.arguments.len() > ARGUMENTS_BYTES) {
        let left_out = format!("{} bytes, too long", call.arguments.len());
        call.arguments = serde_json::json!({"left_out": left_out}).to_string();
    }
    answer
}

fn describe<T: Tool>() -> llm::Tool {
    let mut settings = schemars::generate::SchemaSettings::draft2020_12();
    (settings.meta_schema, settings.inline_subschemas) = (None, true);
    let mut parameters = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(schema) = parameters.as_object_mut() {
        // The type's name and its own words are of no use to a model.
        schema.remove("title");
        schema.remove("description");
        // Some providers refuse an object without it.
        schema.entry("properties").or_insert_with(|| serde_json::json!({}));
    }
    llm::Tool { name: T::NAME.to_owned(), description: T::DESCRIPTION.to_owned(), parameters }
}

fn parse<T: Tool>(call: &ToolCall) -> Result<Call, String> {
    let arguments = call.parse().map_err(|bad| bad.to_string())?;
    let known: T = serde_json::from_value(arguments.into())
        .map_err(|error| format!("the arguments do not fit: {error}"))?;
    Ok(Call(Box::new(known)))
}

/// A call of a tool, understood.
#[derive(Debug)]
pub(crate) struct Call(Box<dyn Known>);

impl Call {
    /// Understands a call of one of these tools.
    ///
    /// Fails with what the model did wrong, in words for the model.
    pub(crate) fn parse(call: &ToolCall, tools: &Toolbox) -> Result<Self, String> {
        let bytes = call.arguments.len();
        if bytes > ARGUMENTS_BYTES {
            return Err(format!(
                "the arguments have {bytes} bytes, more than the {ARGUMENTS_BYTES} that a call may have; do it in parts"
            ));
        }
        match TOOLS.iter().find(|entry| entry.name == call.name && tools.holds(entry.name)) {
            Some(entry) => (entry.parse)(call),
            None => Err(format!("there is no tool {:?}; there are {}", call.name, tools.names())),
        }
    }

    /// Whether it changes nothing, so that others may run beside it.
    pub(crate) fn is_read_only(&self) -> bool {
        self.0.runs_beside_others()
    }

    /// Whether it calls a sub-agent.
    pub(crate) fn is_sub_agent(&self) -> bool {
        self.0.is_sub_agent()
    }

    /// Whether it waits for its user.
    pub(crate) fn waits_for_its_user(&self) -> bool {
        self.0.waits_for_its_user()
    }

    /// Whether it sees a cancel by itself.
    pub(crate) fn sees_cancel(&self) -> bool {
        self.0.sees_cancel()
    }

    /// What it does to the place it works in.
    pub(crate) fn access(&self) -> Access {
        self.0.access()
    }

    /// The user of the machine that it names to run as.
    pub(crate) fn run_as(&self) -> Option<&str> {
        self.0.run_as()
    }

    /// Looks at what it would do; see [`Tool::look`].
    ///
    /// Fails with words for the model where it would fail anyway.
    pub(crate) async fn look(&self, ground: Option<&Ground>) -> Result<Looked, Failure> {
        self.0.look(ground).await
    }

    /// What it is about, in a few words for people.
    pub(crate) fn hint(&self) -> String {
        shortened(self.0.hint())
    }

    /// Does it; `live` is told what a command writes, as it does.
    ///
    /// Fails only where the turn cannot go on.
    pub(crate) async fn run(&self, workshop: &Workshop<'_>, live: Live<'_>) -> Result<Outcome, Failure> {
        match self.0.run(workshop, live).await {
            Err(Failure::Told(text)) => Ok(Outcome::failed(&text)),
            done => done,
        }
    }
}

/// As much of a hint as people are shown.
pub(super) fn shortened(hint: &str) -> String {
    visible::whole(&hint.chars().take(TOOL_HINT_CHARS).collect::<String>())
}

/// Any [`Tool`]'s arguments.
trait Known: Debug + Send + Sync {
    fn access(&self) -> Access;
    fn run_as(&self) -> Option<&str>;
    fn runs_beside_others(&self) -> bool;
    fn is_sub_agent(&self) -> bool;
    fn sees_cancel(&self) -> bool;
    fn waits_for_its_user(&self) -> bool;
    fn hint(&self) -> &str;
    fn look<'a>(&'a self, ground: Option<&'a Ground>) -> BoxFuture<'a, Result<Looked, Failure>>;
    fn run<'a>(
        &'a self,
        workshop: &'a Workshop<'_>,
        live: Live<'a>,
    ) -> BoxFuture<'a, Result<Outcome, Failure>>;
}

impl<T: Tool> Known for T {
    fn access(&self) -> Access {
        Tool::access(self)
    }

    fn run_as(&self) -> Option<&str> {
        Tool::run_as(self)
    }

    fn runs_beside_others(&self) -> bool {
        T::RUNS_BESIDE_OTHERS
    }

    fn is_sub_agent(&self) -> bool {
        T::IS_SUB_AGENT
    }

    fn sees_cancel(&self) -> bool {
        T::SEES_CANCEL
    }

    fn waits_for_its_user(&self) -> bool {
        T::WAITS_FOR_ITS_USER
    }

    fn hint(&self) -> &str {
        Tool::hint(self)
    }

    fn look<'a>(&'a self, ground: Option<&'a Ground>) -> BoxFuture<'a, Result<Looked, Failure>> {
        Box::pin(Tool::look(self, ground))
    }

    fn run<'a>(
        &'a self,
        workshop: &'a Workshop<'_>,
        live: Live<'a>,
    ) -> BoxFuture<'a, Result<Outcome, Failure>> {
        Box::pin(Tool::run(self, workshop, live))
    }
}
