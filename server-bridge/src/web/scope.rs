//! What a program's key may ask for. A session may ask for everything; a key for what its scope says, and nothing that is not
//! listed here: a new route is closed to `exec` and `read` until it has its line.

use axum::http::Method;
use store::KeyScope;

/// Paths that no key opens, whatever its scope: a key that was stolen must neither make another one nor take the account.
const SESSIONS_ONLY: &[(&Method, &str)] = &[
    (&Method::POST, "/api/v1/keys"),
    (&Method::DELETE, "/api/v1/keys/{name}"),
    // A runner's token outlives the key.
    (&Method::POST, "/api/v1/runners"),
    (&Method::POST, "/api/v1/runners/{name}/rotate"),
    (&Method::POST, "/api/v1/logout"),
    (&Method::POST, "/api/v1/confirm"),
    (&Method::POST, "/api/v1/tickets"),
    (&Method::POST, "/api/v1/sign-ins"),
    (&Method::POST, "/api/v1/password"),
    (&Method::PUT, "/api/v1/password"),
    (&Method::POST, "/api/v1/users"),
    (&Method::PUT, "/api/v1/users/{name}"),
    (&Method::DELETE, "/api/v1/users/{name}"),
];

/// What looks only, and shows no setting.
const LOOKING: &[&str] = &[
    "/api/v1/me",
    "/api/v1/runners",
    "/api/v1/chats",
    "/api/v1/chats/{id}",
    "/api/v1/chats/{id}/messages",
    "/api/v1/chats/{id}/agents",
    "/api/v1/chats/{id}/export",
    "/api/v1/usage",
    "/api/v1/files",
    "/api/v1/files/stat",
    "/api/v1/files/list",
    "/api/v1/files/complete",
    "/api/v1/files/tree",
    "/api/v1/container",
    "/api/v1/tasks",
    "/api/v1/tasks/{id}",
    "/api/v1/commands",
    "/api/v1/about",
    "/api/v1/execs",
    "/api/v1/execs/{id}",
    "/api/v1/execs/{id}/report",
    "/api/v1/events",
    // An administrator's only, as for a session.
    "/metrics",
];

/// What `exec` may besides, by any method: commands, files and tasks.
const WORKING: &[&str] = &[
    "/api/v1/exec",
    "/api/v1/exec/user",
    "/api/v1/execs/{id}",
    "/api/v1/execs/{id}/cancel",
    "/api/v1/tasks/{id}",
    "/api/v1/files",
    "/api/v1/files/mkdir",
    "/api/v1/files/rename",
    "/api/v1/files/tree",
    "/api/v1/files/download",
];

/// What `exec` may look at besides.
const LOOKING_TO_WORK: &[&str] = &[
    "/api/v1/me",
    "/api/v1/runners",
    "/api/v1/files/stat",
    "/api/v1/files/list",
    "/api/v1/files/complete",
    "/api/v1/execs",
    "/api/v1/execs/{id}/report",
    "/api/v1/tasks",
    "/api/v1/about",
];

/// The endpoint of the Model Context Protocol, which asks the scope again for each tool.
pub const MCP_PATH: &str = "/mcp";

/// Whether a key of this scope may make a request to this route; `is_upgrade` says that it becomes a WebSocket.
pub fn allows(scope: KeyScope, method: &Method, route: &str, is_upgrade: bool) -> bool {
    if SESSIONS_ONLY.iter().any(|(closed, path)| *closed == method && *path == route) {
        return false;
    }
    let looks = method.is_safe() && !is_upgrade;
    match scope {
        _ if route == MCP_PATH => true,
        KeyScope::Full => true,
        KeyScope::Exec => WORKING.contains(&route) || looks && LOOKING_TO_WORK.contains(&route),
        // An exec's socket takes input and cancels; the one for events only tells.
        KeyScope::Read => {
            (looks || route == "/api/v1/events") && method.is_safe() && LOOKING.contains(&route)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_makes_keys_or_takes_the_account() {
        for scope in [KeyScope::Full, KeyScope::Exec, KeyScope::Read] {
            for (method, route) in SESSIONS_ONLY {
                assert!(!allows(scope, method, route, false), "{scope:?} {method} {route}");
            }
        }
        assert!(allows(KeyScope::Full, &Method::GET, "/api/v1/keys", false));
    }

    #[test]
    fn a_key_for_commands_reaches_runners_and_nothing_of_the_account() {
        let allowed = |method, route, upgrade| allows(KeyScope::Exec, &method, route, upgrade);
        assert!(allowed(Method::GET, "/api/v1/exec", true));
        assert!(allowed(Method::GET, "/api/v1/execs/{id}", true));
        assert!(allowed(Method::PUT, "/api/v1/files", false));
        assert!(allowed(Method::GET, "/api/v1/runners", false));
        for (method, route) in [
            (Method::POST, "/api/v1/runners"),
            (Method::GET, "/api/v1/settings"),
            (Method::PUT, "/api/v1/settings"),
            (Method::GET, "/api/v1/keys"),
            (Method::GET, "/api/v1/chats"),
            (Method::DELETE, "/api/v1/container"),
            (Method::GET, "/api/v1/anything/new"),
        ] {
            assert!(!allowed(method.clone(), route, false), "{method} {route}");
        }
    }

    #[test]
    fn a_key_for_reading_changes_nothing_and_runs_nothing() {
        let allowed = |method, route, upgrade| allows(KeyScope::Read, &method, route, upgrade);
        for route in LOOKING {
            assert!(allowed(Method::GET, route, false), "{route}");
            for method in [Method::POST, Method::PUT, Method::DELETE, Method::PATCH] {
                assert!(!allowed(method.clone(), route, false), "{method} {route}");
            }
        }
        assert!(allowed(Method::GET, "/api/v1/events", true));
        assert!(!allowed(Method::GET, "/api/v1/execs/{id}", true), "its socket takes input");
        assert!(!allowed(Method::GET, "/api/v1/exec", true) && !allowed(Method::GET, "/api/v1/exec", false));
        assert!(!allowed(Method::GET, "/api/v1/settings", false));
    }
}
