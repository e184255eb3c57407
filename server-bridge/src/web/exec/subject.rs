//! An exec as a client's socket or request serves it.

use execs::attendance::Later;
use execs::{ExecId, ExecKind};

/// An exec, as its clients know it.
pub(super) struct Subject {
    pub(super) id: ExecId,
    /// Who asked for it.
    pub(super) kind: ExecKind,
    /// What runs, for the audit trail.
    pub(super) shown: String,
    /// Whether the client's binary frames are standard input.
    pub(super) stdin: bool,
    /// Whether it goes on without a client.
    pub(super) detached: bool,
    /// Whether its output is for others as well, whoever reads it.
    pub(super) kept: bool,
    /// Whether it is a terminal, to which people come back.
    pub(super) lingers: bool,
    /// Whether the client says what it has.
    pub(super) acks: bool,
    /// What it has of the output already, in bytes.
    pub(super) offset: u64,
    /// Who comes to it later than this client, from where on that one's input is taken.
    pub(super) later: Option<Later>,
}

impl Subject {
    /// Whether it goes on without this client: it was asked for so, or it is a chat's, a model's or an MCP client's, who see to
    /// its end themselves.
    pub(super) fn goes_on(&self) -> bool {
        self.detached || !is_of_clients(self.kind)
    }
}

/// Whether an exec belongs to the clients that are attached to it.
pub(super) fn is_of_clients(kind: ExecKind) -> bool {
    match kind {
        ExecKind::Client | ExecKind::Terminal => true,
        ExecKind::Chat | ExecKind::Tool | ExecKind::Mcp => false,
    }
}
