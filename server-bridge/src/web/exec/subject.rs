//! The properties of an exec that determine how its clients are served.

use execs::attendance::Later;
use execs::{ExecId, ExecKind};

/// An exec that is being served to a client.
pub(super) struct Subject {
    pub(super) id: ExecId,
    /// The kind of originator.
    pub(super) kind: ExecKind,
    /// The command, for the audit trail.
    pub(super) shown: String,
    /// True if the client's binary frames are standard input.
    pub(super) stdin: bool,
    /// True if the exec continues without a client.
    pub(super) detached: bool,
    /// True if the output is kept, because other readers may want it.
    pub(super) kept: bool,
    /// True if the exec is a terminal, which people reconnect to.
    pub(super) lingers: bool,
    /// True if the client reports what it has received.
    pub(super) acks: bool,
    /// The client's position in the output, in bytes.
    pub(super) offset: u64,
    /// Later clients, whose input is accepted instead of this one's.
    pub(super) later: Option<Later>,
}

impl Subject {
    /// True if the exec continues without this client: because that was requested, or because it belongs to a chat, a model or an MCP
    /// client, which end it themselves.
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
