//! Every limit and timeout of `sandbridge here`, with its unit.

use std::time::Duration;

/// How long a model may take to say a word while it is looked at whether it answers.
pub(super) const MODEL_PATIENCE: Duration = Duration::from_secs(20);
/// Bytes of the hash of a directory's path that name its home, beside its own name.
pub(super) const HOME_HASH_BYTES: usize = 8;
/// How much of a directory's name its runner has, in characters.
pub(super) const HOME_NAME_CHARS: usize = 40;
/// The log of the server of one directory begins anew beyond this, in bytes.
pub(super) const HERE_LOG_BYTES: u64 = 4 * 1024 * 1024;
/// How long another process may take from serving a directory to being ready for others.
pub(super) const STANDING_PATIENCE: Duration = Duration::from_secs(60);
/// How often it is looked whether it is, or whether the runner is connected.
pub(super) const STANDING_INTERVAL: Duration = Duration::from_millis(10);
/// How long the runner of a directory may take to connect.
pub(super) const RUNNER_START_PATIENCE: Duration = Duration::from_secs(30);
/// How long it may take to end with what it runs, before it is killed.
pub(super) const RUNNER_STOP_PATIENCE: Duration = Duration::from_secs(10);
/// How often a model's key is asked for that does not work.
pub(super) const KEY_QUESTIONS: usize = 3;
