//! `sandbridge key`: the API keys that the user's programs use instead of a login.

use std::process::ExitCode;

use api::key::{KeyView, MadeKey, NewKey};
use api::words;
use clap::{Parser, ValueEnum};

use super::failure::Failure;
use super::http::Client;
use super::output::{Named, both};
use super::runner::ttl_seconds;
use super::{names, output};
use crate::command::{Command, block_on};
use crate::globals::Globals;

/// Manage the API keys of your programs
#[derive(Parser)]
pub(crate) enum KeyCommand {
    /// Create a key for a program; the key is printed only once
    Add {
        /// The key's name: a-z, 0-9, '_', '.' and '-'
        name: String,
        /// What the key may do
        #[arg(long, value_enum, default_value_t = Scope::Exec)]
        scope: Scope,
        /// How long it is valid, such as 90s, 30m, 1h or 7d [default: forever]
        #[arg(long, value_name = "TIME", value_parser = ttl_seconds)]
        ttl: Option<u32>,
    },
    /// List your keys
    List,
    /// Remove a key: it stops working at once
    Remove {
        /// The key's name
        #[arg(add = names::keys())]
        name: String,
    },
}

impl Command for KeyCommand {
    const NAME: &'static str = "key";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(run(globals, self))
    }
}

/// What a key may do.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Scope {
    /// Everything that you may do, except what needs a login, such as changing keys, users, passwords, runner tokens, rules or hooks
    Full,
    /// Commands, files and tasks on your runners
    Exec,
    /// Only reading: runners, commands, files, chats, usage and events
    Read,
}

async fn run(globals: &Globals, command: KeyCommand) -> Result<ExitCode, Failure> {
    let session = globals.session()?;
    let mut client = Client::new(&session)?;
    let (line, words) = match command {
        KeyCommand::Add { name, scope, ttl } => {
            let scope = Some(match scope {
                Scope::Full => words::Scope::Full,
                Scope::Exec => words::Scope::Exec,
                Scope::Read => words::Scope::Read,
            });
            let made = client.add_key(&NewKey { name, scope, ttl_seconds: ttl }).await?;
            both(&made, made_words(&made, &session.server))
        }
        KeyCommand::List => {
            let keys = client.keys().await?;
            both(&keys, list_words(&keys))
        }
        KeyCommand::Remove { name } => {
            client.remove_key(&name).await?;
            both(&Named { name: &name }, format!("key {name} was removed"))
        }
    };
    output::line(if globals.json { &line } else { &words });
    Ok(ExitCode::SUCCESS)
}

fn made_words(made: &MadeKey, server: &str) -> String {
    format!(
        "key {} was created, with the scope {}\n\nShown only now:\n\n    {}\n\nA program sends it as `Authorization: Bearer …`; \
         the `sandbridge` command reads it from SANDBRIDGE_API_KEY. MCP clients use it with {server}/mcp or `sandbridge mcp`.",
        made.view.name, made.view.scope, made.key,
    )
}

fn list_words(keys: &[KeyView]) -> String {
    if keys.is_empty() {
        return "you have no key; `sandbridge key add NAME` creates one".to_owned();
    }
    let heading = ["NAME", "SCOPE", "CREATED", "LAST USED", "EXPIRES"].map(str::to_owned).to_vec();
    let rows = keys.iter().map(|key| {
        let used = key.last_used.map_or_else(|| "never".to_owned(), output::ago);
        let ends = match (key.expired, key.expires_at) {
            (true, Some(at_ms)) => format!("expired {}", output::ago(at_ms)),
            (_, Some(at_ms)) => output::until(at_ms),
            (_, None) => "never".to_owned(),
        };
        vec![key.name.clone(), key.scope.to_string(), output::ago(key.created_at), used, ends]
    });
    output::table(&std::iter::once(heading).chain(rows).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_has_expired_is_told_apart() {
        let keys = r#"[
            {"name": "ci", "scope": "exec", "created_at": 0, "last_used": null, "expires_at": 1, "expired": true},
            {"name": "mine", "scope": "full", "created_at": 0, "last_used": 0, "expires_at": null, "expired": false}
        ]"#;
        let words = list_words(&serde_json::from_str::<Vec<KeyView>>(keys).unwrap());
        let lines: Vec<_> = words.lines().collect();
        assert!(
            lines[1].starts_with("ci") && lines[1].contains("never") && lines[1].contains("expired"),
            "{words}"
        );
        assert!(lines[2].starts_with("mine") && lines[2].ends_with("never"), "{words}");
        assert!(list_words(&[]).contains("sandbridge key add"));
    }
}
