//! The user that a command runs as: the default one, or the privileged one if the request names it.
//!
//! The server handles approval: a runner that takes a server's requests trusts that server with its privileged user,
//! which is why this user has to be named when the runner starts.

use proto::{ErrorKind, WireError};

use crate::host::{CommandUser, Host};

/// The user that a request means.
///
/// # Errors
/// `unsupported` if this runner has only one user, `sandbox_denied` for a user that its options do not name.
pub(super) fn choose(host: &Host, asked: Option<&str>) -> Result<CommandUser, WireError> {
    let names = host.command_users();
    match asked {
        None => Ok(CommandUser::Default),
        Some(asked) if asked == names.default => Ok(CommandUser::Default),
        Some(asked) if Some(asked) == names.privileged.as_deref() => Ok(CommandUser::Privileged),
        Some(_) if !host.knows_users() => Err(WireError::new(
            ErrorKind::Unsupported,
            format!(
                "this runner runs commands only as {}; to allow other users, start it as root with --run-as-default USER and \
                 --run-as-privileged USER",
                names.default
            ),
        )),
        Some(_) => {
            let privileged = names.privileged.map_or_else(String::new, |name| format!(" or {name}"));
            Err(WireError::new(
                ErrorKind::SandboxDenied,
                format!(
                    "this runner runs commands as {}{privileged}, and as no other user; --run-as-default and --run-as-privileged \
                     on its machine change that",
                    names.default
                ),
            ))
        }
    }
}
