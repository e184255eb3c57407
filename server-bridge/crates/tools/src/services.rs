//! The services that the server's own tools use.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use agent::library::Library;
use agent::tool::{Failure, ToolCaller, ToolContext, path, visible};
use agent::{PortError, PortResult};
use api::tui::TuiAction;
use execs::{Ledger, Recorded};
use futures_util::future::BoxFuture;
use memory::Meaning;
use sandbox::{Present, Sandbox, SandboxError, SandboxRouter};
use store::{ChatId, Store, TurnId, User, UserId};

use crate::internet::Internet;

/// The services that the server's own tools use, shared by all of them. Cheap to clone.
#[derive(Clone)]
pub struct Services {
    /// Lists, settings and messages.
    pub store: Store,
    /// The router to the machines.
    pub router: SandboxRouter,
    /// The ledger of every exec of the server.
    pub execs: Ledger,
    /// The access to the internet.
    pub internet: Internet,
    /// The skills and roles that agents can use.
    pub library: Library,
    /// The users' connected clients.
    pub clients: Arc<dyn Clients>,
    /// The terminals in which users write.
    pub terminals: Arc<dyn Terminals>,
    /// The models of chats; set once, when the service that has them is made.
    pub models: Arc<OnceLock<Arc<dyn ModelChoices>>>,
    /// Finds memories by their meaning.
    pub meaning: Meaning,
}

/// The models that answer in chats.
pub trait ModelChoices: Send + Sync {
    /// A description of the model that answers in a user's chat.
    ///
    /// Fails with the reason in words.
    fn of_chat<'a>(&'a self, user: &'a User, chat: &'a ChatId) -> BoxFuture<'a, Result<String, String>>;

    /// Chooses a model for a user's chat by a subscription's name, a tier or both; with `None` the chat follows the user's default.
    ///
    /// Fails with the reason in words.
    fn choose<'a>(
        &'a self,
        user: &'a User,
        chat: &'a ChatId,
        choice: Option<&'a str>,
    ) -> BoxFuture<'a, Result<(), String>>;
}

/// The users' clients, for changes that tools make to what they show.
pub trait Clients: Send + Sync {
    /// Informs a user's clients of their new active place: a runner's name, `__docker__` or `none`; with `None` the router
    /// chooses.
    fn active_runner_changed(&self, user: UserId, choice: Option<&str>);

    /// Sends a user's clients the message that shows an exec, if recording the exec's end changed one.
    fn exec_ended(&self, user: UserId, recorded: &Recorded);
}

/// The terminals in which users write their messages.
pub trait Terminals: Send + Sync {
    /// Asks the terminal in which the message of a turn was written for an action, and waits for its answer for a limited time.
    fn control(&self, turn: TurnId, action: TuiAction) -> BoxFuture<'_, Controlled>;
}

/// The result of asking a terminal for an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Controlled {
    /// The terminal carried it out; its words.
    Done(String),
    /// The terminal did not; the reason in its words.
    Refused(String),
    /// The turn's message was not written in a terminal, or the server was restarted since.
    NoTerminal,
    /// The turn has asked its terminal too often.
    TooOften,
    /// The terminal did not take the action in time, and can no longer take it.
    NoAnswer {
        /// How long the server waited, in seconds.
        after_s: u64,
    },
    /// The terminal took the action, and did not report its end in time.
    Unknown,
}

/// Converts a store's result to a port's: a missing object is distinguished from other failures.
pub trait Ported<T> {
    /// The same result with the engine's error type.
    ///
    /// # Errors
    /// [`PortError`], converted from the store's error.
    fn ported(self) -> PortResult<T>;
}

impl<T> Ported<T> for store::Result<T> {
    fn ported(self) -> PortResult<T> {
        self.map_err(ported)
    }
}

/// Converts a store's error for the engine.
pub fn ported(error: store::Error) -> PortError {
    match error {
        store::Error::NotFound { .. } => PortError::Gone(error.to_string()),
        error if error.is_passing() => PortError::Away(error.shown()),
        error => PortError::Failed(error.to_string()),
    }
}

/// Converts an error of an exec to a call's failure; programs get the error's name.
pub(crate) fn exec_failure(error: execs::Error) -> Failure {
    match (error.kind(), error) {
        ("internal", error) => PortError::Failed(error.to_string()).into(),
        (kind, error) => Failure::Refused { kind, text: error.message() },
    }
}

/// One call of one of the server's own tools: its context, and the services.
pub(crate) struct Work<'a> {
    pub(crate) services: &'a Services,
    pub(crate) context: &'a ToolContext<'a>,
}

impl<'a> Deref for Work<'a> {
    type Target = ToolContext<'a>;

    fn deref(&self) -> &Self::Target {
        self.context
    }
}

/// The note about files that were found but are not shown; empty if there are none.
pub(crate) fn left_out_words(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => "\n(one file is left out: a rule keeps it from being read)".to_owned(),
        count => format!("\n({count} files are left out: rules keep them from being read)"),
    }
}

impl Work<'_> {
    /// The only chat whose messages the caller may see; `None` if it may see all chats of its user. An agent of a group sees only its own
    /// chat, because other people ask it and read its answers.
    pub(crate) async fn only_chat(&self) -> Result<Option<&ChatId>, Failure> {
        let ToolCaller::Agent(turn) = self.caller else { return Ok(None) };
        let is_of_group = self.services.store.group_agent_in(turn.root).await.ported()?.is_some();
        Ok(is_of_group.then_some(turn.root))
    }

    /// Resolves the model's path, relative to the workspace: a relative path begins in the chat's directory.
    ///
    /// A program's path begins at the workspace; keeping it valid is the program's own responsibility.
    pub(crate) async fn path(&self, path: &str) -> Result<String, Failure> {
        let ToolCaller::Agent(turn) = self.caller else { return Ok(path.to_owned()) };
        path::readable(path)?;
        Ok(path::join(&self.services.store.chat_cwd(self.user.id, turn.chat).await.ported()?, path))
    }

    /// For each path below `base` that the machine found: true if the caller may not read it.
    pub(crate) async fn hidden<'p>(
        &self,
        base: &str,
        paths: impl Iterator<Item = &'p [u8]>,
    ) -> Result<Vec<bool>, Failure> {
        // Paths are compared as text, so an invalid path is compared after lossy conversion.
        let paths: Vec<String> = paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        self.context.host.hidden(base, &paths).await
    }

    /// A machine's path for its caller: a program gets it unchanged; people and models get it with invisible characters written out.
    pub(crate) fn shown(&self, path: &[u8]) -> String {
        match self.caller {
            ToolCaller::Agent(_) => visible::path(path),
            ToolCaller::Program(_) => String::from_utf8_lossy(path).into_owned(),
        }
    }

    /// The file that the model's path leads to, relative to the workspace, and the state it must have: the allowed one, if the user was asked.
    pub(crate) async fn target(&self, path: &str) -> Result<(String, Option<Present>), Failure> {
        let Some(file) = &self.bound.file else { return Ok((self.path(path).await?, None)) };
        if file.is_resolved {
            return Ok((file.path.clone(), Some(file.present)));
        }
        // An older runner cannot bind the change to the allowed state, so that is checked again here.
        let found = self.sandbox().await?.stat(file.path.as_bytes()).await;
        let is_there = match found {
            Ok(_) => true,
            Err(SandboxError::Remote { kind: sandbox::ErrorKind::NotFound, .. }) => false,
            Err(error) => return Err(error.into()),
        };
        if is_there == (file.present == Present::Nothing) {
            let what = if is_there { "was created" } else { "was removed" };
            let path = visible::line(&file.path);
            return Err(Failure::Message(format!(
                "{path} {what} since this was allowed; nothing was written: check it again"
            )));
        }
        Ok((file.path.clone(), None))
    }

    /// The directory that a command begins in; empty for the workspace.
    ///
    /// Fails if it is not the directory that was allowed.
    pub(crate) async fn directory(&self, sandbox: &Sandbox) -> Result<String, Failure> {
        let cwd = self.services.store.chat_cwd(self.user.id, self.agent()?.chat).await.ported()?;
        let Some(allowed) = &self.bound.directory else { return Ok(cwd) };
        let now = sandbox.resolve(path::join(&cwd, ".").as_bytes()).await?;
        let now = now.map_or_else(|| path::join(&cwd, ".").into_bytes(), |now| now.path.as_bytes().to_vec());
        if now != allowed.as_bytes() {
            return Err(Failure::Message(
                "the directory now leads somewhere else than when this was allowed; nothing was run: check the current directory"
                    .to_owned(),
            ));
        }
        Ok(allowed.clone())
    }
}
