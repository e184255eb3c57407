//! Calls of tools, as rules see them.

use crate::names;

/// A call of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The tool's name: `Shell`, `FileCreate`, `mcp__github__search`. The name in a similar product (a peer: `Bash`,
    /// `Write`) means the same tool.
    pub tool: &'a str,
    /// The things that the call acts on. A download acts on a domain and on a path; a tool that rules only know by its name
    /// has none.
    pub subjects: &'a [Subject<'a>],
    /// The folders at which its paths begin.
    pub place: Place<'a>,
}

/// The folders that paths and patterns are relative to, all of them absolute.
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
    /// A line that a shell runs.
    Shell {
        /// The text of the line.
        line: &'a str,
    },
    /// A path. The caller resolves links first, or passes both the link and its target.
    Path {
        /// The path, absolute or from the current directory.
        path: &'a str,
        /// The kind of access to the path.
        access: PathAccess,
    },
    /// A host on the network.
    Domain {
        /// The host's name, without scheme or port.
        host: &'a str,
    },
    /// A tool of an MCP server.
    Mcp {
        /// The server's name.
        server: &'a str,
        /// The tool's name on the server.
        tool: &'a str,
    },
    /// A named thing: the role of a sub-agent, a skill.
    Named {
        /// The thing's name.
        name: &'a str,
    },
}

/// A call's access to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathAccess {
    /// The call reads the file.
    Read,
    /// The call creates or changes the file.
    Write,
}

impl<'a> Subject<'a> {
    /// The subject of a call of one of our tools, from the argument that names it: its line, path, address or name.
    /// `None` for a tool that rules only know by its name.
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

/// The host of an address, `scheme://user@host:port/…`, as it is written there; for a bare host, the text itself.
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
