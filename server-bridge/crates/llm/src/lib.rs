//! Language models behind one interface.
//!
//! A conversation is sent in one provider's format, and its answer comes back as a stream of the same few events for every
//! provider. The transport is injected: HTTP from here, or a runner that alone has the key.
//!
//! ```text
//! Request ──▶ Dialect (OpenAI, Anthropic) ──▶ Transport (HTTP, a runner) ──▶ sse ──▶ Dialect's decoder ──▶ Delta … ──▶ Reply
//!              └────────────────────────── Model: one attempt ──────────────────────────────────┘
//!              call(): attempts with pauses between them, one of the tenant's slots held
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`message`] | a conversation, and a request to a model |
//! | [`reply`] | a model's answer: its events, and the result |
//! | [`dialect`] | the one trait: **a new provider** is one implementation of it |
//! | [`openai`], [`anthropic`] | the dialects |
//! | [`draft`] | the serialised part of a conversation, kept for the next request |
//! | [`transport`], [`http`] | the transports; directly over HTTP |
//! | [`model`] | a dialect over a transport: one attempt |
//! | [`embed`] | embedders, built in or at a provider, which turn texts into vectors |
//! | [`listing`] | a provider's list of models |
//! | [`mod@call`], [`retry`] | attempts until one succeeds; which failures are retried, and when |
//! | [`slots`] | the limit on a tenant's calls in progress |
//! | [`price`] | what tokens cost |
//! | [`error`], [`limits`] | the errors; every limit |
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod anthropic;
pub mod call;
pub mod dialect;
pub mod draft;
pub mod embed;
pub mod error;
pub mod http;
pub mod limits;
pub mod listing;
pub mod message;
pub mod model;
pub mod openai;
pub mod price;
pub mod reply;
pub mod retry;
pub mod slots;
pub mod transport;

pub use call::{Progress, call};
pub use dialect::Dialect;
pub use draft::Draft;
pub use error::Error;
pub use message::{Assistant, Content, Message, Reasoning, Request, SystemPart, Tool, ToolCall, ToolResult};
pub use model::{Deadlines, Model};
pub use reply::{Delta, Reply, Stop, Usage};
