//! The parts that `sandbridge cron` and `sandbridge trigger` share.

mod routes;
mod words;

use api::automation::{AutomationDraft, AutomationPut, AutomationSaved, AutomationStart};
use api::words::{Approval, AutomationChats, AutomationKind, OverlappingRuns};
use clap::{Args, Subcommand, ValueEnum};

use super::failure::Failure;
use super::http::Client;
use super::output::{Named, both};
use super::{names, output};
use crate::globals::Globals;

/// Options of an automation's runs.
#[derive(Args)]
pub(super) struct RunOptions {
    /// Where to run: a runner's name, '__docker__' (your container) or 'none' (the server) [default: what is active when a run starts]
    #[arg(long, value_name = "NAME", add = names::places())]
    on: Option<String>,
    /// The approval mode of the runs [default: your own approval mode for a schedule, plan for a trigger]
    #[arg(long, value_enum)]
    approval: Option<Mode>,
    /// Begin a new chat with each run instead of one for all runs
    #[arg(long)]
    new_chats: bool,
    /// What happens to a run that is due while an earlier one is in progress [default: skip for a schedule, queue for a trigger]
    #[arg(long, value_enum)]
    overlap: Option<Overlap>,
}

/// An approval mode.
#[derive(Clone, Copy, ValueEnum)]
enum Mode {
    /// The agent only reads, and changes nothing
    Plan,
    /// The agent asks before it changes a file or runs a command; a request that nobody answers is denied
    Ask,
    /// The agent asks before it runs a command
    AutoEdit,
    /// The agent asks only before it changes settings or runs a command as the privileged user, or where a rule or hook asks
    Full,
}

/// What happens to a run that is due while an earlier one is in progress.
#[derive(Clone, Copy, ValueEnum)]
enum Overlap {
    /// The later run is skipped
    Skip,
    /// The later run waits
    Queue,
}

/// The subcommands that `cron` and `trigger` share.
#[derive(Subcommand)]
pub(super) enum Common {
    /// List all, with their next and last runs
    List,
    /// List the runs of NAME, the newest first
    Runs {
        /// The name of the schedule or trigger
        #[arg(add = names::automations())]
        name: String,
        /// Only runs older than the one with this number
        #[arg(long, value_name = "NUMBER")]
        before: Option<i64>,
    },
    /// Pause NAME until you resume it
    Pause {
        /// The name of the schedule or trigger
        #[arg(add = names::automations())]
        name: String,
    },
    /// Resume NAME after a pause; runs that were missed during the pause are not made up for
    Resume {
        /// The name of the schedule or trigger
        #[arg(add = names::automations())]
        name: String,
    },
    /// Remove NAME with the record of its runs; its chats stay
    Remove {
        /// The name of the schedule or trigger
        #[arg(add = names::automations())]
        name: String,
    },
}

impl RunOptions {
    /// An automation that posts this text; the caller adds its schedule or its trigger.
    pub(super) fn draft(self, text: String) -> AutomationDraft {
        AutomationDraft {
            text,
            runner: self.on,
            approval: self.approval.map(|mode| match mode {
                Mode::Plan => Approval::Plan,
                Mode::Ask => Approval::Ask,
                Mode::AutoEdit => Approval::AutoEdit,
                Mode::Full => Approval::Full,
            }),
            chats: self.new_chats.then_some(AutomationChats::Each),
            overlap: self.overlap.map(|overlap| match overlap {
                Overlap::Skip => OverlappingRuns::Skip,
                Overlap::Queue => OverlappingRuns::Queue,
            }),
            ..AutomationDraft::default()
        }
    }
}

/// Runs a subcommand that `cron` and `trigger` share; returns the document for programs, and the same as text.
pub(super) async fn run(
    client: &mut Client,
    kind: &AutomationKind,
    command: Common,
) -> Result<(String, String), Failure> {
    Ok(match command {
        Common::List => {
            let mut all = client.automations().await?;
            all.retain(|one| one.kind == *kind);
            both(&all, words::list(kind, &all))
        }
        Common::Runs { name, before } => {
            let runs = client.automation_runs(&name, before).await?;
            both(&runs, words::runs(&name, &runs))
        }
        Common::Pause { name } => {
            let view = client.pause_automation(&name, true).await?;
            both(&view, format!("{name} is paused"))
        }
        Common::Resume { name } => {
            let view = client.pause_automation(&name, false).await?;
            both(&view, format!("{name} is resumed{}", words::next(&view)))
        }
        Common::Remove { name } => {
            client.remove_automation(&name).await?;
            both(&Named { name: &name }, format!("{name} was removed"))
        }
    })
}

/// Saves an automation; returns the document for programs, and the same as text.
pub(super) async fn save(
    client: &mut Client,
    server: &str,
    name: &str,
    put: &AutomationPut,
) -> Result<(String, String), Failure> {
    let saved = client.put_automation(name, put).await?;
    Ok(both(&saved, words::saved(server, &saved)))
}

/// Gives a trigger a new address; returns the document for programs, and the same as text.
pub(super) async fn new_address(
    client: &mut Client,
    server: &str,
    name: &str,
) -> Result<(String, String), Failure> {
    let saved: AutomationSaved = client.new_automation_address(name).await?;
    Ok(both(&saved, words::saved(server, &saved)))
}

/// Runs an automation now; returns the document for programs, and the same as text.
pub(super) async fn start(
    client: &mut Client,
    name: &str,
    run: Option<i64>,
) -> Result<(String, String), Failure> {
    let begun = client.start_automation(name, &AutomationStart { run }).await?;
    let id = begun.id;
    let kind = if run.is_some() { "trigger" } else { "cron" };
    let words = format!("run {id} of {name} is due now; `sandbridge {kind} runs {name}` shows its outcome");
    Ok(both(&begun, words))
}

/// Prints the result of a command.
pub(super) fn print(globals: &Globals, (line, words): (String, String)) {
    output::line(if globals.json { &line } else { &words });
}
