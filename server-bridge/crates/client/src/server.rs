//! `sandbridge server`: server-wide settings that administrators change while it runs.

use std::process::ExitCode;

use api::server_settings::{ServerSettings, ServerSettingsChange};
use clap::{Args, Parser};

use super::failure::Failure;
use super::http::Client;
use super::output;
use crate::command::{Command, block_on};
use crate::globals::Globals;

/// Change the settings of the server, as its administrator
#[derive(Parser)]
pub(crate) enum ServerCommand {
    /// Change the given settings, if any, and show all settings; changes apply to the next answers
    Settings(SettingsOptions),
}

/// The settings to change.
#[derive(Args)]
pub(crate) struct SettingsOptions {
    /// How many answers may be in progress at once; others wait (`default`: the number the server was started with)
    #[arg(long, value_name = "N|default", value_parser = number_or_default)]
    turns_at_once: Option<Wanted<u64>>,
    /// How conversations are kept within the model's window: full, no-compression, none
    #[arg(long, value_name = "MODE|default", value_parser = word_or_default)]
    context_mode: Option<Wanted<String>>,
    /// A .md file in the server's home directory to replace the built-in base prompt, or `none` to use the built-in one
    #[arg(long, value_name = "FILE|none", value_parser = file_or_none)]
    base_prompt: Option<Wanted<String>>,
    /// The embedder, with which search finds texts by their meaning: none, built-in, SUBSCRIPTION/MODEL with one of your subscriptions, or
    /// ollama:SUBSCRIPTION/MODEL
    #[arg(long, value_name = "EMBEDDER|default", value_parser = word_or_default)]
    embedder: Option<Wanted<String>>,
}

/// A value, or the one that the server was started with.
#[derive(Clone)]
struct Wanted<T>(Option<T>);

impl Command for ServerCommand {
    const NAME: &'static str = "server";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        let Self::Settings(options) = self;
        block_on(settings(globals, options))
    }
}

fn number_or_default(text: &str) -> Result<Wanted<u64>, String> {
    if text == "default" {
        return Ok(Wanted(None));
    }
    text.parse().map(|number| Wanted(Some(number))).map_err(|_| "use a whole number, or `default`".to_owned())
}

fn word_or_default(text: &str) -> Result<Wanted<String>, String> {
    Ok(Wanted((text != "default").then(|| text.to_owned())))
}

fn file_or_none(text: &str) -> Result<Wanted<String>, String> {
    Ok(Wanted((text != "none").then(|| text.to_owned())))
}

async fn settings(globals: &Globals, options: SettingsOptions) -> Result<ExitCode, Failure> {
    let mut client = Client::new(&globals.session()?)?;
    let change = ServerSettingsChange {
        turns_at_once: options.turns_at_once.map(|wanted| wanted.0),
        context_mode: options.context_mode.map(|wanted| wanted.0.map(Into::into)),
        base_prompt: options.base_prompt.map(|wanted| wanted.0),
        embedder: options.embedder.map(|wanted| wanted.0),
    };
    let settings = match change == ServerSettingsChange::default() {
        true => client.server_settings().await?,
        false => client.change_server_settings(&change).await?,
    };
    if globals.json {
        output::json_line(&settings);
        return Ok(ExitCode::SUCCESS);
    }
    output::line(&words(&settings));
    if let Some(problem) = &settings.base_prompt_problem {
        output::warn(&format!("warning: the built-in base prompt is used: {problem}"));
    }
    if let Some(problem) = &settings.embedder_problem {
        output::warn(&format!("warning: {problem}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn words(settings: &ServerSettings) -> String {
    let ServerSettings { turns_at_once, turns_at_once_default, context_mode, base_prompt, embedder, .. } =
        settings;
    let turns = match turns_at_once == turns_at_once_default {
        true => turns_at_once.to_string(),
        false => format!("{turns_at_once} (started with {turns_at_once_default})"),
    };
    let rows = [
        ("answers at once", turns),
        ("context mode", context_mode.to_string()),
        ("base prompt", base_prompt.clone().unwrap_or_else(|| "built in".to_owned())),
        ("embedder", embedder.clone()),
    ];
    output::table(&rows.map(|(name, value)| vec![name.to_owned(), output::printable(&value)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_says_what_the_server_was_started_with() {
        let mut settings = ServerSettings {
            turns_at_once: 3,
            turns_at_once_default: 16,
            context_mode: "none".into(),
            ..ServerSettings::default()
        };
        let shown = words(&settings);
        assert!(shown.contains("3 (started with 16)") && shown.contains("built in"), "{shown}");
        (settings.turns_at_once, settings.base_prompt) = (16, Some("prompt.md".to_owned()));
        let shown = words(&settings);
        assert!(!shown.contains("started") && shown.contains("prompt.md"), "{shown}");
    }
}
