//! The limit on all commands together for which a command was ended.

use std::fmt;

use crate::bounds::Bytes;
use crate::group;

/// A limit for which a tree was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MetLimit {
    /// This many processes and threads of all commands.
    Processes(u32),
    /// This much memory of all commands.
    Memory(Bytes),
    /// This many open files of all commands.
    Files(u32),
}

impl fmt::Display for MetLimit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ended by the runner: it reached the limit of ")?;
        match self {
            Self::Processes(most) => {
                write!(formatter, "{} processes for all commands together (--pids)", group::grouped(*most))
            }
            Self::Memory(most) => write!(formatter, "{most} of memory for all commands together (--memory)"),
            Self::Files(most) => write!(
                formatter,
                "{} open files for all commands together (a part of this machine's; --open-files limits one process)",
                group::grouped(*most)
            ),
        }
    }
}
