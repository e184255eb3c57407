//! The tools of models: one file per tool.
//!
//! Files and commands are reached through the sandbox handle, in the workspace of the chat's place; the internet through `internet`;
//! lists, settings and messages through the store. To add a tool, add a file here with its arguments (their doc comments are the model's
//! descriptions) as a [`TypedTool`](agent::tool::TypedTool), and a line in [`add_all`]. A tool that changes a file does it with `change`,
//! so that the change can be undone. `cd` is the shortest tool to copy: `Work` gives paths and the machine, `read::whole` a file.
//! [`Rules`](agent::tool::Rules) determine who is offered the tool, including users' programs (the MCP server); a tool with the rule
//! `of(Access::Read)` needs a machine, runs alongside other readers, and is given to sub-agents too.
//!
//! | module | holds |
//! |---|---|
//! | `services` | [`Services`]: the server as tools see it |
//! | [`internet`] | reading the internet: fetching a page, searching |
//! | `shell`, [`tasks`], [`background`] | commands, in the foreground and the background; sub-agents in the background |
//! | `read`, `file_create`, `file_replace`, `glob`, `grep`, `cd`, `download_file` | files |
//! | `fetch`, `web_search` | the internet |
//! | `todo`, `remember`, `chat_history`, `config`, `ask_user` | lists, memories, messages, settings, questions |
//! | `card` | cards with buttons and fields |
//! | `tui_control` | the terminal in which the turn's message was written |
//! | `recall`, `recall_masked`, `context_edit` | parts of the conversation that were put aside |
//! | [`worktree`] | worktrees of git repositories, for agents and sub-agents |
//! | `sub_agent`, `skill` | other agents; skills of the workspace |
//! | `programs` | tools for the user's programs, which have no chat |
//! | `output` | the beginning and the end of long output |
//! | `change`, `edit`, `address`, `utc` | changing a file, showing a change, URLs, dates |
//! | [`limits`] | every limit and timeout |

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod address;
mod ask_user;
pub mod background;
mod card;
mod cd;
mod change;
mod chat_history;
mod config;
mod context_edit;
mod download_file;
mod edit;
mod fetch;
mod file_create;
mod file_replace;
mod glob;
mod grep;
pub mod internet;
pub mod limits;
mod output;
mod programs;
mod read;
mod recall;
mod recall_masked;
mod remember;
mod services;
mod shell;
mod skill;
mod sub_agent;
pub mod tasks;
mod todo;
mod tui_control;
mod utc;
mod web_search;
pub mod worktree;

use agent::tool::{Failure, FileSeen, Outcome, Registry, Typed, visible};

pub use change::{hash, hash_of_hex};
pub use read::whole;
pub use services::{Clients, Controlled, ModelChoices, Ported, Services, Terminals, ported};
pub use shell::NAME as COMMANDS;
pub use utc::utc_day;

pub(crate) use services::Work;

/// Adds all tools that these services allow, in the order in which models and programs see them.
pub fn add_all(tools: &Registry, services: &Services) {
    use programs::{exec, list_directory, read_file, task_start, write_file};

    tools.put(Typed::<shell::Arguments>::new(services.clone()));
    tools.put(Typed::<read::Arguments>::new(services.clone()));
    tools.put(Typed::<file_create::Arguments>::new(services.clone()));
    tools.put(Typed::<file_replace::Arguments>::new(services.clone()));
    tools.put(Typed::<exec::Arguments>::new(services.clone()));
    tools.put(Typed::<read_file::Arguments>::new(services.clone()));
    tools.put(Typed::<write_file::Arguments>::new(services.clone()));
    tools.put(Typed::<list_directory::Arguments>::new(services.clone()));
    tools.put(Typed::<glob::Arguments>::new(services.clone()));
    tools.put(Typed::<grep::Arguments>::new(services.clone()));
    tools.put(Typed::<cd::Arguments>::new(services.clone()));
    tools.put(Typed::<task_start::Arguments>::new(services.clone()));
    tools.put(Typed::<tasks::Status>::new(services.clone()));
    tools.put(Typed::<tasks::Read>::new(services.clone()));
    tools.put(Typed::<tasks::Kill>::new(services.clone()));
    tools.put(Typed::<recall::Arguments>::new(services.clone()));
    tools.put(Typed::<todo::Write>::new(services.clone()));
    tools.put(Typed::<todo::List>::new(services.clone()));
    tools.put(Typed::<chat_history::Arguments>::new(services.clone()));
    tools.put(Typed::<ask_user::Arguments>::new(services.clone()));
    card::add_all(tools, services);
    tools.put(Typed::<download_file::Arguments>::new(services.clone()));
    if services.internet.fetch.is_some() {
        tools.put(Typed::<fetch::Arguments>::new(services.clone()));
    }
    if services.internet.search.is_some() {
        tools.put(Typed::<web_search::Arguments>::new(services.clone()));
    }
    tools.put(Typed::<config::Arguments>::new(services.clone()));
    tools.put(Typed::<sub_agent::Arguments>::new(services.clone()));
    tools.put(Typed::<worktree::Arguments>::new(services.clone()));
    tools.put(Typed::<skill::Arguments>::new(services.clone()));
    tools.put(Typed::<remember::Write>::new(services.clone()));
    tools.put(Typed::<remember::List>::new(services.clone()));
    tools.put(Typed::<remember::Search>::new(services.clone()));
    tools.put(Typed::<remember::Edit>::new(services.clone()));
    tools.add_source(remember::LettaTools(services.clone()));
    tools.put(Typed::<recall_masked::Arguments>::new(services.clone()));
    tools.put(Typed::<context_edit::Arguments>::new(services.clone()));
    tools.put(Typed::<tui_control::Arguments>::new(services.clone()));
}

#[cfg(test)]
mod tests;
