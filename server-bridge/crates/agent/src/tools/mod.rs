//! What a model may do: one file per tool.
//!
//! Everything is done through the sandbox handle, beneath the workspace of the place that the chat works in. A new tool: a
//! file here with its arguments (their doc comments are what the model reads), and a variant of [`Call`].

mod cd;
mod file_create;
mod file_replace;
mod glob;
mod grep;
mod path;
mod read;
mod recall;
mod shell;
mod tasks;

use std::sync::Arc;

use llm::{Tool, ToolCall};
use sandbox::{RouteError, Sandbox, SandboxError, Wish};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use store::ChatId;
use tokio_util::sync::CancellationToken;

use crate::approval::Access;
use crate::limits::TOOL_HINT_CHARS;
use crate::place::sandbox_user;
use crate::service::Inner;

/// Where a tool works, and for whom.
pub(crate) struct Workshop<'a> {
    pub(crate) service: &'a Arc<Inner>,
    pub(crate) user: &'a store::User,
    pub(crate) chat: &'a ChatId,
    /// Where the turn works; fixed at its beginning.
    pub(crate) wish: &'a Wish,
    /// Its user wants it to stop.
    pub(crate) cancelled: &'a CancellationToken,
    /// Whether nothing may be changed.
    pub(crate) is_plan: bool,
}

/// A call of a tool, understood.
#[derive(Debug)]
pub(crate) enum Call {
    Shell(shell::Arguments),
    Read(read::Arguments),
    FileCreate(file_create::Arguments),
    FileReplace(file_replace::Arguments),
    Glob(glob::Arguments),
    Grep(grep::Arguments),
    Cd(cd::Arguments),
    TaskStatus(tasks::Status),
    TaskRead(tasks::Read),
    TaskKill(tasks::Kill),
    OffloadRecall(recall::Arguments),
}

/// What a tool came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) text: String,
    pub(crate) is_error: bool,
    /// Whether it was not allowed.
    pub(crate) is_denied: bool,
    /// Whether the text may be put aside when it is long: not what was asked for in parts.
    pub(crate) may_be_offloaded: bool,
}

/// Why a tool did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The model can do something about it.
    #[error("{0}")]
    Told(String),
    /// The place is away: nothing more can be done in this turn.
    #[error("{0}")]
    Away(String),
    /// The server cannot go on.
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl From<SandboxError> for Failure {
    fn from(error: SandboxError) -> Self {
        match error {
            SandboxError::Offline { .. } | SandboxError::Lost { .. } => Self::Away(error.to_string()),
            error => Self::Told(error.to_string()),
        }
    }
}

impl From<RouteError> for Failure {
    fn from(error: RouteError) -> Self {
        Self::Away(error.to_string())
    }
}

impl Workshop<'_> {
    /// A fresh handle.
    async fn sandbox(&self) -> Result<Sandbox, Failure> {
        Ok(self.service.router.for_user(&sandbox_user(self.user), self.wish).await?)
    }

    /// Where a path of the model's leads, from the workspace: relative ones begin where the chat is.
    async fn path(&self, path: &str) -> Result<String, Failure> {
        Ok(path::join(&self.service.store.chat_cwd(self.user.id, self.chat).await?, path))
    }
}

impl Call {
    /// Understands a call.
    ///
    /// Fails with what the model did wrong, in words for the model.
    pub(crate) fn parse(call: &ToolCall) -> Result<Self, String> {
        Ok(match call.name.as_str() {
            "Shell" => Self::Shell(arguments(call)?),
            "Read" => Self::Read(arguments(call)?),
            "FileCreate" => Self::FileCreate(arguments(call)?),
            "FileReplace" => Self::FileReplace(arguments(call)?),
            "Glob" => Self::Glob(arguments(call)?),
            "Grep" => Self::Grep(arguments(call)?),
            "Cd" => Self::Cd(arguments(call)?),
            "task_status" => Self::TaskStatus(arguments(call)?),
            "task_read" => Self::TaskRead(arguments(call)?),
            "task_kill" => Self::TaskKill(arguments(call)?),
            "offload_recall" => Self::OffloadRecall(arguments(call)?),
            name => {
                let known: Vec<String> = catalogue().into_iter().map(|tool| tool.name).collect();
                return Err(format!("there is no tool {name:?}; there are {}", known.join(", ")));
            }
        })
    }

    /// Whether it changes nothing, so that others may run beside it.
    pub(crate) fn is_read_only(&self) -> bool {
        match self {
            Self::Read(_) | Self::Glob(_) | Self::Grep(_) | Self::OffloadRecall(_) => true,
            Self::TaskStatus(_) | Self::TaskRead(_) => true,
            Self::Shell(_) | Self::FileCreate(_) | Self::FileReplace(_) | Self::Cd(_) => false,
            Self::TaskKill(_) => false,
        }
    }

    /// What it does to the place it works in.
    pub(crate) fn access(&self) -> Access {
        match self {
            Self::Read(_) | Self::Glob(_) | Self::Grep(_) | Self::OffloadRecall(_) => Access::Read,
            Self::TaskStatus(_) | Self::TaskRead(_) | Self::Cd(_) => Access::Read,
            Self::FileCreate(_) | Self::FileReplace(_) => Access::Edit,
            Self::Shell(_) => Access::Run,
            Self::TaskKill(_) => Access::End,
        }
    }

    /// All that a user has to know before they allow it.
    pub(crate) fn detail(&self) -> String {
        match self {
            Self::Shell(arguments) => arguments.command.clone(),
            Self::FileCreate(arguments) => arguments.detail(),
            Self::FileReplace(arguments) => arguments.detail(),
            Self::Read(_) | Self::Glob(_) | Self::Grep(_) | Self::Cd(_) | Self::OffloadRecall(_) => {
                self.hint()
            }
            Self::TaskStatus(_) | Self::TaskRead(_) | Self::TaskKill(_) => self.hint(),
        }
    }

    /// What is allowed for good where a user says so: this very command, or every change of a file.
    pub(crate) fn subject(&self) -> &str {
        match self {
            Self::Shell(arguments) => &arguments.command,
            Self::TaskKill(arguments) => &arguments.id,
            Self::Read(_) | Self::Glob(_) | Self::Grep(_) | Self::OffloadRecall(_) | Self::Cd(_) => "",
            Self::FileCreate(_) | Self::FileReplace(_) | Self::TaskStatus(_) | Self::TaskRead(_) => "",
        }
    }

    /// What it is about, in a few words for people.
    pub(crate) fn hint(&self) -> String {
        let hint = match self {
            Self::Shell(arguments) => &arguments.command,
            Self::Read(arguments) => &arguments.path,
            Self::FileCreate(arguments) => &arguments.path,
            Self::FileReplace(arguments) => &arguments.path,
            Self::Glob(arguments) => &arguments.pattern,
            Self::Grep(arguments) => &arguments.pattern,
            Self::Cd(arguments) => &arguments.path,
            Self::TaskStatus(arguments) => arguments.id.as_deref().unwrap_or_default(),
            Self::TaskRead(arguments) => &arguments.id,
            Self::TaskKill(arguments) => &arguments.id,
            Self::OffloadRecall(arguments) => &arguments.id,
        };
        hint.chars().take(TOOL_HINT_CHARS).collect()
    }

    /// Does it; `live` is told what a command writes, as it does.
    ///
    /// Fails only where the turn cannot go on.
    pub(crate) async fn run(
        &self,
        workshop: &Workshop<'_>,
        live: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Outcome, Failure> {
        let done = match self {
            Self::Shell(arguments) => shell::run(arguments, workshop, live).await,
            Self::Read(arguments) => read::run(arguments, workshop).await,
            Self::FileCreate(arguments) => file_create::run(arguments, workshop).await,
            Self::FileReplace(arguments) => file_replace::run(arguments, workshop).await,
            Self::Glob(arguments) => glob::run(arguments, workshop).await,
            Self::Grep(arguments) => grep::run(arguments, workshop).await,
            Self::Cd(arguments) => cd::run(arguments, workshop).await,
            Self::TaskStatus(arguments) => tasks::status(arguments, workshop).await,
            Self::TaskRead(arguments) => tasks::read(arguments, workshop).await,
            Self::TaskKill(arguments) => tasks::kill(arguments, workshop).await,
            Self::OffloadRecall(arguments) => recall::run(arguments, workshop).await,
        };
        match done {
            Err(Failure::Told(text)) => Ok(Outcome::failed(&text)),
            done => done,
        }
    }
}

impl Outcome {
    fn done(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: false, is_denied: false, may_be_offloaded: true }
    }

    /// One that is a part of something longer already.
    fn part(text: impl Into<String>) -> Self {
        Self { may_be_offloaded: false, ..Self::done(text) }
    }

    /// A tool that was not allowed to do it.
    pub(crate) fn denied(why: &str) -> Self {
        let text = format!(
            "{why}. Do not reach the same in another way; say what you would do, or ask what the user wants."
        );
        Self { is_error: true, is_denied: true, ..Self::done(text) }
    }

    /// A tool that could not do its work.
    pub(crate) fn failed(text: &str) -> Self {
        let text = format!("Error: {text}\nPlease fix the issue and try again.");
        Self { is_error: true, ..Self::done(text) }
    }
}

fn arguments<A: DeserializeOwned>(call: &ToolCall) -> Result<A, String> {
    let arguments = call.parse().map_err(|bad| bad.to_string())?;
    serde_json::from_value(arguments.into()).map_err(|error| format!("the arguments do not fit: {error}"))
}

/// All tools, as a model is told of them. Always the same bytes.
pub(crate) fn catalogue() -> Vec<Tool> {
    vec![
        tool::<shell::Arguments>("Shell", shell::DESCRIPTION),
        tool::<read::Arguments>("Read", read::DESCRIPTION),
        tool::<file_create::Arguments>("FileCreate", file_create::DESCRIPTION),
        tool::<file_replace::Arguments>("FileReplace", file_replace::DESCRIPTION),
        tool::<glob::Arguments>("Glob", glob::DESCRIPTION),
        tool::<grep::Arguments>("Grep", grep::DESCRIPTION),
        tool::<cd::Arguments>("Cd", cd::DESCRIPTION),
        tool::<tasks::Status>("task_status", tasks::STATUS),
        tool::<tasks::Read>("task_read", tasks::READ),
        tool::<tasks::Kill>("task_kill", tasks::KILL),
        tool::<recall::Arguments>("offload_recall", recall::DESCRIPTION),
    ]
}

fn tool<A: JsonSchema>(name: &str, description: &str) -> Tool {
    let mut settings = schemars::generate::SchemaSettings::draft2020_12();
    (settings.meta_schema, settings.inline_subschemas) = (None, true);
    let mut parameters = settings.into_generator().into_root_schema_for::<A>().to_value();
    if let Some(schema) = parameters.as_object_mut() {
        // The type's name and its own words are of no use to a model.
        schema.remove("title");
        schema.remove("description");
        // Some providers refuse an object without it.
        schema.entry("properties").or_insert_with(|| serde_json::json!({}));
    }
    Tool { name: name.to_owned(), description: description.to_owned(), parameters }
}

#[cfg(test)]
mod tests;
