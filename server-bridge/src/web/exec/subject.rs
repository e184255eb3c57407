//! An exec as a client's socket or request serves it.

use execs::attendance::Later;
use execs::{ExecId, ExecKind};

/// An exec, as its clients know it.
pub(super) struct Subject {
    pub(super) id: ExecId,
    /// The kind of originator.
    pub(super) kind: ExecKind,
    /// The command, for the audit trail.
    pub(super) shown: String,
    /// True if the client's binary frames are standard input.
    pub(super) stdin: bool,
    /// True if it goes on without a client.
    pub(super) detached: bool,
    /// True if its output has other readers.
    pub(super) kept: bool,
    /// True if it is a terminal, which people reconnect to.
    pub(super) lingers: bool,
    /// True if the client reports what it has received.
    pub(super) acks: bool,
    /// The client's position in the output, in bytes.
    pub(super) offset: u64,
    /// Later clients, whose input is accepted instead of this one's.
    pub(super) later: Option<Later>,
}

impl Subject {
    /// True if it goes on without this client: it was asked for so, or it is a chat's, a model's or an MCP client's, which end
    /// it themselves.
    pub(super) fn goes_on(&self) -> bool {
        self.detached || !is_of_clients(self.kind)
    }
}

/// True if an exec belongs to its attached clients.
pub(super) fn is_of_clients(kind: ExecKind) -> bool {
    match kind {
        ExecKind::Client | ExecKind::Terminal => true,
        ExecKind::Chat | ExecKind::Tool | ExecKind::Mcp => false,
    }
}
