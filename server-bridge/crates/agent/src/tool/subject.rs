//! The subject of a call: the part of its arguments that permission rules look at.

/// The subject of a call, as the model wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'a> {
    /// A command line for the shell of the machine.
    Command(&'a str),
    /// A file or directory that is read.
    Reads(&'a str),
    /// A file that is changed.
    Changes(&'a str),
    /// An address on the internet.
    Address(&'a str),
    /// A download: an address, and the file that it is stored in.
    Download(&'a str, &'a str),
    /// A named thing, such as a skill or a sub-agent's role; empty for a sub-agent without a role.
    Named(&'a str),
    /// A tool of an MCP server: the server's part of the name, and the tool's part, both in full.
    External(&'a str, &'a str),
    /// An HTTP tool: the tool's name, and the address of its host.
    Request(&'a str, &'a str),
    /// There is no subject: rules can only name the tool.
    Nothing,
}
