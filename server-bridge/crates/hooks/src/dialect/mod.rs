//! The two dialects in which hooks are written: our own, and that of similar products ("peers"). Tools, arguments and modes
//! have a name in each.

mod arguments;
mod tools;

pub use arguments::{own_call, to_own, to_peer};
pub use tools::{Name, main_name, names, subject_fields, subjects};

/// A dialect in which hooks are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// Our own dialect: `Shell`, `path`.
    Own,
    /// The dialect of Claude Code and Codex: `Bash`, `file_path`.
    Peer,
}

impl Dialect {
    /// Both dialects.
    pub const ALL: [Self; 2] = [Self::Own, Self::Peer];

    /// The dialect's name in canonical texts.
    pub fn word(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Peer => "peer",
        }
    }
}

/// Our approval modes, with the peers' names for them.
const MODES: &[(&str, &str)] =
    &[("plan", "plan"), ("ask", "default"), ("auto-edit", "acceptEdits"), ("full", "bypassPermissions")];

/// The dialect's name for one of our approval modes.
pub fn mode(own: &str, dialect: Dialect) -> &str {
    match dialect {
        Dialect::Own => own,
        Dialect::Peer => MODES.iter().find(|(name, _)| *name == own).map_or(own, |(_, peer)| peer),
    }
}

#[cfg(test)]
mod tests;
