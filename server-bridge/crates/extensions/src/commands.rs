//! Slash commands defined by text files: those of a workspace (`.sandbridge/commands`, `.claude/commands`) and of
//! plugins, and skills that only people can start.
//!
//! A command becomes the user's message, as if they had typed it. Its shell lines are not run here: the model is asked to run them, and
//! the approval mode and the rules judge those calls like any others.

use agent::commands::{CommandSource, ExtensionCommand};
use agent::library::{Skill, commands, skills};
use agent::tool::visible;
use futures_util::future::BoxFuture;
use plugins::{Command, Expansion, Part, Template, Variables};
use sandbox::{Sandbox, SandboxRouter};
use store::{ChatId, Store, User};

use crate::limits::COMMAND_ABOUT_CHARS;
use crate::machine::of_chat;
use crate::plugins::Plugins;

/// The commands of all workspaces and plugins.
pub struct TextCommands {
    store: Store,
    router: SandboxRouter,
    plugins: Plugins,
}

/// The whole text of a command or a skill, with the values of its variables.
struct Found {
    text: String,
    arguments: Vec<String>,
    variables: Variables,
    /// The directory of a skill; empty for a command.
    directory: String,
}

impl TextCommands {
    /// The commands found on these machines and in these plugins.
    pub fn new(store: Store, router: SandboxRouter, plugins: Plugins) -> Self {
        Self { store, router, plugins }
    }

    async fn machine(&self, user: &User, chat: Option<&ChatId>) -> Option<Sandbox> {
        of_chat(&self.store, &self.router, user, chat).await.ok().flatten()
    }

    /// The command of that name: a plugin's, or else the workspace's.
    ///
    /// Fails with the reason as text.
    async fn find(&self, user: &User, chat: &ChatId, word: &str) -> Result<Option<Found>, String> {
        let sandbox = self.machine(user, Some(chat)).await;
        let workspace = sandbox.as_ref().map(|sandbox| sandbox.facts().workspace.clone());
        // A command that the user installed takes precedence over a repository's command with the same name.
        let (name, rest) = word.split_once(':').unwrap_or_default();
        for plugin in self.plugins.readable(user.id).await {
            if plugin.name != name {
                continue;
            }
            let variables = || plugin.variables(workspace.as_deref().unwrap_or("."));
            let command = plugin.plugin.commands.iter().find(|command| command.name == rest);
            let found = match command {
                Some(command) => Some(Found::of_command(command.clone(), variables())),
                None => {
                    let skill = plugin.skills().iter().find(|skill| skill.name == word && is_command(skill));
                    skill.map(|skill| Found::of_skill(skill.clone(), variables()))
                }
            };
            if found.is_some() {
                if let Some(sandbox) = &sandbox {
                    self.plugins.bring(user.id, &plugin, sandbox).await?;
                }
                return Ok(found);
            }
        }
        if let Some(sandbox) = &sandbox {
            let told = |error: sandbox::SandboxError| error.to_string();
            let variables = || Variables { root: workspace.clone().unwrap_or_default(), data: String::new() };
            if let Some(command) = commands::read(sandbox, word).await.map_err(told)? {
                return Ok(Some(Found::of_command(command, variables())));
            }
            if let Some(skill) = skills::read(sandbox, word).await.map_err(told)?
                && is_command(&skill)
            {
                return Ok(Some(Found::of_skill(skill, variables())));
            }
        }
        Ok(None)
    }
}

impl CommandSource for TextCommands {
    fn commands<'a>(
        &'a self,
        user: &'a User,
        chat: Option<&'a ChatId>,
    ) -> BoxFuture<'a, Vec<ExtensionCommand>> {
        Box::pin(async move {
            let mut found = Vec::new();
            for plugin in self.plugins.readable(user.id).await {
                let prefix = format!("{}:", plugin.name);
                found.extend(plugin.plugin.commands.iter().map(|command| offered(&prefix, command)));
                found.extend(plugin.skills().iter().filter(|skill| is_command(skill)).map(offered_skill));
            }
            if let Some(sandbox) = self.machine(user, chat).await {
                // If the machine goes offline in the meantime, it has no commands.
                let own = commands::heads(&sandbox).await.unwrap_or_default();
                found.extend(own.iter().map(|command| offered("", command)));
                let own = skills::heads(&sandbox).await.unwrap_or_default();
                found.extend(own.iter().filter(|skill| is_command(skill)).map(offered_skill));
            }
            found
        })
    }

    fn text<'a>(
        &'a self,
        user: &'a User,
        chat: &'a ChatId,
        word: &'a str,
        arguments: &'a str,
    ) -> BoxFuture<'a, Option<Result<String, String>>> {
        Box::pin(async move {
            let expanded = match self.find(user, chat, word).await {
                Ok(found) => found?.expand(arguments),
                Err(why) => Err(why),
            };
            Some(expanded.map_err(|why| format!("/{word} was not sent: {why}")))
        })
    }

    fn complete<'a>(
        &'a self,
        _user: &'a User,
        _chat: &'a ChatId,
        _word: &'a str,
        _arguments: &'a str,
    ) -> BoxFuture<'a, Vec<String>> {
        Box::pin(async { Vec::new() })
    }
}

impl Found {
    fn of_command(command: Command, variables: Variables) -> Self {
        let Command { text, arguments, .. } = command;
        Self { text, arguments, variables, directory: String::new() }
    }

    fn of_skill(skill: Skill, variables: Variables) -> Self {
        let directory = skill.directory.as_str().to_owned();
        Self { text: skill.text, arguments: skill.arguments, variables, directory }
    }

    /// The text with these arguments filled in.
    ///
    /// Fails with the reason as text.
    fn expand(&self, arguments: &str) -> Result<String, String> {
        let template = Template::parse(&self.text, &self.arguments);
        let expansion = template.expand(arguments, &self.variables, &self.directory);
        let text = told(&expansion.map_err(|error| error.to_string())?);
        if text.trim().is_empty() { Err("its text is empty".to_owned()) } else { Ok(text) }
    }
}

/// A prompt in the form that the model gets.
fn told(expansion: &Expansion) -> String {
    let part = |part: &Part| match part {
        Part::Text(text) => text.clone(),
        Part::Shell(line) => format!("(run this first, and read its output: `{line}`)"),
        Part::File(path) => format!("@{path}"),
    };
    expansion.parts.iter().map(part).collect()
}

/// True for a skill that models do not read by themselves: without a command it could not be used.
fn is_command(skill: &Skill) -> bool {
    skill.is_for_people && !skill.is_for_models
}

fn offered(prefix: &str, command: &Command) -> ExtensionCommand {
    entry(format!("{prefix}{}", command.name), &command.argument_hint, &command.description)
}

fn offered_skill(skill: &Skill) -> ExtensionCommand {
    entry(skill.name.clone(), &skill.argument_hint, &skill.description)
}

fn entry(word: String, hint: &str, about: &str) -> ExtensionCommand {
    let usage = format!("/{word} {}", visible::line(hint)).trim_end().to_owned();
    let about = visible::line(about).chars().take(COMMAND_ABOUT_CHARS).collect();
    ExtensionCommand { word, usage, about }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(text: &str) -> Found {
        let variables = Variables { root: "/w".to_owned(), data: String::new() };
        Found { text: text.to_owned(), arguments: Vec::new(), variables, directory: String::new() }
    }

    #[test]
    fn a_command_is_told_with_its_arguments_and_runs_nothing_by_itself() {
        let review = command("Review $1 against @notes.md.\n!`git diff $1`\nIn ${CLAUDE_PLUGIN_ROOT}.");
        let text = review.expand("main").unwrap();
        assert!(text.starts_with("Review main against @notes.md."), "{text}");
        assert!(text.contains("(run this first, and read its output: `git diff main`)"), "{text}");
        assert!(text.ends_with("In /w."), "{text}");
        let hostile = review.expand("'$(touch pwned)'").unwrap();
        assert!(
            hostile.contains("`git diff '$(touch pwned)'`"),
            "an argument is one word of the line: {hostile}"
        );
        assert!(command(" ").expand("").unwrap_err().contains("empty"));
    }
}
