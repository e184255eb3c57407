//! The Sandbridge wire protocol: the messages between a server and a runner, and their order.
//!
//! Nothing here does I/O, reads a clock or spawns a task. A link (a WebSocket, the standard streams of a
//! container, a pipe in a test) carries whole frames; [`session::Session`] decides what they mean and what is
//! sent next. Both ends use the same session, so flow control, order and limits are written and tested once.
//!
//! The specification for people who write another peer is `PROTOCOL.md` in this crate's directory; a test fails if it and the types
//! differ.
//!
//! | module | holds |
//! |---|---|
//! | [`handshake`] | the JSON text frames before anything else: register, register_ok, ready, error |
//! | [`frame`] | the 16-byte header, the frame kinds, [`frame::DataBuf`] |
//! | [`request`] | every request type; each names its response |
//! | [`message`] | every response and exec event |
//! | [`error`] | the wire error: kind and description |
//! | [`session`] | the state machine: streams, credit, order, cancel, heartbeat |
//! | [`stdio`] | the envelope that finds frames in a byte stream |
//! | [`version`] | comparing versions |
//! | [`ids`], [`path`], [`limits`] | newtypes and numbers |
//!
//! A new request type goes to [`request`] (its struct, one line in the table), its answer goes to [`message`], and each of them needs a row in
//! `PROTOCOL.md`. A shipped struct never changes: a new field is a new type number.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod codec;
pub mod error;
pub mod frame;
pub mod handshake;
pub mod ids;
pub mod limits;
pub mod message;
pub mod path;
pub mod request;
pub mod session;
pub mod stdio;
pub mod version;

pub use error::{ErrorKind, WireError};
pub use frame::{Channel, DataBuf};
pub use ids::{BootId, Epoch, ExecId, StreamId};
pub use message::Message;
pub use path::WirePath;
pub use request::Request;
pub use session::{Event, Session, Side};
