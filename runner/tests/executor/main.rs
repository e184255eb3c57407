//! The executor with real processes and files, asked over an in-memory link by the other side's session.
//!
//! | module | what |
//! |---|---|
//! | `exec` | commands: status, output, input, refusals |
//! | `trees` | timeout, cancel, descendants, leftovers |
//! | `flow` | credit, caps, dropping the oldest, large outputs |
//! | `files` | file operations |
//! | `tree` | whole trees |
//! | `hash_tree` | the hash of a tree |
//! | `download` | the runner's downloads |
//! | `http` | HTTP requests of the server |
//! | `llm` | the relay to an LLM endpoint |
//! | `search` | by name and by content |
//! | `attacks` | the attack corpus of `pathguard`, against requests on whole trees |
//! | `start` | refusals at startup |
//! | `terminal` | execs with a terminal |
//! | `worktree` | linked worktrees of git repositories |
//! | `link` | unknown requests, lost links, shutdown |
#![allow(clippy::unwrap_used)]

mod attacks;
mod download;
mod exec;
mod files;
mod flow;
mod hash_tree;
mod http;
mod link;
mod llm;
mod resolved;
mod resume;
mod search;
mod start;
mod terminal;
mod throw_away;
mod tree;
mod trees;
mod users_git;
mod worktree;
mod world;
