//! Tests of the turn in one process, on a paused clock: its ports are in memory and its model is scripted. They use no other process, no
//! database and no file.
//!
//! | module | tests |
//! |---|---|
//! | `world` | the ports in memory, and a test's settings for them |
//! | `model` | a scripted model |
//! | `fakes` | scripted tools |
//! | `ask` | asking and answering |
//! | `background` | sub-agents in the background |
//! | `ends` | cancels, stops and failures at each point |
//! | `go_on` | turns that were cut off when an earlier run of the server ended |
//! | `tools` | calls: their order, their failures, sub-agents |
//! | `permissions` | questions, and the effect of the answers |
//! | `rulings` | the rulings of permission rules |
//! | `hooks` | denials, questions and notes of hooks |
//! | `room` | room in the model's window |

mod ask;
mod background;
mod ends;
mod fakes;
mod go_on;
mod hooks;
mod model;
mod permissions;
mod room;
mod rulings;
mod sub_agents;
mod tools;
mod world;

pub(in crate::engine) use fakes::{Does, Fake};
pub(in crate::engine) use world::{Chat, Log};
