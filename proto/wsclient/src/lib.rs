//! The client's side of opening a WebSocket: the HTTP request that asks for it, and the response.
//!
//! Runner and command line share it, as they share `proto`: both reach a server over networks whose proxies add header lines, break connections and
//! answer instead of the server. hyper reads the response, so any number of header lines passes that fits into [`HEAD_BYTES`]. The caller handles the
//! frames afterwards: it takes over a [`Resumed`] stream, which begins with the bytes that arrived together with the response.
//!
//! - [`open`]: the request, the response, and its checks (`handshake`)
//! - [`Error`], [`Refusal`]: why no WebSocket was opened; a refusal has its status and its reason (`error`)
//! - [`Resumed`]: a connection with the bytes that were read from it too early (`resumed`)

mod error;
mod handshake;
mod resumed;

pub use error::{Error, Refusal};
pub use handshake::{Ask, HEAD_BYTES, HEAD_LINES, open};
pub use resumed::Resumed;
