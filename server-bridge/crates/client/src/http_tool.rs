//! `sandbridge http-tool`: HTTP tools, which are described by a document instead of code.

mod routes;
mod words;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use api::http_tools::{HttpToolDocument, HttpToolDraft, HttpToolImport, HttpToolView};
use api::words::HttpToolState;
use clap::{Args, Parser};

use super::extension::{
    Approvable, HASH_DIGITS, Hashed, agree, document, document_within, find, is_hash, is_of_workspace,
    short_hash,
};
use super::failure::{FAILED, Failure};
use super::http::Client;
use super::limits::OPENAPI_DOCUMENT_BYTES;
use super::output::{Named, both};
use super::{names, output};
use crate::command::{Command, block_on};
use crate::globals::Globals;

/// Manage the HTTP tools of your models: requests that a document describes, without code
#[derive(Parser)]
pub(crate) enum HttpToolCommand {
    /// List the HTTP tools that apply to you
    List {
        /// The tools of NAME's workspace instead of your active runner's
        #[arg(long, value_name = "NAME", add = names::places())]
        on: Option<String>,
    },
    /// Show an HTTP tool: its origin, its hash, its secrets by name, and its document
    Show {
        /// The tool's name
        #[arg(add = names::http_tools())]
        name: String,
        /// The tool as defined in NAME's workspace instead of your active runner's
        #[arg(long, value_name = "NAME", add = names::places())]
        on: Option<String>,
    },
    /// Add an HTTP tool of your own, or replace it
    Add {
        /// The tool's document in JSON; '-' reads standard input
        file: PathBuf,
        /// Send its requests from the network of your runner NAME instead of the server's; __docker__ for your container
        #[arg(long, value_name = "RUNNER", add = names::places())]
        via: Option<String>,
    },
    /// Add the operations of an OpenAPI document as HTTP tools of your own
    Import(ImportOptions),
    /// Remove an HTTP tool of your own, with its secrets
    Remove {
        /// The tool's name
        #[arg(add = names::http_tools())]
        name: String,
    },
    /// Set a secret of an HTTP tool of your own, or remove it: it is sent to the tool's host only, and cannot be read again
    Secret {
        /// The tool's name
        #[arg(add = names::http_tools())]
        name: String,
        /// The secret's name, as in {{secret.NAME}}
        secret: String,
        /// Read its value from standard input instead of asking for it
        #[arg(long, conflicts_with = "remove")]
        stdin: bool,
        /// Remove it
        #[arg(long)]
        remove: bool,
    },
    /// Send the request of an HTTP tool, and show the request and the response as a model would read it
    Try {
        /// The tool's name
        #[arg(add = names::http_tools())]
        name: String,
        /// The arguments, as a JSON object
        #[arg(value_name = "ARGUMENTS", default_value = "{}")]
        arguments: String,
        /// A tool of NAME's workspace instead of your active runner's
        #[arg(long, value_name = "NAME", add = names::places())]
        on: Option<String>,
    },
    /// Approve an HTTP tool of a workspace: it is offered from the next turn on, until it changes
    Approve {
        /// The tool's name; or its hash, as `sandbridge http-tool show` shows it: at least 8 digits
        #[arg(value_name = "NAME|HASH", add = names::http_tools())]
        name_or_hash: String,
        /// A tool of NAME's workspace instead of your active runner's
        #[arg(long, value_name = "NAME", add = names::places())]
        on: Option<String>,
        /// Approve it without being asked
        #[arg(long)]
        yes: bool,
    },
    /// Revoke the approval of an HTTP tool: it is no longer offered
    Revoke {
        /// The tool's name; or its hash, as `sandbridge http-tool show` shows it: at least 8 digits
        #[arg(value_name = "NAME|HASH", add = names::http_tools())]
        name_or_hash: String,
        /// A tool of NAME's workspace instead of your active runner's
        #[arg(long, value_name = "NAME", add = names::places())]
        on: Option<String>,
    },
}

/// An OpenAPI document to be imported.
#[derive(Args)]
pub(crate) struct ImportOptions {
    /// The document in JSON or YAML, of version 3.0 or 3.1; '-' reads standard input
    #[arg(value_name = "OPENAPI")]
    file: PathBuf,
    /// The address of the service, in place of the first server that the document names
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Send the tools' requests from the network of your runner NAME instead of the server's; __docker__ for your container
    #[arg(long, value_name = "RUNNER", add = names::places())]
    via: Option<String>,
    /// Add the tool NAME only; may be given many times
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Show the tools that would be added, and add none
    #[arg(long)]
    dry_run: bool,
}

impl Command for HttpToolCommand {
    const NAME: &'static str = "http-tool";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(run(globals, self))
    }
}

async fn run(globals: &Globals, command: HttpToolCommand) -> Result<ExitCode, Failure> {
    let session = globals.session()?;
    let mut client = Client::new(&session)?;
    let mut code = ExitCode::SUCCESS;
    let (line, words) = match command {
        HttpToolCommand::List { on } => {
            let list = client.http_tools(on.as_deref()).await?;
            both(&list, words::list(&list))
        }
        HttpToolCommand::Show { name, on } => {
            let list = client.http_tools(on.as_deref()).await?;
            let tool = named(&list.tools, &name)?;
            both(tool, words::whole(tool))
        }
        HttpToolCommand::Add { file, via } => {
            let text = document(&file)?;
            let name = name_in(&text)?;
            let saved = client.put_http_tool(&name, HttpToolDraft { text, via }).await?;
            both(&saved, words::saved(&name, &saved))
        }
        HttpToolCommand::Import(options) => {
            let ImportOptions { file, base_url: server, via, only, dry_run } = options;
            let text = document_within(&file, OPENAPI_DOCUMENT_BYTES)?;
            let import = HttpToolImport { text, server, via, only, secrets: BTreeMap::new(), dry_run };
            let imported = client.import_http_tools(&import).await?;
            if imported.added.is_empty() {
                code = ExitCode::from(FAILED);
            }
            both(&imported, words::imported(&imported, dry_run))
        }
        HttpToolCommand::Remove { name } => {
            client.remove_http_tool(&name).await?;
            both(&Named { name: &name }, format!("the HTTP tool {name} was removed"))
        }
        HttpToolCommand::Secret { name, secret, stdin, remove } => {
            let value = match (remove, stdin) {
                (true, _) => None,
                (false, true) => {
                    Some(document(std::path::Path::new("-"))?.trim_end_matches(['\r', '\n']).to_owned())
                }
                (false, false) => Some(asked(&secret)?),
            };
            client.put_http_tool_secret(&name, &secret, value).await?;
            let done = if remove { "removed" } else { "set" };
            both(&Named { name: &name }, format!("the secret {secret} of the HTTP tool {name} was {done}"))
        }
        HttpToolCommand::Try { name, arguments, on } => {
            let tried = client.try_http_tool(&name, arguments, on.as_deref()).await?;
            if tried.is_error {
                code = ExitCode::from(FAILED);
            }
            both(&tried, words::tried(&tried))
        }
        HttpToolCommand::Approve { name_or_hash, on, yes } => {
            let list = client.http_tools(on.as_deref()).await?;
            let tool = find(&list.tools, &name_or_hash, is_waiting, "waits for approval")?;
            if !yes || !globals.json {
                eprintln!("{}", words::whole(tool));
            }
            let what = words::called(&tool.name);
            agree(&what, "Approve this HTTP tool?", yes).await?;
            client.approve_http_tool(tool.hash.clone(), on.as_deref()).await?;
            let words = format!("{what} was approved; it is offered from the next turn on, until it changes");
            both(&Hashed { hash: &tool.hash }, words)
        }
        HttpToolCommand::Revoke { name_or_hash, on } => {
            let (hash, what) = approved(&mut client, &name_or_hash, on.as_deref()).await?;
            client.revoke_http_tool(&hash).await?;
            both(
                &Hashed { hash: &hash },
                format!("the approval of {what} was revoked; it is no longer offered"),
            )
        }
    };
    output::line(if globals.json { &line } else { &words });
    Ok(code)
}

/// The hash of an approval, and the description of the approved tool.
async fn approved(
    client: &mut Client,
    name_or_hash: &str,
    on: Option<&str>,
) -> Result<(String, String), Failure> {
    // A complete hash may belong to a tool that no longer exists on any machine.
    if is_hash(name_or_hash) && name_or_hash.len() == HASH_DIGITS {
        let hash = name_or_hash.to_ascii_lowercase();
        let what = format!("the HTTP tool with the hash {}", short_hash(&hash));
        return Ok((hash, what));
    }
    let list = client.http_tools(on).await?;
    let tool = find(&list.tools, name_or_hash, may_be_approved, "was approved")?;
    Ok((tool.hash.clone(), words::called(&tool.name)))
}

impl Approvable for HttpToolView {
    const KIND: &'static str = "HTTP tool";
    const LIST: &'static str = "sandbridge http-tool list";

    fn name(&self) -> &str {
        &self.name
    }

    fn hash(&self) -> &str {
        &self.hash
    }
}

fn is_waiting(tool: &HttpToolView) -> bool {
    tool.state == HttpToolState::Waiting
}

/// True if the user may have approved the tool, which is possible even for a shadowed one.
fn may_be_approved(tool: &HttpToolView) -> bool {
    !is_waiting(tool) && is_of_workspace(&tool.layer)
}

/// The tool with this name that is used, or that would be if it were approved.
fn named<'a>(tools: &'a [HttpToolView], name: &str) -> Result<&'a HttpToolView, Failure> {
    let found = tools.iter().filter(|tool| tool.name == name);
    found.min_by_key(|tool| tool.state == HttpToolState::Shadowed).ok_or_else(|| {
        let message = format!(
            "there is no HTTP tool with the name {name}; `sandbridge http-tool list` lists your tools"
        );
        Failure::other("not_found", message)
    })
}

/// The name in a document.
fn name_in(text: &str) -> Result<String, Failure> {
    let invalid = |message: String| Failure::other("invalid", message);
    let document: HttpToolDocument = serde_json::from_str(text).map_err(|error| {
        invalid(format!("the document is not a JSON object with a \"name\": {error}; nothing was changed"))
    })?;
    Ok(document.name)
}

/// The value of a secret, which is not shown while it is typed.
fn asked(secret: &str) -> Result<String, Failure> {
    if !super::ask::is_possible() {
        let message = "there is no person to ask for the value; pass --stdin and write it to standard input";
        return Err(Failure::other("usage", message));
    }
    let unread = |error| Failure::other("io", format!("cannot read the secret: {error}"));
    rpassword::prompt_password(format!("{secret}: ")).map_err(unread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_to_have_a_name() {
        assert_eq!(name_in("{\"name\": \"a\"}").unwrap(), "a");
        for text in ["{}", "{", "[]"] {
            assert!(name_in(text).unwrap_err().message.contains("with a \"name\""), "{text}");
        }
    }
}
