//! `sandbridge group`: people and agents who share a log, and chains of agents.

mod options;
mod routes;
mod templates;
mod words;
mod workspace;

use std::io::Read as _;
use std::process::ExitCode;

use api::chain::{ChainFile, ChainForms, ChainPut, ChainStart, GateAnswer};
use api::group::{GroupGrantPut, GroupLead, GroupPersonPut, GroupPost};
use api::language::Language;
use api::words::{GateReply, GrantMode, GroupAccess};
use clap::Parser;

use super::failure::Failure;
use super::http::Client;
use super::output::{self, Named, both};
use crate::command::{Command, block_on};
use crate::globals::Globals;
use options::{AddAgent, Chain};
use workspace::Workspace;

/// Manage groups, in which people and agents share one log
#[derive(Parser)]
pub(crate) enum GroupCommand {
    /// List the groups that you are in
    List,
    /// Create a group that you own
    Create {
        /// The title of the new group
        title: String,
    },
    /// Show a group: its people, agents and grants
    Show {
        /// The group's number, as `sandbridge group list` shows it
        group: i64,
    },
    /// Change the title of a group
    Rename {
        /// The group's number
        group: i64,
        /// The new title
        title: String,
    },
    /// Delete a group with its log and chains; the chats of its agents stay with their owners
    Delete {
        /// The group's number
        group: i64,
    },
    /// Post a message; @handle asks an agent
    Post {
        /// The group's number
        group: i64,
        /// The message
        text: String,
    },
    /// Show the newest messages of a group
    Log {
        /// The group's number
        group: i64,
        /// Only messages older than the one with this number
        #[arg(long, value_name = "NUMBER", conflicts_with = "after")]
        before: Option<i64>,
        /// Only messages newer than the one with this number
        #[arg(long, value_name = "NUMBER")]
        after: Option<i64>,
    },
    /// List the calls of a group: what its agents were asked to do
    Calls {
        /// The group's number
        group: i64,
    },
    /// Stop a call to an agent
    Cancel {
        /// The group's number
        group: i64,
        /// The call's number, as `sandbridge group calls` shows it
        call: i64,
    },
    /// Add a person, or change what they may do
    AddPerson {
        /// The group's number
        group: i64,
        /// The user's name
        name: String,
        /// What they may do: owner, editor, member or reader
        #[arg(long, default_value = "member")]
        access: String,
    },
    /// Remove a person with their agents; their requests are stopped
    RemovePerson {
        /// The group's number
        group: i64,
        /// The user's name
        name: String,
    },
    /// Add an agent that works on a machine of yours, or change your agent with this handle
    AddAgent(Box<AddAgent>),
    /// Remove an agent; its work is stopped
    RemoveAgent {
        /// The group's number
        group: i64,
        /// The agent's handle
        handle: String,
    },
    /// Choose the lead: the agent that answers messages that mention no agent
    Lead {
        /// The group's number
        group: i64,
        /// The agent's handle; without it, the group has no lead
        handle: Option<String>,
    },
    /// Let a person ask one of your agents
    Grant {
        /// The group's number
        group: i64,
        /// The agent's handle
        handle: String,
        /// The user's name
        name: String,
        /// How the agent works for them: `ask` asks you before each change, `own` works in the agent's approval mode
        #[arg(long, default_value = "ask")]
        mode: String,
    },
    /// Revoke a grant; the person's requests to the agent are stopped
    Revoke {
        /// The group's number
        group: i64,
        /// The agent's handle
        handle: String,
        /// The user's name
        name: String,
    },
    /// The workspace of an agent: its folder, and the documents that describe its role
    #[command(subcommand)]
    Workspace(Workspace),
    /// List the templates of agents' workspaces, or print one
    Templates {
        /// The template's name
        name: Option<String>,
        /// The language: en or zh [default: yours]
        #[arg(long, value_name = "LANGUAGE", value_parser = workspace::language)]
        language: Option<Language>,
    },
    /// Chains: steps that several agents carry out one after the other
    #[command(subcommand)]
    Chain(Chain),
}

impl Command for GroupCommand {
    const NAME: &'static str = "group";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(run(globals, self))
    }
}

async fn run(globals: &Globals, command: GroupCommand) -> Result<ExitCode, Failure> {
    let mut client = Client::new(&globals.session()?)?;
    let (line, words) = match command {
        GroupCommand::List => {
            let groups = client.groups().await?;
            both(&groups, words::list(&groups))
        }
        GroupCommand::Create { title } => {
            let group = client.create_group(&title).await?;
            both(&group, format!("group {} was created", group.id))
        }
        GroupCommand::Show { group } => {
            let group = client.group(group).await?;
            both(&group, words::group(&group))
        }
        GroupCommand::Rename { group, title } => {
            let group = client.rename_group(group, &title).await?;
            both(&group, words::group(&group))
        }
        GroupCommand::Delete { group } => {
            client.delete_group(group).await?;
            both(&Named { name: &group.to_string() }, format!("group {group} was deleted"))
        }
        GroupCommand::Post { group, text } => {
            let post = GroupPost { text, send_id: Some(send_id()) };
            let posted = client.post_to_group(group, &post).await?;
            both(&posted, words::posted(&posted))
        }
        GroupCommand::Log { group, before, after } => {
            let entries = client.group_entries(group, before, after).await?;
            both(&entries, words::entries(&entries))
        }
        GroupCommand::Calls { group } => {
            let calls = client.group_calls(group).await?;
            both(&calls, words::calls(&calls))
        }
        GroupCommand::Cancel { group, call } => {
            client.cancel_call(group, call).await?;
            both(&Named { name: &call.to_string() }, format!("call {call} is stopped"))
        }
        GroupCommand::AddPerson { group, name, access } => {
            let put = GroupPersonPut { access: GroupAccess::from(access) };
            let group = client.put_person(group, &name, &put).await?;
            both(&group, words::group(&group))
        }
        GroupCommand::RemovePerson { group, name } => {
            client.remove_person(group, &name).await?;
            both(&Named { name: &name }, format!("{name} was removed from group {group}"))
        }
        GroupCommand::AddAgent(options) => workspace::add_agent(&mut client, *options).await?,
        GroupCommand::Workspace(command) => workspace::run(&mut client, command).await?,
        GroupCommand::Templates { name, language } => {
            workspace::templates(&mut client, name, language).await?
        }
        GroupCommand::RemoveAgent { group, handle } => {
            client.remove_agent(group, &handle).await?;
            both(&Named { name: &handle }, format!("{handle} was removed from group {group}"))
        }
        GroupCommand::Lead { group, handle } => {
            let group = client.set_lead(group, &GroupLead { agent: handle }).await?;
            both(&group, words::group(&group))
        }
        GroupCommand::Grant { group, handle, name, mode } => {
            let put = GroupGrantPut { mode: GrantMode::from(mode) };
            let group = client.put_grant(group, &handle, &name, &put).await?;
            both(&group, words::group(&group))
        }
        GroupCommand::Revoke { group, handle, name } => {
            client.remove_grant(group, &handle, &name).await?;
            both(&Named { name: &name }, format!("{name} may no longer ask {handle}"))
        }
        GroupCommand::Chain(chain) => chained(&mut client, chain).await?,
    };
    output::line(if globals.json { &line } else { &words });
    Ok(ExitCode::SUCCESS)
}

/// Runs a subcommand of `group chain`.
async fn chained(client: &mut Client, chain: Chain) -> Result<(String, String), Failure> {
    Ok(match chain {
        Chain::List { group } => {
            let chains = client.chains(group).await?;
            both(&chains, words::chains(&chains))
        }
        Chain::Set { group, name, file, from, replace } => {
            let forms = match from {
                Some(agent) => {
                    let agent = agent.trim_start_matches('@').to_owned();
                    ChainForms { file: Some(ChainFile { agent, path: file }), ..ChainForms::default() }
                }
                None => ChainForms { text: Some(read_text(&file)?), ..ChainForms::default() },
            };
            let put = ChainPut { forms, replace, ..ChainPut::default() };
            let hint = |failure: Failure| match failure.kind.as_str() {
                "conflict" => Failure { message: format!("{} (--replace)", failure.message), ..failure },
                _ => failure,
            };
            let chain = client.put_chain(group, &name, &put).await.map_err(hint)?;
            both(&chain, chain.text.trim_end())
        }
        Chain::Get { group, name } => {
            let chains = client.chains(group).await?;
            let chain = chains.into_iter().find(|chain| chain.name == name);
            let missing = || {
                let message = format!(
                    "there is no chain {name:?} in this group; see `sandbridge group chain list {group}`"
                );
                Failure::other("not_found", message)
            };
            let chain = chain.ok_or_else(missing)?;
            both(&chain, chain.text.trim_end())
        }
        Chain::Template { name } => templates::shown(client, name).await?,
        Chain::Remove { group, name } => {
            client.remove_chain(group, &name).await?;
            both(&Named { name: &name }, format!("the chain {name} was removed"))
        }
        Chain::Run { group, name, request } => {
            let start = ChainStart { request, send_id: Some(send_id()) };
            let run = client.begin_run(group, &name, &start).await?;
            both(&run, words::run(&run))
        }
        Chain::Runs { group, before } => {
            let runs = client.chain_runs(group, before).await?;
            both(&runs, words::runs(&runs))
        }
        Chain::Show { group, run } => {
            let run = client.chain_run(group, run).await?;
            both(&run, words::run(&run))
        }
        Chain::Stop { group, run } => {
            let run = client.stop_run(group, run).await?;
            both(&run, words::run(&run))
        }
        Chain::Answer { group, gate, reply, text } => {
            let answer = GateAnswer { reply: GateReply::from(reply), text };
            let run = client.answer_gate(group, gate, &answer).await?;
            both(&run, words::run(&run))
        }
    })
}

/// The text of a file, or of standard input for `-`.
fn read_text(file: &str) -> Result<String, Failure> {
    let mut text = String::new();
    let read = match file {
        "-" => std::io::stdin().read_to_string(&mut text).map(|_| ()),
        path => std::fs::read_to_string(path).map(|read| text = read),
    };
    read.map_err(|error| Failure::other("invalid", format!("cannot read {file}: {error}")))?;
    Ok(text)
}

fn send_id() -> String {
    format!("{:032x}", rand::random::<u128>())
}
