//! The JSON text frames that come before binary ones. They stay decodable forever.
//!
//! ```text
//! runner                               server
//!   |  register {token, facts}           |      (over standard streams the server first sends "attach")
//!   | ---------------------------------> |
//!   |      register_ok {epoch, nonce}    |  or  error {reason}, then the link closes
//!   | <--------------------------------- |
//!   |  ready {epoch, nonce}              |
//!   | ---------------------------------> |      the epoch takes effect; binary frames from here on
//! ```
//! A runner that presented a one-time token gets a permanent `token` in `register_ok`, and stores it before it is `ready`.
//!
//! Unknown fields are ignored. A register without `sandbridge` is a runner that speaks only xbot's JSON dialect.

use serde::{Deserialize, Serialize};

use crate::ids::{BootId, Epoch, Nonce};
use crate::limits::{MAX_HANDSHAKE_BYTES, PROTOCOL_VERSION};

/// Any text frame of the handshake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Handshake {
    /// The server on a standard-stream link asks for a registration; a second attacher asks again.
    Attach {},
    /// The runner introduces itself.
    Register {
        /// The body's user id, repeated for xbot's dialect; the token decides who the user is.
        #[serde(default)]
        user_id: String,
        /// The runner's identity and description.
        body: Box<Register>,
    },
    /// The server accepts.
    RegisterOk {
        /// Status and, for a peer that announced the extension, its parameters.
        body: RegisterOk,
    },
    /// The runner confirms; the epoch takes effect.
    Ready {
        /// The epoch and the nonce that the runner confirms.
        body: Ready,
    },
    /// The server refuses; it closes the link afterwards.
    Error {
        /// The reason of the refusal.
        body: Refusal,
    },
}

/// The registration of a runner.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Register {
    /// The user that the runner believes it serves; informative.
    #[serde(default)]
    pub user_id: String,
    /// The runner's token. It appears only here: never in a URL, a log, argv or an environment.
    #[serde(default)]
    pub auth_token: String,
    /// Absolute path of the workspace.
    #[serde(default)]
    pub workspace: String,
    /// The shell that `Command::Shell` uses.
    #[serde(default)]
    pub shell: String,
    /// The provider of the runner-local LLM endpoint, empty when there is none.
    #[serde(default)]
    pub llm_provider: String,
    /// The name of that endpoint's model; may be empty.
    #[serde(default)]
    pub llm_model: String,
    /// The extension; absent in xbot's dialect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbridge: Option<Facts>,
}

impl std::fmt::Debug for Register {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Register")
            .field("workspace", &self.workspace)
            .field("sandbridge", &self.sandbridge)
            .finish()
    }
}

/// What a Sandbridge runner announces about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// The protocol versions it speaks.
    pub protocol: VersionRange,
    /// The runner's name, if its user gave one; the token decides.
    #[serde(default)]
    pub runner_id: String,
    /// The id of this process of the runner.
    pub boot_id: BootId,
    /// Operating system: the output of `uname -s` in lower case.
    pub os: String,
    /// Machine architecture: the output of `uname -m`.
    pub arch: String,
    /// The machine's host name.
    pub hostname: String,
    /// The runner's version.
    pub version: String,
    /// The profile it was started with: `workspace`, `read-only` or `full-control`.
    pub profile: String,
    /// Optional abilities, by name.
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// Landlock's ABI version, 0 if there is none.
    #[serde(default)]
    pub landlock_abi: u32,
    /// How whole trees are killed on this machine.
    pub kill_tier: String,
    /// The layers of confinement, each with true if it is in effect.
    #[serde(default)]
    pub layers: Vec<Layer>,
    /// The users that commands run as, if that is not just the runner's own user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_as: Option<RunAsNames>,
    /// The reason why the runner's last update failed; absent after a successful one, and if none was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_error: Option<String>,
}

/// The operating-system users that a runner runs commands as.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunAsNames {
    /// The user for requests that name none.
    pub default: String,
    /// Another user that a request may name, with its user's approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub privileged: Option<String>,
}

/// The versions a peer speaks, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionRange {
    /// The oldest version.
    pub min: u32,
    /// The newest version.
    pub max: u32,
}

impl VersionRange {
    /// The versions that this crate speaks.
    pub const OURS: VersionRange = VersionRange { min: PROTOCOL_VERSION, max: PROTOCOL_VERSION };

    /// The newest version both speak.
    pub fn common(self, other: VersionRange) -> Option<u32> {
        let newest = self.max.min(other.max);
        (newest >= self.min.max(other.min)).then_some(newest)
    }
}

/// One layer of confinement as probed on the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// The layer's name, such as `landlock`.
    pub name: String,
    /// True if the layer is in effect.
    pub holds: bool,
    /// A description, or the reason why the layer is not in effect.
    #[serde(default)]
    pub detail: String,
}

/// The body of an acceptance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisterOk {
    /// Always `ok`.
    pub status: String,
    /// Parameters of the extension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbridge: Option<Accepted>,
}

/// Parameters of an accepted Sandbridge runner.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// The version both speak from here on.
    pub protocol: u32,
    /// The runner's name as registered.
    pub runner: String,
    /// This registration's number.
    pub epoch: Epoch,
    /// A random value that the runner repeats in `ready`.
    pub nonce: Nonce,
    /// In exchange for a one-time token: the runner's permanent token, to be stored before `ready` and used from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The server's version, which is also that of the runner that it hands out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl std::fmt::Debug for Accepted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Accepted")
            .field("protocol", &self.protocol)
            .field("runner", &self.runner)
            .field("epoch", &self.epoch)
            .field("nonce", &self.nonce)
            .finish_non_exhaustive()
    }
}

/// The capability of a runner that stores the token it gets in exchange for a one-time token.
pub const ENROLMENT_CAPABILITY: &str = "enrolment";

/// The capability of a runner that runs commands as the users in [`Facts::run_as`].
pub const RUN_AS_CAPABILITY: &str = "run_as";

/// The capability of a runner whose commands run in a container on its machine.
pub const DOCKER_CAPABILITY: &str = "docker";

/// The capability of a runner that resolves paths and writes only to the resolved place.
pub const RESOLVE_CAPABILITY: &str = "resolve";

/// The capability of a runner that sends HTTP requests to the hosts that its machine's user named.
pub const HTTP_CAPABILITY: &str = "http";

/// The capability of a runner that makes and removes linked worktrees of git repositories.
pub const WORKTREE_CAPABILITY: &str = "worktree";

/// The capability of a runner that hashes trees.
pub const HASH_TREE_CAPABILITY: &str = "hash_tree";

/// A runner that can replace its own program announces this capability.
pub const UPDATE_CAPABILITY: &str = "update";

/// The body of `ready`: values of the acceptance, repeated by the runner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// The accepted epoch.
    pub epoch: Epoch,
    /// The accepted nonce.
    pub nonce: Nonce,
}

/// The reason why a registration was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The reason, for programs.
    pub reason: RefusalReason,
    /// The reason, for people: what happened and what to do next.
    pub message: String,
}

/// The reason of a refusal, as programs read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalReason {
    /// No such token.
    TokenUnknown,
    /// The token has expired.
    TokenExpired,
    /// The runner was revoked.
    TokenRevoked,
    /// No common protocol version.
    ProtocolVersion,
    /// The first frame was not a registration.
    Malformed,
    /// Too many attempts from this address.
    RateLimited,
    /// The server is stopping or has no room.
    Unavailable,
    /// A reason of a later version.
    #[serde(other)]
    Other,
}

impl RefusalReason {
    /// True if retrying with the same token cannot help until a person acts.
    pub fn needs_a_person(self) -> bool {
        match self {
            Self::TokenUnknown | Self::TokenExpired | Self::TokenRevoked | Self::ProtocolVersion => true,
            Self::Malformed | Self::RateLimited | Self::Unavailable | Self::Other => false,
        }
    }
}

/// The error for a text frame that is not a handshake.
#[derive(Debug, thiserror::Error)]
pub enum HandshakeError {
    /// The frame is larger than 64 KiB.
    #[error("a handshake can have at most {MAX_HANDSHAKE_BYTES} bytes; this one has {0}")]
    TooLarge(usize),
    /// The text is not the JSON of any handshake.
    #[error("not a handshake: {0}")]
    Malformed(#[from] serde_json::Error),
}

impl Handshake {
    /// Writes the handshake as a text frame.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self)
            .expect("handshakes hold only strings, numbers and lists, which always serialize")
    }

    /// Reads a text frame of at most 64 KiB.
    pub fn from_text(text: &str) -> Result<Self, HandshakeError> {
        if text.len() > MAX_HANDSHAKE_BYTES {
            return Err(HandshakeError::TooLarge(text.len()));
        }
        Ok(serde_json::from_str(text)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xbot_register_has_no_extension_and_is_read() {
        let text = r#"{"type":"register","user_id":"u1","body":{"user_id":"u1","auth_token":"tok","workspace":"/ws","shell":"/bin/bash","later":1}}"#;
        let Handshake::Register { body, .. } = Handshake::from_text(text).unwrap() else {
            panic!("no register")
        };
        assert_eq!((body.auth_token.as_str(), body.sandbridge), ("tok", None));
    }

    #[test]
    fn token_is_not_in_debug_output() {
        let text = r#"{"type":"register","body":{"auth_token":"secret-token"}}"#;
        assert!(!format!("{:?}", Handshake::from_text(text).unwrap()).contains("secret-token"));
    }

    #[test]
    fn a_given_token_travels_where_there_is_one_and_never_to_a_log() {
        let text = r#"{"type":"register_ok","body":{"status":"ok","sandbridge":{"protocol":1,"runner":"l","epoch":1,
            "nonce":"00000000000000000000000000000000","token":"sbr_secret"}}}"#;
        let handshake = Handshake::from_text(text).unwrap();
        let Handshake::RegisterOk { body } = &handshake else { panic!("no acceptance") };
        assert_eq!(body.sandbridge.as_ref().unwrap().token.as_deref(), Some("sbr_secret"));
        assert!(!format!("{handshake:?}").contains("secret") && handshake.to_text().contains("sbr_secret"));
        let without = text.replace(r#","token":"sbr_secret""#, "");
        assert!(!Handshake::from_text(&without).unwrap().to_text().contains("token"));
    }

    #[test]
    fn unknown_reason_is_read() {
        let text = r#"{"type":"error","body":{"reason":"new_in_2030","message":"m"}}"#;
        let Handshake::Error { body } = Handshake::from_text(text).unwrap() else { panic!("no error") };
        assert_eq!(body.reason, RefusalReason::Other);
    }

    #[test]
    fn oversized_and_malformed_text_is_refused() {
        assert!(matches!(Handshake::from_text(&" ".repeat(70_000)), Err(HandshakeError::TooLarge(70_000))));
        for text in ["", "{}", "[]", r#"{"type":"register"}"#, r#"{"type":"exec","body":{}}"#, "\u{0}"] {
            assert!(matches!(Handshake::from_text(text), Err(HandshakeError::Malformed(_))), "{text}");
        }
    }

    #[test]
    fn versions_meet_or_do_not() {
        let range = |min, max| VersionRange { min, max };
        assert_eq!(range(1, 3).common(range(2, 9)), Some(3));
        assert_eq!(range(1, 1).common(range(2, 2)), None);
    }
}
