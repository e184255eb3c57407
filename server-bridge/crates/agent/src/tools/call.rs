//! What a tool is, the table of all of them, and a call of one that was understood.

use std::fmt::Debug;

use futures_util::future::BoxFuture;
use llm::ToolCall;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::{Failure, Outcome, Workshop};
use super::{
    cd, context_edit, file_create, file_replace, glob, grep, read, recall, recall_masked, shell, tasks,
};
use crate::approval::Access;
use crate::limits::TOOL_HINT_CHARS;

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
    /// Whether it sees a cancel by itself and tidies up; others are dropped.
    const SEES_CANCEL: bool = false;

    /// What it is about, for people.
    fn hint(&self) -> &str;

    /// All that a user has to know before they allow it.
    fn detail(&self) -> String {
        self.hint().to_owned()
    }

    /// What is allowed for good where a user says so: this very thing, or, where it is empty, whatever the tool is asked for.
    fn subject(&self) -> &str {
        ""
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
const TOOLS: &[Entry] = &[
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
    Entry::of::<recall_masked::Arguments>(),
    Entry::of::<context_edit::Arguments>(),
];

/// A row of the table.
struct Entry {
    name: &'static str,
    describe: fn() -> llm::Tool,
    parse: fn(&ToolCall) -> Result<Call, String>,
}

impl Entry {
    const fn of<T: Tool>() -> Self {
        Self { name: T::NAME, describe: describe::<T>, parse: parse::<T> }
    }
}

/// All tools, as a model is told of them. Always the same bytes.
pub(crate) fn catalogue() -> Vec<llm::Tool> {
    TOOLS.iter().map(|entry| (entry.describe)()).collect()
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
    /// Understands a call.
    ///
    /// Fails with what the model did wrong, in words for the model.
    pub(crate) fn parse(call: &ToolCall) -> Result<Self, String> {
        match TOOLS.iter().find(|entry| entry.name == call.name) {
            Some(entry) => (entry.parse)(call),
            None => {
                let known: Vec<&str> = TOOLS.iter().map(|entry| entry.name).collect();
                Err(format!("there is no tool {:?}; there are {}", call.name, known.join(", ")))
            }
        }
    }

    /// Whether it changes nothing, so that others may run beside it.
    pub(crate) fn is_read_only(&self) -> bool {
        self.0.runs_beside_others()
    }

    /// Whether it sees a cancel by itself.
    pub(crate) fn sees_cancel(&self) -> bool {
        self.0.sees_cancel()
    }

    /// What it does to the place it works in.
    pub(crate) fn access(&self) -> Access {
        self.0.access()
    }

    /// All that a user has to know before they allow it.
    pub(crate) fn detail(&self) -> String {
        self.0.detail()
    }

    /// What is allowed for good where a user says so; see [`Tool::subject`].
    pub(crate) fn subject(&self) -> &str {
        self.0.subject()
    }

    /// What it is about, in a few words for people.
    pub(crate) fn hint(&self) -> String {
        self.0.hint().chars().take(TOOL_HINT_CHARS).collect()
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

/// Any [`Tool`]'s arguments.
trait Known: Debug + Send + Sync {
    fn access(&self) -> Access;
    fn runs_beside_others(&self) -> bool;
    fn sees_cancel(&self) -> bool;
    fn hint(&self) -> &str;
    fn detail(&self) -> String;
    fn subject(&self) -> &str;
    fn run<'a>(
        &'a self,
        workshop: &'a Workshop<'_>,
        live: Live<'a>,
    ) -> BoxFuture<'a, Result<Outcome, Failure>>;
}

impl<T: Tool> Known for T {
    fn access(&self) -> Access {
        T::ACCESS
    }

    fn runs_beside_others(&self) -> bool {
        T::RUNS_BESIDE_OTHERS
    }

    fn sees_cancel(&self) -> bool {
        T::SEES_CANCEL
    }

    fn hint(&self) -> &str {
        Tool::hint(self)
    }

    fn detail(&self) -> String {
        Tool::detail(self)
    }

    fn subject(&self) -> &str {
        Tool::subject(self)
    }

    fn run<'a>(
        &'a self,
        workshop: &'a Workshop<'_>,
        live: Live<'a>,
    ) -> BoxFuture<'a, Result<Outcome, Failure>> {
        Box::pin(Tool::run(self, workshop, live))
    }
}
