//! `sandbridge runner`: the machines that run one's commands.

use std::process::ExitCode;

use clap::Subcommand;
use serde_json::{Value, json};

use super::client::{Client, percent_encoded};
use super::failure::Failure;
use super::{Globals, output};

/// What to do with a runner.
#[derive(Subcommand)]
pub(super) enum RunnerCommand {
    /// Add a runner: prints its token, once, and the command to start it with
    Add {
        /// Its name: a-z, 0-9, '_', '.' and '-'
        name: String,
    },
    /// List your runners
    List,
    /// Give a runner a new token; the old one works a while longer
    Rotate {
        /// Its name
        name: String,
    },
    /// Take a runner away: its token stops working at once
    Revoke {
        /// Its name
        name: String,
    },
}

pub(super) async fn run(globals: &Globals, command: RunnerCommand) -> Result<ExitCode, Failure> {
    let session = globals.session()?;
    let mut client = Client::new(&session)?;
    let (value, words) = match command {
        RunnerCommand::Add { name } => {
            let answer = client.post("/api/v1/runners", &json!({"name": name})).await?;
            let words = token_words(&answer, "was added");
            (token_value(&answer), words)
        }
        RunnerCommand::Rotate { name } => {
            let path = format!("/api/v1/runners/{}/rotate", percent_encoded(&name));
            let answer = client.post(&path, &json!({})).await?;
            let mut value = token_value(&answer);
            value["old_token_expires_at"] = answer["old_token_expires_at"].clone();
            (value, token_words(&answer, "has a new token; the old one works for a while yet"))
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
    let heading = ["NAME", "STATE", "LAST SEEN", "PROFILE", "MACHINE"].map(str::to_owned).to_vec();
    let rows = runners.iter().map(|runner| {
        let word = |key: &str| runner[key].as_str().unwrap_or("-").to_owned();
        let online = if runner["online"] == true { "online" } else { "offline" };
        let active = if runner["active"] == true { " (active)" } else { "" };
        let seen = runner["last_seen"].as_i64().map_or_else(|| "never".to_owned(), output::ago);
        vec![word("name"), format!("{online}{active}"), seen, word("profile"), word("hostname")]
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
            {"name": "work", "online": false, "active": false, "last_seen": null},
        ]);
        let words = list_words(&runners);
        assert!(words.contains("laptop  online (active)  never      workspace  box"), "{words}");
        assert!(words.contains("work    offline"), "{words}");
        assert!(list_words(&json!([])).contains("runner add"));
    }

    #[test]
    fn a_programs_answer_to_add_holds_exactly_three_things() {
        let value = token_value(&json!({"name": "a", "token": "t", "command": "c", "more": 1}));
        assert_eq!(value, json!({"name": "a", "token": "t", "command": "c"}));
    }
}
