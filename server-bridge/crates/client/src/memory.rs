//! `sandbridge memory`: what agents remember about the user, and what the user's agents in groups remember.

mod words;

use std::process::ExitCode;

use api::memory::{ForgetAbout, MemoryEdit, MemoryQuery, MemorySettingsView, NewMemory};
use clap::{Args, Parser, ValueEnum};
use serde::Serialize;

use self::words::{detail, list, settings};
use super::failure::Failure;
use super::http::Client;
use super::output;
use super::output::both;
use crate::command::{Command, block_on};
use crate::globals::Globals;

/// Selects the holder of the memories.
#[derive(Args)]
pub(super) struct Of {
    /// Use the memories of your agent AGENT in a group instead of your own: its number or handle
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
}

/// Manage what agents remember about you from chat to chat
#[derive(Parser)]
pub(crate) enum MemoryCommand {
    /// List what is remembered
    List {
        #[command(flatten)]
        of: Of,
    },
    /// Find memories by their words and their meaning, the best match first
    Search {
        /// The words, or a question
        text: String,
        #[command(flatten)]
        of: Of,
    },
    /// Show a memory with its source and its earlier texts
    Show {
        /// The memory's number, as `sandbridge memory list` shows it
        number: i64,
    },
    /// Remember something in all chats
    Add {
        /// The text
        text: String,
        /// The memory's kind
        #[arg(long, value_enum, default_value_t = Kind::Semantic)]
        kind: Kind,
        /// A short name; for a core block: persona, user or project
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// Only for work on the machine NAME, not in all chats
        #[arg(long, value_name = "NAME", add = super::names::places(), conflicts_with = "agent")]
        on: Option<String>,
        /// The number of a memory that the new one replaces; may be given several times
        #[arg(long, value_name = "NUMBER")]
        replaces: Vec<i64>,
        #[command(flatten)]
        of: Of,
    },
    /// Change the text of a memory; the earlier one stays in its history
    Edit {
        /// The memory's number
        number: i64,
        /// The new text
        text: String,
    },
    /// Forget a memory with its history, or all memories with certain words
    Forget {
        /// The memory's number
        #[arg(required_unless_present = "about", conflicts_with = "about")]
        number: Option<i64>,
        /// Forget every memory that has all words of TEXT, in its current or an earlier text
        #[arg(long, value_name = "TEXT")]
        about: Option<String>,
        /// With --about: use the memories of your agent AGENT in a group instead of your own: its number or handle
        #[arg(long, value_name = "AGENT", requires = "about")]
        agent: Option<String>,
    },
    /// Print everything that is remembered, as JSON
    Export {
        #[command(flatten)]
        of: Of,
    },
    /// List what agents propose to remember, including your agents in groups
    Proposals,
    /// Keep a proposal
    Accept {
        /// The proposal's number, as `sandbridge memory proposals` shows it
        number: i64,
    },
    /// Reject a proposal
    Reject {
        /// The proposal's number
        number: i64,
    },
    /// Choose how agents remember, or show the current choice
    Mode {
        /// flat: all memories in every prompt; letta: core blocks, and tools that search the rest; typed: core blocks, and memories that
        /// match a message
        #[arg(value_enum)]
        mode: Option<Mode>,
        /// Let the swift model propose memories from your chats, with one or two calls for each chat
        #[arg(long, value_enum, value_name = "SWITCH")]
        from_chats: Option<Switch>,
    },
}

/// The kind of a memory.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Kind {
    /// A block in every prompt; its name is persona, user or project
    Core,
    /// A fact
    Semantic,
    /// Something that happened
    Episodic,
    /// How something is done
    Procedural,
}

/// How agents remember.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Mode {
    /// All memories in every prompt
    Flat,
    /// Core blocks in every prompt; tools search the rest
    Letta,
    /// Core blocks in every prompt; memories that match a message are recalled with it
    Typed,
}

/// On or off.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Switch {
    /// On
    On,
    /// Off
    Off,
}

impl Command for MemoryCommand {
    const NAME: &'static str = "memory";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(run(globals, self))
    }
}

/// A memory that was deleted, for `--json`.
#[derive(Serialize)]
struct Gone {
    id: i64,
}

async fn run(globals: &Globals, command: MemoryCommand) -> Result<ExitCode, Failure> {
    let session = globals.session()?;
    let mut client = Client::new(&session)?;
    let (line, words) = match command {
        MemoryCommand::List { of: Of { agent } } => {
            let mut kept = client.memories(&MemoryQuery { agent, ..MemoryQuery::default() }).await?;
            kept.retain(|memory| !memory.proposed);
            both(&kept, list(&kept, "nothing is remembered; `sandbridge memory add TEXT` adds a memory"))
        }
        MemoryCommand::Search { text, of: Of { agent } } => {
            let wanted = MemoryQuery { q: Some(text), agent, proposed: false };
            let found = client.memories(&wanted).await?;
            both(&found, list(&found, "no memory has these words or this meaning"))
        }
        MemoryCommand::Proposals => {
            let wanted = MemoryQuery { proposed: true, ..MemoryQuery::default() };
            let proposed = client.memories(&wanted).await?;
            both(&proposed, list(&proposed, "nothing is proposed"))
        }
        MemoryCommand::Export { of: Of { agent } } => {
            let all = client.memories(&MemoryQuery { agent, ..MemoryQuery::default() }).await?;
            let mut details = Vec::new();
            for memory in all {
                details.push(client.memory(memory.id).await?);
            }
            let (line, _) = both(&details, String::new());
            (line.clone(), line)
        }
        MemoryCommand::Show { number } => {
            let found = client.memory(number).await?;
            both(&found, detail(&found))
        }
        MemoryCommand::Add { text, kind, name, on, replaces, of: Of { agent } } => {
            let kind = kind.to_possible_value().map(|value| value.get_name().into());
            let new = NewMemory { kind, project: on, agent, name, text, valid_to: None, replaces };
            let kept = client.keep_memory(&new).await?;
            both(&kept, format!("remembered as memory {}", kept.id))
        }
        MemoryCommand::Edit { number, text } => {
            let edit = MemoryEdit { text: Some(text), ..MemoryEdit::default() };
            let changed = client.change_memory(number, &edit).await?;
            both(
                &changed,
                format!("memory {number} was changed; `sandbridge memory show {number}` shows its history"),
            )
        }
        MemoryCommand::Forget { number: Some(number), .. } => {
            client.forget_memory(number).await?;
            both(&Gone { id: number }, format!("memory {number} is forgotten"))
        }
        MemoryCommand::Forget { about, agent, .. } => {
            let wanted = ForgetAbout { about: about.unwrap_or_default(), agent };
            let forgotten = client.forget_about(&wanted).await?;
            both(&forgotten, format!("forgotten memories: {}", forgotten.count))
        }
        MemoryCommand::Accept { number } => {
            let kept = client.accept_memory(number).await?;
            both(&kept, format!("remembered as memory {}", kept.id))
        }
        MemoryCommand::Reject { number } => {
            client.forget_memory(number).await?;
            both(&Gone { id: number }, format!("proposal {number} was rejected"))
        }
        MemoryCommand::Mode { mode, from_chats } => {
            let mut now = client.memory_settings().await?;
            if mode.is_some() || from_chats.is_some() {
                let chosen = mode.and_then(|mode| mode.to_possible_value());
                let wanted = MemorySettingsView {
                    mode: chosen.map_or(now.mode, |value| value.get_name().into()),
                    from_chats: from_chats.map_or(now.from_chats, |switch| switch == Switch::On),
                };
                now = client.set_memory_settings(&wanted).await?;
            }
            both(&now, settings(&now))
        }
    };
    output::line(if globals.json { &line } else { &words });
    Ok(ExitCode::SUCCESS)
}
