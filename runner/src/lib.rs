//! The runner: carries out a server's requests on this machine, confined to one workspace.
//!
//! With every backend (a machine that dials in, a container, the server itself), this crate is the program there. The binary
//! `sandbridge-runner` adds a command line; tests drive the same executor through [`link::memory`].
//!
//! All of it lives on one thread: [`serve`] owns the link, one task answers each request, and they share the session without
//! locks. That thread is confined like the commands it starts ([`spawn`]). Work that it cannot do itself, and work that
//! blocks, such as file operations and killing, is done by unconfined threads (`blocking`).
//!
//! Modules depend only on those below them: no two depend on each other.
//!
//! | module | purpose |
//! |---|---|
//! | **The process** | |
//! | [`cli`], [`service`] | the command line, the systemd unit |
//! | [`run`] | one life of the process: runtime, signals, executor, link |
//! | [`docker`] | commands in a container instead of directly |
//! | [`doctor`], [`explain`] | the effect of a policy on this machine, tested; why a path is open or not |
//! | **The link** | |
//! | [`connect`] | staying connected; `clock` notices a machine that slept |
//! | [`serve`] | the loop that owns a link; `stream` is shared with the tasks |
//! | [`identity`] | the details that it registers with |
//! | [`link`] | WebSocket, standard streams, memory; the registration |
//! | **Requests** | |
//! | [`executor`] | starts everything and hands out requests; **a new request type** gets its arm there |
//! | `changes` | the results of changes to files, so that each is made once |
//! | [`update`] | a newer program in this one's place: download, trial, swap |
//! | `exec` | commands: streams, input, timeout, cancel, leftover processes |
//! | `files` | file operations, guarded by [`pathguard`] |
//! | [`llm`] | the relay to an LLM endpoint |
//! | `http` | the server's HTTP requests to hosts of this network |
//! | `relay` | the common part of the two |
//! | `host` | the machine as requests act on it: the workspace's files, and the threads that start commands |
//! | **Confinement** | |
//! | [`guardian`] | the small process that starts the runner and lets nothing outlive it |
//! | [`spawn`] | starts commands |
//! | [`confine`] | confining a thread, and with it the commands it starts |
//! | [`settings`] | the user's things that commands get: settings without credentials, variables |
//! | [`kill`] | finds and kills everything a command started |
//! | [`group`] | the control group of all commands together |
//! | **The base** | |
//! | [`layers`] | the layers of confinement by name, the profiles, the report of which ones hold |
//! | [`bounds`] | the networks and resources that commands may use |
//! | [`account`] | the machine's users that commands run as |
//! | `net` | connections of the runner itself: names, TLS, proxies, HTTP |
//! | [`secret`] | the token |
//! | `space` | the free space of disks |
//! | `blocking` | work that blocks, on threads that are not confined |
//! | `programs` | the machine's programs that the runner itself runs |
//! | `sys` | system calls without a safe form in a library |
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
mod http;
pub mod identity;
pub mod kill;
pub mod layers;
pub mod limits;
pub mod link;
pub mod llm;
mod net;
mod programs;
mod relay;
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
