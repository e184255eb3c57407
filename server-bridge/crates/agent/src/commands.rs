//! Slash commands of extensions, such as the prompts of a user's MCP servers: each stands for a text that the model answers.

use std::sync::{Arc, PoisonError, RwLock};

use futures_util::future::{BoxFuture, join_all};
use records::{ChatId, User};

/// A slash command of an extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtensionCommand {
    /// The command's name, without the slash.
    pub word: String,
    /// The command's syntax: `/word ARGUMENT [ARGUMENT]`.
    pub usage: String,
    /// A description in one line.
    pub about: String,
}

/// A source of slash commands that depend on the user.
pub trait CommandSource: Send + Sync {
    /// The commands of a user: in a chat of theirs, or on the machine that they use. No process is started to list them.
    fn commands<'a>(
        &'a self,
        user: &'a User,
        chat: Option<&'a ChatId>,
    ) -> BoxFuture<'a, Vec<ExtensionCommand>>;

    /// The text that a command stands for; `None` if the command is not this source's.
    ///
    /// Fails with the reason in words.
    fn text<'a>(
        &'a self,
        user: &'a User,
        chat: &'a ChatId,
        word: &'a str,
        arguments: &'a str,
    ) -> BoxFuture<'a, Option<Result<String, String>>>;

    /// Suggestions for the last of the arguments typed so far; empty if there are none.
    fn complete<'a>(
        &'a self,
        user: &'a User,
        chat: &'a ChatId,
        word: &'a str,
        arguments: &'a str,
    ) -> BoxFuture<'a, Vec<String>>;
}

/// All sources of slash commands.
#[derive(Default)]
pub struct CommandSources(RwLock<Arc<[Arc<dyn CommandSource>]>>);

impl CommandSources {
    /// Adds a source. If two sources have the same command, that of the source added first is used.
    pub fn add(&self, source: impl CommandSource + 'static) {
        let mut sources = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *sources = sources.iter().cloned().chain([Arc::new(source) as Arc<dyn CommandSource>]).collect();
    }

    fn all(&self) -> Arc<[Arc<dyn CommandSource>]> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The commands of all sources for a user.
    pub async fn commands(&self, user: &User, chat: Option<&ChatId>) -> Vec<ExtensionCommand> {
        let sources = self.all();
        let found = join_all(sources.iter().map(|source| source.commands(user, chat))).await;
        let mut commands: Vec<ExtensionCommand> = Vec::new();
        for command in found.into_iter().flatten() {
            if !commands.iter().any(|known| known.word == command.word) {
                commands.push(command);
            }
        }
        commands
    }

    /// The text that a command stands for; `None` if no source has it.
    ///
    /// Fails with the reason in words.
    pub async fn text(
        &self,
        user: &User,
        chat: &ChatId,
        word: &str,
        arguments: &str,
    ) -> Option<Result<String, String>> {
        for source in self.all().iter() {
            if let Some(text) = source.text(user, chat, word, arguments).await {
                return Some(text);
            }
        }
        None
    }

    /// Suggestions for the last argument of a command.
    pub async fn complete(&self, user: &User, chat: &ChatId, word: &str, arguments: &str) -> Vec<String> {
        let sources = self.all();
        let found = join_all(sources.iter().map(|source| source.complete(user, chat, word, arguments))).await;
        found.into_iter().flatten().collect()
    }
}
