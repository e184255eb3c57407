//! `sandbridge trust`: what a workspace defines, and what the user approved.

mod words;

use std::process::ExitCode;

use api::trust::{TrustApproval, TrustItem, TrustList};
use api::words::TrustState;
use clap::Parser;
use serde::Serialize;

use super::extension::{Approvable, Hashed, agree, find, short_hash};
use super::failure::Failure;
use super::http::Client;
use super::output::both;
use super::{names, output};
use crate::command::{Command, block_on};
use crate::globals::Globals;

/// See and approve what a workspace defines: hooks, MCP servers, HTTP tools, custom tools, and skills for every prompt
#[derive(Parser)]
pub(crate) enum TrustCommand {
    /// List what your workspace defines: what waits for your approval, what changed since you gave it, and what you approved
    List {
        /// What NAME's workspace defines instead of your active runner's
        #[arg(long, value_name = "NAME", add = names::places())]
        on: Option<String>,
        /// Also list your approvals in other workspaces
        #[arg(long)]
        all: bool,
    },
    /// Approve an item: it takes effect from the next turn on, until it changes
    Approve {
        /// The item's hash, as `sandbridge trust list` shows it: at least 8 digits; or its name, if that is unique among the items that wait
        #[arg(value_name = "HASH|NAME", required_unless_present = "all")]
        what: Option<String>,
        /// Approve everything that waits for approval
        #[arg(long, conflicts_with = "what")]
        all: bool,
        /// An item of NAME's workspace instead of your active runner's
        #[arg(long, value_name = "NAME", add = names::places())]
        on: Option<String>,
        /// Approve it without being asked
        #[arg(long)]
        yes: bool,
    },
    /// Revoke an approval, in any workspace
    Revoke {
        /// The approval's hash, as `sandbridge trust list --all` shows it: at least 8 digits; or its name, if no other approval has it
        #[arg(value_name = "HASH|NAME")]
        hash: String,
    },
}

/// What was approved, for `--json`.
#[derive(Serialize)]
struct Approved<'a> {
    hashes: Vec<&'a str>,
}

impl Command for TrustCommand {
    const NAME: &'static str = "trust";

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
            let (what, question, done) = match found.as_slice() {
                [one] => (words::named(one), "Approve this?".to_owned(), "was approved; it takes"),
                many => {
                    let question = format!("Approve all {} of these?", many.len());
                    (format!("{} things", many.len()), question, "were approved; each takes")
                }
            };
            let each = if found.len() == 1 { what.clone() } else { format!("each of these {what}") };
            agree(&each, &question, yes).await?;
            for item in &found {
                client.trust_item(item.hash.clone(), on.as_deref()).await?;
            }
            let words = format!("{what} {done} effect from the next turn on, until it changes");
            both(&Approved { hashes: found.iter().map(|item| item.hash.as_str()).collect() }, words)
        }
        TrustCommand::Revoke { hash } => {
            let list = client.trust(None).await?;
            let hash = find(&list.approvals, &hash, |_| true, "was approved")?.hash.clone();
            client.distrust(&hash).await?;
            let words = format!("the approval {} was revoked", short_hash(&hash));
            both(&Hashed { hash: &hash }, words)
        }
    };
    output::line(if globals.json { &line } else { &words });
    Ok(ExitCode::SUCCESS)
}

impl Approvable for TrustItem {
    const KIND: &'static str = "definition";
    const LIST: &'static str = "sandbridge trust list";

    fn name(&self) -> &str {
        &self.name
    }

    fn hash(&self) -> &str {
        &self.hash
    }
}

impl Approvable for TrustApproval {
    const KIND: &'static str = "definition";
    const LIST: &'static str = "sandbridge trust list --all";

    fn name(&self) -> &str {
        &self.name
    }

    fn hash(&self) -> &str {
        &self.hash
    }
}

fn is_waiting(item: &TrustItem) -> bool {
    item.state == TrustState::Waiting
}

/// The items that wait for approval and have this hash or name; without one, all that wait.
fn found<'a>(list: &'a TrustList, what: Option<&str>) -> Result<Vec<&'a TrustItem>, Failure> {
    if let Some(what) = what {
        return Ok(vec![find(&list.items, what, is_waiting, "waits for approval")?]);
    }
    let waiting: Vec<&TrustItem> = list.items.iter().filter(|item| is_waiting(item)).collect();
    match waiting.is_empty() {
        true => Err(Failure::other("not_found", "nothing waits for your approval in this workspace")),
        false => Ok(waiting),
    }
}

#[cfg(test)]
mod tests {
    use super::words::tests::item;
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
        let mut other = item("lint", TrustState::Waiting);
        other.hash = "ef".repeat(32);
        let twice = TrustList { items: vec![list.items[0].clone(), other], ..TrustList::default() };
        assert_eq!(found(&twice, Some("lint")).unwrap_err().kind, "invalid");
        assert_eq!(found(&TrustList::default(), None).unwrap_err().kind, "not_found");
    }
}
