//! Backends: each makes links to runners in its own way.
//!
//! | module | place of the runner |
//! |---|---|
//! | `remote` | on a machine where its user started it, and which dialled in |
//! | `docker` | in the user's container |
//! | `local` | on the server itself, as a child process |

pub(crate) mod docker;
pub(crate) mod local;
pub(crate) mod remote;
