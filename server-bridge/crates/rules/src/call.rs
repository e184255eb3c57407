//! Calls of tools, as rules see them.

use crate::names;

/// A call of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The tool's name: `Shell`, `FileCreate`, `mcp__github__search`. A peer's name (`Bash`, `Write`) means the same tool.
    pub tool: &'a str,
    /// The things that the call acts on. A download acts on a domain and on a path; a tool that rules know only by its name
    /// has none.
    pub subjects: &'a [Subject<'a>],
    /// Where it runs.
    pub place: Place<'a>,
}

/// The folders that paths and patterns begin at, all of them absolute.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The current directory.
    pub cwd: &'a str,
    /// The workspace's root.
    pub root: Option<&'a str>,
    /// The user's home directory on that machine.
    pub home: Option<&'a str>,
}

/// A thing that a call acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'a> {
    /// A shell line.
    Shell {
        /// The line.
        line: &'a str,
    },
    /// A path. The caller resolves links first, or passes both the link and its target.
    Path {
        /// The path, absolute or from the current directory.
        path: &'a str,
        /// The access to it.
        access: PathAccess,
    },
    /// A host on the network.
    Domain {
        /// Its name, without scheme and port.
        host: &'a str,
    },
    /// A tool of an MCP server.
    Mcp {
        /// The server.
        server: &'a str,
        /// The tool, as the server names it.
        tool: &'a str,
    },
    /// A named thing: the role of a sub-agent, a skill.
    Named {
        /// Its name.
        name: &'a str,
    },
}

/// A call's access to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathAccess {
    /// It reads it.
    Read,
    /// It creates or changes it.
    Write,
}

impl<'a> Subject<'a> {
    /// The subject of a call of one of our tools, from the argument that says what it acts on: its line, path, address or
    /// name. `None` for a tool that rules know only by its name.
    pub fn of(tool: &str, text: &'a str) -> Option<Self> {
        let path = |access| Self::Path { path: text, access };
        Some(match tool {
            "Shell" => Self::Shell { line: text },
            "FileCreate" | "FileReplace" => path(PathAccess::Write),
            "Read" | "Grep" | "Glob" | "Cd" => path(PathAccess::Read),
            "Fetch" | "DownloadFile" => Self::Domain { host: host_of(text) },
            "SubAgent" | "Skill" | names::HTTP => Self::Named { name: text },
            _ => return None,
        })
    }
}

/// The host of an address, `scheme://user@host:port/…`, as it is written there; the text itself for a bare host.
pub fn host_of(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    match host.strip_prefix('[') {
        Some(literal) => literal.split(']').next().unwrap_or(literal),
        None => host.split(':').next().unwrap_or(host),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_an_address_is_not_its_user_port_or_path() {
        for (address, host) in [
            ("https://example.com/a?b#c", "example.com"),
            ("http://user:pass@example.com:8080/", "example.com"),
            ("https://example.com?x=@evil.example", "example.com"),
            ("https://good.example@evil.example/", "evil.example"),
            ("http://[::1]:80/", "::1"),
            ("example.com", "example.com"),
        ] {
            assert_eq!(host_of(address), host, "{address}");
        }
    }
}
