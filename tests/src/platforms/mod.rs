//! Stand-ins of messengers: real servers that speak a messenger's wire format and keep its rules strictly. Each was accepted by the
//! messenger's official client, which a test runs against it.
//!
//! | module | stands for |
//! |---|---|
//! | [`serve`] | HTTP and WebSockets, for all of them |

pub mod serve;
