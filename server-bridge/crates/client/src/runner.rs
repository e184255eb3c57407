//! `sandbridge runner`: the machines that run one's commands.

use std::process::ExitCode;

use clap::Parser;
use serde_json::{Value, json};

use super::failure::Failure;
use super::http::{Client, percent_encoded};
use super::{names, output, runner_update};
use crate::command::{Command, block_on};
use crate::globals::Globals;

/// Manage the machines that run your commands
#[derive(Parser)]
#[command(name = "runner")]
pub(crate) enum RunnerCommand {
    /// Add a runner: prints the line to paste on its machine, with a token for one use: the first machine that shows it is
    /// given one of its own
    Add {
        /// Its name: a-z, 0-9, '_', '.' and '-'
        name: String,
        /// Make a token for one use, as without any option
        #[arg(long, conflicts_with = "permanent")]
        enrol: bool,
        /// Make a token that works until the runner is revoked, for a runner that cannot exchange one, such as xbot's
        #[arg(long)]
        permanent: bool,
        /// How long a token for one use works, such as 90s, 30m, 1h or 7d [default: 1h]
        #[arg(long, conflicts_with = "permanent", value_name = "TIME", value_parser = ttl_seconds)]
        ttl: Option<u32>,
    },
    /// List your runners
    List,
    /// Give a runner a new token; the old one works a while longer
    Rotate {
        /// Its name
        #[arg(add = names::runners())]
        name: String,
    },
    /// Replace a runner's program by the newer one that the server hands out; waits until it is back
    Update {
        /// Its name
        #[arg(add = names::runners())]
        name: String,
    },
    /// Take a runner away: its token stops working at once
    Revoke {
        /// Its name
        #[arg(add = names::runners())]
        name: String,
    },
}

impl Command for RunnerCommand {
    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(run(globals, self))
    }
}

async fn run(globals: &Globals, command: RunnerCommand) -> Result<ExitCode, Failure> {
    let session = globals.session()?;
    let mut client = Client::new(&session)?;
    let (value, words) = match command {
        RunnerCommand::Add { name, permanent: true, .. } => {
            let answer = client.post("/api/v1/runners", &json!({"name": name})).await?;
            let words = token_words(
                &answer,
                "was added; its token works until you revoke it: keep the line to yourself",
            );
            (token_value(&answer), words)
        }
        RunnerCommand::Add { name, ttl, .. } => {
            let body = json!({"name": name, "enrol": true, "ttl_seconds": ttl});
            let answer = client.post("/api/v1/runners", &body).await?;
            let mut value = token_value(&answer);
            value["expires_at"] = answer["expires_at"].clone();
            (
                value,
                token_words(&answer, "was added; its token is for one machine, which is then given its own"),
            )
        }
        RunnerCommand::Rotate { name } => {
            let path = format!("/api/v1/runners/{}/rotate", percent_encoded(&name));
            let answer = client.post(&path, &json!({})).await?;
            let mut value = token_value(&answer);
            value["old_token_expires_at"] = answer["old_token_expires_at"].clone();
            (value, token_words(&answer, "has a new token; the old one works for a while yet"))
        }
        RunnerCommand::Update { name } => {
            let tells = |line: &str| {
                if !globals.json {
                    runner_update::tell(line)
                }
            };
            let value = runner_update::update(&mut client, &name, tells).await?;
            let version = value["version"].as_str().unwrap_or_default();
            let words = format!("runner {name} has version {version}");
            (value, words)
        }
        RunnerCommand::List => {
            let answer = client.get("/api/v1/runners").await?;
            let words = list_words(&answer);
            (answer, words)
        }
        RunnerCommand::Revoke { name } => {
            client.delete(&format!("/api/v1/runners/{}", percent_encoded(&name))).await?;
            (json!({"name": name}), format!("runner {name} was revoked"))
        }
    };
    if globals.json {
        output::json_line(&value);
    } else {
        output::line(&words);
    }
    Ok(ExitCode::SUCCESS)
}

/// Seconds, from a number with a unit.
pub(super) fn ttl_seconds(text: &str) -> Result<u32, String> {
    let wrong = || format!("{text:?} is no time: write a number and s, m, h or d, such as 30m");
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

fn token_value(answer: &Value) -> Value {
    json!({"name": answer["name"], "token": answer["token"], "command": answer["command"]})
}

fn token_words(answer: &Value, what: &str) -> String {
    let word = |key: &str| answer[key].as_str().unwrap_or_default().to_owned();
    format!(
        "runner {} {what}\n\nIts token, shown only now:\n\n    {}\n\nOn the machine, run:\n\n    {}",
        word("name"),
        word("token"),
        word("command").replace('\n', "\n    "),
    )
}

fn list_words(runners: &Value) -> String {
    let Some(runners) = runners.as_array().filter(|runners| !runners.is_empty()) else {
        return "you have no runner; `sandbridge runner add NAME` adds one".to_owned();
    };
    let heading = ["NAME", "STATE", "LAST SEEN", "PROFILE", "MACHINE", "VERSION"].map(str::to_owned).to_vec();
    let rows = runners.iter().map(|runner| {
        let word = |key: &str| runner[key].as_str().unwrap_or("-").to_owned();
        let lacks: Vec<_> =
            runner["refused"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let online = match (runner["online"] == true, lacks.as_slice()) {
            (true, []) => "online".to_owned(),
            (true, lacks) => format!("refused: lacks {}", lacks.join(", ")),
            (false, _) => "offline".to_owned(),
        };
        let active = if runner["active"] == true { " (active)" } else { "" };
        let seen = runner["last_seen"].as_i64().map_or_else(|| "never".to_owned(), output::ago);
        let version = runner_update::version_words(runner);
        vec![word("name"), format!("{online}{active}"), seen, word("profile"), word("hostname"), version]
    });
    output::table(&std::iter::once(heading).chain(rows).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_shows_what_is_known() {
        let runners = json!([
            {"name": "laptop", "online": true, "active": true, "last_seen": null, "profile": "workspace", "hostname": "box"},
            {"name": "work", "online": false, "active": false, "last_seen": null, "refused": ["landlock"]},
            {"name": "weak", "online": true, "active": false, "last_seen": null, "refused": ["landlock", "seccomp"]},
        ]);
        let words = list_words(&runners);
        assert!(words.contains("laptop  online (active)"), "{words}");
        assert!(words.contains("weak    refused: lacks landlock, seccomp"), "{words}");
        assert!(words.contains("work    offline"), "{words}");
        assert!(list_words(&json!([])).contains("runner add"));
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
        let value = token_value(&json!({"name": "a", "token": "t", "command": "c", "more": 1}));
        assert_eq!(value, json!({"name": "a", "token": "t", "command": "c"}));
    }
}
