//! Every platform against its stand-in: nothing lost, nothing twice, nothing that the platform refuses.
#![allow(clippy::unwrap_used, missing_docs)]

mod support;
mod telegram;
