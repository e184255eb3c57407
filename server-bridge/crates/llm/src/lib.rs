//! Language models behind one interface.
//!
//! A conversation goes out in the words of one provider, and its answer comes back as a stream of the same few events
//! whoever gave it. How the bytes travel is given from outside: over HTTP from here, or through a runner that alone holds
//! the key.
//!
//! ```text
//! Request ──▶ Dialect (OpenAI, Anthropic) ──▶ Transport (HTTP, a runner) ──▶ sse ──▶ Dialect's decoder ──▶ Delta … ──▶ Reply
//!              └────────────────────────── Model: one attempt ──────────────────────────────────┘
//!              call(): attempts with pauses between them, one of the tenant's slots held
//! ```
//!
//! | module | what it does |
//! |---|---|
//! | [`message`] | a conversation, and what is asked of a model |
//! | [`reply`] | what a model answers: events, and what they come to |
//! | [`dialect`] | the one trait: **a new provider** is one implementation of it |
//! | [`openai`], [`anthropic`] | the dialects |
//! | [`draft`] | what was written of a conversation, kept for the next request |
//! | [`transport`], [`http`] | how bytes travel; straight over HTTP |
//! | [`model`] | a dialect over a transport: one attempt |
//! | [`listing`] | the models that a provider says it has |
//! | [`mod@call`], [`retry`] | attempts until one answers; which failures are worth another one, and when |
//! | [`slots`] | how many calls a tenant may have under way |
//! | [`price`] | what tokens cost |
//! | [`error`], [`limits`] | what can fail; every limit |
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod anthropic;
pub mod call;
pub mod dialect;
pub mod draft;
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
