//! Stand-ins for messengers: real servers that speak a messenger's wire format and enforce its rules strictly. Each was
//! accepted by the messenger's official client, which a test runs against it.
//!
//! | module | stands for |
//! |---|---|
//! | [`client`] | the official clients, for all of them |
//! | [`dingtalk`] | DingTalk: stream connections, session webhooks, the API of robots |
//! | [`discord`] | Discord: the REST API and the gateway |
//! | [`feishu`] | Feishu and Lark: the long connection, messages, cards, files |
//! | [`lines`] | WebSockets that are sent on at any time; faults, for all of them |
//! | [`matrix`] | a real homeserver of Matrix, and a network that breaks |
//! | [`official`] | runs a messenger's official client |
//! | [`onebot`] | NapCat: OneBot 11, forward and reverse |
//! | [`qq`] | QQ's platform for bots: tokens, the gateway, passive replies |
//! | [`serve`] | HTTP and WebSockets, for all of them |
//! | [`slack`] | Slack: the Web API and Socket Mode |
//! | [`telegram`] | Telegram's Bot API |
//! | [`texts`] | large texts in Markdown, for all of them |
//! | [`wecom`] | WeCom's gateway for AI bots |

pub mod client;
pub mod dingtalk;
pub mod discord;
pub mod feishu;
pub mod lines;
pub mod matrix;
pub mod official;
pub mod onebot;
pub mod qq;
pub mod serve;
pub mod slack;
pub mod telegram;
pub mod texts;
pub mod wecom;
