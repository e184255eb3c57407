//! Test support that several crates use: one attack corpus for every file API of the workspace, and answers through a proxy.
//!
//! A test builds an [`arena::Arena`] (a root with an outside worth stealing), plants the files of a [`corpus::Case`] in it, makes the
//! case's one attempt through the API under test, and passes the answer to [`judge::judge`].
//!
//! | module | contents |
//! |---|---|
//! | `arena` | a temporary root with secrets next to it, and snapshots of both |
//! | `corpus` | the cases: ways out of a root that worked somewhere, as data |
//! | `judge` | compares an attempt's answer and its traces with what the case expects |
//! | `postgres` | a PostgreSQL server, and a database of it for each test (crate `pgserver`) |
//! | `proxied` | answers to a WebSocket's request with the header lines that a proxy adds |
//! | `tar` | archives that no sound tar program would write |
//!
//! Used by the tests of `pathguard`, `runner`, `store` and `server-bridge` and by the end-to-end tests; no released program
//! depends on it.
#![expect(
    clippy::unwrap_used,
    missing_docs,
    reason = "test support: a failed step fails the test that made it"
)]

pub mod arena;
pub mod corpus;
pub mod judge;
pub mod proxied;
pub mod tar;

pub use pgserver as postgres;
