//! The models of a turn: the model that answers, and its stand-ins.
//!
//! The choice of a chat's model, and of the key to use, is made behind the port [`crate::engine::ModelPool`].
//!
//! | module | holds |
//! |---|---|
//! | `admission` | the limit on answers in progress |
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
