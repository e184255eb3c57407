//! The keys that open a route. A session may request everything, and a key everything that its scope allows. Each route states its
//! [`Access`] where it is added to [`crate::web::routes::Routes`]; a handler that is added to a router in another way is
//! closed to every key.

use accounts::KeyScope;

/// The keys of programs that open a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The handler does not authenticate.
    Anybody,
    /// No key, whatever its scope: with a stolen key it must not be possible to create another key, to take over the account, or to
    /// create a runner's token, which outlives the key.
    Session,
    /// Only keys with the scope `full`.
    Full,
    /// Keys with the scope `full` or `read`: the handler only reads, and shows no setting.
    Look,
    /// Keys with any scope: the handler only reads, and work with commands, files or tasks needs it.
    LookToWork,
    /// Keys with the scope `full` or `exec`: commands, files and tasks.
    Work,
    /// Keys with the scope `full` or `read`: the handler opens a socket that only sends.
    Listen,
    /// Any key: the endpoint checks the scope again for each tool.
    EachTool,
}

impl Access {
    /// True if a key of this scope may make such a request; `is_upgrade` is true if the request opens a WebSocket. An exec's socket
    /// accepts input, so a key with the scope `read` can open only sockets that only send.
    pub fn allows(self, scope: KeyScope, is_upgrade: bool) -> bool {
        match (self, scope) {
            (Self::Session, _) => false,
            (Self::EachTool, _) | (_, KeyScope::Full) => true,
            (Self::Anybody | Self::Full, KeyScope::Exec | KeyScope::Read) => false,
            (Self::Work | Self::LookToWork, KeyScope::Exec) | (Self::Listen, KeyScope::Read) => true,
            (Self::Look | Self::Listen, KeyScope::Exec) | (Self::Work, KeyScope::Read) => false,
            (Self::Look | Self::LookToWork, KeyScope::Read) => !is_upgrade,
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Method;

    use super::*;
    use crate::web::routes;
    use crate::web::routes::Row;

    fn table() -> Vec<Row> {
        routes().table().to_vec()
    }

    fn access(method: Method, path: &str) -> Access {
        let found = table().into_iter().find(|row| row.method == method && row.path == path);
        found.unwrap_or_else(|| panic!("{method:?} {path}")).access
    }

    #[test]
    fn no_key_makes_keys_or_takes_the_account() {
        for (method, path) in [
            (Method::POST, "/api/v1/keys"),
            (Method::DELETE, "/api/v1/keys/{name}"),
            (Method::POST, "/api/v1/runners"),
            (Method::POST, "/api/v1/runners/{name}/rotate"),
            (Method::POST, "/api/v1/logout"),
            (Method::POST, "/api/v1/confirm"),
            (Method::POST, "/api/v1/tickets"),
            (Method::POST, "/api/v1/sign-ins"),
            (Method::POST, "/api/v1/password"),
            (Method::POST, "/api/v1/users"),
            (Method::PUT, "/api/v1/users/{name}"),
            (Method::DELETE, "/api/v1/users/{name}"),
        ] {
            let access = access(method, path);
            for scope in [KeyScope::Full, KeyScope::Exec, KeyScope::Read] {
                assert!(!access.allows(scope, false), "{scope:?} {path}");
            }
        }
        assert!(access(Method::GET, "/api/v1/keys").allows(KeyScope::Full, false));
    }

    #[test]
    fn no_key_changes_or_approves_what_hooks_run() {
        for (method, path) in [
            (Method::PUT, "/api/v1/hooks/document"),
            (Method::POST, "/api/v1/hooks/approvals"),
            (Method::DELETE, "/api/v1/hooks/approvals/{hash}"),
        ] {
            assert_eq!(access(method, path), Access::Session, "{path}");
        }
        assert!(access(Method::GET, "/api/v1/hooks").allows(KeyScope::Full, false));
        assert!(!access(Method::GET, "/api/v1/hooks/document").allows(KeyScope::Read, false));
    }

    #[test]
    fn a_key_for_commands_reaches_runners_and_nothing_of_the_account() {
        for row in table() {
            let is_work = ["exec", "files", "tasks", "runners", "me", "about"].iter().any(|area| {
                let rest = row.path.strip_prefix("/api/v1/").and_then(|path| path.strip_prefix(area));
                rest.is_some_and(|rest| ["", "/", "s", "s/"].iter().any(|start| rest.starts_with(start)))
            });
            let is_allowed = row.access.allows(KeyScope::Exec, false);
            assert!(is_work || !is_allowed || row.path == "/mcp", "{row:?}");
        }
        assert!(access(Method::GET, "/api/v1/exec").allows(KeyScope::Exec, true));
        assert!(access(Method::GET, "/api/v1/execs/{id}").allows(KeyScope::Exec, true));
        assert!(access(Method::PUT, "/api/v1/files").allows(KeyScope::Exec, false));
        assert!(access(Method::GET, "/api/v1/runners").allows(KeyScope::Exec, false));
    }

    #[test]
    fn a_key_for_reading_changes_nothing_and_runs_nothing() {
        for row in table().into_iter().filter(|row| row.path != "/mcp") {
            let is_look = row.method == Method::GET;
            assert!(is_look || !row.access.allows(KeyScope::Read, false), "{row:?}");
            let opens_a_socket = row.access.allows(KeyScope::Read, true);
            assert_eq!(opens_a_socket, row.path == "/api/v1/events", "{row:?}");
        }
        assert!(access(Method::GET, "/api/v1/chats").allows(KeyScope::Read, false));
        assert!(!access(Method::GET, "/api/v1/exec").allows(KeyScope::Read, false));
        assert!(!access(Method::GET, "/api/v1/settings").allows(KeyScope::Read, false));
    }
}
