//! `sandbridge cron`: messages that are posted on a schedule.

use std::process::ExitCode;

use api::automation::{AutomationPut, Schedule};
use api::words::{AutomationKind, MissedSlots};
use clap::{Args, Parser, ValueEnum};

use super::automation::{self, Common, RunOptions};
use super::failure::Failure;
use super::http::Client;
use super::names;
use crate::command::{Command, block_on};
use crate::globals::Globals;

/// Manage schedules: messages that are posted to a chat once, or repeatedly
#[derive(Parser)]
pub(crate) enum CronCommand {
    /// Add a schedule, or change the one with this name
    Add(Box<AddOptions>),
    /// Run a schedule now, even if it is paused
    Run {
        /// The schedule's name
        #[arg(add = names::automations())]
        name: String,
    },
    #[command(flatten)]
    Common(Common),
}

/// The schedule to add or change.
#[derive(Args)]
pub(crate) struct AddOptions {
    /// The schedule's name: a-z, 0-9, '_', '.' and '-'
    name: String,
    /// The message that is posted; or '!' and a shell command
    text: String,
    #[command(flatten)]
    when: WhenOptions,
    /// The time zone of --at and --cron, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// What to do about runs that were missed while the server was not running [default: once]
    #[arg(long, value_enum)]
    missed: Option<Missed>,
    #[command(flatten)]
    runs: RunOptions,
}

/// The times at which the message is posted.
#[derive(Args)]
#[group(required = true, multiple = false)]
struct WhenOptions {
    /// Once, such as 2026-12-01T09:00
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// Repeatedly, at this interval, such as 90s, 15m, 2h or 1d; at least 60s
    #[arg(long, value_name = "TIME")]
    every: Option<String>,
    /// By a pattern of five fields: minute, hour, day of the month, month, day of the week; '0 9 * * 1-5' is 9:00 on weekdays
    #[arg(long, value_name = "PATTERN")]
    cron: Option<String>,
}

/// What to do about missed runs.
#[derive(Clone, Copy, ValueEnum)]
enum Missed {
    /// Run the latest one, if it was due at most an hour ago
    Once,
    /// Run none
    Skip,
    /// Run the latest ten
    All,
}

impl Command for CronCommand {
    const NAME: &'static str = "cron";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(run(globals, self))
    }
}

async fn run(globals: &Globals, command: CronCommand) -> Result<ExitCode, Failure> {
    let session = globals.session()?;
    let mut client = Client::new(&session)?;
    let done = match command {
        CronCommand::Add(options) => {
            let AddOptions { name, text, when: WhenOptions { at, every, cron }, zone, missed, runs } =
                *options;
            let mut draft = runs.draft(text);
            draft.schedule = Some(Schedule { at, every, cron, zone });
            draft.missed = missed.map(|missed| match missed {
                Missed::Once => MissedSlots::Once,
                Missed::Skip => MissedSlots::Skip,
                Missed::All => MissedSlots::All,
            });
            let put = AutomationPut { automation: draft, secret: None };
            automation::save(&mut client, &session.server, &name, &put).await?
        }
        CronCommand::Run { name } => automation::start(&mut client, &name, None).await?,
        CronCommand::Common(common) => {
            automation::run(&mut client, &AutomationKind::Schedule, common).await?
        }
    };
    automation::print(globals, done);
    Ok(ExitCode::SUCCESS)
}
