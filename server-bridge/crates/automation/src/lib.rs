//! Automations: messages that a schedule or a webhook posts to a user's chat.
//!
//! ```text
//!   the clock ─▶ slot ─────┐
//!                          ├─▶ a run on record ─▶ a message in a chat, once ─▶ the outcome of its turn or command
//!   a webhook ─▶ delivery ─┘
//! ```
//! A run is a row in the database, written before anything else happens. A slot or a delivery that arrives twice gets one row, and a server
//! that was killed continues from the rows. Agents run in the approval mode that was stored with the automation; a request that nobody
//! answers is denied.
//!
//! | module | holds |
//! |---|---|
//! | `service` | [`Automations`]: listing, changing, pausing, starting |
//! | `document` | definitions of automations, and checks of new ones |
//! | `when` | the slots of schedules |
//! | `clock` | the task that records the slots of schedules as they become due |
//! | `posting` | posts the message of a run |
//! | [`receive`] | records a run for a delivery |
//! | `signature`, `delivery` | check the sender of a delivery; choose the part of it that an agent sees |
//! | `views` | runs and automations as clients see them |
//! | `tools` | `Cron` and `EventTrigger` for agents |
//! | [`limits`] | limits, with their units |

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod clock;
mod delivery;
mod document;
mod error;
pub mod limits;
mod posting;
pub mod receive;
mod service;
mod signature;
mod tools;
mod views;
mod when;

#[cfg(test)]
mod tests;

pub use error::{Error, Result};
pub use service::{Automations, DELIVERIES};
pub use signature::Headers;
