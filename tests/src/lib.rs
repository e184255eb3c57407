//! The harness of the end-to-end tests: real servers, runners, containers and browsers, each in its own directory.
//!
//! | module | what is in it |
//! |---|---|
//! | [`authority`] | a private authority and a certificate of it |
//! | [`bare_root`] | a machine that has busybox alone |
//! | [`binaries`] | the paths of the built programs |
//! | [`embedder`] | a scripted embedder, in both wire formats, hostile where a test wants it |
//! | [`server`] | a running `sandbridge serve` and the people who use it through the CLI |
//! | [`machine`] | a running `sandbridge-runner` with its workspace |
//! | [`model`] | a scripted model, in both wire formats |
//! | [`network`] | a separate network, which others cannot reach into |
//! | [`pages`] | a small part of the internet |
//! | [`xbot`] | a stand-in for an xbot runner, built from recorded frames |
//! | [`engine`] | a Docker engine for one test, which may be killed |
//! | [`docker`] | the engine and the image the container tests use |
//! | [`http`] | the HTTP API as another program would call it |
//! | [`platforms`] | stand-ins for messengers |
//! | [`process`] | finding and ending processes |
//! | [`proxy`] | a network that drops, stalls and truncates |
//! | [`random`] | reproducible randomness |
//! | [`third_party`] | third-party model servers |
//! | [`terminal`] | a terminal with a person in front of it |
//! | [`tmux`] | a terminal whose screen is read as a person sees it |
//! | [`wait`] | waiting for something to become true, with a deadline |
//!
//! The tests themselves are one binary, `e2e/main.rs`. They need what `scripts/test` sets up.
#![allow(clippy::unwrap_used, reason = "a harness that cannot continue panics")]

pub mod authority;
pub mod bare_root;
pub mod binaries;
pub mod docker;
pub mod embedder;
pub mod engine;
pub mod http;
pub mod machine;
pub mod model;
pub mod network;
pub mod pages;
pub mod platforms;
pub mod process;
pub mod proxy;
pub mod random;
pub mod server;
pub mod terminal;
pub mod third_party;
pub mod tmux;

pub mod wait;
pub mod xbot;

pub use authority::Authority;
pub use bare_root::{BareRoot, Who};
pub use embedder::{Mood, ScriptedEmbedder};
pub use machine::Machine;
pub use model::{Asked, Gate, Habits, Reply, ScriptedModel};
pub use network::Network;
pub use pages::{Page, Pages};
pub use server::{Output, Person, Server};
pub use wait::eventually;
