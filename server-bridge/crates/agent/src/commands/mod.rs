//! What a text asks for: one file per command.
//!
//! A new command: a file here, a variant of [`Command`] with its word, an arm in [`dispatch`], a line in `help`.

mod approval;
mod bang;
mod cancel;
mod help;
mod new;
mod plain;
mod runner;

use std::sync::Arc;

use store::{Chat, MessageRole};

use crate::service::Inner;
use crate::{Posted, Result};

/// What a command works with: who wrote, and where.
pub(crate) struct Context<'a> {
    pub(crate) service: &'a Arc<Inner>,
    pub(crate) user: &'a store::User,
    pub(crate) chat: Chat,
}

/// A text, parsed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Input<'a> {
    /// A command.
    Command(Command<'a>),
    /// Something that looks like a command and is none: its word.
    Unknown(&'a str),
    /// Something to be answered by a model.
    Plain(&'a str),
}

/// What the server does by itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command<'a> {
    /// `!command`: run it in the sandbox.
    Bang(&'a str),
    /// `/help`.
    Help,
    /// `/new`.
    New,
    /// `/runner [NAME]`.
    Runner(Option<&'a str>),
    /// `/approval [MODE]`.
    Approval(Option<&'a str>),
    /// `/cancel`.
    Cancel,
}

impl<'a> Input<'a> {
    /// Reads a text. Two slashes at its beginning stand for one that is meant as it is.
    pub(crate) fn parse(text: &'a str) -> Self {
        let trimmed = text.trim();
        if let Some(command) = trimmed.strip_prefix('!') {
            return Self::Command(Command::Bang(command.trim()));
        }
        let Some(rest) = trimmed.strip_prefix('/') else { return Self::Plain(trimmed) };
        if rest.starts_with('/') {
            return Self::Plain(rest);
        }
        let (word, argument) = match rest.split_once(char::is_whitespace) {
            Some((word, argument)) => (word, Some(argument.trim()).filter(|argument| !argument.is_empty())),
            None => (rest, None),
        };
        match word {
            "help" => Self::Command(Command::Help),
            "new" => Self::Command(Command::New),
            "runner" => Self::Command(Command::Runner(argument)),
            "approval" => Self::Command(Command::Approval(argument)),
            "cancel" => Self::Command(Command::Cancel),
            _ => Self::Unknown(word),
        }
    }

    /// What is stored as the user's message when they wrote `text`.
    pub(crate) fn shown<'b>(&self, text: &'b str) -> &'b str
    where
        'a: 'b,
    {
        match self {
            Self::Plain(plain) => plain,
            Self::Command(_) | Self::Unknown(_) => text.trim_end(),
        }
    }
}

impl Context<'_> {
    /// Answers with a message of the server itself.
    pub(crate) async fn notice(&self, text: &str) -> Result<Posted> {
        let message = self.service.say(self.user.id, &self.chat.id, MessageRole::Notice, text).await?;
        Ok(Posted { messages: vec![message], ..Posted::default() })
    }

    /// The same for a text of which nothing came; `kind` is for programs.
    pub(crate) async fn refusal(&self, kind: &'static str, text: &str) -> Result<Posted> {
        Ok(Posted { error: Some(kind), ..self.notice(text).await? })
    }
}

/// Does what a text asks for.
pub(crate) async fn dispatch(context: Context<'_>, input: Input<'_>) -> Result<Posted> {
    match input {
        Input::Plain(text) => plain::run(&context, text).await,
        Input::Unknown(word) => help::unknown(&context, word).await,
        Input::Command(Command::Bang(command)) => bang::run(&context, command).await,
        Input::Command(Command::Help) => help::run(&context).await,
        Input::Command(Command::New) => new::run(&context).await,
        Input::Command(Command::Runner(None)) => runner::list(&context).await,
        Input::Command(Command::Runner(Some(name))) => runner::bind(&context, name).await,
        Input::Command(Command::Approval(None)) => approval::show(&context).await,
        Input::Command(Command::Approval(Some(word))) => approval::set(&context, word).await,
        Input::Command(Command::Cancel) => cancel::run(&context).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_told_apart() {
        for (text, expected) in [
            ("hello", Input::Plain("hello")),
            ("//etc/hosts is what?", Input::Plain("/etc/hosts is what?")),
            ("!make test ", Input::Command(Command::Bang("make test"))),
            ("  ! ls", Input::Command(Command::Bang("ls"))),
            ("!", Input::Command(Command::Bang(""))),
            ("/help", Input::Command(Command::Help)),
            ("/new please", Input::Command(Command::New)),
            ("/runner", Input::Command(Command::Runner(None))),
            ("/runner  laptop ", Input::Command(Command::Runner(Some("laptop")))),
            ("/approval full", Input::Command(Command::Approval(Some("full")))),
            ("/cancel", Input::Command(Command::Cancel)),
            ("/Help", Input::Unknown("Help")),
            ("/helpme", Input::Unknown("helpme")),
            ("/", Input::Unknown("")),
        ] {
            assert_eq!(Input::parse(text), expected, "{text:?}");
        }
    }
}
