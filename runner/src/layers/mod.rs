//! Layers of confinement: their names, the profiles that ask for them, and the report of which ones are in effect on this machine.
//!
//! Plain data: the layers are set up by [`crate::confine`], two of them by [`crate::guardian`].

pub mod layer_name;
mod left_out;
mod profile;
mod report;

pub use left_out::{CannotLeaveOut, LeftOut};
pub use profile::{Profile, UnknownProfile};
pub(crate) use report::SWITCHED_OFF;
pub use report::{LEFT_OUT, Layer, LayerReport};
