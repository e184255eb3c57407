//! The turn in process, on a paused clock: its ports are in memory and its model is played. No process, no database, no file.
//!
//! | module | tries |
//! |---|---|
//! | `world` | the ports in memory, and what a test says of them |
//! | `model` | a model that plays what it is told |
//! | `fakes` | tools that do what they are told |
//! | `ask` | asking and answering |
//! | `ends` | cancels, stops and failures at each point |
//! | `tools` | calls: their order, their failures, sub-agents |
//! | `permissions` | what is asked for, and what comes of the answer |
//! | `hooks` | what hooks deny, question and add |
//! | `room` | room in the model's window |

mod ask;
mod ends;
mod fakes;
mod hooks;
mod model;
mod permissions;
mod room;
mod sub_agents;
mod tools;
mod world;

pub(in crate::engine) use fakes::{Does, Fake};
pub(in crate::engine) use world::{Chat, Log};
