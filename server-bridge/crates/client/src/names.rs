//! Names that shells complete: those of one's runners, chats, models, keys and commands, asked of the server. One that does
//! not answer within a moment has none to offer.

use std::ffi::OsStr;

use api::runner::{AUTO, DOCKER, NONE};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use serde_json::Value;

use super::failure::Failure;
use super::http::Client;
use super::limits::COMPLETION_PATIENCE;
use super::output::{Colour, ago};
use crate::globals::{Globals, SERVER_VARIABLES};

/// What is named.
#[derive(Clone, Copy)]
enum Kind {
    Runners,
    Chats,
    Models,
    Keys,
    Commands,
}

/// The runners.
pub(super) fn runners() -> ArgValueCompleter {
    completer(Kind::Runners, &[])
}

/// Every place where commands could run.
pub(super) fn places() -> ArgValueCompleter {
    completer(Kind::Runners, &[DOCKER, NONE, AUTO])
}

/// The chats, by their ids.
pub(super) fn chats() -> ArgValueCompleter {
    completer(Kind::Chats, &[])
}

/// The models.
pub(super) fn models() -> ArgValueCompleter {
    completer(Kind::Models, &[])
}

/// The keys of programs.
pub(super) fn keys() -> ArgValueCompleter {
    completer(Kind::Keys, &[])
}

/// The commands that run, by their ids.
pub(super) fn commands() -> ArgValueCompleter {
    completer(Kind::Commands, &[])
}

fn completer(kind: Kind, always: &'static [&'static str]) -> ArgValueCompleter {
    ArgValueCompleter::new(move |begun: &OsStr| {
        let begun = begun.to_string_lossy();
        // Whoever completes wants no errors between the words.
        let asked = ask(kind).map(|answer| candidates(kind, &answer)).unwrap_or_default();
        let fixed = always.iter().map(|name| ((*name).to_owned(), String::new()));
        let fitting = asked.into_iter().chain(fixed).filter(|(name, _)| name.starts_with(begun.as_ref()));
        fitting
            .map(|(name, about)| {
                let about = Some(about).filter(|about| !about.is_empty());
                CompletionCandidate::new(name).help(about.map(Into::into))
            })
            .collect()
    })
}

fn ask(kind: Kind) -> Result<Value, Failure> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let [server, home, ca_cert] = SERVER_VARIABLES.map(variable);
    let globals = Globals {
        server: server.and_then(|server| server.into_string().ok()),
        home: home.map(Into::into),
        ca_cert: ca_cert.map(Into::into),
        json: false,
        color: Colour::Never,
    };
    let path = match kind {
        Kind::Runners => "/api/v1/runners",
        Kind::Chats => "/api/v1/chats",
        Kind::Models => "/api/v1/models",
        Kind::Keys => "/api/v1/keys",
        Kind::Commands => "/api/v1/execs?running=true",
    };
    let asking = async {
        let mut client = Client::new(&globals.session()?)?;
        client.get(path).await
    };
    let patience = || Failure::other("unreachable", "the server gave no answer in time");
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|_| patience())?;
    let answer = runtime.block_on(async { tokio::time::timeout(COMPLETION_PATIENCE, asking).await });
    answer.map_err(|_| patience())?
}

/// Names, and what they are. Control characters stay out: a shell would print them.
fn candidates(kind: Kind, answer: &Value) -> Vec<(String, String)> {
    let word = |value: &Value| {
        let text = value.as_str().unwrap_or_default();
        text.chars().filter(|character| !character.is_control()).collect::<String>()
    };
    let list = match kind {
        Kind::Models => answer["models"].as_array(),
        _ => answer.as_array(),
    };
    let entries = list.into_iter().flatten().flat_map(|entry| match kind {
        Kind::Runners => {
            let state = if entry["online"] == true { "online" } else { "offline" };
            vec![(word(&entry["name"]), state.to_owned())]
        }
        Kind::Chats => {
            let changed = entry["updated_at"].as_i64().map(ago).unwrap_or_default();
            vec![(word(&entry["id"]), format!("{}, {changed}", word(&entry["title"])))]
        }
        Kind::Keys => vec![(word(&entry["name"]), word(&entry["scope"]))],
        Kind::Commands => vec![(word(&entry["exec_id"]), word(&entry["command"]))],
        Kind::Models => {
            let name = word(&entry["name"]);
            let tiers = entry["models"].as_object().into_iter().flatten();
            let tiers = tiers.map(|(tier, model)| {
                (format!("{name}/{}", word(&Value::from(tier.as_str()))), word(&model["name"]))
            });
            std::iter::once((name.clone(), word(&entry["provider"]))).chain(tiers).collect()
        }
    });
    entries.filter(|(name, _)| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_offered_with_what_they_are_and_nothing_a_terminal_obeys() {
        let runners = json!([{"name": "laptop", "online": true}, {"name": "", "online": false}]);
        assert_eq!(candidates(Kind::Runners, &runners), [("laptop".to_owned(), "online".to_owned())]);
        let chats = json!([{"id": "ab12", "title": "a\u{1b}[2Jb\n"}]);
        assert_eq!(candidates(Kind::Chats, &chats), [("ab12".to_owned(), "a[2Jb, ".to_owned())]);
        let models =
            json!({"models": [{"name": "mine", "provider": "openai", "models": {"swift": {"name": "s"}}}]});
        let names: Vec<String> =
            candidates(Kind::Models, &models).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["mine", "mine/swift"]);
        assert!(candidates(Kind::Keys, &json!({"error": 1})).is_empty());
    }
}
