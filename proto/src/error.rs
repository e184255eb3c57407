//! Errors on the wire: a kind that programs match on and a description that people read.

use std::fmt;

use crate::limits::MAX_DESCRIPTION_BYTES;

macro_rules! error_kinds {
    ($($(#[$doc:meta])* $code:literal $variant:ident $name:literal),* $(,)?) => {
        /// The reason why a request failed. The number on the wire never changes its meaning.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorKind {
            $($(#[$doc])* $variant,)*
            /// A kind that this version does not have.
            Other(u16),
        }

        impl ErrorKind {
            /// Every kind of this version.
            pub const ALL: &[ErrorKind] = &[$(ErrorKind::$variant),*];

            /// The number on the wire.
            pub fn code(self) -> u16 {
                match self {
                    $(ErrorKind::$variant => $code,)*
                    ErrorKind::Other(code) => code,
                }
            }

            /// The kind of a number from the wire; an unknown one is kept as [`ErrorKind::Other`].
            pub fn from_code(code: u16) -> Self {
                match code {
                    $($code => ErrorKind::$variant,)*
                    other => ErrorKind::Other(other),
                }
            }

            /// The name used in JSON and in `PROTOCOL.md`.
            pub fn name(self) -> &'static str {
                match self {
                    $(ErrorKind::$variant => $name,)*
                    ErrorKind::Other(_) => "other",
                }
            }
        }
    };
}

error_kinds! {
    /// Nothing exists there.
    1 NotFound "not_found",
    /// Something exists there already.
    2 AlreadyExists "already_exists",
    /// The operating system refused.
    3 PermissionDenied "permission_denied",
    /// The path leads out of the workspace.
    4 EscapesWorkspace "escapes_workspace",
    /// A directory was expected.
    5 NotADirectory "not_a_directory",
    /// A file was expected, but it is a directory.
    6 IsADirectory "is_a_directory",
    /// The directory still has entries.
    7 DirectoryNotEmpty "directory_not_empty",
    /// A regular file was expected, but it is a device, FIFO or socket.
    8 SpecialFile "special_file",
    /// A name or path is too long.
    9 NameTooLong "name_too_long",
    /// The path leads through more symlinks than the limit.
    10 TooManySymlinks "too_many_symlinks",
    /// The path is empty or contains a NUL byte.
    11 InvalidPath "invalid_path",
    /// The file has several names and the policy refuses that.
    12 HardLinked "hard_linked",
    /// There is no space or quota left.
    13 NoSpace "no_space",
    /// The file system or profile is read-only.
    14 ReadOnly "read_only",
    /// Any other failure of the operating system.
    15 Io "io",
    /// The command's program does not exist.
    20 CommandNotFound "command_not_found",
    /// The command's program cannot be executed.
    21 NotExecutable "not_executable",
    /// Confinement refused it.
    22 SandboxDenied "sandbox_denied",
    /// The working directory is missing or not a directory.
    23 InvalidCwd "invalid_cwd",
    /// The exec_id was used for another request.
    24 Conflict "conflict",
    /// The exec_id is older than what the runner remembers.
    25 Expired "expired",
    /// The runner restarted or was unreachable for too long; the command's outcome is unknown.
    26 Lost "lost",
    /// No exec has that id.
    27 NoSuchExec "no_such_exec",
    /// The request was cancelled.
    28 Cancelled "cancelled",
    /// It is not known whether the request took effect.
    29 Ambiguous "ambiguous",
    /// A condition (`if_match`) was not met.
    30 PreconditionFailed "precondition_failed",
    /// A newer stream reads this exec's output now.
    31 Detached "detached",
    /// The request type is unknown.
    40 UnknownRequest "unknown_request",
    /// The body cannot be decoded, or its values are invalid.
    41 InvalidBody "invalid_body",
    /// Too much is in flight; try again later.
    42 Busy "busy",
    /// This runner cannot do that.
    43 Unsupported "unsupported",
    /// Something is larger than its limit.
    44 TooLarge "too_large",
    /// The runner is shutting down.
    45 ShuttingDown "shutting_down",
    /// An internal error of the peer.
    46 Internal "internal",
}

/// A failed request: kind and description.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{description}")]
pub struct WireError {
    /// The kind that programs match on.
    pub kind: ErrorKind,
    /// Text for people: what happened and, where it helps, what to do next. Names no path outside the workspace.
    pub description: String,
}

impl WireError {
    /// An error of `kind`; the description is cut at 4,096 bytes.
    pub fn new(kind: ErrorKind, description: impl fmt::Display) -> Self {
        let mut description = description.to_string();
        if description.len() > MAX_DESCRIPTION_BYTES {
            let end = (0..=MAX_DESCRIPTION_BYTES).rev().find(|&at| description.is_char_boundary(at));
            description.truncate(end.unwrap_or(0));
        }
        Self { kind, description }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_maps_both_ways() {
        for kind in ErrorKind::ALL {
            assert_eq!(ErrorKind::from_code(kind.code()), *kind);
            let error = WireError::new(*kind, "words");
            assert_eq!(WireError::decode(&error.encode()), Ok(error));
        }
    }

    #[test]
    fn unknown_kind_survives() {
        let error = WireError::new(ErrorKind::from_code(9_999), "later");
        assert_eq!(WireError::decode(&error.encode()).unwrap().kind, ErrorKind::Other(9_999));
    }

    #[test]
    fn long_description_is_cut_at_a_character() {
        let error = WireError::new(ErrorKind::Io, "é".repeat(MAX_DESCRIPTION_BYTES));
        assert_eq!(error.description.len(), MAX_DESCRIPTION_BYTES);
        assert!(error.description.chars().all(|character| character == 'é'));
    }
}
