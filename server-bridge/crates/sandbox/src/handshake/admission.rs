//! Admission: a runner's registration, and the answer to it.

use proto::handshake::{Facts, Register};
pub use proto::handshake::{Refusal, RefusalReason};

use super::xbot;
use crate::facts::{RunnerFacts, fact};

/// The protocol that a runner speaks once it is registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Binary frames.
    Sandbridge,
    /// xbot's JSON text dialect: no confinement, no resume, whole messages.
    Xbot,
}

/// A runner that asks to be admitted.
#[derive(Clone, PartialEq, Eq)]
pub struct Registration {
    /// The token it presented. Compare its hash in constant time; never log it.
    pub token: String,
    /// The runner's description of itself.
    pub facts: RunnerFacts,
    /// Absolute path of its workspace.
    pub workspace: String,
    /// The shell that shell commands run in.
    pub shell: String,
    /// The protocol that it speaks.
    pub dialect: Dialect,
    /// The user it claims to serve; the token decides. A runner of xbot's dialect always names one.
    pub claimed_user: String,
}

impl Registration {
    /// `facts` come from the extension, which a runner of xbot's dialect does not have.
    pub(crate) fn new(register: Register, facts: Option<&Facts>) -> Self {
        let (dialect, facts) = match facts {
            Some(facts) => {
                let known = RunnerFacts::new(facts, &register.workspace).with_llm(&register);
                (Dialect::Sandbridge, known)
            }
            None => (Dialect::Xbot, xbot::facts(&register)),
        };
        Self {
            facts,
            dialect,
            claimed_user: fact(&register.user_id),
            token: register.auth_token,
            workspace: fact(&register.workspace),
            shell: fact(&register.shell),
        }
    }
}

impl std::fmt::Debug for Registration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registration").field("facts", &self.facts).field("shell", &self.shell).finish()
    }
}

/// A runner's identity, decided by its token.
#[derive(Clone, PartialEq, Eq)]
pub struct Admission {
    /// The owner's [`crate::User::key`].
    pub user_key: String,
    /// The runner's registered name.
    pub runner: String,
    /// Counts this runner's registrations; persisted, never reused, higher than every earlier one.
    pub epoch: u64,
    /// The runner's permanent token, if it presented a one-time token. Only for a runner of Sandbridge's own protocol.
    pub token: Option<String>,
    /// The version of the runner that this server hands out, if it hands one out.
    pub version: Option<String>,
}

impl std::fmt::Debug for Admission {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Admission")
            .field("user_key", &self.user_key)
            .field("runner", &self.runner)
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}
