//! `sandbridge hook`: the hooks that run at certain points of a model's turn.

mod trial;
mod words;

use std::path::PathBuf;
use std::process::ExitCode;

use api::hooks::{HookDocument, HookTrial, HookView};
use api::words::HookState;
use clap::Parser;

use super::extension::{HASH_DIGITS, Hashed, agree, document, is_of_workspace, short_hash};
use super::failure::Failure;
use super::http::Client;
use super::limits::HASH_MIN_DIGITS;
use super::output::both;
use super::{names, output};
use crate::command::{Command, block_on};
use crate::globals::Globals;

/// Manage the hooks that run at certain points of a model's turn
#[derive(Parser)]
pub(crate) enum HookCommand {
    /// List the hooks that apply to you
    List {
        /// The hooks of NAME's workspace instead of your active runner's
        #[arg(long, value_name = "NAME", add = names::places())]
        on: Option<String>,
    },
    /// Show your own document of hooks, as you set it
    Show,
    /// Replace your own document of hooks
    Set {
        /// The document, in the form of hooks.json; '-' reads standard input
        file: PathBuf,
    },
    /// Remove your own document of hooks
    Clear,
    /// Approve a hook of a workspace: it runs from the next turn on, until it changes
    Approve {
        /// Its hash, as `sandbridge hook list` shows it: at least 8 digits
        hash: String,
        /// A hook of NAME's workspace instead of your active runner's
        #[arg(long, value_name = "NAME", add = names::places())]
        on: Option<String>,
        /// Approve it without being asked
        #[arg(long)]
        yes: bool,
    },
    /// Revoke the approval of a hook: from the next turn on it no longer runs
    Revoke {
        /// Its hash, as `sandbridge hook list` shows it: at least 8 digits
        hash: String,
        /// A hook of NAME's workspace instead of your active runner's
        #[arg(long, value_name = "NAME", add = names::places())]
        on: Option<String>,
    },
    /// Run the handlers of a hook on a sample or on your payload, and show what they decide; the decisions are not carried out
    Test {
        /// Its id, or at least 8 digits of its hash, as `sandbridge hook list` shows them
        #[arg(required_unless_present = "event")]
        hook: Option<String>,
        /// All hooks of this event, such as PreToolUse
        #[arg(long, value_name = "EVENT", conflicts_with = "hook")]
        event: Option<String>,
        /// Fields of the event as a JSON object, in place of the sample's; '-' reads standard input
        #[arg(long, value_name = "FILE")]
        payload: Option<PathBuf>,
        /// Use the machine, the mode and the models of this chat
        #[arg(long, value_name = "CHAT", conflicts_with = "on")]
        chat: Option<String>,
        /// The hooks of NAME's workspace instead of your active runner's
        #[arg(long, value_name = "NAME", add = names::places())]
        on: Option<String>,
    },
    /// Show the newest runs of your hooks
    Log,
}

impl Command for HookCommand {
    const NAME: &'static str = "hook";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(run(globals, self))
    }
}

async fn run(globals: &Globals, command: HookCommand) -> Result<ExitCode, Failure> {
    let session = globals.session()?;
    let mut client = Client::new(&session)?;
    let (line, words) = match command {
        HookCommand::List { on } => {
            let list = client.hooks(on.as_deref()).await?;
            both(&list, words::list(&list))
        }
        HookCommand::Show => {
            let document = client.hook_document().await?;
            if !globals.json && document.text.is_none() {
                // Standard output gets only the document, because it may be redirected to a file.
                output::warn("you have no document of hooks; `sandbridge hook set FILE` sets one");
                return Ok(ExitCode::SUCCESS);
            }
            let text = document.text.as_deref().unwrap_or_default();
            both(&document, text.strip_suffix('\n').unwrap_or(text))
        }
        HookCommand::Set { file } => {
            let text = Some(document(&file)?);
            let list = client.set_hook_document(&HookDocument { text }).await?;
            both(&list, words::set(&list))
        }
        HookCommand::Clear => {
            let list = client.set_hook_document(&HookDocument { text: None }).await?;
            both(&list, "your document of hooks was removed")
        }
        HookCommand::Approve { hash, on, yes } => {
            let begun = digits(&hash)?;
            let list = client.hooks(on.as_deref()).await?;
            let hook = find(&list.hooks, &begun, is_waiting, "waits for approval")?;
            if !yes || !globals.json {
                eprintln!("{}", words::whole(hook));
            }
            agree(&format!("the hook {}", short_hash(&hook.hash)), "Approve this hook?", yes).await?;
            client.approve_hook(hook.hash.clone(), on.as_deref()).await?;
            let words = format!(
                "the hook {} was approved; it runs from the next turn on, until it changes",
                short_hash(&hook.hash)
            );
            both(&Hashed { hash: &hook.hash }, words)
        }
        HookCommand::Revoke { hash, on } => {
            let begun = digits(&hash)?;
            // A complete hash may belong to a hook that no longer exists on any machine.
            let hash = if begun.len() == HASH_DIGITS {
                begun
            } else {
                let list = client.hooks(on.as_deref()).await?;
                find(&list.hooks, &begun, is_approved, "was approved")?.hash.clone()
            };
            client.revoke_hook(&hash).await?;
            let words = format!("the approval of the hook {} was revoked", short_hash(&hash));
            both(&Hashed { hash: &hash }, words)
        }
        HookCommand::Test { hook, event, payload, chat, on } => {
            let payload = payload.map(|file| document(&file)).transpose()?;
            let trial = HookTrial { hook, event, payload, chat_id: chat };
            let view = client.try_hooks(&trial, on.as_deref()).await?;
            both(&view, trial::words(&view))
        }
        HookCommand::Log => {
            let runs = client.hook_log().await?;
            both(&runs, words::log(&runs))
        }
    };
    output::line(if globals.json { &line } else { &words });
    Ok(ExitCode::SUCCESS)
}

/// The digits of a hash, or of its beginning.
fn digits(text: &str) -> Result<String, Failure> {
    let is_hash = (HASH_MIN_DIGITS..=HASH_DIGITS).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hash {
        let message = format!(
            "{text:?} is not a hash: write at least {HASH_MIN_DIGITS} of the digits that `sandbridge hook list` shows"
        );
        return Err(Failure::usage(message));
    }
    Ok(text.to_ascii_lowercase())
}

fn is_waiting(hook: &HookView) -> bool {
    hook.state == HookState::Waiting
}

fn is_approved(hook: &HookView) -> bool {
    hook.state == HookState::Runs && is_of_workspace(&hook.layer)
}

/// The only `wanted` hook whose hash begins with these digits.
fn find<'a>(
    hooks: &'a [HookView],
    begun: &str,
    wanted: fn(&HookView) -> bool,
    what: &str,
) -> Result<&'a HookView, Failure> {
    let mut found = hooks.iter().filter(|hook| wanted(hook) && hook.hash.starts_with(begun));
    let Some(first) = found.next() else {
        let message = format!(
            "no hook that {what} has a hash that begins with {begun}; `sandbridge hook list` lists the hooks"
        );
        return Err(Failure::other("not_found", message));
    };
    if found.any(|other| other.hash != first.hash) {
        let message = format!("the hashes of several hooks begin with {begun}; write more digits");
        return Err(Failure::other("invalid", message));
    }
    Ok(first)
}

#[cfg(test)]
mod tests {
    use super::words::tests::{hook, waiting};
    use super::*;

    #[test]
    fn a_hash_may_be_shortened_to_eight_digits() {
        assert_eq!(digits("0123ABCD").unwrap(), "0123abcd");
        assert!(digits(&"a".repeat(64)).is_ok());
        for wrong in ["", "0123abc", "0123abcg", &"a".repeat(65), "pre-0123abcd"] {
            assert_eq!(digits(wrong).unwrap_err().kind, "usage", "{wrong:?}");
        }
    }

    #[test]
    fn only_the_one_hook_that_waits_is_found() {
        let runs = hook("ffff0000", "workspace", "runs");
        let hooks = [waiting("abcd0123"), waiting("abcd0123"), waiting("abcd0199"), runs];
        assert_eq!(find(&hooks, "abcd0123", is_waiting, "waits").unwrap().hash, "abcd0123");
        assert_eq!(find(&hooks, "abcd01", is_waiting, "waits").unwrap_err().kind, "invalid");
        let missing = find(&hooks, "ffff0000", is_waiting, "waits for approval").unwrap_err();
        assert!(missing.kind == "not_found" && missing.message.contains("waits for approval"), "{missing:?}");
        assert!(find(&hooks, "ffff0000", is_approved, "was approved").is_ok());
        assert!(find(&hooks, "abcd0123", is_approved, "was approved").is_err());
        assert!(!is_approved(&hook("0", "user", "runs")), "the user's own hooks need no approval");
    }
}
