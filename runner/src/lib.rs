//! The runner: carries out a server's requests on this machine, confined to one workspace.
//!
//! Whatever the backend (a machine that dials in, a container, the server itself), this crate is what runs there. The
//! binary `sandbridge-runner` adds a command line; tests drive the same executor through [`link::memory`].
//!
//! All of it lives on one thread: [`serve`] owns the link, one task answers each request, and they share the session without
//! locks. That thread is confined like the commands it starts ([`spawn`]). What it cannot do itself, and what blocks, such as
//! file operations and killing, is done by threads that are not (`blocking`).
//!
//! | module | what it does |
//! |---|---|
//! | [`executor`] | what a runner can do; **a new request type** gets its arm there |
//! | `exec` | commands: streams, input, timeout, cancel, what they leave behind |
//! | `files` | file operations, guarded by [`pathguard`] |
//! | [`llm`] | the relay to an LLM endpoint; `http` is what it shares with downloads |
//! | `changes` | what each change to files came to, so that it is made once |
//! | `blocking` | work that blocks, on threads that are not confined |
//! | [`serve`] | the loop that owns a link; `stream` is what it shares with the tasks |
//! | [`link`] | WebSocket, standard streams, memory; the registration |
//! | [`run`] | one life of the process: runtime, signals, executor, link |
//! | [`connect`] | staying connected; `clock` notices a machine that slept |
//! | [`account`] | the machine's users that commands run as |
//! | `dial` | connections of the runner itself, from outside of what commands may reach; `names` finds addresses, `proxy` the way out |
//! | [`cli`], [`service`], [`identity`], [`secret`] | the command line, the systemd unit, what is registered, the token |
//! | [`settings`] | what commands get of the user's own: settings without credentials, variables |
//! | [`guardian`] | the small process that starts the runner and lets nothing outlive it |
//! | [`confine`] | what a thread does to itself, so that the commands it starts are confined |
//! | [`group`] | the control group of all commands together |
//! | [`spawn`] | starts commands |
//! | `space` | how much room disks have |
//! | `programs` | the machine's programs that the runner itself runs |
//! | [`kill`] | finds and kills everything a command started |
//! | [`docker`] | commands in a container instead of directly |
//! | [`doctor`], [`explain`] | what a policy comes to on this machine, tried for real; why a path is open or not |
//! | [`update`] | a newer program in this one's place: download, trial, swap |
//! | [`limits`] | every limit and timeout |
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod account;
mod blocking;
mod changes;
pub mod cli;
mod clock;
pub mod confine;
pub mod connect;
mod dial;
pub mod docker;
pub mod doctor;
mod error;
mod exec;
pub mod executor;
pub mod explain;
mod files;
pub mod group;
pub mod guardian;
mod http;
pub mod identity;
pub mod kill;
pub mod limits;
pub mod link;
pub mod llm;
mod names;
mod programs;
mod proxy;
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
