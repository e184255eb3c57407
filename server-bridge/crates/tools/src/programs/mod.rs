//! Tools for programs of the user's own, which have no chat: commands with a hard end, files by bytes.
//!
//! A program gets a command's end within its call, or starts one that goes on; no turn is there to be told later. It reads files
//! by bytes and writes them by hash, and nothing of it is taken back with a turn. Each exec goes through the ledger like any
//! other; each write leaves its audit row.

mod command;
pub(crate) mod exec;
pub(crate) mod list_directory;
pub(crate) mod read_file;
pub(crate) mod task_start;
pub(crate) mod write_file;
