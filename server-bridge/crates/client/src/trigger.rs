//! `sandbridge trigger`: messages that webhooks post.

use std::process::ExitCode;

use api::automation::{AutomationPut, DeliveryCondition, Trigger};
use api::words::{AutomationKind, TriggerSource};
use clap::{Args, Parser, ValueEnum};

use super::automation::{self, Common, RunOptions};
use super::failure::Failure;
use super::http::Client;
use super::names;
use crate::command::{Command, block_on};
use crate::globals::Globals;

/// Manage triggers: messages that are posted to a chat when an authenticated webhook arrives
#[derive(Parser)]
pub(crate) enum TriggerCommand {
    /// Add a trigger, and print its address and its secret once; or change the one with this name
    Add(Box<AddOptions>),
    /// Give a trigger a new address and a new secret; the old ones stop working
    Address {
        /// The trigger's name
        #[arg(add = names::automations())]
        name: String,
    },
    /// Run a trigger again with the delivery of an earlier run, even if it is paused
    Run {
        /// The trigger's name
        #[arg(add = names::automations())]
        name: String,
        /// The number of the earlier run, as `sandbridge trigger runs` shows it
        #[arg(value_name = "NUMBER")]
        number: i64,
    },
    #[command(flatten)]
    Common(Common),
}

/// The trigger to add or change.
#[derive(Args)]
pub(crate) struct AddOptions {
    /// The trigger's name: a-z, 0-9, '_', '.' and '-'
    name: String,
    /// The instruction for the agent; each delivery follows this text in a block of its own
    text: String,
    /// How the sender authenticates its deliveries
    #[arg(long, value_enum)]
    from: From,
    /// Accept only this event, such as push; may be given several times
    #[arg(long = "event", value_name = "EVENT")]
    events: Vec<String>,
    /// Accept only deliveries whose value at this JSON pointer equals this text, such as /ref=refs/heads/main; may be given several times
    #[arg(long = "only-if", value_name = "POINTER=TEXT", value_parser = condition)]
    only_if: Vec<DeliveryCondition>,
    /// Show the agent only the value at this JSON pointer, such as /repository/full_name; may be given several times
    #[arg(long = "field", value_name = "POINTER")]
    fields: Vec<String>,
    /// Read the secret from standard input instead of generating one
    #[arg(long)]
    secret_stdin: bool,
    #[command(flatten)]
    runs: RunOptions,
}

/// How the sender authenticates its deliveries.
#[derive(Clone, Copy, ValueEnum)]
enum From {
    /// X-Hub-Signature-256, as GitHub and Gitea sign
    Github,
    /// webhook-signature, as Standard Webhooks are signed
    Standard,
    /// X-Gitlab-Token
    Gitlab,
    /// X-Slack-Signature
    Slack,
    /// Authorization: Bearer SECRET
    Bearer,
}

fn condition(text: &str) -> Result<DeliveryCondition, &'static str> {
    let (pointer, equals) = text.split_once('=').ok_or("write it as /POINTER=TEXT")?;
    Ok(DeliveryCondition { pointer: pointer.to_owned(), equals: equals.to_owned() })
}

impl Command for TriggerCommand {
    const NAME: &'static str = "trigger";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(run(globals, self))
    }
}

async fn run(globals: &Globals, command: TriggerCommand) -> Result<ExitCode, Failure> {
    let session = globals.session()?;
    let mut client = Client::new(&session)?;
    let done = match command {
        TriggerCommand::Add(options) => {
            let AddOptions { name, text, from, events, only_if, fields, secret_stdin, runs } = *options;
            let from = match from {
                From::Github => TriggerSource::Github,
                From::Standard => TriggerSource::Standard,
                From::Gitlab => TriggerSource::Gitlab,
                From::Slack => TriggerSource::Slack,
                From::Bearer => TriggerSource::Bearer,
            };
            let mut draft = runs.draft(text);
            draft.trigger = Some(Trigger { from, events, only_if, fields });
            let secret = secret_stdin.then(secret).transpose()?;
            let put = AutomationPut { automation: draft, secret };
            automation::save(&mut client, &session.server, &name, &put).await?
        }
        TriggerCommand::Address { name } => {
            automation::new_address(&mut client, &session.server, &name).await?
        }
        TriggerCommand::Run { name, number } => automation::start(&mut client, &name, Some(number)).await?,
        TriggerCommand::Common(common) => {
            automation::run(&mut client, &AutomationKind::Trigger, common).await?
        }
    };
    automation::print(globals, done);
    Ok(ExitCode::SUCCESS)
}

/// The secret on standard input, without the line end.
fn secret() -> Result<String, Failure> {
    let mut line = String::new();
    std::io::stdin()
        .read_line(&mut line)
        .map_err(|error| Failure::other("io", format!("the secret cannot be read: {error}")))?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
