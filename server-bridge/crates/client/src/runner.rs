//! `sandbridge runner`: the machines that run the user's commands.

use std::process::ExitCode;

use api::runner::{NewRunner, RunnerView, TokenView};
use clap::Parser;
use serde::Serialize;

use super::failure::Failure;
use super::http::Client;
use super::output::{Named, both};
use super::{names, output, runner_update};
use crate::command::{Command, block_on};
use crate::globals::Globals;

/// Manage the machines that run your commands
#[derive(Parser)]
pub(crate) enum RunnerCommand {
    /// Add a runner: prints the line to paste on its machine, with a one-use token; the first machine that uses it gets a
    /// permanent one
    Add {
        /// The runner's name: a-z, 0-9, '_', '.' and '-'
        name: String,
        /// Create a one-use token, which is the default
        #[arg(long, conflicts_with = "permanent")]
        enrol: bool,
        /// Create a token that works until the runner is revoked, for a runner that cannot exchange a one-use token, such as an xbot runner
        #[arg(long)]
        permanent: bool,
        /// How long a one-use token works, such as 90s, 30m, 1h or 7d [default: 1h]
        #[arg(long, conflicts_with = "permanent", value_name = "TIME", value_parser = ttl_seconds)]
        ttl: Option<u32>,
    },
    /// List your runners
    List,
    /// Give a runner a new token; the old one works for another 24 hours
    Rotate {
        /// The runner's name
        #[arg(add = names::runners())]
        name: String,
    },
    /// Replace a runner's program with the newer one that the server hands out; waits until the runner has reconnected
    Update {
        /// The runner's name
        #[arg(add = names::runners())]
        name: String,
    },
    /// Remove a runner: its token stops working at once
    Revoke {
        /// The runner's name
        #[arg(add = names::runners())]
        name: String,
    },
}

impl Command for RunnerCommand {
    const NAME: &'static str = "runner";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(run(globals, self))
    }
}

async fn run(globals: &Globals, command: RunnerCommand) -> Result<ExitCode, Failure> {
    let session = globals.session()?;
    let mut client = Client::new(&session)?;
    let (line, words) = match command {
        RunnerCommand::Add { name, permanent: true, .. } => {
            let made = client.add_runner(&NewRunner { name, ..NewRunner::default() }).await?;
            let what = "was added; its token works until you revoke it: keep the line to yourself";
            both(&Token::of(&made), token_words(&made, what))
        }
        RunnerCommand::Add { name, ttl, .. } => {
            let runner = NewRunner { name, enrol: true, ttl_seconds: ttl, ..NewRunner::default() };
            let made = client.add_runner(&runner).await?;
            let what = "was added; its token is for one machine, which then gets a token of its own";
            let token = Token { expires_at: Some(made.expires_at), ..Token::of(&made) };
            both(&token, token_words(&made, what))
        }
        RunnerCommand::Rotate { name } => {
            let made = client.rotate_runner(&name).await?;
            let token = Token { old_token_expires_at: Some(made.old_token_expires_at), ..Token::of(&made) };
            both(&token, token_words(&made, "has a new token; the old one works for another 24 hours"))
        }
        RunnerCommand::Update { name } => {
            let tells = |line: &str| {
                if !globals.json {
                    runner_update::tell(line)
                }
            };
            let updated = runner_update::update(&mut client, &name, tells).await?;
            both(&updated, format!("runner {name} has version {}", updated.version))
        }
        RunnerCommand::List => {
            let runners = client.runners().await?;
            both(&runners, list_words(&runners))
        }
        RunnerCommand::Revoke { name } => {
            client.revoke_runner(&name).await?;
            both(&Named { name: &name }, format!("runner {name} was revoked"))
        }
    };
    output::line(if globals.json { &line } else { &words });
    Ok(ExitCode::SUCCESS)
}

/// Parses a number with a unit as seconds.
pub(super) fn ttl_seconds(text: &str) -> Result<u32, String> {
    let wrong = || format!("{text:?} is not a duration: write a number and s, m, h or d, such as 30m");
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 60 * 60,
        'd' => 24 * 60 * 60,
        _ => return Err(wrong()),
    };
    let number: u32 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    number.checked_mul(seconds).ok_or_else(wrong)
}

/// A token, for programs.
#[derive(Serialize)]
struct Token<'a> {
    name: &'a str,
    token: &'a str,
    command: &'a str,
    /// The expiry of a one-use token.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Option<i64>>,
    /// After a rotation: the expiry of the old token.
    #[serde(skip_serializing_if = "Option::is_none")]
    old_token_expires_at: Option<Option<i64>>,
}

impl<'a> Token<'a> {
    fn of(TokenView { name, token, command, .. }: &'a TokenView) -> Self {
        Self { name, token, command, expires_at: None, old_token_expires_at: None }
    }
}

fn token_words(made: &TokenView, what: &str) -> String {
    format!(
        "runner {} {what}\n\nIts token, shown only now:\n\n    {}\n\nOn the machine, run:\n\n    {}",
        made.name,
        made.token,
        made.command.replace('\n', "\n    "),
    )
}

fn list_words(runners: &[RunnerView]) -> String {
    if runners.is_empty() {
        return "you have no runner; `sandbridge runner add NAME` adds one".to_owned();
    }
    let heading = ["NAME", "STATE", "LAST SEEN", "PROFILE", "MACHINE", "VERSION"].map(str::to_owned).to_vec();
    let rows = runners.iter().map(|runner| {
        let word = |word: &Option<String>| word.clone().unwrap_or_else(|| "-".to_owned());
        let online = match (runner.online, runner.refused.as_slice()) {
            (true, []) => "online".to_owned(),
            (true, lacks) => format!("refused: lacks {}", lacks.join(", ")),
            (false, _) => "offline".to_owned(),
        };
        let active = if runner.active { " (active)" } else { "" };
        let seen = runner.last_seen.map_or_else(|| "never".to_owned(), output::ago);
        let version = runner_update::version_words(runner);
        let (profile, hostname) = (word(&runner.profile), word(&runner.hostname));
        vec![runner.name.clone(), format!("{online}{active}"), seen, profile, hostname, version]
    });
    output::table(&std::iter::once(heading).chain(rows).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_shows_what_is_known() {
        let runners = r#"[
            {"name": "laptop", "online": true, "active": true, "last_seen": null, "profile": "workspace", "hostname": "box"},
            {"name": "work", "online": false, "active": false, "last_seen": null, "refused": ["landlock"]},
            {"name": "weak", "online": true, "active": false, "last_seen": null, "refused": ["landlock", "seccomp"]}
        ]"#;
        let words = list_words(&serde_json::from_str::<Vec<RunnerView>>(runners).unwrap());
        assert!(words.contains("laptop  online (active)"), "{words}");
        assert!(words.contains("weak    refused: lacks landlock, seccomp"), "{words}");
        assert!(words.contains("work    offline"), "{words}");
        assert!(list_words(&[]).contains("runner add"));
    }

    #[test]
    fn a_time_is_a_number_and_a_unit() {
        for (text, seconds) in [("90s", 90), ("30m", 1_800), ("1h", 3_600), ("7d", 604_800), ("0s", 0)] {
            assert_eq!(ttl_seconds(text), Ok(seconds));
        }
        for text in ["", "h", "1", "-1h", "1.5h", "1 h", "9999999d", "1ä"] {
            assert!(ttl_seconds(text).unwrap_err().contains("30m"), "{text}");
        }
    }

    #[test]
    fn a_programs_answer_to_add_holds_exactly_three_things() {
        let made = r#"{"name": "a", "token": "t", "command": "c", "expires_at": 1, "more": 1}"#;
        let made: TokenView = serde_json::from_str(made).unwrap();
        let token = Token::of(&made);
        assert_eq!(api::to_line(&token), r#"{"command":"c","name":"a","token":"t"}"#);
        let token = Token { expires_at: Some(made.expires_at), ..token };
        assert_eq!(api::to_line(&token), r#"{"command":"c","expires_at":1,"name":"a","token":"t"}"#);
    }
}
