//! What a model may do: one file per tool.
//!
//! Files and commands are the sandbox handle's, within the workspace of the place that the chat works in; the internet is
//! `crate::web`'s; lists, settings and what was said are the store's. A new tool: a file here with its arguments (their doc
//! comments are what the model reads) as a [`TypedTool`](crate::tool::TypedTool), and a line of [`add_all`]. One that changes a
//! file does it by `change`, so that it can be taken back.

mod address;
mod ask_user;
mod cd;
mod change;
mod chat_history;
mod config;
mod context_edit;
mod download_file;
mod edit;
mod fetch;
mod file_create;
mod file_replace;
mod glob;
mod grep;
mod image;
mod memory;
mod read;
mod recall;
mod recall_masked;
mod shell;
mod skill;
mod sub_agent;
mod tasks;
mod todo;
mod utc;
mod web_search;

use std::ops::Deref;
use std::sync::Arc;

use sandbox::{Present, Sandbox, SandboxError};

use crate::service::{Home, Inner};
use crate::tool::{Failure, FileSeen, Outcome, Registry, ToolContext, Typed, look, path, visible};
use crate::web::Web;
pub(crate) use read::{hash, whole};
pub(crate) use shell::NAME as COMMANDS;
pub use utc::utc_day;

/// Adds all tools that there are with these ways to the internet, in the order that a model is told of them in.
pub(crate) fn add_all(tools: &Registry, home: &Home, web: &Web) {
    tools.put(Typed::<shell::Arguments>::new(home.clone()));
    tools.put(Typed::<read::Arguments>::new(home.clone()));
    tools.put(Typed::<file_create::Arguments>::new(home.clone()));
    tools.put(Typed::<file_replace::Arguments>::new(home.clone()));
    tools.put(Typed::<glob::Arguments>::new(home.clone()));
    tools.put(Typed::<grep::Arguments>::new(home.clone()));
    tools.put(Typed::<cd::Arguments>::new(home.clone()));
    tools.put(Typed::<tasks::Status>::new(home.clone()));
    tools.put(Typed::<tasks::Read>::new(home.clone()));
    tools.put(Typed::<tasks::Kill>::new(home.clone()));
    tools.put(Typed::<recall::Arguments>::new(home.clone()));
    tools.put(Typed::<todo::Write>::new(home.clone()));
    tools.put(Typed::<todo::List>::new(home.clone()));
    tools.put(Typed::<chat_history::Arguments>::new(home.clone()));
    tools.put(Typed::<ask_user::Arguments>::new(home.clone()));
    tools.put(Typed::<download_file::Arguments>::new(home.clone()));
    if web.fetch.is_some() {
        tools.put(Typed::<fetch::Arguments>::new(home.clone()));
    }
    if web.search.is_some() {
        tools.put(Typed::<web_search::Arguments>::new(home.clone()));
    }
    tools.put(Typed::<config::Arguments>::new(home.clone()));
    tools.put(Typed::<sub_agent::Arguments>::new(home.clone()));
    tools.put(Typed::<skill::Arguments>::new(home.clone()));
    tools.put(Typed::<memory::Write>::new(home.clone()));
    tools.put(Typed::<memory::List>::new(home.clone()));
    tools.put(Typed::<recall_masked::Arguments>::new(home.clone()));
    tools.put(Typed::<context_edit::Arguments>::new(home.clone()));
}

/// The same by themselves: they can be told and understood, and not run.
#[cfg(test)]
pub(crate) fn all(web: &Web) -> crate::tool::Toolbox {
    let tools = Registry::default();
    add_all(&tools, &Home::default(), web);
    tools.snapshot()
}

/// A call's context, and the service that the server's own tools work with.
pub(crate) struct Workshop<'a> {
    pub(crate) service: &'a Arc<Inner>,
    pub(crate) context: &'a ToolContext<'a>,
}

impl<'a> Deref for Workshop<'a> {
    type Target = ToolContext<'a>;

    fn deref(&self) -> &Self::Target {
        self.context
    }
}

impl Workshop<'_> {
    /// Where a path of the model's leads, from the workspace: relative ones begin where the chat is.
    async fn path(&self, path: &str) -> Result<String, Failure> {
        path::readable(path)?;
        Ok(path::join(&self.service.store.chat_cwd(self.user.id, self.chat).await?, path))
    }

    /// The file that a path of the model's leads to, from the workspace, and what has to be there: that which was allowed,
    /// where somebody was asked.
    async fn target(&self, path: &str) -> Result<(String, Option<Present>), Failure> {
        let Some(file) = &self.bound.file else { return Ok((self.path(path).await?, None)) };
        if file.is_resolved {
            return Ok((file.path.clone(), Some(file.present)));
        }
        // An older runner cannot hold the change to what was allowed: that is looked at again.
        let found = self.sandbox().await?.stat(file.path.as_bytes()).await;
        let is_there = match found {
            Ok(_) => true,
            Err(SandboxError::Remote { kind: sandbox::ErrorKind::NotFound, .. }) => false,
            Err(error) => return Err(error.into()),
        };
        if is_there == (file.present == Present::Nothing) {
            let what = if is_there { "was made" } else { "went away" };
            let path = visible::line(&file.path);
            return Err(Failure::Told(format!(
                "{path} {what} since this was allowed; nothing was written: look again"
            )));
        }
        Ok((file.path.clone(), None))
    }

    /// The directory that a command begins in; empty for the workspace.
    ///
    /// Fails where it is another one than somebody allowed.
    async fn directory(&self, sandbox: &Sandbox) -> Result<String, Failure> {
        let cwd = self.service.store.chat_cwd(self.user.id, self.chat).await?;
        let Some(allowed) = &self.bound.directory else { return Ok(cwd) };
        let now = sandbox.resolve(path::join(&cwd, ".").as_bytes()).await?;
        let now = now.map_or_else(|| path::join(&cwd, ".").into_bytes(), |now| now.path.as_bytes().to_vec());
        if now != allowed.as_bytes() {
            return Err(Failure::Told(
                "the directory leads somewhere else than when this was allowed; nothing was run: look where you are"
                    .to_owned(),
            ));
        }
        Ok(allowed.clone())
    }
}

#[cfg(test)]
mod tests;
