//! A registration in xbot's dialect, and the answer to it.

use proto::BootId;
use proto::handshake::{Layer, Refusal, RefusalReason, Register};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::facts::{LEGACY_PROFILE, RunnerFacts, fact};

/// The description of a runner that reports nothing but its workspace.
pub(super) fn facts(register: &Register) -> RunnerFacts {
    let lacks =
        |name: &str, detail: &str| Layer { name: name.to_owned(), holds: false, detail: detail.to_owned() };
    RunnerFacts {
        runner_id: String::new(),
        boot_id: boot_id(register).to_string(),
        os: String::new(),
        arch: String::new(),
        hostname: String::new(),
        version: "xbot".to_owned(),
        profile: LEGACY_PROFILE.to_owned(),
        capabilities: Vec::new(),
        landlock_abi: 0,
        kill_tier: "none: a started command cannot be ended from here".to_owned(),
        layers: vec![
            lacks(
                "confinement",
                "commands may do whatever the runner's user may; symlinks lead out of the workspace",
            ),
            lacks("resume", "a result in transit when the connection ends is lost"),
            lacks("streaming", "output arrives when the command has ended, after 3600 s at the latest"),
            lacks("exact output", "bytes of an output that are not UTF-8 arrive as replacement characters"),
        ],
        workspace: fact(&register.workspace),
        llm_provider: String::new(),
        llm_model: String::new(),
        run_as: None,
        update_error: None,
    }
}

/// Replaces the boot id, which the dialect does not have.
///
/// A runner that reconnects before its old socket is found dead must not look like another process taking over, so this is
/// the same for the same workspace and shell.
pub(super) fn boot_id(register: &Register) -> BootId {
    let mut hash = Sha256::new();
    for part in ["xbot", &register.workspace, &register.shell] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    let digest: [u8; 32] = hash.finalize().into();
    let mut id = [0; 16];
    id.copy_from_slice(&digest[..16]);
    BootId(id)
}

/// The refusal in a form that an xbot runner supports: the runner prints the message.
pub(super) fn refusal_text(refusal: &Refusal) -> String {
    #[derive(Serialize)]
    struct Message<'a> {
        r#type: &'static str,
        body: Body<'a>,
    }
    #[derive(Serialize)]
    struct Body<'a> {
        code: &'static str,
        message: &'a str,
    }
    let code = match refusal.reason {
        RefusalReason::TokenUnknown | RefusalReason::TokenExpired | RefusalReason::TokenRevoked => {
            "AUTH_FAILED"
        }
        RefusalReason::Malformed | RefusalReason::ProtocolVersion => "EINVAL",
        RefusalReason::RateLimited | RefusalReason::Unavailable | RefusalReason::Other => "EIO",
    };
    let message = Message { r#type: "error", body: Body { code, message: &refusal.message } };
    serde_json::to_string(&message).expect("two strings always serialize")
}
