//! The runner's own connections, which are not limited as those of commands are.
//!
//! | module | purpose |
//! |---|---|
//! | [`names`] | finds the addresses of a host |
//! | [`dial`] | connects to them |
//! | [`tls`] | selects the trusted certificates |
//! | [`proxy`] | connects through the HTTP proxy that the environment names |
//! | [`http`] | reaches the host of a URL in any of these ways; [`exchange`] is one request there, [`connection`] moves the bytes |

pub(crate) mod connection;
pub(crate) mod dial;
pub(crate) mod exchange;
pub(crate) mod http;
pub(crate) mod names;
pub(crate) mod proxy;
pub(crate) mod tls;
