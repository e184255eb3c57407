//! The models that a turn asks: one that answers, and those that stand in for it.
//!
//! Which model a chat asks, and whose key it is asked with, is decided behind the port [`crate::engine::ModelPool`].
//!
//! | module | holds |
//! |---|---|
//! | `admission` | how many answers may be under way |
//! | `gate` | a semaphore that grows and shrinks |
//! | `setup` | [`ModelSetup`], [`ModelChain`]: a model ready to be asked, and its stand-ins |
//! | `tier` | [`Tier`]: how much a model can do, and costs |

mod admission;
mod gate;
mod setup;
mod tier;

pub use admission::{Admission, Away, Place};
pub use setup::{ModelChain, ModelSetup, NoModel, forget_foreign_thoughts};
pub use tier::Tier;
