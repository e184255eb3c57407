//! Calls of tools, as rules see them.

/// A call of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The tool's name: `Shell`, `FileCreate`, `mcp__github__search`. A peer's name (`Bash`, `Write`) means the same tool.
    pub tool: &'a str,
    /// The things that the call acts on. A download acts on a domain and on a path; a tool that rules only know by name has none.
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
