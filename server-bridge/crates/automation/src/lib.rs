//! What starts by itself: messages that the clock or a webhook posts to a user's chat.
//!
//! ```text
//!   the clock ─▶ slot ─────┐
//!                          ├─▶ a run on record ─▶ a message in a chat, once ─▶ the turn or the command says what became of it
//!   a webhook ─▶ delivery ─┘
//! ```
//! A run is a row that is written before anything happens: of a slot or a delivery that comes twice there is one row, and a server that
//! dies goes on where the rows say. Agents run with the approval mode that the automation had when it was made; where nobody answers a
//! question, it is denied.
//!
//! | module | holds |
//! |---|---|
//! | `service` | [`Automations`]: listing, changing, pausing, starting |
//! | `document` | definitions, and their check |
//! | `when` | the slots of schedules |
//! | `clock` | the task that records slots that have come |
//! | `posting` | from a run to a message |
//! | [`receive`] | from a delivery to a run |
//! | `signature`, `delivery` | who sent a delivery; what an agent is shown of it |
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

pub use error::{Error, Result};
pub use service::{Automations, DELIVERIES};
pub use signature::Headers;
