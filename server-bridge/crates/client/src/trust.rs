//! `sandbridge trust`: what a workspace defines, and what of it the user approved.

mod words;

use std::process::ExitCode;

use api::trust::{TrustItem, TrustList};
use api::words::TrustState;
use clap::Parser;
use serde::Serialize;

use super::extension::{HASH_DIGITS, Hashed, agree, short_hash};
use super::failure::Failure;
use super::http::Client;
use super::limits::HASH_MIN_DIGITS;
use super::output::both;
use super::{names, output};
use crate::command::{Command, block_on};
use crate::globals::Globals;

/// See and approve what a workspace defines: hooks, MCP servers, custom tools, and skills for every prompt
#[derive(Parser)]
#[command(name = "trust")]
pub(crate) enum TrustCommand {
    /// List what your workspace defines: what waits for your approval, what changed since you gave it, and what you approved
    List {
        /// What NAME's workspace defines instead of your active runner's
        #[arg(long, value_name = "NAME", add = names::places())]
        on: Option<String>,
        /// Also your approvals in other workspaces
        #[arg(long)]
        all: bool,
    },
    /// Approve something: it has its effect from the next turn on, until it changes
    Approve {
        /// Its hash, as `sandbridge trust list` shows it: at least 8 digits; or its name, if nothing else that waits has it
        #[arg(value_name = "HASH|NAME", required_unless_present = "all")]
        what: Option<String>,
        /// Everything that waits
        #[arg(long, conflicts_with = "what")]
        all: bool,
        /// Something of NAME's workspace instead of your active runner's
        #[arg(long, value_name = "NAME", add = names::places())]
        on: Option<String>,
        /// Approve it without being asked
        #[arg(long)]
        yes: bool,
    },
    /// Take back an approval, in whichever workspace
    Revoke {
        /// Its hash, as `sandbridge trust list --all` shows it: at least 8 digits
        hash: String,
    },
}

/// What was approved, for `--json`.
#[derive(Serialize)]
struct Approved<'a> {
    hashes: Vec<&'a str>,
}

impl Command for TrustCommand {
    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(run(globals, self))
    }
}

async fn run(globals: &Globals, command: TrustCommand) -> Result<ExitCode, Failure> {
    let session = globals.session()?;
    let mut client = Client::new(&session)?;
    let (line, words) = match command {
        TrustCommand::List { on, all } => {
            let list = client.trust(on.as_deref()).await?;
            both(&list, words::list(&list, all))
        }
        TrustCommand::Approve { what, all: _, on, yes } => {
            let list = client.trust(on.as_deref()).await?;
            let found = found(&list, what.as_deref())?;
            if !yes || !globals.json {
                found.iter().for_each(|item| eprintln!("{}\n", words::whole(item)));
            }
            let (what, question) = match found.as_slice() {
                [one] => (words::named(one), "Approve this?".to_owned()),
                many => (format!("{} things", many.len()), format!("Approve all {} of these?", many.len())),
            };
            agree(&what, &question, yes).await?;
            for item in &found {
                client.trust_item(item.hash.clone(), on.as_deref()).await?;
            }
            let words = format!("{what} approved, from the next turn on and until changed");
            both(&Approved { hashes: found.iter().map(|item| item.hash.as_str()).collect() }, words)
        }
        TrustCommand::Revoke { hash } => {
            let begun = digits(&hash)?;
            let list = client.trust(None).await?;
            let hash = approved(&list, &begun)?;
            client.distrust(&hash).await?;
            let words = format!("the approval {} was revoked", short_hash(&hash));
            both(&Hashed { hash: &hash }, words)
        }
    };
    output::line(if globals.json { &line } else { &words });
    Ok(ExitCode::SUCCESS)
}

/// The waiting things that a hash or a name stands for; all of them without one.
fn found<'a>(list: &'a TrustList, what: Option<&str>) -> Result<Vec<&'a TrustItem>, Failure> {
    let waiting: Vec<&TrustItem> =
        list.items.iter().filter(|item| item.state == TrustState::Waiting).collect();
    let Some(what) = what else {
        if waiting.is_empty() {
            return Err(Failure::other("not_found", "nothing waits for your approval in this workspace"));
        }
        return Ok(waiting);
    };
    let begins = |item: &&&TrustItem| {
        what.len() >= HASH_MIN_DIGITS && item.hash.starts_with(&what.to_ascii_lowercase())
    };
    let mut fitting: Vec<&TrustItem> = waiting.iter().filter(begins).copied().collect();
    if fitting.is_empty() {
        fitting = waiting.iter().filter(|item| item.name == what).copied().collect();
    }
    match fitting.len() {
        1 => Ok(fitting),
        0 => Err(Failure::other(
            "not_found",
            format!(
                "nothing that waits for approval has the hash or the name {what:?}; `sandbridge trust list` shows what does"
            ),
        )),
        _ => Err(Failure::other(
            "invalid",
            format!("several things that wait for approval fit {what:?}; write more digits of the hash"),
        )),
    }
}

/// The digits of a hash, or of its beginning.
fn digits(text: &str) -> Result<String, Failure> {
    let is_hash = (HASH_MIN_DIGITS..=HASH_DIGITS).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hash {
        return Err(Failure::usage(format!(
            "{text:?} is not a hash: write at least {HASH_MIN_DIGITS} of the digits that `sandbridge trust list --all` shows"
        )));
    }
    Ok(text.to_ascii_lowercase())
}

/// The hash of the one approval that begins with these digits.
fn approved(list: &TrustList, begun: &str) -> Result<String, Failure> {
    let mut found: Vec<&str> = list.approvals.iter().map(|approval| approval.hash.as_str()).collect();
    found.retain(|hash| hash.starts_with(begun));
    found.sort_unstable();
    found.dedup();
    match found.as_slice() {
        [hash] => Ok((*hash).to_owned()),
        [] => Err(Failure::other(
            "not_found",
            format!(
                "no approval of yours has a hash that begins with {begun}; `sandbridge trust list --all` shows them"
            ),
        )),
        _ => Err(Failure::other(
            "invalid",
            format!("the hashes of several approvals begin with {begun}; write more digits"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::words::tests::{approval, item};
    use super::*;

    #[test]
    fn one_thing_is_found_by_its_hash_or_its_name_and_never_several() {
        let (mut one, mut two) = (item("lint", TrustState::Waiting), item("lint", TrustState::Approved));
        (one.hash, two.hash) = ("ab".repeat(32), "cd".repeat(32));
        let list = TrustList { items: vec![one, two], ..TrustList::default() };
        for what in ["ababABAB", "lint"] {
            assert_eq!(found(&list, Some(what)).unwrap()[0].hash, "ab".repeat(32), "{what}");
        }
        assert_eq!(found(&list, None).unwrap().len(), 1);
        for what in ["cdcdcdcd", "ab", "other"] {
            assert_eq!(found(&list, Some(what)).unwrap_err().kind, "not_found", "{what}");
        }
        let twice = TrustList { items: vec![list.items[0].clone(); 2], ..TrustList::default() };
        assert_eq!(found(&twice, Some("lint")).unwrap_err().kind, "invalid");
        assert_eq!(found(&TrustList::default(), None).unwrap_err().kind, "not_found");
    }

    #[test]
    fn an_approval_is_revoked_by_a_part_of_its_hash_that_is_its_own() {
        let approvals = vec![approval(&"ab".repeat(32)), approval(&("ab".repeat(31) + "cd"))];
        let list = TrustList { approvals, ..TrustList::default() };
        assert_eq!(approved(&list, &"ab".repeat(5)).unwrap_err().kind, "invalid");
        assert_eq!(approved(&list, &"cd".repeat(5)).unwrap_err().kind, "not_found");
        assert_eq!(approved(&list, &"ab".repeat(32)).unwrap(), "ab".repeat(32));
        assert!(digits("abc").is_err() && digits("not a hash").is_err());
    }
}
