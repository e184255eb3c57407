//! Tools for the user's programs, which have no chat: commands that end within the call or as a task, files by bytes.
//!
//! A program gets a command's end within its call, or starts a command in the background; there is no turn to inform later. It reads
//! files by bytes and writes them by hash, and there is no turn that could undo its changes. Each exec goes through the ledger like any
//! other; each write leaves an audit row.

mod command;
pub(crate) mod exec;
pub(crate) mod list_directory;
pub(crate) mod read_file;
pub(crate) mod task_start;
pub(crate) mod write_file;
