//! `sandbridge node`: the nodes that share a server's database, for its administrator.

use std::process::ExitCode;

use api::node::{NodePut, NodeView};
use clap::Parser;
use serde::Serialize;

use super::failure::Failure;
use super::http::Client;
use super::output;
use super::output::both;
use crate::command::{Command, block_on};
use crate::globals::Globals;

/// Manage the nodes that share the server's database, as an administrator of the server
#[derive(Parser)]
pub(crate) enum NodeCommand {
    /// List the nodes with their states and the number of users that each works for
    List,
    /// Make a node give up its users to the other nodes, and take on no more
    Drain {
        /// The node's URL, as `sandbridge node list` shows it
        url: String,
        /// Let it take on users again
        #[arg(long)]
        undo: bool,
    },
    /// Remove a dead node from the list
    Forget {
        /// The node's URL, as `sandbridge node list` shows it
        url: String,
    },
}

/// The node that a command changed, for programs.
#[derive(Serialize)]
struct About<'a> {
    url: &'a str,
}

impl Command for NodeCommand {
    const NAME: &'static str = "node";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(run(globals, self))
    }
}

async fn run(globals: &Globals, command: NodeCommand) -> Result<ExitCode, Failure> {
    let mut client = Client::new(&globals.session()?)?;
    let (line, words) = match command {
        NodeCommand::List => {
            let nodes = client.nodes().await?;
            both(&nodes, list_words(&nodes))
        }
        NodeCommand::Drain { url, undo } => {
            client.put_node(&url, &NodePut { draining: !undo }).await?;
            let words = if undo {
                format!("the node {url} takes on users again")
            } else {
                format!(
                    "the node {url} is draining: `sandbridge node list` shows the users that it still works for"
                )
            };
            both(&About { url: &url }, words)
        }
        NodeCommand::Forget { url } => {
            client.forget_node(&url).await?;
            both(&About { url: &url }, format!("the node {url} was removed from the list"))
        }
    };
    output::line(if globals.json { &line } else { &words });
    Ok(ExitCode::SUCCESS)
}

fn list_words(nodes: &[NodeView]) -> String {
    if nodes.is_empty() {
        return "this server runs alone; `sandbridge serve --node-url URL` starts a node".to_owned();
    }
    let heading = ["URL", "STATE", "USERS", "VERSION", "SINCE"].map(str::to_owned).to_vec();
    let rows = nodes.iter().map(|node| {
        let (url, version) = (output::printable(&node.url), output::printable(&node.version));
        vec![url, node.state.to_string(), node.homes.to_string(), version, output::ago(node.started_at)]
    });
    output::table(&std::iter::once(heading).chain(rows).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_listed_with_their_states_and_none_means_one_server() {
        let nodes = r#"[{"url": "http://a:1", "version": "0.1.0", "state": "late", "homes": 3, "started_at": 0, "lease_until": 1}]"#;
        let words = list_words(&serde_json::from_str::<Vec<NodeView>>(nodes).unwrap());
        let row = words.lines().nth(1).unwrap();
        assert!(row.starts_with("http://a:1") && row.contains("late") && row.contains('3'), "{words}");
        assert!(list_words(&[]).contains("runs alone"));
    }
}
