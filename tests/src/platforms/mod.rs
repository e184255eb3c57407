//! Stand-ins of messengers: real servers that speak a messenger's wire format and keep its rules strictly. Each was accepted by the
//! messenger's official client, which a test runs against it.
//!
//! | module | stands for |
//! |---|---|
//! | [`serve`] | HTTP and WebSockets, for all of them |
//! | [`official`] | runs a messenger's official client |
//! | [`telegram`] | Telegram's Bot API |

pub mod official;
pub mod serve;
pub mod telegram;
