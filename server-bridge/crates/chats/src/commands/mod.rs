//! Parsing a message, and the commands, with one file each.
//!
//! To add a command, add a file here with its [`Command`], and a row to [`COMMANDS`].

mod agent;
mod approval;
mod bang;
mod cancel;
mod compress;
mod context;
mod fork;
mod help;
mod memory;
mod model;
mod new;
mod plain;
pub(crate) mod runner;
mod tasks;
pub(crate) mod trust;
mod undo;
mod usage;

use std::sync::Arc;

use api::tui::ClientId;
use futures_util::future::BoxFuture;
use store::{Chat, MessageId, MessageRole};

use crate::house::House;
use crate::{Posted, Result};

/// The context of a command: its user, its chat and the message.
pub(crate) struct Context<'a> {
    pub(crate) service: &'a Arc<House>,
    pub(crate) user: &'a store::User,
    pub(crate) chat: Chat,
    /// The user's message.
    pub(crate) said: MessageId,
    /// The terminal in which it was written, if it was.
    pub(crate) client: Option<ClientId>,
}

/// All slash commands, in the order of `/help`.
const COMMANDS: &[Command] = &[
    runner::COMMAND,
    approval::COMMAND,
    model::COMMAND,
    model::LIST,
    usage::COMMAND,
    memory::COMMAND,
    cancel::COMMAND,
    tasks::COMMAND,
    agent::COMMAND,
    trust::COMMAND,
    undo::UNDO,
    undo::REWIND,
    fork::COMMAND,
    compress::COMMAND,
    context::COMMAND,
    new::COMMAND,
    help::COMMAND,
];

/// A slash command, which the server carries out itself.
#[derive(Debug)]
pub(crate) struct Command {
    /// The command's name, without the slash.
    word: &'static str,
    /// The command's forms and effects: lines of `/help`.
    usage: &'static [(&'static str, &'static str)],
    /// Carries the command out, with the argument after the name, if any.
    run: for<'a> fn(&'a Context<'a>, Option<&'a str>) -> BoxFuture<'a, Result<Posted>>,
}

impl PartialEq for Command {
    fn eq(&self, other: &Self) -> bool {
        self.word == other.word
    }
}

/// The form and effect of every slash command, in the order of `/help`.
pub fn command_usages() -> impl Iterator<Item = (&'static str, &'static str)> {
    COMMANDS.iter().flat_map(|command| command.usage).copied()
}

/// A parsed message.
#[derive(Debug, PartialEq)]
pub(crate) enum Input<'a> {
    /// `!command`: a command to run in the sandbox.
    Bang(&'a str),
    /// A command of the server, and its argument.
    Command(&'static Command, Option<&'a str>),
    /// A slash command of an extension, or an unknown one: its name, and its argument.
    Unknown(&'a str, Option<&'a str>),
    /// Text for a model to answer.
    Plain(&'a str),
}

impl<'a> Input<'a> {
    /// Parses a text. Two slashes at its beginning escape a literal one.
    pub(crate) fn parse(text: &'a str) -> Self {
        let trimmed = text.trim();
        if let Some(command) = trimmed.strip_prefix('!') {
            return Self::Bang(command.trim());
        }
        let Some(rest) = trimmed.strip_prefix('/') else { return Self::Plain(trimmed) };
        if rest.starts_with('/') {
            return Self::Plain(rest);
        }
        let (word, argument) = match rest.split_once(char::is_whitespace) {
            Some((word, argument)) => (word, Some(argument.trim()).filter(|argument| !argument.is_empty())),
            None => (rest, None),
        };
        match COMMANDS.iter().find(|command| command.word == word) {
            Some(command) => Self::Command(command, argument),
            None => Self::Unknown(word, argument),
        }
    }

    /// The form in which the user's message `text` is stored.
    pub(crate) fn shown<'b>(&self, text: &'b str) -> &'b str
    where
        'a: 'b,
    {
        match self {
            Self::Plain(plain) => plain,
            Self::Bang(_) | Self::Command(..) | Self::Unknown(..) => text.trim_end(),
        }
    }
}

impl Context<'_> {
    /// Answers with a notice from the server.
    pub(crate) async fn notice(&self, text: &str) -> Result<Posted> {
        let message = self.service.say(self.user.id, &self.chat.id, MessageRole::Notice, text).await?;
        Ok(Posted { messages: vec![message], ..Posted::default() })
    }

    /// Answers with a notice that is already in the user's language, as [`Context::in_words`] returns it: for texts that quote the user
    /// or have columns.
    pub(crate) async fn notice_as_it_is(&self, text: &str) -> Result<Posted> {
        let (user, role) = (self.user.id, MessageRole::Notice);
        let message = self.service.say_as_it_is(user, &self.chat.id, role, text).await?;
        Ok(Posted { messages: vec![message], ..Posted::default() })
    }

    /// Translates one of the server's texts into the user's language.
    pub(crate) fn in_words(&self, text: &str) -> String {
        self.service.in_words_of(self.user.id, text)
    }

    /// Answers with a notice that the message had no effect; `kind` is the reason, for programs.
    pub(crate) async fn refusal(&self, kind: &'static str, text: &str) -> Result<Posted> {
        Ok(Posted { error: Some(kind), ..self.notice(text).await? })
    }
}

/// Carries out the request in a message.
pub(crate) async fn dispatch(context: Context<'_>, input: Input<'_>) -> Result<Posted> {
    match input {
        Input::Plain(text) => plain::run(&context, text).await,
        Input::Unknown(word, _) => help::unknown(&context, word).await,
        Input::Bang(command) => bang::run(&context, command).await,
        Input::Command(command, argument) => (command.run)(&context, argument).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_told_apart() {
        let command = |word: &str, argument| {
            Input::Command(COMMANDS.iter().find(|command| command.word == word).unwrap(), argument)
        };
        for (text, expected) in [
            ("hello", Input::Plain("hello")),
            ("//etc/hosts is what?", Input::Plain("/etc/hosts is what?")),
            ("!make test ", Input::Bang("make test")),
            ("  ! ls", Input::Bang("ls")),
            ("!", Input::Bang("")),
            ("/help", command("help", None)),
            ("/new please", command("new", Some("please"))),
            ("/runner", command("runner", None)),
            ("/runner  laptop ", command("runner", Some("laptop"))),
            ("/approval full", command("approval", Some("full"))),
            ("/cancel", command("cancel", None)),
            ("/Help", Input::Unknown("Help", None)),
            ("/git:review  main ", Input::Unknown("git:review", Some("main"))),
            ("/", Input::Unknown("", None)),
        ] {
            assert_eq!(Input::parse(text), expected, "{text:?}");
        }
    }

    #[test]
    fn every_command_has_a_word_of_its_own_and_says_how_it_is_used() {
        for (at, command) in COMMANDS.iter().enumerate() {
            assert!(COMMANDS[..at].iter().all(|other| other != command), "{}", command.word);
            for (usage, about) in command.usage {
                assert!(usage.starts_with(&format!("/{}", command.word)) && !about.is_empty(), "{usage}");
            }
            assert!(!command.usage.is_empty(), "{}", command.word);
        }
    }
}
