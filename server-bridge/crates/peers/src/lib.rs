//! Connections between nodes, the servers that share one PostgreSQL database.
//!
//! ```text
//!  a node's start ─► a key of its own ─► its row in the database ─► the directory of every other node, within a second
//!  a request for a user at home elsewhere ─► a connection, TLS 1.3 with raw public keys both ways ─► that node's peer listener
//! ```
//! Both ends prove their keys (RFC 7250). The caller accepts only the key in the row of the node that it calls; the listener accepts only
//! keys of live nodes. So no certificate is managed, and a program that is not a node of this database is refused during the handshake.
//! The listener sends [`limits::WELCOME`] once it has accepted the caller's key, because in TLS 1.3 a caller's handshake ends before that.
//!
//! | module | holds |
//! |---|---|
//! | [`key`] | the key of a node |
//! | [`directory`] | the list of live nodes, as this node knows it |
//! | `tls` | the two ends of the handshake, and what each accepts |
//! | [`caller`] | [`Peers`]: calls other nodes over connections that are kept |
//! | [`forwarded`] | the headers of forwarded requests |
//! | [`pipe`] | copies bytes in both directions between two connections, without buffers while nothing moves |
//! | [`limits`] | every limit and time, and the version of the protocol |

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod caller;
pub mod directory;
pub mod forwarded;
pub mod key;
pub mod limits;
pub mod pipe;
mod tls;

pub use caller::{Error, Failed, Peers};
pub use directory::Directory;
pub use key::NodeKey;
pub use store::PeerNode;

#[cfg(test)]
mod tests;
