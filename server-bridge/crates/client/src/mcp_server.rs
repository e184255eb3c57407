//! `sandbridge mcp-server`: the MCP servers that offer tools to the user's models.

mod add;
mod import;
mod login;
mod words;

use std::path::PathBuf;
use std::process::ExitCode;

use api::mcp::McpServerView;
use api::words::{ExtensionLayer, McpServerState};
use clap::Parser;

use self::add::AddOptions;
use self::import::{Entry, Imported};
use self::login::LoginOptions;
use super::extension::{Approvable, HASH_DIGITS, Hashed, agree, document, find, is_hash, is_of_workspace};
use super::failure::{FAILED, Failure};
use super::http::Client;
use super::output::{Named, both};
use super::{names, output};
use crate::command::{Command, block_on};
use crate::globals::Globals;

/// The kind of a check's failure if the server requires a login.
const LOGIN_REQUIRED: &str = "login_required";

/// Manage the MCP servers that offer tools to your models
#[derive(Parser)]
pub(crate) enum McpServerCommand {
    /// List the MCP servers that apply to you
    List {
        /// The servers of NAME and its workspace instead of your active runner's
        #[arg(long, value_name = "NAME", add = names::places())]
        on: Option<String>,
    },
    /// Show an MCP server: its origin, its hash, its tools and how they changed
    Show {
        /// The server's name
        #[arg(add = names::mcp_servers())]
        name: String,
        /// The server on NAME instead of your active runner
        #[arg(long, value_name = "NAME", add = names::places())]
        on: Option<String>,
    },
    /// Add an MCP server of your own, or replace it, and check it
    #[command(
        override_usage = "sandbridge mcp-server add [OPTIONS] <NAME> -- COMMAND [ARGS]...\n       sandbridge mcp-server add [OPTIONS] <NAME> --url <URL>"
    )]
    Add(Box<AddOptions>),
    /// Add every MCP server of a document as your own, without checking it
    Import {
        /// The document, in the form of .mcp.json; '-' reads standard input
        file: PathBuf,
    },
    /// Remove an MCP server of your own
    Remove {
        /// The server's name
        #[arg(add = names::mcp_servers())]
        name: String,
    },
    /// Connect to an MCP server and list its tools
    Check {
        /// The server's name
        #[arg(add = names::mcp_servers())]
        name: String,
        /// Connect from NAME instead of your active runner
        #[arg(long, value_name = "NAME", add = names::places())]
        on: Option<String>,
    },
    /// Log in to an MCP server that requires it, in a browser, and check it
    Login(LoginOptions),
    /// Forget the login to an MCP server
    Logout {
        /// The server's name
        #[arg(add = names::mcp_servers())]
        name: String,
    },
    /// Approve an MCP server of a workspace: its tools are offered from the next turn on, until it changes
    Approve {
        /// The server's name; or its hash, as `sandbridge mcp-server show` shows it: at least 8 digits
        #[arg(value_name = "NAME|HASH", add = names::mcp_servers())]
        name_or_hash: String,
        /// An MCP server of NAME's workspace instead of your active runner's
        #[arg(long, value_name = "NAME", add = names::places())]
        on: Option<String>,
        /// Approve it without being asked
        #[arg(long)]
        yes: bool,
    },
    /// Revoke the approval of an MCP server: its tools are no longer offered
    Revoke {
        /// The server's name; or its hash, as `sandbridge mcp-server show` shows it: at least 8 digits
        #[arg(value_name = "NAME|HASH", add = names::mcp_servers())]
        name_or_hash: String,
        /// An MCP server of NAME's workspace instead of your active runner's
        #[arg(long, value_name = "NAME", add = names::places())]
        on: Option<String>,
    },
    /// Accept the changed tools and instructions of an MCP server: they are offered again from the next turn on
    Accept {
        /// The server's name
        #[arg(add = names::mcp_servers())]
        name: String,
        /// The changes of the server on NAME instead of your active runner
        #[arg(long, value_name = "NAME", add = names::places())]
        on: Option<String>,
        /// Accept them without being asked
        #[arg(long)]
        yes: bool,
    },
}

impl Command for McpServerCommand {
    const NAME: &'static str = "mcp-server";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(run(globals, self))
    }
}

async fn run(globals: &Globals, command: McpServerCommand) -> Result<ExitCode, Failure> {
    let session = globals.session()?;
    let mut client = Client::new(&session)?;
    let mut code = ExitCode::SUCCESS;
    let (line, words) = match command {
        McpServerCommand::List { on } => {
            let list = client.mcp_servers(on.as_deref()).await?;
            both(&list, words::list(&list))
        }
        McpServerCommand::Show { name, on } => {
            let list = client.mcp_servers(on.as_deref()).await?;
            let server = named(&list.servers, &name)?;
            let others = list.servers.iter().filter(|other| other.name == name && *other != server);
            both(server, words::show(server, others))
        }
        McpServerCommand::Add(options) => add(&mut client, &options).await?,
        McpServerCommand::Import { file } => {
            let imported = import(&mut client, &document(&file)?).await?;
            if !imported.refused.is_empty() {
                code = ExitCode::from(FAILED);
            }
            both(&imported, words::imported(&imported))
        }
        McpServerCommand::Remove { name } => {
            client.remove_mcp_server(&name).await?;
            both(&Named { name: &name }, format!("the MCP server {name} was removed"))
        }
        McpServerCommand::Check { name, on } => {
            let server = check(&mut client, &name, on.as_deref()).await?;
            both(&server, words::checked(&server))
        }
        McpServerCommand::Login(options) => login::log_in(&mut client, &options, globals.json).await?,
        McpServerCommand::Logout { name } => {
            client.forget_mcp_login(&name).await?;
            both(&Named { name: &name }, format!("you are logged out of {}", words::called_by(&name)))
        }
        McpServerCommand::Approve { name_or_hash, on, yes } => {
            let list = client.mcp_servers(on.as_deref()).await?;
            let server = find(&list.servers, &name_or_hash, is_waiting, "waits for approval")?;
            if !yes || !globals.json {
                eprintln!("{}", words::whole(server));
            }
            approve(&mut client, server, on.as_deref(), yes).await?
        }
        McpServerCommand::Revoke { name_or_hash, on } => {
            let (hash, what) = approved(&mut client, &name_or_hash, on.as_deref()).await?;
            client.revoke_mcp_server(&hash).await?;
            let words = format!("the approval of {what} was revoked; its tools are no longer offered");
            both(&Hashed { hash: &hash }, words)
        }
        McpServerCommand::Accept { name, on, yes } => {
            let list = client.mcp_servers(on.as_deref()).await?;
            let server = named(&list.servers, &name)?;
            if server.changes.is_some() && (!yes || !globals.json) {
                eprintln!("{}", words::changes(server));
            }
            accept(&mut client, server, on.as_deref(), yes).await?
        }
    };
    output::line(if globals.json { &line } else { &words });
    Ok(code)
}

async fn add(client: &mut Client, options: &AddOptions) -> Result<(String, String), Failure> {
    let AddOptions { name, no_check, .. } = options;
    let client_secret = if options.has_client() { Some(login::secret()?) } else { None };
    client.put_mcp_server(name, &options.entry(client_secret)?).await?;
    let added = format!("the MCP server {name} was added");
    if *no_check {
        let words = format!("{added}; `sandbridge mcp-server check {name}` lists its tools");
        return Ok(both(&Named { name }, words));
    }
    let server = check(client, name, None).await.map_err(|failure| {
        let message = match failure.kind.as_str() {
            LOGIN_REQUIRED => format!("{added}; it requires a login: {}", words::log_in(name, None)),
            _ => format!("{added}, but its check failed: {}", failure.message),
        };
        Failure { message, ..failure }
    })?;
    let words = match &server.layer {
        ExtensionLayer::User => format!("{added}\n{}", words::checked(&server)),
        other => format!("{added}\n{}", words::hidden(name, other)),
    };
    Ok(both(&server, words))
}

/// Lists the tools of a server. A failure may contain text that the server's program wrote.
async fn check(client: &mut Client, name: &str, on: Option<&str>) -> Result<McpServerView, Failure> {
    client.check_mcp_server(name, on).await.map_err(|failure| {
        if failure.kind != LOGIN_REQUIRED {
            return words::quoted_failure(failure);
        }
        let message = format!("{} requires a login: {}", words::called_by(name), words::log_in(name, on));
        Failure { message, ..failure }
    })
}

/// Adds each entry of a document. If the Sandbridge server cannot be reached, the remaining entries are not sent.
async fn import(client: &mut Client, document: &str) -> Result<Imported, Failure> {
    let mut imported = Imported::default();
    let mut unasked = None;
    for (name, entry) in import::entries(document)? {
        let (entry, unused) = match (entry, &unasked) {
            (Entry::Off, _) => {
                imported.turned_off.push(name);
                continue;
            }
            (Entry::Wrong(reason), _) => {
                imported.refuse(name, reason);
                continue;
            }
            (Entry::Whole(..), Some(reason)) => {
                imported.refuse(name, format!("it was not sent: {reason}"));
                continue;
            }
            (Entry::Whole(entry, unused), None) => (entry, unused),
        };
        match client.put_mcp_server(&name, &entry).await {
            Ok(()) => imported.add(name, unused),
            Err(failure) => {
                if ["unreachable", "unauthorized"].contains(&failure.kind.as_str()) {
                    unasked = Some(failure.message.clone());
                }
                imported.refuse(name, failure.message);
            }
        }
    }
    Ok(imported)
}

/// Approves a server that was shown.
async fn approve(
    client: &mut Client,
    server: &McpServerView,
    on: Option<&str>,
    yes: bool,
) -> Result<(String, String), Failure> {
    let what = words::called(server);
    agree(&what, "Approve this MCP server?", yes).await?;
    client.approve_mcp_server(server.hash.clone(), on).await?;
    let words = format!("{what} was approved; its tools are offered from the next turn on, until it changes");
    Ok(both(&Hashed { hash: &server.hash }, words))
}

/// Accepts the changes of a server, which were shown.
async fn accept(
    client: &mut Client,
    server: &McpServerView,
    on: Option<&str>,
    yes: bool,
) -> Result<(String, String), Failure> {
    let what = words::called(server);
    let Some(changes) = server.changes.clone() else {
        let message = format!("nothing of {what} has changed since it was accepted");
        return Err(Failure::other("not_found", message));
    };
    agree(&format!("the change to {what}"), "Accept this change?", yes).await?;
    client.accept_mcp_changes(&server.name, changes, on).await?;
    let words = format!("the changes to {what} were accepted; what changed is offered from the next turn on");
    Ok(both(&Named { name: &server.name }, words))
}

/// The hash of an approval, and the description of the approved server.
async fn approved(
    client: &mut Client,
    name_or_hash: &str,
    on: Option<&str>,
) -> Result<(String, String), Failure> {
    // A complete hash may belong to a server that no longer exists on any machine.
    if is_hash(name_or_hash) && name_or_hash.len() == HASH_DIGITS {
        let hash = name_or_hash.to_ascii_lowercase();
        let what = words::hashed(&hash);
        return Ok((hash, what));
    }
    let list = client.mcp_servers(on).await?;
    let server = find(&list.servers, name_or_hash, may_be_approved, "was approved")?;
    Ok((server.hash.clone(), words::called(server)))
}

fn is_waiting(server: &McpServerView) -> bool {
    server.state == McpServerState::Waiting
}

/// True if the user may have approved the server, which is possible even for a shadowed one.
fn may_be_approved(server: &McpServerView) -> bool {
    !is_waiting(server) && is_of_workspace(&server.layer)
}

/// The server with this name that is used, or that would be if it were approved.
fn named<'a>(servers: &'a [McpServerView], name: &str) -> Result<&'a McpServerView, Failure> {
    let found = servers.iter().filter(|server| server.name == name);
    found.min_by_key(|server| server.state == McpServerState::Shadowed).ok_or_else(|| {
        let message = format!(
            "there is no MCP server with the name {name}; `sandbridge mcp-server list` lists your servers"
        );
        Failure::other("not_found", message)
    })
}

impl Approvable for McpServerView {
    const KIND: &'static str = "MCP server";
    const LIST: &'static str = "sandbridge mcp-server list";

    fn name(&self) -> &str {
        &self.name
    }

    fn hash(&self) -> &str {
        &self.hash
    }
}

#[cfg(test)]
mod tests {
    use super::words::tests::server;
    use super::*;

    #[test]
    fn only_the_one_server_that_waits_is_found_by_name_or_hash() {
        let servers = [
            server("git", "abcd0123ff", "workspace", "waiting"),
            server("abcd0199", "eeee0000ff", "workspace", "waiting"),
            server("time", "abcd0199ff", "workspace-local", "waiting"),
            server("mine", "ffff0000ff", "user", "ready"),
        ];
        let waiting = |text: &str| find(&servers, text, is_waiting, "waits for approval");
        assert_eq!(waiting("git").unwrap().hash, "abcd0123ff");
        assert_eq!(waiting("ABCD0123").unwrap().name, "git");
        let missing = waiting("abcd01").unwrap_err();
        assert!(missing.kind == "not_found" && missing.message.contains("waits for approval"), "{missing:?}");
        assert_eq!(waiting("mine").unwrap_err().kind, "not_found");
        // A name that looks like another server's hash is ambiguous.
        let ambiguous = waiting("abcd0199").unwrap_err();
        assert!(ambiguous.kind == "invalid" && ambiguous.message.contains("eeee0000ff"), "{ambiguous:?}");
        assert_eq!(waiting("eeee0000").unwrap().name, "abcd0199");
    }

    #[test]
    fn an_approval_may_be_that_of_a_server_which_another_hides() {
        let of = |layer, state| may_be_approved(&server("git", "0", layer, state));
        assert!(of("workspace", "ready") && of("workspace-local", "shadowed"));
        assert!(!of("workspace", "waiting") && !of("user", "ready") && !of("managed", "ready"));
    }

    #[test]
    fn a_name_means_the_server_that_is_used() {
        let servers = [
            server("git", "01", "workspace", "shadowed"),
            server("git", "02", "user", "ready"),
            server("time", "03", "workspace", "shadowed"),
        ];
        assert_eq!(named(&servers, "git").unwrap().hash, "02");
        assert_eq!(named(&servers, "time").unwrap().hash, "03");
        assert_eq!(named(&servers, "gi").unwrap_err().kind, "not_found");
    }
}
