//! The runner: carries out a server's requests on this machine, confined to one workspace.
//!
//! Whatever the backend (a machine that dials in, a container, the server itself), this crate is what runs there. The
//! binary `sandbridge-runner` adds a command line; tests drive the same executor through [`link::memory`].
//!
//! All of it lives on one thread: [`serve`] owns the link, one task answers each request, and they share the session without
//! locks. That thread is confined like the commands it starts ([`spawn`]). What it cannot do itself, and what blocks, such as
//! file operations and killing, is done by threads that are not (`blocking`).
//!
//! Modules know only those below them: no two need each other to be understood.
//!
//! | module | what it does |
//! |---|---|
//! | **The process** | |
//! | [`cli`], [`service`] | the command line, the systemd unit |
//! | [`run`] | one life of the process: runtime, signals, executor, link |
//! | [`docker`] | commands in a container instead of directly |
//! | [`doctor`], [`explain`] | what a policy comes to on this machine, tried for real; why a path is open or not |
//! | **The link** | |
//! | [`connect`] | staying connected; `clock` notices a machine that slept |
//! | [`serve`] | the loop that owns a link; `stream` is what it shares with the tasks |
//! | [`identity`] | what is registered |
//! | [`link`] | WebSocket, standard streams, memory; the registration |
//! | **Requests** | |
//! | [`executor`] | starts everything and hands out requests; **a new request type** gets its arm there |
//! | `changes` | what each change to files came to, so that it is made once |
//! | [`update`] | a newer program in this one's place: download, trial, swap |
//! | `exec` | commands: streams, input, timeout, cancel, what they leave behind |
//! | `files` | file operations, guarded by [`pathguard`] |
//! | [`llm`] | the relay to an LLM endpoint |
//! | `host` | what requests act on: the workspace's files, and the threads that start commands |
//! | **Confinement** | |
//! | [`guardian`] | the small process that starts the runner and lets nothing outlive it |
//! | [`spawn`] | starts commands |
//! | [`confine`] | what a thread does to itself, so that the commands it starts are confined |
//! | [`settings`] | what commands get of the user's own: settings without credentials, variables |
//! | [`kill`] | finds and kills everything a command started |
//! | [`group`] | the control group of all commands together |
//! | **The base** | |
//! | [`layers`] | the layers of confinement by name, the profiles, the report of which ones hold |
//! | [`bounds`] | what commands may reach, and how much they may take |
//! | [`account`] | the machine's users that commands run as |
//! | `net` | connections of the runner itself: names, TLS, proxies, HTTP |
//! | [`secret`] | the token |
//! | `space` | how much room disks have |
//! | `blocking` | work that blocks, on threads that are not confined |
//! | `programs` | the machine's programs that the runner itself runs |
//! | `sys` | calls of the system that no library has a safe form of |
//! | [`exit_code`], [`limits`] | every exit code; every limit and timeout |
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod account;
mod blocking;
pub mod bounds;
mod changes;
pub mod cli;
mod clock;
pub mod confine;
pub mod connect;
pub mod docker;
pub mod doctor;
mod error;
mod exec;
pub mod executor;
pub mod exit_code;
pub mod explain;
mod files;
pub mod group;
pub mod guardian;
mod host;
pub mod identity;
pub mod kill;
pub mod layers;
pub mod limits;
pub mod link;
pub mod llm;
mod net;
mod programs;
pub mod run;
pub mod secret;
pub mod serve;
pub mod service;
pub mod settings;
mod space;
pub mod spawn;
mod stream;
#[allow(unsafe_code)]
mod sys;
pub mod update;

pub use error::Error;
