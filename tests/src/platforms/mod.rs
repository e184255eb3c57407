//! Stand-ins of messengers: real servers that speak a messenger's wire format and keep its rules strictly. Each was accepted by the
//! messenger's official client, which a test runs against it.
//!
//! | module | stands for |
//! |---|---|
//! | [`serve`] | HTTP and WebSockets, for all of them |
//! | [`official`] | runs a messenger's official client |
//! | [`matrix`] | a real homeserver of Matrix, and a network that breaks |
//! | [`discord`] | Discord: the REST API and the gateway |
//! | [`slack`] | Slack: the Web API and Socket Mode |
//! | [`telegram`] | Telegram's Bot API |

pub mod discord;
pub mod matrix;
pub mod official;
pub mod serve;
pub mod slack;
pub mod telegram;
