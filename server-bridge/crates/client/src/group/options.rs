//! The arguments of `group add-agent` and `group chain`.

use clap::{Args, Subcommand};

use super::workspace::Documents;
use crate::names;

/// The agent to add or change.
#[derive(Args)]
pub(crate) struct AddAgent {
    /// The group's number
    pub(super) group: i64,
    /// The agent's handle: letters, digits, '-' and '_'
    pub(super) handle: String,
    /// The place that it works on: a runner of yours, '__docker__' or 'none'
    #[arg(long, value_name = "NAME", add = names::places())]
    pub(super) on: String,
    /// The agent's approval mode: plan, ask, auto-edit or full [default: ask]
    #[arg(long)]
    pub(super) approval: Option<String>,
    /// The agent's model, as `sandbridge model list` shows it [default: your choice for new chats]
    #[arg(long)]
    pub(super) model: Option<String>,
    /// The agent's persona: the text that describes its role to it
    #[arg(long)]
    pub(super) persona: Option<String>,
    /// The only tools that it may use, such as 'Read,Grep,mcp__github__*'; '*' for all of yours [default: unchanged; all for a new agent]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(super) tools: Option<Vec<String>>,
    /// The folder that it works in, in the workspace of that place [default: unchanged; for a new agent with documents agents/HANDLE, otherwise the whole workspace]
    #[arg(long, value_name = "FOLDER")]
    pub(super) folder: Option<String>,
    #[command(flatten)]
    pub(super) documents: Documents,
}

/// Chains: steps that several agents carry out one after the other
#[derive(Subcommand)]
pub(crate) enum Chain {
    /// List the chains of a group
    List {
        /// The group's number
        group: i64,
    },
    /// Add a chain, or with --replace change one, from a text of numbered steps such as `1. @writer: Write a story. [gate] [outputs story.md]`
    Set {
        /// The group's number
        group: i64,
        /// The chain's name: a-z, 0-9, '_', '.' and '-'
        name: String,
        /// The file with the steps; '-' for standard input
        file: String,
        /// Read the file from the workspace of this agent of yours
        #[arg(long, value_name = "AGENT")]
        from: Option<String>,
        /// Replace the chain of this name
        #[arg(long)]
        replace: bool,
    },
    /// Print a chain as the text that `set` reads
    Get {
        /// The group's number
        group: i64,
        /// The chain's name
        name: String,
    },
    /// Print a template for a chain, or list the templates
    Template {
        /// The template's name
        name: Option<String>,
    },
    /// Remove a chain; its runs go on
    Remove {
        /// The group's number
        group: i64,
        /// The chain's name
        name: String,
    },
    /// Begin a run of a chain
    Run {
        /// The group's number
        group: i64,
        /// The chain's name
        name: String,
        /// The task that its steps work on
        request: String,
    },
    /// List the runs of a group's chains, the newest first
    Runs {
        /// The group's number
        group: i64,
        /// Only runs older than the one with this number
        #[arg(long, value_name = "NUMBER")]
        before: Option<i64>,
    },
    /// Show a run: its steps, and the gate that waits
    Show {
        /// The group's number
        group: i64,
        /// The run's number
        run: i64,
    },
    /// Stop a run
    Stop {
        /// The group's number
        group: i64,
        /// The run's number
        run: i64,
    },
    /// Answer a gate: approve, edit, redo, more (allow the same budget again) or stop
    Answer {
        /// The group's number
        group: i64,
        /// The gate's number, as `sandbridge group chain show` shows it
        gate: i64,
        /// The answer
        reply: String,
        /// For edit, the text that replaces the output; for redo, what to change
        #[arg(long)]
        text: Option<String>,
    },
}
