//! Every limit and timeout of extensions; those of hooks themselves are in crate `hooks`.

use std::time::Duration;

/// How much of a document of hooks is read, in bytes: one more than is accepted.
pub const HOOK_FILE_BYTES: u64 = hooks::limits::DOCUMENT_BYTES as u64 + 1;
/// The most files that the commands of hooks name and that are looked at for their hash.
pub const HOOK_SCRIPTS: usize = 64;
/// How long a hook's command may take beyond its timeout, for its machine to end it.
pub const HOOK_GRACE: Duration = Duration::from_secs(3);
/// How long a hook's command that was given up on is waited for, before its end is left to recovery.
pub const HOOK_CANCEL_PATIENCE: Duration = Duration::from_secs(10);
/// The runs of hooks that are kept for each user's log.
pub const HOOK_RUNS_KEPT: usize = 200;
/// The users whose logs are kept.
pub const HOOK_LOGS_KEPT: usize = 1_000;
/// The chats whose hooks that run once are remembered.
pub const HOOK_SESSIONS_KEPT: usize = 10_000;
/// The most of a hook's action that a log shows, in characters.
pub const HOOK_ACTION_CHARS: usize = 200;
